import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { readErrorFrame } from "../openai-chat/read-error.ts";
import { answerFailure } from "../answer-failure.ts";
import { REQUEST_FAILURES } from "../refusals.ts";
import { wholeOutput, textOf, countIn, readCount } from "../json.ts";
import type { FinishReason, TokenUsage } from "../../canon/generate/event.ts";

/** How an answer ended, as its resource says. */
export type Terminal =
  | { readonly kind: "finish"; readonly reason: FinishReason }
  | { readonly kind: "failure"; readonly failure: UpstreamFailure };

/**
 * What an answer held, as far as it decides the finish reason: this protocol has one value for most
 * of them.
 */
export interface Said {
  readonly calls: boolean;
  readonly refusal: boolean;
}

/**
 * Why an answer is incomplete (docs/protocols.md#responses); another value is `other`, which ends
 * native relays only.
 */
const INCOMPLETE_REASONS: ReadonlyMap<JsonValue | undefined, FinishReason> = new Map<
  JsonValue,
  FinishReason
>([
  ["max_output_tokens", "length"],
  ["content_filter", "content_filter"],
]);

/**
 * Reads the resource that ends an answer. A status of an answer that still goes on, or an unknown
 * one, makes the answer malformed. One with an error has failed, whatever its status says.
 *
 * @param status the resource's, or what the event that carries it says.
 */
export function terminalOf(
  status: JsonValue | undefined,
  response: JsonObject,
  said: Said,
): Terminal {
  const { error } = response;
  if (error !== undefined && error !== null)
    return { kind: "failure", failure: readErrorFrame(error) };
  switch (textOf(status)) {
    case "completed":
      return {
        kind: "finish",
        reason: said.calls ? "tool_calls" : said.refusal ? "refusal" : "stop",
      };
    case "incomplete": {
      const details = response["incomplete_details"];
      const reason = isJsonObject(details) ? INCOMPLETE_REASONS.get(details["reason"]) : undefined;
      return { kind: "finish", reason: reason ?? "other" };
    }
    case "failed":
    case "cancelled":
      return { kind: "failure", failure: readErrorFrame(null) };
    default:
      return { kind: "failure", failure: answerFailure("malformed") };
  }
}

/**
 * The status that a terminal event reports. A failure is one wherever it stands; `null` where the
 * event and its resource report different ends, so it is unknown which is true.
 */
export function terminalStatus(type: string, response: JsonObject): JsonValue {
  const named = type.slice("response.".length);
  const status = response["status"] ?? named;
  if (status === named || status === "failed" || status === "cancelled") return status;
  return named === "failed" ? named : null;
}

/**
 * How a whole answer ended. One with `failed` is an answer too: no other endpoint is tried. One
 * that failed because of the request is an error instead, as in streams before their first output.
 */
export function wholeTerminal(response: JsonObject, said: Said): Terminal {
  const { status } = response;
  const terminal = terminalOf(status, response, said);
  // A provider that failed before it had any output may leave it out.
  if (terminal.kind === "finish" && !Array.isArray(response["output"]))
    return { kind: "failure", failure: answerFailure("malformed") };
  if (
    terminal.kind === "finish" ||
    status !== "failed" ||
    REQUEST_FAILURES.has(terminal.failure.code ?? "")
  )
    return terminal;
  return { kind: "failure", failure: { ...terminal.failure, final: true } };
}

/** What an output list holds. */
export function saidIn(output: JsonValue | undefined): Said {
  const items = Array.isArray(output) ? output.filter(isJsonObject) : [];
  return {
    calls: items.some(({ type }) => type === "function_call" || type === "custom_tool_call"),
    refusal: items.some(({ content }) => Array.isArray(content) && content.some(isRefusal)),
  };
}

function isRefusal(part: JsonValue): boolean {
  return isJsonObject(part) && part["type"] === "refusal";
}

/** Reads the `usage` of a response resource; `null` where it has none. */
export function readUsage(usage: JsonValue | undefined): TokenUsage | null {
  if (!isJsonObject(usage)) return null;
  const { input_tokens_details: inputs, output_tokens_details: outputs } = usage;
  const cacheRead = countIn(inputs, "cached_tokens");
  const cacheWrite = countIn(inputs, "cache_write_tokens");
  const reasoning = countIn(outputs, "reasoning_tokens");
  const input = readCount(usage["input_tokens"]);
  const output = wholeOutput(
    readCount(usage["output_tokens"]),
    reasoning,
    input,
    readCount(usage["total_tokens"]),
  );
  return { input, output, cacheRead, cacheWrite, reasoning };
}

/**
 * `usage` as the protocol demands it; `null` where a total is unknown. The details have no value
 * for unknown: a provider that does not report cached or reasoning tokens is reported as 0, which
 * is what the protocol's own providers without a cache say.
 */
export function printUsage(usage: TokenUsage | null): JsonObject | null {
  if (usage === null || usage.input === null || usage.output === null) return null;
  const written = usage.cacheWrite === null ? {} : { cache_write_tokens: usage.cacheWrite };
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cacheRead ?? 0, ...written },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}
