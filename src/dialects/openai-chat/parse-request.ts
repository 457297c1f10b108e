import type { Capability } from "../../canon/capability.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { REASONING_EFFORTS, tokenBucket, type InferenceRequest, type ReasoningEffort } from "../../canon/request.ts";
import { parsePreferences } from "../preferences.ts";
import { CHAT_EXTENSIONS, CHAT_FIELDS } from "./fields.ts";
import { storedFile, statefulField } from "./stateful.ts";
import { toolNeeds } from "./tools.ts";

/** Bytes of JSON per token, on average, in English text; only the context bucket is made from it. */
const BYTES_PER_TOKEN = 4;

/** Content parts that we know, and the modality each one needs. An unknown part cannot be approved, so it is refused. */
const PART_NEEDS: Readonly<Record<string, Capability | null>> = {
  text: null,
  refusal: null,
  image_url: "image_input",
  input_audio: "audio_input",
  file: "file_input",
  document_url: "file_input",
  video_url: "video_input",
  thinking: "reasoning",
};

/** Reads a validated chat completions body: what it needs, how large it is, what it prefers. */
export function parseChatRequest(body: JsonObject, bytes: number): InferenceRequest | ServiceError {
  const needs = new Set<Capability>();
  const problem = fieldNeeds(body, needs) ?? messageNeeds(body["messages"], needs) ?? toolNeeds(body["tools"], needs);
  if (problem !== null) return problem;
  const stream = body["stream"] === true;
  const options = body["stream_options"];
  if (!stream && isJsonObject(options)) {
    return invalidRequest(
      "invalid_stream_options",
      "stream_options is only allowed when stream is true",
      "stream_options",
    );
  }
  return {
    model: typeof body["model"] === "string" ? body["model"] : "",
    shape: {
      operation: "chat.completions",
      needs: [...needs].toSorted(),
      stream,
      context: tokenBucket(bytes / BYTES_PER_TOKEN),
      maxOutput: tokenBucket(numberOf(body["max_completion_tokens"]) ?? numberOf(body["max_tokens"])),
      reasoningEffort: effortOf(body["reasoning_effort"]),
      signatureFamilies: [],
      dimensions: null,
    },
    preferences: parsePreferences(body["provider"]),
    body,
    includeUsage: isJsonObject(options) && options["include_usage"] === true,
  };
}

/** Needs that a top-level member brings by having a value. */
function fieldNeeds(body: JsonObject, needs: Set<Capability>): ServiceError | null {
  const stateful = statefulField(body);
  if (stateful !== null) return stateful;
  for (const name in body) {
    const value = body[name];
    if (value === null || value === undefined || value === false) continue;
    const facts = Object.hasOwn(CHAT_FIELDS, name) ? CHAT_FIELDS[name] : extensionFacts(name);
    if (facts === undefined) continue;
    if (typeof value === "object" && JSON.isRawJSON(value)) {
      return invalidRequest("invalid_type", `${name} must not be a number of this size`, name);
    }
    if (facts.needs !== undefined && !isEmptyList(value)) needs.add(facts.needs);
  }
  const format = body["response_format"];
  if (isJsonObject(format) && (format["type"] === "json_schema" || format["type"] === "json_object")) {
    needs.add(format["type"]);
  }
  if (body["logprobs"] === true) needs.add("logprobs");
  if ((numberOf(body["n"]) ?? 1) > 1) needs.add("multiple_choices");
  if (asksForReasoning(body)) needs.add("reasoning");
  const modalities = body["modalities"];
  if (Array.isArray(modalities)) {
    if (modalities.includes("audio")) needs.add("audio_output");
    if (modalities.includes("image")) needs.add("image_output");
  }
  return null;
}

function extensionFacts(name: string): (typeof CHAT_EXTENSIONS)[string] | undefined {
  return Object.hasOwn(CHAT_EXTENSIONS, name) ? CHAT_EXTENSIONS[name] : undefined;
}

function asksForReasoning(body: JsonObject): boolean {
  const effort = body["reasoning_effort"];
  if (typeof effort === "string" && effort !== "none") return true;
  const { thinking, reasoning } = body;
  if (isJsonObject(thinking) && thinking["type"] !== "disabled") return true;
  if (isJsonObject(reasoning) && reasoning["enabled"] !== false && reasoning["effort"] !== "none") return true;
  return body["enable_thinking"] === true;
}

function messageNeeds(messages: JsonValue | undefined, needs: Set<Capability>): ServiceError | null {
  if (!Array.isArray(messages)) return null;
  for (const [index, message] of messages.entries()) {
    if (!isJsonObject(message)) continue;
    if (message["role"] === "tool" || !isEmptyList(message["tool_calls"])) needs.add("tools");
    if (message["role"] === "function" || isJsonObject(message["function_call"])) needs.add("tools");
    if (isJsonObject(message["audio"])) needs.add("audio_output");
    const content = message["content"];
    if (!Array.isArray(content)) continue;
    for (const [partIndex, part] of content.entries()) {
      const problem = partNeeds(part, `messages[${index}].content[${partIndex}]`, needs);
      if (problem !== null) return problem;
    }
  }
  return null;
}

function partNeeds(part: JsonValue, path: string, needs: Set<Capability>): ServiceError | null {
  const type = isJsonObject(part) ? part["type"] : undefined;
  if (!isJsonObject(part) || typeof type !== "string" || !Object.hasOwn(PART_NEEDS, type)) {
    const known = Object.keys(PART_NEEDS).join(", ");
    return invalidRequest("unknown_content_part", `${path}.type must be one of ${known}`, `${path}.type`);
  }
  const stored = storedFile(part, path);
  if (stored !== null) return stored;
  const capability = PART_NEEDS[type];
  if (capability !== null && capability !== undefined) needs.add(capability);
  return null;
}

function isEmptyList(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

function effortOf(value: JsonValue | undefined): ReasoningEffort {
  return REASONING_EFFORTS.find((effort) => effort === value) ?? "unspecified";
}
