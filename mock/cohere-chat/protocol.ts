import type { Answer } from "../answer.ts";
import { complete } from "../model/completion.ts";
import { planAnswer } from "../model/plan.ts";
import { unauthorisedBearer } from "../openai/error.ts";
import { unsatisfiableIn } from "../openai/unsatisfiable.ts";
import type { Problem } from "../problem.ts";
import type { Protocol } from "../protocol.ts";
import { protocolOf, type Call } from "../simulate.ts";
import { COHERE_FAILURE, refuseCohere } from "./error.ts";
import { COHERE_FINISHES, renderCohere } from "./render.ts";
import { readCohereRequest } from "./request.ts";

/** Cohere's second chat protocol. */
export const cohereChat: Protocol = protocolOf({
  finishes: COHERE_FINISHES,
  // There is no form for a refusal, for hidden reasoning, nor for a cache that is written.
  lacks: ["redacted", "refusal", "cacheWrite"],
  codes: new Map(),
  unauthorised: unauthorisedBearer,
  refuse: refuseCohere,
  failure: COHERE_FAILURE,
  complete: completeChat,
});

function completeChat(call: Call): Answer | Problem {
  const { behaviour, sequence } = call;
  const request = readCohereRequest(call.body);
  if ("status" in request) return request;
  const { conversation, tools, schema } = request;
  const plan = planAnswer({ base: call.base, ...conversation, tools, schema }, behaviour);
  if ("unsatisfiable" in plan)
    return unsatisfiableIn(plan, "response_format", "response_format.json_schema");
  const task = {
    text: plan.text(""),
    calls: plan.calls,
    limit: request.limit,
    stop: request.stop,
    reasoning: request.thinks,
  };
  return renderCohere(
    { sequence, request, called: plan.called, completion: complete(task, plan.wording) },
    behaviour,
  );
}
