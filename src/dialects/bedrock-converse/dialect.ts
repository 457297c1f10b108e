import { fitting } from "../fit-request.ts";
import { BEDROCK_CONVERSE } from "./facts.ts";
import type { Dialect } from "../dialect.ts";
import { parseConverseAnswer, parseConverseStream, readConverseError } from "./read-answer.ts";
import { formatConverse } from "./format.ts";

/**
 * Bedrock's Converse, for providers. No surface has this protocol, so every request to it is
 * translated.
 */
export const dialect = {
  generate: {
    streamType: "application/vnd.amazon.eventstream",
    format: fitting(formatConverse, BEDROCK_CONVERSE.requires),
    parseStream: parseConverseStream,
    parseAnswer: parseConverseAnswer,
    readError: readConverseError,
  },
} satisfies Dialect;
