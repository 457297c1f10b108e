import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { NO_EDITS, type DroppedField } from "../../canon/generate/edit.ts";
import type { GenerateRequest, UserTurn } from "../../canon/generate/generate-request.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import { type EditableBody, leaveOut } from "../openai-chat/body-members.ts";

export const COMPLETIONS_PATH = "/completions";

/**
 * Prints a request whose whole conversation is one user turn of text as a prompt
 * (docs/protocols.md#completions). Everything else was refused by `conversation` and other features
 * before an endpoint of this dialect was chosen.
 *
 * @returns a 400 where a request gets here that no prompt can carry: refused once more rather than
 * cut down to what fits.
 */
export function formatCompletionsRequest(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const problem = unsayable(request);
  if (problem !== null) return problem;
  const [turn] = request.turns;
  if (turn?.role !== "user") return cannotSay("a conversation of several turns");
  const dropped = new Set<DroppedField>(["prompt_as_message"]);
  const prompt = promptOf(turn, dropped);
  if (prompt === null) return cannotSay("anything but text in a message");
  noteDropped(request, dropped);
  const limit = request.maxOutputTokens ?? target.model.defaultMaxOutputTokens;
  if (request.maxOutputTokens === null && limit !== null) dropped.add("output_limit_defaulted");
  const body: EditableBody = { model: target.endpoint.upstreamModel, prompt };
  if (limit !== null) body["max_tokens"] = limit;
  if (request.temperature !== null) body["temperature"] = request.temperature;
  if (request.topP !== null) body["top_p"] = request.topP;
  if (request.frequencyPenalty !== null) body["frequency_penalty"] = request.frequencyPenalty;
  if (request.presencePenalty !== null) body["presence_penalty"] = request.presencePenalty;
  if (request.logitBias !== null) body["logit_bias"] = request.logitBias;
  if (request.seed !== null) body["seed"] = request.seed;
  if (request.stop.length > 0) body["stop"] = request.stop;
  if (request.stream) {
    body["stream"] = true;
    if (!target.provider.flags.includes("no_stream_options"))
      body["stream_options"] = { include_usage: true };
  }
  leaveOut(body, target.provider.flags, { stripped: [], dropped, edits: NO_EDITS });
  return { path: COMPLETIONS_PATH, body, headers: [], dropped: [...dropped] };
}

/** What would change the answer and has no member here. */
function unsayable(request: GenerateRequest): ServiceError | null {
  if (request.purpose === "count") return cannotSay("token counting");
  if (request.turns.length !== 1) return cannotSay("a conversation of several turns");
  if (request.tools.length > 0) return cannotSay("tools");
  if (request.format !== null) return cannotSay("a response format");
  if (request.topK !== null) return cannotSay("top_k");
  if (request.logprobs !== null) return cannotSay("log probabilities of a conversation");
  if (request.verbosity !== null) return cannotSay("verbosity");
  const { reasoning } = request;
  if (
    reasoning !== null &&
    (reasoning.effort !== "unspecified" || reasoning.budget !== null || reasoning.adaptive)
  ) {
    return cannotSay("reasoning");
  }
  return null;
}

function cannotSay(what: string): ServiceError {
  return invalidRequest(
    "feature_not_supported",
    `The request uses ${what}, which the legacy completions protocol of an endpoint that may get it cannot carry`,
  );
}

/** The parts' texts one after the other; `null` where a part is not text. */
function promptOf(turn: UserTurn, dropped: Set<DroppedField>): string | null {
  let prompt = "";
  for (const part of turn.content) {
    if (part.kind !== "text") return null;
    if (part.cache !== null) dropped.add("cache_mark_dropped");
    prompt += part.text;
  }
  if (turn.name !== null) dropped.add("participant_name_dropped");
  return prompt;
}

/** Records what may help and has no member here. */
function noteDropped({ hints, reasoning }: GenerateRequest, dropped: Set<DroppedField>): void {
  // The tier `auto` is that of requests which name none.
  if (hints.serviceTier !== null && hints.serviceTier !== "auto")
    dropped.add("service_tier_changed");
  if (hints.promptCacheKey !== null || hints.promptCacheRetention !== null)
    dropped.add("cache_hint_dropped");
  if (reasoning !== null && reasoning.display !== null) dropped.add("reasoning_display_dropped");
}
