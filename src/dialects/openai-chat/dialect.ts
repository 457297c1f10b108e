import type { Dialect } from "../dialect-facts.ts";
import { fitting } from "../fit-request.ts";
import { OPENAI_CHAT } from "./facts.ts";
import { openAiEmbedder } from "./embeddings/upstream.ts";
import { moderationsUpstream } from "./moderations/upstream.ts";
import { jinaReranker } from "./rerank.ts";
import { refusingUnknown } from "../fields.ts";
import { CHAT_FIELDS } from "./fields.ts";
import { editChatRequest } from "./edit-request.ts";
import { deploymentHost, OPENAI_FAMILY } from "./family.ts";
import type { Surface, Upstream } from "../dialect.ts";
import { observeChatStream, readChatAnswer } from "./observe.ts";
import { readChatError } from "./read-error.ts";
import { chatToCanon, parseChatRequest } from "./parse-request.ts";
import { renderChatAnswer } from "./render-answer.ts";
import { renderChatStream } from "./render-stream.ts";
import { formatChat } from "./format.ts";
import { parseChatAnswer, parseChatStream, readingOfChat } from "./parse-answer.ts";
import { CHAT_COMPLETION, CHAT_EXAMPLES, CHAT_STREAM } from "./contract.ts";
import { CHAT_COMPLETIONS_SCHEMA } from "./schema.ts";

/** Where providers answer, after their base URL. */
const PATH = "/chat/completions";

/** Chat completions as products speak them to us. */
export const chatSurface: Surface = {
  kind: "generate",
  dialect: "openai-chat",
  parse: parseChatRequest,
  refuseUnknown: refusingUnknown(CHAT_FIELDS, "chat completions"),
  relay: {
    path: () => PATH,
    edit: editChatRequest,
    observe: observeChatStream,
    readAnswer: readChatAnswer,
    reading: readingOfChat,
  },
  translation: {
    toCanon: chatToCanon,
    renderStream: renderChatStream,
    renderAnswer: renderChatAnswer,
  },
  family: OPENAI_FAMILY,
  contract: {
    body: CHAT_COMPLETIONS_SCHEMA,
    answer: CHAT_COMPLETION,
    examples: CHAT_EXAMPLES,
    stream: CHAT_STREAM,
  },
};

/** Chat completions as providers speak them. */
export const chatUpstream: Upstream = {
  format: fitting(formatChat, OPENAI_CHAT.requires),
  parseStream: parseChatStream,
  parseAnswer: parseChatAnswer,
  readError: readChatError,
  host: deploymentHost(readChatError),
};

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = {
  generate: chatUpstream,
  embed: openAiEmbedder,
  rerank: jinaReranker,
  moderate: moderationsUpstream,
};
