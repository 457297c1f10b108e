import type { Answer } from "../answer.ts";
import { complete } from "../model/completion.ts";
import { planAnswer } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import type { Protocol } from "../protocol.ts";
import { modelInPath, protocolOf, type Call, type Simulation } from "../simulate.ts";
import { GEMINI_FAILURE, refuseGemini, unauthorised } from "./error.ts";
import { FINISH_NAMES, renderGemini } from "./render.ts";
import { readCountRequest, readGenerateRequest } from "./request.ts";

const SHARED: Omit<Simulation, "complete"> = {
  finishes: FINISH_NAMES,
  lacks: ["redacted", "cacheWrite"],
  codes: new Map(),
  modelIn,
  unauthorised,
  refuse: refuseGemini,
  failure: GEMINI_FAILURE,
};

/** Google's generateContent. */
export const geminiGenerate: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => generate(call, false),
});

/** Google's streamGenerateContent, as events. */
export const geminiStream: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => generate(call, true),
});

/** Google's count of the tokens of a request. */
export const geminiCountTokens: Protocol = protocolOf({ ...SHARED, complete: countTokens });

/** The model is between the last slash and the method. */
export function modelIn(target: string): string {
  return modelInPath(target, /\/([^/?]*):\w+(?:\?|$)/);
}

function generate(call: Call, isStream: boolean): Answer | Problem {
  const { behaviour, sequence, model } = call;
  if (isStream && !/[?&]alt=sse(?:&|$)/.test(call.target)) {
    return invalid("alt", "The simulated provider streams events only; request them with alt=sse.");
  }
  const request = readGenerateRequest(call.body, call.base);
  if ("status" in request) return request;
  const { conversation, tools, config } = request;
  const plan = planAnswer(
    { base: call.base, ...conversation, tools, schema: config.schema },
    behaviour,
  );
  if ("unsatisfiable" in plan) {
    return invalid(
      "generation_config.response_json_schema",
      "The simulated provider cannot make a value for this schema; use simpler keywords.",
    );
  }
  const task = {
    text: plan.text(""),
    calls: plan.calls,
    limit: config.limit,
    stop: config.stop,
    reasoning: config.thinks,
  };
  const completion = complete(task, plan.wording);
  return renderGemini(
    { sequence, model, request, isStream, called: plan.called, completion },
    behaviour,
  );
}

function countTokens(call: Call): Answer | Problem {
  const request = readCountRequest(call.body, call.base);
  if ("status" in request) return request;
  return {
    kind: "json",
    status: 200,
    headers: {},
    body: JSON.stringify({ totalTokens: request.tokens }),
  };
}
