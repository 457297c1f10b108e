import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { requestedFormat } from "./response-format.ts";
import type { FinishReason } from "../../canon/generate/event.ts";
import type { ServiceError } from "../../canon/error.ts";
import { RESPONSE_FAILURES } from "../refusals.ts";
import { formatSseEvent } from "../sse.ts";

/**
 * Every member that Open Responses requires of a response resource (docs/protocols.md#responses);
 * providers leave some of them out.
 */
export const RESOURCE_MEMBERS = [
  "id",
  "object",
  "created_at",
  "completed_at",
  "status",
  "incomplete_details",
  "model",
  "previous_response_id",
  "instructions",
  "output",
  "error",
  "tools",
  "tool_choice",
  "truncation",
  "parallel_tool_calls",
  "text",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "top_logprobs",
  "temperature",
  "reasoning",
  "usage",
  "max_output_tokens",
  "max_tool_calls",
  "store",
  "background",
  "service_tier",
  "metadata",
  "safety_identifier",
  "prompt_cache_key",
] as const;

/**
 * The members of a resource that repeat the request, with the protocol's documented defaults where
 * the request says nothing.
 */
export function requestEcho(body: JsonObject): JsonObject {
  const { instructions, tools, reasoning, metadata } = body;
  return {
    previous_response_id: null,
    instructions: instructions ?? null,
    tools: Array.isArray(tools) ? tools.map(echoedTool) : [],
    tool_choice: body["tool_choice"] ?? "auto",
    truncation: body["truncation"] ?? "disabled",
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    text: echoedText(body),
    top_p: body["top_p"] ?? 1,
    presence_penalty: body["presence_penalty"] ?? 0,
    frequency_penalty: body["frequency_penalty"] ?? 0,
    top_logprobs: body["top_logprobs"] ?? 0,
    temperature: body["temperature"] ?? 1,
    reasoning: isJsonObject(reasoning) ? echoedReasoning(reasoning) : null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    max_tool_calls: body["max_tool_calls"] ?? null,
    store: false,
    background: false,
    service_tier: body["service_tier"] ?? "default",
    metadata: metadata ?? {},
    safety_identifier: body["safety_identifier"] ?? null,
    prompt_cache_key: body["prompt_cache_key"] ?? null,
    user: body["user"] ?? null,
  };
}

/** Function tools have all their members in an answer, also those that the request left out. */
function echoedTool(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool["type"] !== "function") return tool;
  const { description, parameters, strict } = tool;
  return {
    ...tool,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}

function echoedText(body: JsonObject): JsonObject {
  const { text } = body;
  const verbosity = isJsonObject(text) ? (text["verbosity"] ?? null) : null;
  const found = requestedFormat(body);
  const format =
    found !== null && "format" in found ? echoedFormat(found.format) : { type: "text" };
  return verbosity === null ? { format } : { format, verbosity };
}

function echoedFormat(format: JsonObject): JsonObject {
  if (format["type"] !== "json_schema") return { type: format["type"] ?? "text" };
  return {
    type: "json_schema",
    name: format["name"] ?? "response",
    description: format["description"] ?? null,
    schema: format["schema"] ?? {},
    strict: format["strict"] ?? false,
  };
}

function echoedReasoning(reasoning: JsonObject): JsonObject {
  const { effort, summary, generate_summary: older } = reasoning;
  return { effort: effort ?? null, summary: summary ?? older ?? null };
}

/** How a finished answer stands in its resource. */
interface Conclusion {
  readonly status: "completed" | "incomplete";
  readonly incomplete_details: { readonly reason: string } | null;
}

const COMPLETED: Conclusion = { status: "completed", incomplete_details: null };

/**
 * Status and details for a finish reason (docs/protocols.md#finish-reasons). A refusal with a text
 * of its own is a completed answer, one without it is a filtered answer.
 *
 * @param refused whether the answer holds a refusal.
 */
export function conclusionOf(reason: FinishReason, refused: boolean): Conclusion {
  switch (reason) {
    case "stop":
    case "stop_sequence":
    case "tool_calls":
      return COMPLETED;
    case "refusal":
      return refused ? COMPLETED : incomplete("content_filter");
    case "content_filter":
      return incomplete("content_filter");
    case "length":
    case "context_window":
      return incomplete("max_output_tokens");
    case "pause":
    case "other":
      // They end native relays only; neither may ever read as a whole answer.
      return incomplete("other");
  }
}

function incomplete(reason: string): Conclusion {
  return { status: "incomplete", incomplete_details: { reason } };
}

/** Codes of the protocol for an answer that failed, and three more that its agents act on. */
const CODES: ReadonlySet<string> = new Set([
  ...RESPONSE_FAILURES,
  "context_length_exceeded",
  "insufficient_quota",
  "key_revoked",
]);

export const DONE: Uint8Array = formatSseEvent("[DONE]");

/**
 * The `error` member of an answer that failed. Our own sentence; the upstream's never gets this
 * far.
 */
export function failureObject(
  error: ServiceError,
  requestId: string,
): { readonly code: string; readonly message: string } {
  const code = CODES.has(error.code)
    ? error.code
    : error.kind === "rate_limit"
      ? "rate_limit_exceeded"
      : "server_error";
  return { code, message: `${error.message} (request id ${requestId})` };
}

/**
 * The `error` member of a failed answer that is passed on: the provider's code where the protocol
 * has it, and a sentence of ours.
 *
 * @param error the provider's.
 */
export function failedObject(error: JsonValue | undefined, requestId: string): JsonObject {
  const code = isJsonObject(error) ? error["code"] : null;
  return {
    code: typeof code === "string" && CODES.has(code) ? code : "server_error",
    message: `The provider reported that the response failed. (request id ${requestId})`,
  };
}

/** `response.failed` and `[DONE]`: the end of a stream whose client has seen `response.created`. */
export function printFailed(response: JsonObject, sequence: number): Uint8Array {
  const event = { type: "response.failed", sequence_number: sequence, response };
  return joined(formatSseEvent(JSON.stringify(event), "response.failed"), DONE);
}

/**
 * The `error` event and `[DONE]`, for a stream without any event so far. Official clients throw at
 * it, which after `response.created` would hide the partial answer (docs/protocols.md#responses).
 * It is written flat and nested at once, because the protocol's two descriptions differ.
 */
export function printErrorEvent(error: ServiceError, requestId: string): Uint8Array {
  const { code, message } = failureObject(error, requestId);
  const { param } = error;
  const event = {
    type: "error",
    sequence_number: 0,
    code,
    message,
    param,
    error: { type: code, code, message, param },
  };
  return joined(formatSseEvent(JSON.stringify(event), "error"), DONE);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
