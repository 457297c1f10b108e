import type { Answer } from "../answer.ts";
import { PLAIN } from "../behaviour.ts";
import { complete, type CompletionTask } from "../model/completion.ts";
import { planAnswer } from "../model/plan.ts";
import { CREATED } from "../openai/created.ts";
import {
  CHUNK_FAILURE,
  OPENAI_CODES,
  refuseOpenai,
  requestIdentity,
  unauthorisedBearer,
} from "../openai/error.ts";
import { unsatisfiableIn } from "../openai/unsatisfiable.ts";
import type { Problem } from "../problem.ts";
import type { Protocol } from "../protocol.ts";
import { protocolOf, type Call } from "../simulate.ts";
import { CHAT_FINISHES, renderChat } from "./render.ts";
import { readChatRequest } from "./request.ts";

/** OpenAI's chat completions. */
export const openaiChat: Protocol = protocolOf({
  finishes: CHAT_FINISHES,
  lacks: ["redacted"],
  codes: OPENAI_CODES,
  unauthorised: unauthorisedBearer,
  refuse: refuseOpenai,
  failure: CHUNK_FAILURE,
  complete: completeChat,
});

/** OpenAI's list of models. Any other name is served as well. */
export const openaiModels: Protocol = {
  ...openaiChat,
  answer: ({ sequence }) => ({
    answer: { kind: "json", status: 200, headers: requestIdentity(sequence), body: MODELS },
    behaviour: PLAIN,
  }),
};

const MODELS = JSON.stringify({
  object: "list",
  data: ["mock-small", "mock-large"].map((id) => ({
    id,
    object: "model",
    created: CREATED,
    owned_by: "signalbox-mock",
  })),
});

function completeChat(call: Call): Answer | Problem {
  const { behaviour, sequence, model } = call;
  const request = readChatRequest(call.body);
  if ("status" in request) return request;
  const { conversation, tools, schema, choices } = request;
  const plan = planAnswer({ base: call.base, ...conversation, tools, schema }, behaviour);
  if ("unsatisfiable" in plan)
    return unsatisfiableIn(plan, "response_format", "response_format.json_schema.schema");
  const completions = Array.from({ length: choices }, (_, choice) => {
    const task: CompletionTask = {
      text: plan.text(choices === 1 ? "" : ` ${choice + 1} of ${choices}`),
      calls: plan.calls,
      limit: request.limit,
      stop: request.stop,
      reasoning: request.reasoning,
    };
    return complete(task, plan.wording);
  });
  return renderChat({ sequence, model, request, called: plan.called, completions }, behaviour);
}
