import type { Dialect } from "../dialect-facts.ts";
import { fitting } from "../fit-request.ts";
import { ANTHROPIC_MESSAGES } from "./facts.ts";
import { ANTHROPIC_FAMILY } from "./family.ts";
import type { Surface, Upstream } from "../dialect.ts";
import { refusingUnknown } from "../fields.ts";
import { COUNT_PATH, COUNT_TOKENS_FIELDS, MESSAGES_FIELDS, MESSAGES_PATH } from "./fields.ts";
import { hostMessages } from "./host.ts";
import { readMessagesError } from "./ending.ts";
import { editMessagesRequest } from "./edit-request.ts";
import { observeMessagesStream, readCountAnswer, readMessagesAnswer } from "./observe.ts";
import { messagesToCanon, parseMessagesRequest } from "./parse-request.ts";
import { renderCount, renderMessagesAnswer } from "./render-answer.ts";
import { renderMessagesStream } from "./render-stream.ts";
import { formatMessages } from "./format.ts";
import { parseMessagesAnswer, parseMessagesStream } from "./message-reader.ts";
import {
  COUNT_EXAMPLES,
  MESSAGE,
  MESSAGE_STREAM,
  MESSAGES_EXAMPLES,
  MESSAGES_HEADERS,
  TOKEN_COUNT,
} from "./contract.ts";
import { COUNT_TOKENS_SCHEMA, MESSAGES_SCHEMA } from "./schema.ts";

/** Messages as products speak them to us. */
export const messagesSurface: Surface = {
  kind: "generate",
  dialect: "anthropic-messages",
  parse: (body, bytes, headers) => parseMessagesRequest("messages", body, bytes, headers),
  refuseUnknown: refusingUnknown(MESSAGES_FIELDS, "messages"),
  relay: {
    path: () => MESSAGES_PATH,
    edit: editMessagesRequest,
    observe: observeMessagesStream,
    readAnswer: readMessagesAnswer,
  },
  translation: {
    toCanon: messagesToCanon,
    parsesArguments: true,
    renderStream: renderMessagesStream,
    renderAnswer: renderMessagesAnswer,
  },
  headers: MESSAGES_HEADERS,
  family: ANTHROPIC_FAMILY,
  contract: {
    body: MESSAGES_SCHEMA,
    answer: MESSAGE,
    examples: MESSAGES_EXAMPLES,
    stream: MESSAGE_STREAM,
  },
};

/**
 * Counting a request's tokens. Nothing is generated and nothing streams, but the prompt goes to a
 * provider like any other.
 */
export const countTokensSurface: Surface = {
  ...messagesSurface,
  parse: (body, bytes, headers) =>
    parseMessagesRequest("messages.count_tokens", body, bytes, headers),
  refuseUnknown: refusingUnknown(COUNT_TOKENS_FIELDS, "count_tokens"),
  relay: { ...messagesSurface.relay, path: () => COUNT_PATH, readAnswer: readCountAnswer },
  translation: { ...messagesSurface.translation, renderAnswer: renderCount },
  contract: { body: COUNT_TOKENS_SCHEMA, answer: TOKEN_COUNT, examples: COUNT_EXAMPLES },
};

/** Messages as a provider speaks them, for requests that came in another protocol. */
export const messagesUpstream: Upstream = {
  format: fitting(formatMessages, ANTHROPIC_MESSAGES.requires),
  parseStream: parseMessagesStream,
  parseAnswer: parseMessagesAnswer,
  readError: readMessagesError,
  host: hostMessages,
};

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = { generate: messagesUpstream };
