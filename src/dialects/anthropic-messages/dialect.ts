import { fitting } from "../fit-request.ts";
import { ANTHROPIC_MESSAGES } from "./facts.ts";
import type { Dialect, Surface } from "../dialect.ts";
import { refusingUnknown } from "../request-reading.ts";
import {
  COUNT_PATH,
  COUNT_TOKENS_FIELDS,
  MESSAGES_FIELDS,
  MESSAGES_PATH,
} from "./request-facts.ts";
import { hostMessages } from "./host.ts";
import {
  MessagesObserver,
  editMessagesRequest,
  readCountAnswer,
  readMessagesAnswer,
} from "./relay.ts";
import { messagesToCanon, parseMessagesRequest } from "./parse-request.ts";
import { ANTHROPIC_FAMILY, MessagesRenderer, renderCount, renderMessagesAnswer } from "./render.ts";
import { formatMessages } from "./format.ts";
import { parseMessagesAnswer, parseMessagesStream, readMessagesError } from "./read-answer.ts";
import {
  COUNT_EXAMPLES,
  COUNT_TOKENS_SCHEMA,
  MESSAGE,
  MESSAGES_EXAMPLES,
  MESSAGES_HEADERS,
  MESSAGES_SCHEMA,
  MESSAGE_STREAM,
  TOKEN_COUNT,
} from "./contract.ts";

/** Messages as products speak them to us. */
export const messagesSurface: Surface = {
  kind: "generate",
  dialect: "anthropic-messages",
  parse: (body, bytes, headers) => parseMessagesRequest("messages", body, bytes, headers),
  refuseUnknown: refusingUnknown(MESSAGES_FIELDS, "messages"),
  relay: {
    path: () => MESSAGES_PATH,
    edit: editMessagesRequest,
    observe: (context) => new MessagesObserver(context),
    readAnswer: readMessagesAnswer,
  },
  translation: {
    toCanon: messagesToCanon,
    parsesArguments: true,
    renderStream: (context) => new MessagesRenderer(context),
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
export const dialect = {
  generate: {
    format: fitting(formatMessages, ANTHROPIC_MESSAGES.requires),
    parseStream: parseMessagesStream,
    parseAnswer: parseMessagesAnswer,
    readError: readMessagesError,
    host: hostMessages,
  },
} satisfies Dialect;
