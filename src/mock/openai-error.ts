import type { JsonAnswer, StreamEvent } from "./answer.ts";

/** What is wrong with a request, as an OpenAI error says it. */
export interface Problem {
  readonly status: number;
  readonly message: string;
  /** The member concerned, such as `messages[0].role`. */
  readonly param: string | null;
  readonly code: string | null;
}

/** A 400 about one member. */
export function invalid(param: string | null, message: string, code: string | null = null): Problem {
  return { status: 400, message, param, code };
}

export function errorAnswer(problem: Problem, headers: Readonly<Record<string, string>> = {}): JsonAnswer {
  const { status, message, param, code } = problem;
  return {
    kind: "json",
    status,
    headers,
    body: JSON.stringify({ error: { message, type: typeOf(status), param, code } }),
  };
}

/** The answer to `status=N`. */
export function statusAnswer(status: number, retryAfter: number | null): JsonAnswer {
  const headers: Record<string, string> = {};
  if (retryAfter !== null) headers["retry-after"] = String(retryAfter);
  // A redirect that is followed shows as a second request, to a path that nothing else asks for.
  if (status < 400) headers["location"] = "/mock/redirected";
  return errorAnswer(
    {
      status,
      message: `Simulated answer with status ${status}.`,
      param: null,
      code: CODES.get(status) ?? null,
    },
    headers,
  );
}

/** The last events of a stream that fails after its headers. */
export const STREAM_FAILURE: readonly StreamEvent[] = [
  {
    name: null,
    data: JSON.stringify({
      error: {
        message: "Simulated failure in the middle of an answer.",
        type: "server_error",
        param: null,
        code: "server_error",
      },
    }),
    purpose: "error",
  },
  { name: null, data: "[DONE]", purpose: "done" },
];

const CODES: ReadonlyMap<number, string> = new Map([
  [401, "invalid_api_key"],
  [404, "model_not_found"],
  [429, "rate_limit_exceeded"],
  [500, "server_error"],
  [503, "server_error"],
]);

function typeOf(status: number): string {
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_exceeded";
  return status >= 500 ? "server_error" : "invalid_request_error";
}
