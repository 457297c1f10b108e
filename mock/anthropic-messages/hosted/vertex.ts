import type { Answer, JsonAnswer } from "../../answer.ts";
import { refuseGemini, unauthorised } from "../../gemini/error.ts";
import { modelIn } from "../../gemini/protocol.ts";
import type { Problem } from "../../problem.ts";
import type { Protocol } from "../../protocol.ts";
import { protocolOf, type Call, type Simulation } from "../../simulate.ts";
import { MESSAGES_FAILURE, refuseAnthropic } from "../error.ts";
import { completeMessage, countTokens } from "../protocol.ts";
import { STOP_REASONS } from "../render.ts";

const SHARED: Omit<Simulation, "complete"> = {
  finishes: STOP_REASONS,
  lacks: [],
  codes: new Map(),
  modelIn,
  unauthorised,
  refuse,
  failure: MESSAGES_FAILURE,
};

/** Vertex AI's rawPredict, for Anthropic's models. */
export const vertexRawPredict: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => predict(call, false),
});

/** Vertex AI's streamRawPredict, for Anthropic's models. */
export const vertexStreamRawPredict: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => predict(call, true),
});

/**
 * Vertex AI's count of the tokens of a request to one of Anthropic's models, which the body names.
 */
export const vertexCountTokens: Protocol = protocolOf({
  ...withModelInBody(),
  complete: countTokens,
});

function withModelInBody(): Omit<Simulation, "complete"> {
  const { modelIn: _path, ...rest } = SHARED;
  return rest;
}

/**
 * Errors of the model's server have Anthropic's shape; errors of Google before it have Google's.
 */
function refuse(problem: Problem, sequence: number): JsonAnswer {
  return problem.status === 400 ? refuseAnthropic(problem, sequence) : refuseGemini(problem);
}

function predict(call: Call, stream: boolean): Answer | Problem {
  return completeMessage({ ...call, body: { ...call.body, stream } });
}
