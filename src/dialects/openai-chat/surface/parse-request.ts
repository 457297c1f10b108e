import { hasBlankStop } from "../blank-stop.ts";
import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import {
  REASONING_EFFORTS,
  tokenBucket,
  type InferenceRequest,
  type ProtocolHeaders,
  type ReasoningEffort,
} from "../../../canon/request.ts";
import { Asked } from "../../asked.ts";
import { parsePreferences } from "../../preferences.ts";
import { CHAT_EXTENSIONS, CHAT_FIELDS, STREAM_OPTION_MEMBERS } from "../fields.ts";
import { hasUnknownMember } from "../../fields.ts";
import { askMessages } from "./ask-messages.ts";
import { askTools, forcesTool } from "./ask-tools.ts";
import { statefulField } from "./stateful.ts";
import { CHAT_BODY } from "../body.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** More than the protocol's own four are an extension of some vendors. */
const MAXIMUM_STOPS = 4;

/** Reads a validated chat completions body: what it asks of models and of wire protocols, how large it is, what it prefers. */
export function parseChatRequest(
  body: JsonObject,
  bytes: number,
  headers: ProtocolHeaders,
): InferenceRequest | ServiceError {
  const asked = new Asked();
  const problem = statefulField(body) ?? askFields(body, asked) ?? askMessages(body, asked) ?? askTools(body, asked);
  if (problem !== null) return problem;
  askFormat(body, asked);
  const stream = body["stream"] === true;
  const options = body["stream_options"];
  if (isJsonObject(options)) {
    if (!stream) {
      return invalidRequest(
        "invalid_stream_options",
        "stream_options is only allowed when stream is true",
        "stream_options",
      );
    }
    if (hasUnknownMember(options, STREAM_OPTION_MEMBERS)) asked.use("native_chat", "stream_options");
  }
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation: "chat.completions",
      needs: asked.needs,
      features: asked.features,
      stream,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(numberOf(body["max_completion_tokens"]) ?? numberOf(body["max_tokens"])),
      reasoningEffort: effortOf(body["reasoning_effort"]),
      signatureFamilies: asked.signatureFamilies,
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    paths: asked.paths,
    headers,
    body,
    reader: CHAT_BODY,
    includeUsage: isJsonObject(options) && options["include_usage"] === true,
  };
}

/** What top-level members ask by having a value. */
function askFields(body: JsonObject, asked: Asked): ServiceError | null {
  for (const name in body) {
    const value = body[name];
    if (value === null || value === undefined || value === false) continue;
    const facts = factsOf(name);
    if (facts === undefined) continue;
    if (typeof value === "object" && JSON.isRawJSON(value)) {
      return invalidRequest("invalid_type", `${name} must not be a number of this size`, name);
    }
    if (isEmptyList(value)) continue;
    if (facts.needs !== undefined) asked.need(facts.needs, name);
    if (facts.uses !== undefined) asked.use(facts.uses, name);
  }
  askNumbers(body, asked);
  askLimits(body, asked);
  askReasoning(body, asked);
  const modalities = body["modalities"];
  if (Array.isArray(modalities)) {
    if (modalities.includes("audio")) asked.need("audio_output", "modalities");
    if (modalities.includes("image")) asked.need("image_output", "modalities");
    if (modalities.some((modality) => modality !== "text")) asked.use("native_chat", "modalities");
  }
  return null;
}

function factsOf(name: string): (typeof CHAT_FIELDS)[string] | undefined {
  if (Object.hasOwn(CHAT_FIELDS, name)) return CHAT_FIELDS[name];
  return Object.hasOwn(CHAT_EXTENSIONS, name) ? CHAT_EXTENSIONS[name] : undefined;
}

/** Members whose value decides; the protocol's defaults (a penalty of 0, one choice) ask for nothing. */
function askNumbers(body: JsonObject, asked: Asked): void {
  if ((numberOf(body["temperature"]) ?? 0) > 1) asked.use("temperature_above_1", "temperature");
  for (const name of ["frequency_penalty", "presence_penalty"]) {
    const penalty = numberOf(body[name]) ?? 0;
    if (penalty !== 0) asked.use("penalties", name);
    if (penalty < 0 || penalty > 1) asked.use("penalties_outside_0_1", name);
  }
  const bias = body["logit_bias"];
  if (isJsonObject(bias) && Object.keys(bias).length > 0) asked.use("logit_bias", "logit_bias");
  if ((numberOf(body["n"]) ?? 1) > 1) {
    asked.need("multiple_choices", "n");
    asked.use("native_chat", "n");
  }
  // Providers disagree on alternatives for probabilities that nobody asked for.
  if (numberOf(body["top_logprobs"]) !== undefined && body["logprobs"] !== true)
    asked.use("native_chat", "top_logprobs");
}

function askLimits(body: JsonObject, asked: Asked): void {
  const { max_tokens, max_completion_tokens, stop } = body;
  for (const [name, limit] of [
    ["max_completion_tokens", max_completion_tokens],
    ["max_tokens", max_tokens],
  ] as const) {
    // In messages a limit of 0 fills the cache and answers nothing, so it is not translated (docs/protocols.md#chat-completions).
    if (limit === 0) asked.use("native_chat", name);
  }
  if (typeof max_tokens === "number" && typeof max_completion_tokens === "number")
    asked.use("native_chat", "max_tokens");
  if (typeof stop === "string" || (Array.isArray(stop) && stop.length > 0)) asked.use("stop_sequences", "stop");
  if (hasBlankStop(stop)) asked.use("stop_sequences_blank", "stop");
  if (Array.isArray(stop) && stop.length > MAXIMUM_STOPS) asked.use("native_chat", "stop");
}

function askReasoning(body: JsonObject, asked: Asked): void {
  const effort = body["reasoning_effort"];
  if (typeof effort === "string") {
    if (effort !== "none") asked.need("reasoning", "reasoning_effort");
    const known = effortOf(effort);
    asked.use(known === "unspecified" ? "native_chat" : `effort_${known}`, "reasoning_effort");
  }
  const { thinking, reasoning } = body;
  if (isJsonObject(thinking) && thinking["type"] !== "disabled") asked.need("reasoning", "thinking");
  if (isJsonObject(reasoning) && reasoning["enabled"] !== false && reasoning["effort"] !== "none") {
    asked.need("reasoning", "reasoning");
  }
  if (body["enable_thinking"] === true) asked.need("reasoning", "enable_thinking");
}

/** Response formats; read last, because reasoning and forced tools change what a schema asks. */
function askFormat(body: JsonObject, asked: Asked): void {
  const format = body["response_format"];
  if (!isJsonObject(format)) return;
  const { type, json_schema: schema } = format;
  if (type === "json_object" || type === "json_schema") {
    asked.need(type, "response_format");
    if (Array.isArray(body["tools"]) && body["tools"].length > 0) asked.use("schema_with_tools", "response_format");
  }
  if (type === "json_schema" && (asked.has("reasoning") || forcesTool(body["tool_choice"]))) {
    asked.use("constrained_schema", "response_format");
  }
  const isPlain = schema === undefined || schema === null;
  const isWhole = isJsonObject(schema) && isJsonObject(schema["schema"]) && !hasUnknownMember(schema, SCHEMA_MEMBERS);
  if (hasUnknownMember(format, FORMAT_MEMBERS) || !(type === "json_schema" ? isWhole : isPlain)) {
    asked.use("native_chat", "response_format");
  }
}

const FORMAT_MEMBERS: ReadonlySet<string> = new Set(["type", "json_schema"]);
const SCHEMA_MEMBERS: ReadonlySet<string> = new Set(["name", "description", "schema", "strict"]);

function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function effortOf(value: JsonValue | undefined): ReasoningEffort {
  return REASONING_EFFORTS.find((effort) => effort === value) ?? "unspecified";
}
