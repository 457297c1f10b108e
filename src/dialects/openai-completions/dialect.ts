import { editSet, NO_EDITS } from "../../canon/generate/edit.ts";
import { fitting } from "../fit-request.ts";
import { OPENAI_COMPLETIONS } from "./facts.ts";
import type { Dialect } from "../dialect-facts.ts";
import { type Changes, leaveOut, requestUsage } from "../openai-chat/body-members.ts";
import { editedBody } from "../relay.ts";
import { deploymentHost, OPENAI_FAMILY } from "../openai-chat/family.ts";
import type { Relay, Surface, Upstream } from "../dialect.ts";
import { readChatError } from "../openai-chat/read-error.ts";
import { observeChatStream, readChatAnswer } from "../openai-chat/observe.ts";
import { refusingUnknown } from "../fields.ts";
import {
  requestedChoices,
  COMPLETIONS_FIELDS,
  completionsToCanon,
  parseCompletionsRequest,
} from "./parse-request.ts";
import { COMPLETIONS_PATH, formatCompletionsRequest } from "./format.ts";
import { parseCompletionsAnswer, parseCompletionsStream } from "./parse-answer.ts";
import { renderCompletionsAnswer, renderCompletionsStream } from "./render.ts";
import {
  COMPLETION,
  COMPLETION_STREAM,
  COMPLETIONS_EXAMPLES,
  COMPLETIONS_SCHEMA,
} from "./contract.ts";

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
    const requested = body["max_tokens"];
    body["max_tokens"] = typeof requested === "number" ? Math.min(requested, limit) : limit;
    if (body["max_tokens"] !== requested) changes.edits |= OUTPUT_LIMIT_SET;
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
    unsaid: ["reasoning", "tool_call"],
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
