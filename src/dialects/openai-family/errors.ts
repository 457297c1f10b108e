import type { ServiceError } from "../../canon/error.ts";
import type { ErrorKind } from "../../canon/errors/error-row.ts";
import { formatSseEvent } from "../sse.ts";

/** The `type` of the OpenAI family for each kind of error (docs/protocols.md#error-bodies). */
export const OPENAI_TYPES: Readonly<Record<ErrorKind, string>> = {
  invalid_request: "invalid_request_error",
  authentication: "authentication_error",
  insufficient_scope: "insufficient_scope",
  policy_denied: "policy_denied",
  not_found: "invalid_request_error",
  precondition: "invalid_request_error",
  too_large: "request_too_large",
  quota: "insufficient_quota",
  rate_limit: "rate_limit_error",
  upstream: "upstream_error",
  timeout: "upstream_error",
  unavailable: "upstream_error",
  internal: "server_error",
};

/** `{"error": {message, type, param, code, …}}`; a denial adds policy, failed constraint, reason code and decision id, an endpoint of our own its facts. */
export function renderOpenAiError(error: ServiceError, requestId: string): string {
  return JSON.stringify({ error: errorObject(error, requestId) });
}

/** The error object, then `[DONE]`: official clients throw at the first and stop reading at the second (docs/protocols.md#how-a-stream-ends). */
export function renderOpenAiStreamFailure(error: ServiceError, requestId: string): Uint8Array {
  const frame = formatSseEvent(renderOpenAiError(error, requestId));
  const done = formatSseEvent("[DONE]");
  const both = new Uint8Array(frame.length + done.length);
  both.set(frame);
  both.set(done, frame.length);
  return both;
}

function errorObject(error: ServiceError, requestId: string): object {
  const { denial } = error;
  const common = {
    message: `${error.message} (request id ${requestId})`,
    type: OPENAI_TYPES[error.kind],
    param: error.param,
    code: error.code,
    ...error.facts,
  };
  if (denial === null) return common;
  return {
    ...common,
    policy: { id: denial.policy, revision: denial.revision, mode: denial.mode },
    failed_constraint: denial.constraint,
    reason_code: denial.reason,
    decision_id: decisionId(requestId),
  };
}

/** A decision has the id of its request: one request, one decision. */
export function decisionId(requestId: string): string {
  return requestId.replace(/^req_/, "dec_");
}
