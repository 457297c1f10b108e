import { COUNT, TEXT, complete } from "../../canon/json/schema.ts";
import {
  DENIAL,
  denialMembers,
  ERROR_MESSAGE,
  limitSubject,
  type ProtocolFamily,
} from "../protocol-family.ts";
import type { ErrorKind, ServiceError } from "../../canon/error.ts";

/** JSON Schema of an error, in answers and in streams. */
export const ANTHROPIC_ERROR = {
  title: "AnthropicError",
  ...complete({
    type: { const: "error" },
    error: complete({
      type: { ...TEXT, description: "The kind of error, as this protocol names it." },
      message: ERROR_MESSAGE,
      details: {
        type: "object",
        required: ["error_code"],
        properties: {
          error_code: { ...TEXT, description: "For programs; docs/api.md says what each means." },
          param: { ...TEXT, description: "Path of the member, parameter or header concerned." },
          ...DENIAL,
        },
      },
    }),
    request_id: TEXT,
  }),
} as const;

/** The `type` of the messages family for each kind of error (docs/protocols.md#error-bodies). */
const ANTHROPIC_TYPES: Readonly<Record<ErrorKind, string>> = {
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

/** Errors and limits as Anthropic's clients read them. */
export const ANTHROPIC_FAMILY: ProtocolFamily = {
  unsentHeaders: ["anthropic-user-profile-id", "anthropic-workspace-id"],
  errorTypes: ANTHROPIC_TYPES,
  renderError: renderAnthropicError,
  errorSchema: () => ANTHROPIC_ERROR,
  narrowedError: (type, code) => ({
    properties: { error: { properties: { type, details: { properties: { error_code: code } } } } },
  }),
  errorExample: ({ kind, code, message }, requestId) => ({
    type: "error",
    error: { type: ANTHROPIC_TYPES[kind], message, details: { error_code: code } },
    request_id: requestId,
  }),
  limitHeaders: (measure, { limit, remaining, resetAt }) => [
    `anthropic-ratelimit-${measure}-limit`,
    String(limit),
    `anthropic-ratelimit-${measure}-remaining`,
    String(remaining),
    `anthropic-ratelimit-${measure}-reset`,
    resetAt(),
  ],
  limitHeaderFacts: (measure) => {
    const whose = limitSubject(measure);
    return [
      {
        name: `anthropic-ratelimit-${measure}-limit`,
        description: `${whose}: the most in its period.`,
        schema: COUNT,
      },
      {
        name: `anthropic-ratelimit-${measure}-remaining`,
        description: `${whose}: what is left.`,
        schema: COUNT,
      },
      {
        name: `anthropic-ratelimit-${measure}-reset`,
        description: `${whose}: when it is whole, RFC 3339.`,
        schema: TEXT,
      },
    ];
  },
};

/**
 * `{"type": "error", "error": {type, message, details}, "request_id"}`; what a denial says stands
 * in `details`. The message names the request too: clients of this protocol show nothing else to
 * people.
 */
export function renderAnthropicError(error: ServiceError, requestId: string): string {
  const details = {
    error_code: error.code,
    ...(error.param === null ? {} : { param: error.param }),
    ...denialMembers(error, requestId),
  };
  return JSON.stringify({
    type: "error",
    error: {
      type: ANTHROPIC_TYPES[error.kind],
      message: `${error.message} (request id ${requestId})`,
      details,
    },
    request_id: requestId,
  });
}
