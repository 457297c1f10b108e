import type { JsonAnswer, StreamEvent, FailureGrammar } from "../answer.ts";
import type { Problem } from "../problem.ts";
import type { Exchange } from "../protocol.ts";

/** Error names by status (google.rpc.Code). */
const STATUS_NAMES: ReadonlyMap<number, string> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [408, "DEADLINE_EXCEEDED"],
  [429, "RESOURCE_EXHAUSTED"],
  [500, "INTERNAL"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
]);

/** An error in Google's shape. There is no member for the path: it is in the message. */
export function refuseGemini({ status, message, param }: Problem): JsonAnswer {
  const text = param === null ? message : `${message} (at '${param}')`;
  return { kind: "json", status, headers: {}, body: errorBody(status, text) };
}

function errorBody(status: number, message: string): string {
  const name = STATUS_NAMES.get(status) ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
  return JSON.stringify({ error: { code: status, message, status: name } });
}

/** A 401 for a request without an API key and without a bearer token. */
export function unauthorised(exchange: Exchange): Problem | null {
  const hasKey =
    exchange.header("x-goog-api-key") !== "" ||
    /^Bearer .+/i.test(exchange.header("authorization"));
  return hasKey
    ? null
    : {
        status: 401,
        message: "Request is missing required authentication credential.",
        param: null,
        code: null,
      };
}

const MESSAGE = "Simulated failure in the middle of an answer.";

/** Streams fail with an error instead of a piece, and then end. */
export const GEMINI_FAILURE: FailureGrammar = {
  malformed: {
    name: null,
    data: '{"candidates":[{"content":{"role":"model","parts":[{"text":',
    purpose: "content",
  },
  body: () => errorBody(500, MESSAGE),
  errorFrame: (): readonly StreamEvent[] => [
    { name: null, data: errorBody(500, MESSAGE), purpose: "error" },
  ],
  failed: null,
};
