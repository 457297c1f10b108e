import type { Answer } from "../answer.ts";
import { complete } from "../model/completion.ts";
import { planAnswer } from "../model/plan.ts";
import { invalid, type Problem } from "../problem.ts";
import type { Exchange, Protocol } from "../protocol.ts";
import { protocolOf, type Call, type Simulation } from "../simulate.ts";
import { MESSAGES_FAILURE, refuseAnthropic, requestIdentity } from "./error.ts";
import { renderMessage, STOP_REASONS } from "./render.ts";
import { readMessagesRequest } from "./request.ts";

const SHARED: Omit<Simulation, "complete"> = {
  finishes: STOP_REASONS,
  lacks: [],
  codes: new Map(),
  unauthorised,
  refuse: refuseAnthropic,
  failure: MESSAGES_FAILURE,
};

/** Anthropic's messages. */
export const anthropicMessages: Protocol = protocolOf({ ...SHARED, complete: completeMessage });

/** Anthropic's count of the tokens of a request. */
export const anthropicCountTokens: Protocol = protocolOf({ ...SHARED, complete: countTokens });

function unauthorised(exchange: Exchange): Problem | null {
  const hasKey =
    exchange.header("x-api-key") !== "" || /^Bearer .+/i.test(exchange.header("authorization"));
  return hasKey
    ? null
    : {
        status: 401,
        message: "x-api-key or authorization header is required",
        param: null,
        code: null,
      };
}

/** The answer to a messages request; clouds that host the protocol give the same one. */
export function completeMessage(call: Call): Answer | Problem {
  const { behaviour, sequence, model } = call;
  const request = readMessagesRequest(call.body);
  if ("status" in request) return request;
  const { conversation, tools, schema } = request;
  const plan = planAnswer({ base: call.base, ...conversation, tools, schema }, behaviour);
  if ("unsatisfiable" in plan) {
    const { unsatisfiable } = plan;
    return invalid(
      unsatisfiable === "answer" ? "output_config.format.schema" : "tools",
      "The simulated provider cannot make a value for this schema; use simpler keywords.",
    );
  }
  const task = {
    text: plan.text(""),
    calls: plan.calls,
    limit: request.limit,
    stop: request.stop,
    reasoning: request.thinking.thinks,
  };
  const completion = complete(task, plan.wording);
  return renderMessage({ sequence, model, request, called: plan.called, completion }, behaviour);
}

/** The answer to a count. */
export function countTokens(call: Call): Answer | Problem {
  const request = readMessagesRequest(call.body);
  if ("status" in request) return request;
  return {
    kind: "json",
    status: 200,
    headers: requestIdentity(call.sequence),
    body: JSON.stringify({ input_tokens: request.tokens }),
  };
}
