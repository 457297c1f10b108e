import type { ServiceError } from "../../canon/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { formatSseEvent } from "../sse.ts";

/** Codes of the protocol for an answer that failed, and three more that its agents act on; every other failure is a `server_error`. */
const CODES: ReadonlySet<string> = new Set([
  "server_error",
  "rate_limit_exceeded",
  "invalid_prompt",
  "data_residency_mismatch",
  "invalid_image",
  "invalid_image_format",
  "image_too_large",
  "context_length_exceeded",
  "insufficient_quota",
  "key_revoked",
]);

export const DONE: Uint8Array = formatSseEvent("[DONE]");

/** The `error` member of an answer that failed. Our own sentence; the upstream's never gets this far. */
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
 * The `error` member of a failed answer that is passed on: the provider's code where the protocol has it, and a sentence of ours.
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
 * The `error` event and `[DONE]`, for a stream without any event so far. Official clients throw at it, which after `response.created` would hide the partial
 * answer (docs/protocols.md#responses). It is written flat and nested at once, because the protocol's two descriptions differ.
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
