import type { GenerateRequest, OutputFormat, Tool } from "../../canon/generate/generate-request.ts";
import {
  canonicalJson,
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import { cacheMark, isPlainMark, readConversation } from "./read-messages.ts";
import { budgetUnder, readReasoning } from "./reasoning.ts";
import { MESSAGES_KINDS, fieldsOf, refusedBody } from "./request-facts.ts";
import { turnsOpening } from "../body-reader.ts";
import { flagOrNull, listOf, memberIn, numberOrNull, textOf, textOrNull } from "../json.ts";
import { isForced } from "../request-draft.ts";
import { isEmptyValue, shownName, type RequestReading } from "../request-reading.ts";
import { bodyRequests, namedToolFeature, singleCallFeature } from "../translate-request.ts";

type MessagesOperation = "messages" | "messages.count_tokens";

/** Reads validated bodies of an operation. */
function requestsOf(operation: MessagesOperation): ReturnType<typeof bodyRequests> {
  const { parse, toCanon } = bodyRequests({
    operation,
    native: "native_messages",
    registry: fieldsOf(operation),
    kinds: MESSAGES_KINDS,
    refuse: refusedBody,
    estimates: { conversationOpening: ({ messages, system }) => turnsOpening(messages, system) },
    read: (body, reading) => readMessagesBody(operation, body, reading),
  });
  return {
    parse,
    // A policy that lowers the limit lowers the budget for thinking with it.
    toCanon: (request, mode, edits) => {
      const translated = toCanon(request, mode, edits);
      if ("code" in translated) return translated;
      const { reasoning, maxOutputTokens: limit } = translated.request;
      if (reasoning?.budget == null || limit === null) return translated;
      const budget = budgetUnder(reasoning.budget, numberOrNull(request.body.max_tokens), limit);
      return {
        ...translated,
        request: { ...translated.request, reasoning: { ...reasoning, budget } },
      };
    },
  };
}

export const MESSAGES_REQUESTS = requestsOf("messages");
export const COUNT_REQUESTS = requestsOf("messages.count_tokens");

/** Stop sequences that every protocol with stop sequences accepts. */
const COMMON_STOP_SEQUENCES = 4;

/** The single walk over a body of either operation. */
function readMessagesBody(
  operation: MessagesOperation,
  body: JsonObject,
  reading: RequestReading,
): GenerateRequest {
  const counts = operation === "messages.count_tokens";
  if (counts) reading.use("count_tokens", "messages");
  noteValues(body, reading);
  const format = readFormat(body, reading);
  const turns = readConversation(body, reading);
  const { tools: all, tool_choice: choice } = body;
  // Nothing is generated for a count.
  const settings: JsonObject = counts ? {} : body;
  const tools = readTools(all, reading);
  const reasoning = readReasoning(body, reading);
  const { toolChoice, parallelToolCalls } = readToolChoice(choice, all, tools, reading);
  noteCombinations(body, toolChoice, reading);
  return {
    purpose: counts ? "count" : "generate",
    turns,
    tools,
    toolChoice,
    parallelToolCalls,
    format,
    maxOutputTokens: numberOrNull(settings.max_tokens),
    temperature: numberOrNull(settings.temperature),
    topP: numberOrNull(settings.top_p),
    topK: numberOrNull(settings.top_k),
    frequencyPenalty: null,
    presencePenalty: null,
    logitBias: null,
    seed: null,
    stop: readStop(listOf(settings.stop_sequences), reading),
    logprobs: null,
    reasoning,
    verbosity: null,
    stream: settings.stream === true,
    hints: {
      serviceTier: readServiceTier(settings.service_tier, reading),
      promptCacheKey: null,
      promptCacheRetention: null,
    },
  };
}

/** Values that only the protocol itself has, and hints that no other protocol has. */
function noteValues(body: JsonObject, reading: RequestReading) {
  const { cache_control: mark, diagnostics, context_management: management, speed } = body;
  // Only fills the provider's cache: no other protocol has that.
  if (body.max_tokens === 0) reading.useNative("max_tokens");
  if (!isPlainMark(mark)) reading.useNative("cache_control");
  if (mark != null) reading.dropped.add("cache_mark_dropped");
  if (diagnostics != null || management != null || (speed ?? "standard") !== "standard")
    reading.dropped.add("hint_dropped");
  const tier = body.service_tier;
  if (typeof tier === "string" && tier !== "auto" && tier !== "standard_only") {
    reading.useNative("service_tier");
  }
  if (!editsNothing(management)) reading.useNative("context_management");
}

/** Agents always send an edit that keeps all thinking, which changes no conversation. */
function editsNothing(management: JsonMember): boolean {
  if (!isJsonObject(management)) return true;
  return Object.entries(management).every(([name, value]) => {
    if (value === null) return true;
    return name === "edits" && Array.isArray(value) && value.every(keepsAllThinking);
  });
}

function keepsAllThinking(edit: JsonValue) {
  return (
    isJsonObject(edit) &&
    textOf(edit.type).startsWith("clear_thinking_") &&
    edit.keep === "all" &&
    Object.keys(edit).length === 2
  );
}

function readStop(stops: readonly JsonValue[], reading: RequestReading): readonly string[] {
  if (stops.length > 0) reading.use("stop_sequences", "stop_sequences");
  if (stops.length > COMMON_STOP_SEQUENCES) reading.use("stop_sequences_over_4", "stop_sequences");
  return stops.filter((text) => typeof text === "string");
}

const CONFIG_MEMBERS = ["effort", "format"];

/** `output_config` but for the effort, and the older `output_format`. */
function readFormat(
  { output_config, output_format }: JsonObject,
  reading: RequestReading,
): OutputFormat | null {
  const format = memberIn(output_config, "format");
  if (isJsonObject(output_config)) {
    reading.useUnknown(output_config, CONFIG_MEMBERS, "output_config");
  }
  if (
    isJsonObject(format) &&
    isJsonObject(output_format) &&
    canonicalJson(format) !== canonicalJson(output_format)
  ) {
    const rule = "and output_config.format ask for different things; send one of them";
    reading.refuseMember("conflicting_fields", "output_format", rule);
  }
  const newer = readSchema(format, "output_config.format", reading);
  return newer ?? readSchema(output_format, "output_format", reading);
}

function readSchema(
  format: JsonMember,
  path: string,
  reading: RequestReading,
): OutputFormat | null {
  if (!isJsonObject(format)) return null;
  const { type, schema } = format;
  reading.need("json_schema", path);
  if (type !== "json_schema") reading.useNative(path);
  reading.useUnknown(format, ["type", "schema"], path);
  return isJsonObject(schema)
    ? { kind: "json_schema", name: null, description: null, schema, strict: null }
    : null;
}

/** Combinations that some models refuse. */
function noteCombinations(
  { tools }: JsonObject,
  toolChoice: GenerateRequest["toolChoice"],
  reading: RequestReading,
) {
  const forced = isForced(toolChoice);
  const reasons = reading.has("reasoning");
  if (forced && reasons) reading.use("forced_tool_with_reasoning", "tool_choice");
  const schema = reading.paths.get("json_schema");
  if (schema === undefined) return;
  if (forced || reasons) reading.use("constrained_schema", schema);
  if (listOf(tools).length > 0) reading.use("schema_with_tools", schema);
}

/** Tiers of canon are those of chat completions. */
function readServiceTier(tier: JsonMember, reading: RequestReading): string | null {
  if (tier !== "standard_only") return textOrNull(tier);
  reading.dropped.add("service_tier_changed");
  return "default";
}

/** Members of a client's own tool that canon can hold, or may leave out. */
const TOOL_MEMBERS = ["type", "name", "description", "input_schema", "strict", "cache_control"];

/**
 * Members that help the model or the transport: how arguments are cut into pieces, when a tool is
 * loaded, examples.
 */
const HINTS = ["eager_input_streaming", "defer_loading", "input_examples"];

/** The tools that the caller runs. */
function readTools(tools: JsonMember, reading: RequestReading): readonly Tool[] {
  return listOf(tools).flatMap((tool, index) =>
    isJsonObject(tool) ? (readTool(tool, `tools[${index}]`, reading) ?? []) : [],
  );
}

/** `null` for a tool that the protocol itself defines. */
function readTool(tool: JsonObject, path: string, reading: RequestReading): Tool | null {
  const type = textOf(tool.type) || "custom";
  if (type !== "custom") {
    // Which capability it needs is read by kind (`request-facts.ts`).
    reading.useNative(`${path}.type`);
    return null;
  }
  reading.need("tools", path);
  for (const name in tool) {
    const value = tool[name];
    if (TOOL_MEMBERS.includes(name) || value == null) continue;
    if (HINTS.includes(name)) {
      const isDefault = value === false || (Array.isArray(value) && value.length === 0);
      if (!isDefault) reading.dropped.add("hint_dropped");
    } else if (name === "allowed_callers" && isDirect(value)) continue;
    else if (isEmptyValue(value)) reading.dropped.add("empty_member_dropped");
    else reading.useNative(`${path}.${shownName(name)}`);
  }
  const { cache_control: mark, strict, name, description, input_schema: parameters } = tool;
  if (!isPlainMark(mark)) reading.useNative(`${path}.cache_control`);
  if (strict === true) reading.use("tool_strict", `${path}.strict`);
  return {
    name: textOf(name),
    description: textOrNull(description),
    parameters: isJsonObject(parameters) ? parameters : null,
    strict: flagOrNull(strict),
    cache: cacheMark(tool),
  };
}

/** Whether only the model itself may call the tool, as without the member. */
function isDirect(value: JsonValue) {
  return Array.isArray(value) && value.every((caller: JsonValue) => caller === "direct");
}

const CHOICE_MEMBERS = ["type", "name", "disable_parallel_tool_use"];

/**
 * `tool_choice`, and whether several calls may be made at once.
 *
 * @param all the request's list of tools. @param tools those that the caller runs; the provider
 * judges a choice of others.
 */
function readToolChoice(
  choice: JsonMember,
  all: JsonMember,
  tools: readonly Tool[],
  reading: RequestReading,
): Pick<GenerateRequest, "toolChoice" | "parallelToolCalls"> {
  if (!isJsonObject(choice)) return { toolChoice: null, parallelToolCalls: null };
  const type = textOf(choice.type);
  reading.useUnknown(choice, CHOICE_MEMBERS, "tool_choice");
  const { name, disable_parallel_tool_use: single } = choice;
  if (single === true) reading.use(singleCallFeature(all), "tool_choice.disable_parallel_tool_use");
  const parallelToolCalls = typeof single === "boolean" ? !single : null;
  switch (type) {
    case "auto":
    case "none":
      return { toolChoice: { mode: type }, parallelToolCalls };
    case "any":
      reading.use(tools.length > 0 ? "tool_choice_required" : reading.native, "tool_choice");
      return { toolChoice: { mode: "required" }, parallelToolCalls };
    case "tool": {
      const isKnown = tools.some((tool) => tool.name === name);
      reading.use(isKnown ? namedToolFeature(all) : reading.native, "tool_choice");
      return { toolChoice: { mode: "named", name: textOf(name) }, parallelToolCalls };
    }
    default:
      reading.useNative("tool_choice.type");
      return { toolChoice: null, parallelToolCalls };
  }
}
