import type { JsonAnswer, StreamEvent, FailureGrammar } from "../answer.ts";
import type { Problem } from "../problem.ts";

/** An error in Cohere's shape: a message, and nothing that a machine could read. */
export function refuseCohere(problem: Problem, sequence: number): JsonAnswer {
  const { status, message, param } = problem;
  return {
    kind: "json",
    status,
    headers: {},
    body: errorBody(param === null ? message : `${param}: ${message}`, sequence),
  };
}

function errorBody(message: string, sequence: number): string {
  return JSON.stringify({ id: `mock-${sequence}`, message });
}

export const DONE: StreamEvent = { name: null, data: "[DONE]", purpose: "done" };

const MESSAGE = "Simulated failure in the middle of an answer.";

function ending(delta: object): StreamEvent {
  return {
    name: "message-end",
    data: JSON.stringify({ type: "message-end", delta }),
    purpose: "error",
  };
}

/** Answers fail where others give their finish reason: there is no event for errors. */
export const COHERE_FAILURE: FailureGrammar = {
  malformed: {
    name: "content-delta",
    data: '{"type":"content-delta","index":0,"delta":{"mess',
    purpose: "content",
  },
  body: (sequence) => errorBody(MESSAGE, sequence),
  errorFrame: () => [
    ending({
      finish_reason: "ERROR",
      usage: {},
      error: MESSAGE,
      error_type: "INVALID_TOOL_GENERATION",
    }),
    DONE,
  ],
  failed: {
    events: () => [ending({ finish_reason: "TIMEOUT", usage: {} }), DONE],
    body: (whole) => JSON.stringify({ ...JSON.parse(whole), finish_reason: "TIMEOUT" }),
  },
};
