import type { Capability } from "../../canon/capability.ts";
import type { GenerateRequest, Tool } from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { REASONING_EFFORTS } from "../../canon/request.ts";
import { cacheMark, isPlainMark } from "../anthropic-messages/read-messages.ts";
import { turnsOpening } from "../body-reader.ts";
import {
  flagOrNull,
  listOf,
  memberIn,
  numberOrNull,
  ownValue,
  textOf,
  textOrNull,
} from "../json.ts";
import type { Kinds } from "../kinds.ts";
import { isForced } from "../request-draft.ts";
import {
  CONVERSATION_FIELDS,
  CORE,
  ROUTER,
  STATE,
  hasUnknownMember,
  type FieldRegistry,
  type RequestReading,
} from "../request-reading.ts";
import { bodyRequests, singleCallFeature } from "../translate-request.ts";
import {
  includesUsage,
  noteFormat,
  readForcedChoice,
  readFunction,
  readHints,
  readSampling,
  readTextSettings,
  readToolChoice,
  refuseStreamOptions,
  schemaFormat,
  statefulMember,
  type ToolsRequest,
} from "./family.ts";
import { PART_NEEDS, readMessages } from "./read-messages.ts";

/**
 * Every known top-level member of a chat completions request
 * (docs/protocols.md#classes-of-request-members).
 */
export const CHAT_FIELDS: FieldRegistry = {
  ...CONVERSATION_FIELDS,
  model: CORE,
  messages: CORE,
  stream: CORE,
  stream_options: CORE,
  tools: { class: "capability" },
  tool_choice: CORE,
  functions: { class: "capability", needs: "tools", uses: "native_chat" },
  function_call: { needs: "tools", uses: "native_chat" },
  response_format: { class: "capability" },
  logit_bias: CORE,
  logprobs: { class: "capability", needs: "logprobs", uses: "token_logprobs" },
  max_tokens: CORE,
  max_completion_tokens: CORE,
  n: CORE,
  seed: { uses: "seed" },
  stop: CORE,
  reasoning_effort: { class: "capability" },
  verbosity: { uses: "verbosity" },
  modalities: { class: "capability" },
  audio: { class: "capability", needs: "audio_output", uses: "native_chat" },
  prediction: { class: "capability", needs: "predicted_output", uses: "native_chat" },
  web_search_options: { class: "egress", needs: "web_search", uses: "native_chat" },
  moderation: { uses: "native_chat" },
  store: STATE,
  provider: ROUTER,
};

/** Tool types of this protocol's providers, and the capability that each one requires. */
const TOOL_NEEDS: Readonly<Record<string, Capability>> = {
  function: "tools",
  custom: "custom_tools",
  web_search: "web_search",
  web_search_preview: "web_search",
  browser_search: "web_search",
  file_search: "file_search",
  code_interpreter: "code_execution",
  mcp: "mcp",
  image_generation: "image_output",
  "openrouter:web_search": "web_search",
  "openrouter:web_fetch": "web_search",
  "openrouter:datetime": "tools",
};

export const CHAT_KINDS: Kinds = {
  // Functions may omit their type.
  toolNeeds: (type, definition) =>
    ownValue(TOOL_NEEDS, type === "" && isJsonObject(definition.function) ? "function" : type) ??
    null,
  types: {
    ...PART_NEEDS,
    json_object: "json_object",
    json_schema: "json_schema",
    allowed_tools: null,
    approximate: null,
    content: null,
    ephemeral: null,
    grammar: null,
  },
  toolTypes: Object.keys(TOOL_NEEDS),
  modelTools: "openrouter:advisor",
  unknownType: "unknown_content_part",
};

/** Members of chat and legacy completions that have the provider keep something. */
export const CHAT_STATEFUL: Readonly<Record<string, string>> = {
  store:
    "would make the provider keep the conversation; this router never does that. Send false or leave it out",
  background:
    "would make the provider keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  previous_response_id: "names an answer kept at a provider; send the messages themselves",
  conversation: "names a conversation kept at a provider; send the messages themselves",
};

/** Reads validated chat completions bodies. */
export const CHAT_REQUESTS = bodyRequests({
  operation: "chat.completions",
  native: "native_chat",
  registry: CHAT_FIELDS,
  kinds: CHAT_KINDS,
  refuse: (body) => statefulMember(body, CHAT_STATEFUL),
  estimates: { conversationOpening: ({ messages }) => turnsOpening(messages) },
  read: readChatBody,
  includesUsage,
});

/** Some vendors accept more than the protocol's own four. */
const MAXIMUM_STOPS = 4;

/**
 * The single walk over a chat completions body: returns the canonical request, and notes in
 * `reading` the capabilities and features that the body requires. Edits and route settings are
 * applied where the request is translated.
 */
function readChatBody(body: JsonObject, reading: RequestReading): GenerateRequest {
  if ((numberOrNull(body.n) ?? 1) > 1) {
    reading.need("multiple_choices", "n");
    reading.useNative("n");
  }
  const settings = readTextSettings(body, reading);
  if (settings.stop.length > MAXIMUM_STOPS) reading.useNative("stop");
  const reasoning = readReasoning(body, reading);
  noteModalities(body.modalities, reading);
  noteStreamOptions(body, reading);
  return {
    purpose: "generate",
    ...readSampling(body, reading),
    ...settings,
    logprobs: readLogprobs(body, reading),
    maxOutputTokens: readLimit(body, reading),
    reasoning,
    turns: readMessages(body, reading),
    ...readTools(body, reading),
    // After reasoning and tools: both change the requirements of a schema.
    format: readFormat(body, reading),
    verbosity: textOrNull(body.verbosity),
    stream: body.stream === true,
    hints: readHints(body, reading),
  };
}

/** Alternatives for each token; `null` where no log probabilities are requested. */
function readLogprobs(
  { logprobs, top_logprobs }: JsonObject,
  reading: RequestReading,
): number | null {
  const alternatives = numberOrNull(top_logprobs);
  if (logprobs === true) return alternatives ?? 0;
  // Providers disagree on `top_logprobs` without `logprobs`.
  if (alternatives !== null) reading.useNative("top_logprobs");
  return null;
}

/** `max_tokens` is the older name of the limit; only this protocol has both. */
function readLimit(
  { max_tokens, max_completion_tokens }: JsonObject,
  reading: RequestReading,
): number | null {
  const [limit, older] = [numberOrNull(max_completion_tokens), numberOrNull(max_tokens)];
  // In messages a limit of 0 fills the cache and answers nothing, so it is not translated
  // (docs/protocols.md#chat-completions).
  if (limit === 0) reading.useNative("max_completion_tokens");
  if (older === 0 || (older !== null && limit !== null)) reading.useNative("max_tokens");
  return limit ?? older;
}

/** Vendors' own reasoning members require the capability, and are never translated. */
function readReasoning(body: JsonObject, reading: RequestReading): GenerateRequest["reasoning"] {
  const { thinking, reasoning } = body;
  const { effort: requested, path } = requestedEffort(body);
  const effort = REASONING_EFFORTS.find((one) => one === requested) ?? "unspecified";
  if (requested !== null) {
    if (path === "reasoning.effort") {
      reading.replace(body, "reasoning", undefined, "effort_member_renamed");
      reading.replace(body, "reasoning_effort", requested, "effort_member_renamed");
    }
    if (requested !== "none") reading.need("reasoning", path);
    reading.use(effort === "unspecified" ? reading.native : `effort_${effort}`, path);
  }
  if (isJsonObject(thinking) && thinking.type !== "disabled") reading.need("reasoning", "thinking");
  if (isJsonObject(reasoning) && reasoning.enabled !== false && reasoning.effort !== "none") {
    reading.need("reasoning", "reasoning");
  }
  if (body.enable_thinking === true) reading.need("reasoning", "enable_thinking");
  return requested === null ? null : { effort, budget: null, adaptive: false, display: null };
}

/** OpenRouter's libraries send `reasoning: {effort}`; other members of it are vendors' own. */
function requestedEffort({ reasoning_effort: effort, reasoning }: JsonObject) {
  return effort == null && isJsonObject(reasoning) && !hasUnknownMember(reasoning, ["effort"])
    ? { effort: textOrNull(reasoning.effort), path: "reasoning.effort" }
    : { effort: textOrNull(effort), path: "reasoning_effort" };
}

function noteModalities(modalities: JsonMember, reading: RequestReading) {
  for (const modality of listOf(modalities)) {
    if (modality === "audio" || modality === "image")
      reading.need(`${modality}_output`, "modalities");
    if (modality !== "text") reading.useNative("modalities");
  }
}

export const STREAM_OPTION_MEMBERS = ["include_usage", "include_obfuscation"];

/** The renderer reads `include_usage`; it adds no padding against traffic analysis. */
function noteStreamOptions(body: JsonObject, reading: RequestReading) {
  refuseStreamOptions(body, reading);
  const { stream_options: options } = body;
  if (!isJsonObject(options)) return;
  reading.useUnknown(options, STREAM_OPTION_MEMBERS, "stream_options");
  if (options.include_obfuscation === true) reading.dropped.add("hint_dropped");
}

function readFormat(body: JsonObject, reading: RequestReading): GenerateRequest["format"] {
  const { response_format: format, tool_choice: choice } = body;
  if (!isJsonObject(format)) return null;
  const { type, json_schema: definition } = format;
  const path = "response_format";
  const isObject = type === "json_object";
  if (isObject || type === "json_schema")
    noteFormat(type, path, body.tools, forcesTool(choice), reading);
  reading.useUnknown(format, ["type", "json_schema"], path);
  if (type === "json_schema" && isJsonObject(definition)) {
    const { schema } = definition;
    const members = ["name", "description", "schema", "strict"];
    reading.useUnknown(definition, members, `${path}.json_schema`);
    if (isJsonObject(schema)) return schemaFormat(definition, schema);
  }
  if ((type !== "text" && !isObject) || definition != null) reading.useNative(path);
  return isObject ? { kind: type } : null;
}

/** Whether the model has to call some tool. */
function forcesTool(choice: JsonMember) {
  return isForced(readToolChoice(choice, true));
}

/** Tools and the choice among them. */
function readTools(body: JsonObject, reading: RequestReading): ToolsRequest {
  const { tools, tool_choice: choice, parallel_tool_calls: parallel } = body;
  const read = listOf(tools).flatMap((tool, index) => {
    reading.use("conversation", "tools");
    return readTool(tool, `tools[${index}]`, reading) ?? [];
  });
  if (parallel === false) reading.use(singleCallFeature(tools), "parallel_tool_calls");
  return {
    tools: read,
    toolChoice: readChoice(choice, tools, read, reading),
    parallelToolCalls: flagOrNull(parallel),
  };
}

function readChoice(
  choice: JsonMember,
  all: JsonMember,
  tools: readonly Tool[],
  reading: RequestReading,
): GenerateRequest["toolChoice"] {
  if (choice == null) return null;
  if (choice === "auto" || choice === "none") {
    if (tools.length > 0) return { mode: choice };
    // Without tools there is nothing to choose, and most protocols refuse the member.
    if (choice === "auto") reading.dropped.add("hint_dropped");
    return null;
  }
  if (forcesTool(choice) && reading.has("reasoning"))
    reading.use("forced_tool_with_reasoning", "tool_choice");
  return readForcedChoice(choice, all, tools, true, reading);
}

/** `null` for a tool that is no function; `CHAT_KINDS` judges its type. */
function readTool(tool: JsonValue, path: string, reading: RequestReading): Tool | null {
  const definition = memberIn(tool, "function");
  const isFunction = (memberIn(tool, "type") ?? "function") === "function";
  if (!isFunction || !isJsonObject(tool) || !isJsonObject(definition)) {
    reading.useNative(`${path}.type`);
    return null;
  }
  reading.need("tools", path);
  reading.useUnknown(tool, ["type", "function", "cache_control"], path);
  if (!isPlainMark(tool.cache_control)) reading.useNative(`${path}.cache_control`);
  reading.useUnknown(
    definition,
    ["name", "description", "parameters", "strict"],
    `${path}.function`,
  );
  return readFunction(definition, `${path}.function`, cacheMark(tool), reading);
}

/** The name of a function that a request brings; empty for a tool of another type. */
export function toolName(tool: JsonValue): string {
  return textOf(memberIn(memberIn(tool, "function"), "name"));
}
