import type { JsonObject } from "../../canon/json.ts";
import { DENIAL, ERROR_MESSAGE } from "../contract/error-members.ts";
import { limitSubject, type ProtocolFamily } from "../contract/protocol-family.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { ErrorKind } from "../../canon/errors/error-row.ts";
import { formatSseEvent } from "../sse.ts";

const text = { type: "string" } as const;
const count = { type: "integer", minimum: 0 } as const;

/** The error in schemas of streams. */
export const OPENAI_ERROR = { $ref: "#/components/schemas/Error" } as const;

/** The `type` of the OpenAI family for each kind of error (docs/protocols.md#error-bodies). */
const OPENAI_TYPES: Readonly<Record<ErrorKind, string>> = {
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

/** Errors and limits as OpenAI's clients read them, and those of Cohere, Jina and Voyage, whose requests have the same paths' errors. */
export const OPENAI_FAMILY: ProtocolFamily = {
  errorTypes: OPENAI_TYPES,
  renderError: renderOpenAiError,
  errorSchema,
  narrowedError: (type, code) => ({ properties: { error: { properties: { type, code } } } }),
  errorExample: ({ kind, code, message }, requestId) => ({
    error: { message: `${message} (request id ${requestId})`, type: OPENAI_TYPES[kind], param: null, code },
  }),
  limitHeaders: (measure, { limit, remaining, untilReset }) => [
    `x-ratelimit-limit-${measure}`,
    String(limit),
    `x-ratelimit-remaining-${measure}`,
    String(remaining),
    `x-ratelimit-reset-${measure}`,
    formatDuration(untilReset),
  ],
  limitHeaderFacts: (measure) => {
    const whose = limitSubject(measure);
    return [
      { name: `x-ratelimit-limit-${measure}`, description: `${whose}: the most in its period.`, schema: count },
      { name: `x-ratelimit-remaining-${measure}`, description: `${whose}: what is left.`, schema: count },
      {
        name: `x-ratelimit-reset-${measure}`,
        description: `${whose}: the time until it is whole, such as 1m30s.`,
        schema: text,
      },
    ];
  },
};

function errorSchema(facts: Readonly<Record<string, JsonObject>>): JsonObject {
  return {
    title: "Error",
    type: "object",
    required: ["error"],
    properties: {
      error: {
        type: "object",
        required: ["message", "type", "param", "code"],
        properties: {
          message: ERROR_MESSAGE,
          type: { ...text, description: "The kind of error, as this protocol names it." },
          param: { type: ["string", "null"], description: "Path of the member, parameter or header concerned." },
          code: { ...text, description: "For programs; docs/api.md says what each means." },
          ...DENIAL,
          ...facts,
        },
      },
    },
  };
}

/** `1h2m3s`, with `0m` only between hours and seconds; rounded up to whole seconds. @param milliseconds at least 0. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}

/** `{"error": {message, type, param, code, …}}`; a denial adds policy, failed constraint, reason code and decision id, an endpoint of our own its facts. */
function renderOpenAiError(error: ServiceError, requestId: string): string {
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
