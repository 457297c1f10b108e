import type { Answer } from "../answer.ts";
import { complete } from "../model/completion.ts";
import { CHUNK_FAILURE, OPENAI_CODES, refuseOpenai, unauthorisedBearer } from "../openai/error.ts";
import type { Problem } from "../problem.ts";
import type { Protocol } from "../protocol.ts";
import { protocolOf, type Call } from "../simulate.ts";
import { COMPLETION_FINISHES, renderCompletion, type Choice } from "./render.ts";
import { readCompletionRequest } from "./request.ts";

/** OpenAI's completions, which older models and many servers for open models have. */
export const openaiCompletions: Protocol = protocolOf({
  finishes: COMPLETION_FINISHES,
  lacks: ["reasoning", "redacted", "toolCalls", "refusal", "cached", "cacheWrite"],
  codes: OPENAI_CODES,
  unauthorised: unauthorisedBearer,
  refuse: refuseOpenai,
  failure: CHUNK_FAILURE,
  complete: completePrompts,
});

function completePrompts(call: Call): Answer | Problem {
  const { behaviour, sequence, model } = call;
  const request = readCompletionRequest(call.body);
  if ("status" in request) return request;
  const total = request.prompts.length * request.choices;
  // A setting of length or pieces must not be shortened.
  const hasOwnLength = behaviour.chunks !== null || behaviour.size !== null || behaviour.unicode;
  const limit = hasOwnLength && (call.body.max_tokens ?? null) === null ? null : request.limit;
  const choices: Choice[] = request.prompts.flatMap((prompt, position) =>
    Array.from({ length: request.choices }, (_, choice) => {
      const number = position * request.choices + choice + 1;
      const which = total === 1 ? "" : ` ${number} of ${total}`;
      const task = {
        text: `Simulated answer${which} from ${call.base} to a prompt.`,
        calls: [],
        limit,
        stop: request.stop,
        reasoning: false,
      };
      return { prompt, completion: complete(task, behaviour) };
    }),
  );
  return renderCompletion({ sequence, model, request, choices }, behaviour);
}
