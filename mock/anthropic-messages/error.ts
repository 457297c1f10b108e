import type { JsonAnswer, StreamEvent, FailureGrammar } from "../answer.ts";
import type { Problem } from "../problem.ts";

/** Types of errors by status (Anthropic's reference, "Errors"). */
const TYPES: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [408, "timeout_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"],
]);

/** An error in Anthropic's shape. There is no member for the path: it begins the message. */
export function refuseAnthropic(problem: Problem, sequence: number): JsonAnswer {
  const { status, message, param } = problem;
  const type = TYPES.get(status) ?? (status >= 500 ? "api_error" : "invalid_request_error");
  const isWorthRetrying = status === 408 || status === 429 || status >= 500;
  return {
    kind: "json",
    status,
    headers: { ...requestIdentity(sequence), "x-should-retry": String(isWorthRetrying) },
    body: errorBody(type, param === null ? message : `${param}: ${message}`, sequence),
  };
}

/** The header with which Anthropic names a request. */
export function requestIdentity(sequence: number): Readonly<Record<string, string>> {
  return { "request-id": requestId(sequence) };
}

function requestId(sequence: number): string {
  return `req_mock_${sequence}`;
}

function errorBody(type: string, message: string, sequence: number): string {
  return JSON.stringify({
    type: "error",
    error: { type, message },
    request_id: requestId(sequence),
  });
}

const MESSAGE = "Simulated failure in the middle of an answer.";

/** Streams fail with an event `error`, after which nothing comes. */
export const MESSAGES_FAILURE: FailureGrammar = {
  malformed: {
    name: "content_block_delta",
    data: '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":',
    purpose: "content",
  },
  body: (sequence) => errorBody("api_error", MESSAGE, sequence),
  errorFrame: (_, sequence): readonly StreamEvent[] => [
    { name: "error", data: errorBody("api_error", MESSAGE, sequence), purpose: "error" },
  ],
  failed: null,
};
