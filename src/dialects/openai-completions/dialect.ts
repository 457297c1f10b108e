import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import { NO_EDITS, editSet, type DroppedField } from "../../canon/generate/edit.ts";
import type { GenerateRequest, UserTurn } from "../../canon/generate/generate-request.ts";
import type { Dialect, FormattedRequest, Relay, Surface, Target, Upstream } from "../dialect.ts";
import { fitting } from "../fit-request.ts";
import { readChatError } from "../openai-chat/ending.ts";
import { OPENAI_FAMILY, deploymentHost } from "../openai-chat/family.ts";
import { leaveOut, requestUsage, type Changes, type EditableBody } from "../openai-chat/flags.ts";
import { observeChatStream, readChatAnswer } from "../openai-chat/relay.ts";
import {
  parseCompletionsAnswer,
  parseCompletionsStream,
  renderCompletionsAnswer,
  renderCompletionsStream,
} from "./answer.ts";
import { OPENAI_COMPLETIONS } from "./facts.ts";
import {
  COMPLETION,
  COMPLETIONS_EXAMPLES,
  COMPLETIONS_FIELDS,
  COMPLETIONS_SCHEMA,
  COMPLETION_STREAM,
  completionsToCanon,
  parseCompletionsRequest,
  requestedChoices,
} from "./request.ts";
import { dropCacheHints, sentTier } from "../reasoning-effort.ts";
import { editedBody } from "../relay.ts";
import { refusingUnknown } from "../request-reading.ts";

const OUTPUT_LIMIT_SET = editSet("output_limit_set");

/**
 * The caller's body as the provider gets it: another model name, usage requested on streams, our
 * own and the identity members taken out, and what policies oblige us to. Everything else travels
 * as it came. There is no `store` here: the protocol keeps nothing.
 */
const editCompletionsRequest: Relay["edit"] = (request, endpoint, { flags }, mode, edits) => {
  const edited = editedBody(COMPLETIONS_FIELDS, request, endpoint, mode, edits);
  const { body, stripped } = edited;
  const changes: Changes = { stripped, dropped: new Set(), edits: NO_EDITS };
  const limit = edits.maxOutputTokens;
  if (limit !== null) {
    const requested = body.max_tokens;
    body.max_tokens = typeof requested === "number" ? Math.min(requested, limit) : limit;
    if (body.max_tokens !== requested) changes.edits |= OUTPUT_LIMIT_SET;
  }
  changes.edits |= requestUsage(body, request, flags, stripped);
  leaveOut(body, flags, changes);
  return {
    body,
    stripped,
    edits: edited.edits | changes.edits,
    headers: [],
    dropped: [...changes.dropped],
  };
};

/** Legacy completions for clients (docs/protocols.md#completions). */
export const completionsSurface: Surface = {
  kind: "generate",
  dialect: "openai-completions",
  parse: parseCompletionsRequest,
  refuseUnknown: refusingUnknown(COMPLETIONS_FIELDS, "completions"),
  relay: {
    path: () => COMPLETIONS_PATH,
    edit: editCompletionsRequest,
    // The envelope is that of chat completions: choices with finish reasons, usage, error objects,
    // `[DONE]`. Only the number of choices is found otherwise.
    observe: (context) => observeChatStream(context, requestedChoices(context.request.body)),
    readAnswer: (bytes, context) =>
      readChatAnswer(bytes, context, requestedChoices(context.request.body)),
  },
  translation: {
    toCanon: completionsToCanon,
    // A prompt brings no tools: text that a call cut off must not read as a whole one.
    impossibleEnds: ["tool_calls"],
    omittedBlocks: ["reasoning", "tool_call"],
    renderStream: renderCompletionsStream,
    renderAnswer: renderCompletionsAnswer,
  },
  family: OPENAI_FAMILY,
  contract: {
    body: COMPLETIONS_SCHEMA,
    answer: COMPLETION,
    examples: COMPLETIONS_EXAMPLES,
    stream: COMPLETION_STREAM,
  },
};

/**
 * Legacy completions as providers speak them, for the requests of other protocols that are one
 * text.
 */
export const completionsUpstream: Upstream = {
  format: fitting(formatCompletionsRequest, OPENAI_COMPLETIONS.requires),
  parseStream: parseCompletionsStream,
  parseAnswer: parseCompletionsAnswer,
  readError: readChatError,
  host: deploymentHost(readChatError),
};

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = { generate: completionsUpstream };

const COMPLETIONS_PATH = "/completions";

/**
 * Prints a request whose whole conversation is one user turn of text as a prompt
 * (docs/protocols.md#completions). Everything else was refused by `conversation` and other features
 * before an endpoint of this dialect was chosen.
 *
 * @returns a 400 where a request gets here that no prompt can carry: refused once more rather than
 * cut down to what fits.
 */
function formatCompletionsRequest(
  request: GenerateRequest,
  target: Target,
): FormattedRequest | ServiceError {
  const problem = unsupportedSetting(request);
  if (problem !== null) return problem;
  const [turn] = request.turns;
  if (turn?.role !== "user") return unsupported("a conversation of several turns");
  const dropped = new Set<DroppedField>(["prompt_as_message"]);
  const prompt = promptOf(turn, dropped);
  if (prompt === null) return unsupported("anything but text in a message");
  // No tiers here; `auto` is the tier of requests that name none.
  sentTier(request, { auto: null }, dropped);
  dropCacheHints(request, dropped);
  if (request.reasoning !== null && request.reasoning.display !== null)
    dropped.add("reasoning_display_dropped");
  const limit = request.maxOutputTokens ?? target.model.defaultMaxOutputTokens;
  if (request.maxOutputTokens === null && limit !== null) dropped.add("output_limit_defaulted");
  const body: EditableBody = { model: target.endpoint.upstreamModel, prompt };
  if (limit !== null) body.max_tokens = limit;
  if (request.temperature !== null) body.temperature = request.temperature;
  if (request.topP !== null) body.top_p = request.topP;
  if (request.frequencyPenalty !== null) body.frequency_penalty = request.frequencyPenalty;
  if (request.presencePenalty !== null) body.presence_penalty = request.presencePenalty;
  if (request.logitBias !== null) body.logit_bias = request.logitBias;
  if (request.seed !== null) body.seed = request.seed;
  if (request.stop.length > 0) body.stop = request.stop;
  if (request.stream) {
    body.stream = true;
    if (!target.provider.flags.includes("no_stream_options"))
      body.stream_options = { include_usage: true };
  }
  leaveOut(body, target.provider.flags, { stripped: [], dropped, edits: NO_EDITS });
  return { path: COMPLETIONS_PATH, body, headers: [], dropped: [...dropped] };
}

/** Settings that the protocol lacks and that change the answer. */
function unsupportedSetting(request: GenerateRequest): ServiceError | null {
  if (request.purpose === "count") return unsupported("token counting");
  if (request.turns.length !== 1) return unsupported("a conversation of several turns");
  if (request.tools.length > 0) return unsupported("tools");
  if (request.format !== null) return unsupported("a response format");
  if (request.topK !== null) return unsupported("top_k");
  if (request.logprobs !== null) return unsupported("log probabilities of a conversation");
  if (request.verbosity !== null) return unsupported("verbosity");
  const { reasoning } = request;
  if (
    reasoning !== null &&
    (reasoning.effort !== "unspecified" || reasoning.budget !== null || reasoning.adaptive)
  ) {
    return unsupported("reasoning");
  }
  return null;
}

function unsupported(what: string): ServiceError {
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
