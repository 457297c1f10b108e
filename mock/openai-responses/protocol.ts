import type { Answer } from "../answer.ts";
import { complete } from "../model/completion.ts";
import { planAnswer } from "../model/plan.ts";
import {
  OPENAI_CODES,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../openai/error.ts";
import { unsatisfiableIn } from "../openai/unsatisfiable.ts";
import type { Problem } from "../problem.ts";
import type { Protocol } from "../protocol.ts";
import { protocolOf, type Call, type Simulation } from "../simulate.ts";
import { RESPONSES_FAILURE } from "./failure.ts";
import { renderResponse } from "./render.ts";
import { readResponsesRequest } from "./request.ts";
import { ENDINGS } from "./resource.ts";

const SHARED: Omit<Simulation, "complete"> = {
  finishes: ENDINGS,
  lacks: ["redacted"],
  codes: OPENAI_CODES,
  unauthorised: unauthorisedBearer,
  refuse: refuseOpenai,
  failure: RESPONSES_FAILURE,
};

/** OpenAI's responses. */
export const openaiResponses: Protocol = protocolOf({ ...SHARED, complete: completeResponse });

/** OpenAI's count of the tokens of a request. */
export const openaiInputTokens: Protocol = protocolOf({ ...SHARED, complete: countTokens });

function completeResponse(call: Call): Answer | Problem {
  const { behaviour, sequence, model } = call;
  const request = readResponsesRequest(call.body);
  if ("status" in request) return request;
  const { input, tools, schema } = request;
  const plan = planAnswer({ base: call.base, ...input, tools, schema }, behaviour);
  if ("unsatisfiable" in plan)
    return unsatisfiableIn(plan, "text.format.schema", "text.format.schema");
  const task = {
    text: plan.text(""),
    calls: plan.calls,
    limit: request.limit,
    stop: [],
    reasoning: request.reasoning,
  };
  const completion = complete(task, plan.wording);
  const hasSummary = request.summary || behaviour.reasoning;
  return renderResponse(
    { sequence, model, request, called: plan.called, completion, hasSummary },
    behaviour,
  );
}

function countTokens(call: Call): Answer | Problem {
  const request = readResponsesRequest(call.body);
  if ("status" in request) return request;
  return {
    kind: "json",
    status: 200,
    headers: requestIdentity(call.sequence),
    body: JSON.stringify({ object: "response.input_tokens", input_tokens: request.tokens }),
  };
}
