import type { Answer } from "../answer.ts";
import { objectAt } from "../members.ts";
import { complete } from "../model/completion.ts";
import { planAnswer } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import type { Protocol } from "../protocol.ts";
import { modelInPath, protocolOf, type Call, type Simulation } from "../simulate.ts";
import { CONVERSE_FAILURE, refuseConverse, requestIdentity, unauthorised } from "./error.ts";
import { renderConverse, STOP_REASONS } from "./render.ts";
import { readConverseRequest } from "./request.ts";

const SHARED: Omit<Simulation, "complete"> = {
  finishes: STOP_REASONS,
  // Frames have no lines.
  lacks: ["crlf", "noSpace", "keepalive"],
  codes: new Map(),
  modelIn,
  unauthorised,
  refuse: refuseConverse,
  failure: CONVERSE_FAILURE,
};

/** Bedrock's Converse. */
export const bedrockConverse: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => converse(call, false),
});

/** Bedrock's ConverseStream. */
export const bedrockConverseStream: Protocol = protocolOf({
  ...SHARED,
  complete: (call) => converse(call, true),
});

/** Bedrock's CountTokens, for conversations. */
export const bedrockCountTokens: Protocol = protocolOf({ ...SHARED, complete: countTokens });

/** The model is between `/model/` and the operation. */
export function modelIn(target: string): string {
  return modelInPath(target, /\/model\/([^/?]*)\/[a-z-]+(?:\?|$)/);
}

function converse(call: Call, stream: boolean): Answer | Problem {
  const { behaviour, sequence, base } = call;
  const request = readConverseRequest(call.body);
  if ("status" in request) return request;
  const { conversation, tools, schema } = request;
  const plan = planAnswer({ base, ...conversation, tools, schema }, behaviour);
  if ("unsatisfiable" in plan) {
    return invalid(
      plan.unsatisfiable === "answer" ? "outputConfig.textFormat" : "toolConfig.tools",
      "The simulated provider cannot make a value for this schema; use simpler keywords.",
    );
  }
  const task = {
    text: plan.text(""),
    calls: plan.calls,
    limit: request.limit,
    stop: request.stop,
    reasoning: request.reasoning,
  };
  const completion = complete(task, plan.wording);
  return renderConverse({ sequence, stream, request, called: plan.called, completion }, behaviour);
}

function countTokens(call: Call): Answer | Problem {
  const request = readConverseRequest(objectAt(objectAt(call.body, "input"), "converse"));
  if ("status" in request) return request;
  return {
    kind: "json",
    status: 200,
    headers: requestIdentity(call.sequence),
    body: JSON.stringify({ inputTokens: request.tokens }),
  };
}
