import type { JsonAnswer, StreamEvent, FailureGrammar } from "../answer.ts";
import { invalid, type Problem } from "../problem.ts";
import type { Exchange } from "../protocol.ts";

/** An error in the shape of OpenAI's protocols. */
export function refuseOpenai(problem: Problem, sequence: number): JsonAnswer {
  const { status, message, param, code } = problem;
  return {
    kind: "json",
    status,
    headers: requestIdentity(sequence),
    body: JSON.stringify({ error: { message, type: typeOf(status), param, code } }),
  };
}

/** The header with which OpenAI names a request. */
export function requestIdentity(sequence: number): Readonly<Record<string, string>> {
  return { "x-request-id": `req_mock_${sequence}` };
}

/** The machine codes of error answers that a test requests. */
export const OPENAI_CODES: ReadonlyMap<number, string> = new Map([
  [401, "invalid_api_key"],
  [404, "model_not_found"],
  [429, "rate_limit_exceeded"],
  [500, "server_error"],
  [503, "server_error"],
]);

/** A 401 for a request without a bearer token. */
export function unauthorisedBearer(exchange: Exchange): Problem | null {
  if (/^Bearer .+/i.test(exchange.header("authorization"))) return null;
  return {
    status: 401,
    message: "Send a key as 'authorization: Bearer …'.",
    param: null,
    code: "invalid_api_key",
  };
}

/** A 400 for a request without what it is about. */
export function missingParameter(name: string): Problem {
  return invalid(name, `Missing required parameter: '${name}'.`, "missing_required_parameter");
}

export const FAILURE_MESSAGE = "Simulated failure in the middle of an answer.";

const FAILURE = JSON.stringify({
  error: { message: FAILURE_MESSAGE, type: "server_error", param: null, code: "server_error" },
});

const DONE: StreamEvent = { name: null, data: "[DONE]", purpose: "done" };

/** How streams of chat completions and completions fail: an object with `error`, then `[DONE]`. */
export const CHUNK_FAILURE: FailureGrammar = {
  malformed: {
    name: null,
    data: '{"id":"malformed","choices":[{"index":0,"delta":{"content":',
    purpose: "content",
  },
  body: () => FAILURE,
  errorFrame: () => [{ name: null, data: FAILURE, purpose: "error" }, DONE],
  failed: null,
};

function typeOf(status: number): string {
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_exceeded";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
