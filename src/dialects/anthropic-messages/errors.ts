import type { ServiceError } from "../../canon/error.ts";
import type { ErrorKind } from "../../canon/errors/error-row.ts";
import { decisionId } from "../openai-family/errors.ts";

/** The `type` of the messages family for each kind of error (docs/protocols.md#error-bodies). */
export const ANTHROPIC_TYPES: Readonly<Record<ErrorKind, string>> = {
  invalid_request: "invalid_request_error",
  authentication: "authentication_error",
  insufficient_scope: "permission_error",
  policy_denied: "permission_error",
  not_found: "not_found_error",
  precondition: "invalid_request_error",
  too_large: "request_too_large",
  quota: "billing_error",
  rate_limit: "rate_limit_error",
  upstream: "api_error",
  timeout: "timeout_error",
  unavailable: "overloaded_error",
  internal: "api_error",
};

/**
 * `{"type": "error", "error": {type, message, details}, "request_id"}`; what a denial says stands in `details`. The message names the request too: clients
 * of this protocol show nothing else to people.
 */
export function renderAnthropicError(error: ServiceError, requestId: string): string {
  const { denial } = error;
  const policy =
    denial === null
      ? {}
      : {
          policy: { id: denial.policy, revision: denial.revision, mode: denial.mode },
          failed_constraint: denial.constraint,
          reason_code: denial.reason,
          decision_id: decisionId(requestId),
        };
  const details = { error_code: error.code, ...(error.param === null ? {} : { param: error.param }), ...policy };
  return JSON.stringify({
    type: "error",
    error: { type: ANTHROPIC_TYPES[error.kind], message: `${error.message} (request id ${requestId})`, details },
    request_id: requestId,
  });
}
