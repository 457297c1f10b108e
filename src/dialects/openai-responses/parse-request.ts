import type {
  GenerateRequest,
  ReasoningRequest,
  Tool,
  ToolChoice,
} from "../../canon/generate/generate-request.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { REASONING_EFFORTS } from "../../canon/request.ts";
import { turnsOpening } from "../body-reader.ts";
import { listOf, numberOrNull } from "../json.ts";
import {
  noteFormat,
  readForcedChoice,
  readFunction,
  readHints,
  readSampling,
  readToolChoice,
  schemaFormat,
  statefulMember,
  type ToolsRequest,
} from "../openai-chat/family.ts";
import { isForced } from "../request-draft.ts";
import type { RequestReading } from "../request-reading.ts";
import { bodyRequests, singleCallFeature } from "../translate-request.ts";
import { readConversation } from "./read-input.ts";
import {
  ENCRYPTED_REASONING,
  OUTPUT_LOGPROBS,
  REASONING_MEMBERS,
  RESPONSES_FIELDS,
  RESPONSES_KINDS,
  STREAM_OPTION_MEMBERS,
  TEXT_MEMBERS,
  hasTwoFormats,
  requestedFormat,
} from "./request-facts.ts";

/**
 * Members that have the provider keep something
 * (docs/protocols.md#stateful-members-of-responses).
 */
const STATEFUL: Readonly<Record<string, string>> = {
  store:
    "would make the provider keep the answer; this router never does that. Send false or leave it out",
  background:
    "would make the provider keep the answer until it is fetched. Send false or leave it out, and wait or stream",
  background_options: "configures answers that the provider keeps; leave it out",
  previous_response_id:
    "names an answer kept at a provider; send the whole conversation in input. Clients do so once their store setting is false (Agent Framework: default_options={'store': False}; docs/calling.md has others)",
  conversation: "names a conversation kept at a provider; send the whole conversation in input",
  prompt: "names a prompt kept at a provider; send its text in instructions or input",
  context_management: "lets the provider rewrite the conversation; shorten input before sending it",
};

export const RESPONSES_REQUESTS = bodyRequests({
  operation: "responses",
  native: "native_responses",
  registry: RESPONSES_FIELDS,
  kinds: RESPONSES_KINDS,
  refuse: (body) => statefulMember(body, STATEFUL),
  estimates: {
    conversationOpening: ({ input, instructions }) => turnsOpening(input, instructions),
  },
  read: readResponsesBody,
});

/**
 * The single walk over a responses body: returns the canonical request, and notes in `reading` the
 * capabilities and features that the body requires. The protocol's defaults become `null`.
 */
function readResponsesBody(body: JsonObject, reading: RequestReading): GenerateRequest {
  if (body.truncation === "auto") reading.useNative("truncation");
  const options = body.stream_options;
  const hints = readHints(body, reading);
  if (isJsonObject(options)) reading.useUnknown(options, STREAM_OPTION_MEMBERS, "stream_options");
  return {
    purpose: "generate",
    ...readSampling(body, reading),
    logprobs: readLogprobs(body, reading),
    turns: readConversation(body, reading),
    ...readTools(body, reading),
    reasoning: readReasoning(body, reading),
    // After reasoning and tools: both change the requirements of a schema.
    format: readFormat(body, reading),
    maxOutputTokens: numberOrNull(body.max_output_tokens),
    logitBias: null,
    seed: null,
    stop: [],
    verbosity: readVerbosity(body.text, reading),
    stream: body.stream === true,
    hints: hints.serviceTier === "auto" ? { ...hints, serviceTier: null } : hints,
  };
}

/** Alternatives for each token; `null` where no log probabilities are requested. */
function readLogprobs(
  { top_logprobs, include }: JsonObject,
  reading: RequestReading,
): number | null {
  const alternatives = numberOrNull(top_logprobs) ?? 0;
  let path = alternatives > 0 ? "top_logprobs" : null;
  for (const [index, value] of listOf(include).entries()) {
    if (value === OUTPUT_LOGPROBS) path ??= `include[${index}]`;
    else if (value !== ENCRYPTED_REASONING) reading.useNative(`include[${index}]`);
  }
  if (path === null) return null;
  reading.need("logprobs", path);
  reading.use("token_logprobs", path);
  return alternatives;
}

function readReasoning(
  { reasoning, tool_choice: choice }: JsonObject,
  reading: RequestReading,
): ReasoningRequest | null {
  if (!isJsonObject(reasoning)) return null;
  const effort = REASONING_EFFORTS.find((one) => one === reasoning.effort) ?? "unspecified";
  if (effort !== "unspecified") reading.use(`effort_${effort}`, "reasoning.effort");
  const { summary, generate_summary: older, context, mode } = reasoning;
  const requested = summary ?? older;
  const display =
    requested === "auto" || requested === "concise" || requested === "detailed" ? requested : null;
  if (requested != null && display === null) reading.useNative("reasoning.summary");
  // A summary requires a model that reasons; with reasoning switched off there is none.
  if (effort !== "none" && (effort !== "unspecified" || display !== null)) {
    reading.need("reasoning", effort === "unspecified" ? "reasoning.summary" : "reasoning.effort");
    if (forcesTool(choice)) reading.use("forced_tool_with_reasoning", "tool_choice");
  }
  if (summary != null && older != null && summary !== older) {
    reading.useNative("reasoning.generate_summary");
  }
  if (context != null && context !== "auto") reading.useNative("reasoning.context");
  if (mode != null && mode !== "standard") {
    reading.need("reasoning", "reasoning.mode");
    reading.useNative("reasoning.mode");
  }
  reading.useUnknown(reasoning, REASONING_MEMBERS, "reasoning");
  if (effort === "unspecified" && display === null) return null;
  return { effort, budget: null, adaptive: false, display };
}

function readVerbosity(text: JsonMember, reading: RequestReading): string | null {
  if (!isJsonObject(text)) return null;
  reading.useUnknown(text, TEXT_MEMBERS, "text");
  const { verbosity } = text;
  if (typeof verbosity !== "string" || verbosity === "medium") return null;
  reading.use("verbosity", "text.verbosity");
  return verbosity;
}

const FORMAT_MEMBERS = ["type", "name", "description", "schema", "strict"];
const PLAIN_FORMAT_MEMBERS = ["type"];

function readFormat(body: JsonObject, reading: RequestReading): GenerateRequest["format"] {
  const requested = requestedFormat(body);
  if (requested === null) return null;
  const { format, path } = requested;
  if (hasTwoFormats(body)) {
    const rule = "and text.format ask for different formats; send one of them";
    reading.refuseMember("conflicting_fields", "response_format", rule);
  }
  const { type, schema } = format;
  const members = type === "json_schema" ? FORMAT_MEMBERS : PLAIN_FORMAT_MEMBERS;
  reading.useUnknown(format, members, path);
  if (type !== "json_object" && type !== "json_schema") {
    if (type !== "text") reading.useNative(path);
    return null;
  }
  noteFormat(type, path, body.tools, forcesTool(body.tool_choice), reading);
  if (type === "json_object") return { kind: type };
  if (isJsonObject(schema)) return schemaFormat(format, schema);
  reading.refuseMember("missing_field", path, "must have a schema where its type is json_schema");
  return null;
}

const FUNCTION_MEMBERS = ["type", "name", "description", "parameters", "strict"];
/** `defer_loading: false` means the same as its absence. */
const PRESENT_MEMBERS = [...FUNCTION_MEMBERS, "defer_loading"];

function readTools(
  { tools: all, tool_choice: choice, parallel_tool_calls: parallel }: JsonObject,
  reading: RequestReading,
): ToolsRequest {
  const tools = listOf(all).flatMap((tool, index) => readTool(tool, `tools[${index}]`, reading));
  if (parallel === false) reading.use(singleCallFeature(all), "parallel_tool_calls");
  const toolChoice = readChoice(choice, all, tools, reading);
  return { tools, toolChoice, parallelToolCalls: parallel === false ? false : null };
}

/** Empty for a tool that is no function; `RESPONSES_KINDS` judges its type. */
function readTool(tool: JsonValue, path: string, reading: RequestReading): readonly Tool[] {
  if (!isJsonObject(tool)) return [];
  if (tool.type !== "function") {
    reading.useNative(`${path}.type`);
    return [];
  }
  reading.need("tools", `${path}.type`);
  const members = tool.defer_loading === false ? PRESENT_MEMBERS : FUNCTION_MEMBERS;
  reading.useUnknown(tool, members, path);
  return [readFunction(tool, path, null, reading)];
}

function readChoice(
  choice: JsonMember,
  all: JsonMember,
  tools: readonly Tool[],
  reading: RequestReading,
): ToolChoice | null {
  if (choice == null || choice === "auto") return null;
  if (choice === "none") return { mode: choice };
  return readForcedChoice(choice, all, tools, false, reading);
}

/** Whether the model must call some tool, of whatever type. */
function forcesTool(choice: JsonMember): boolean {
  if (isForced(readToolChoice(choice, false))) return true;
  return isJsonObject(choice) && choice.type === "allowed_tools" && choice.mode === "required";
}
