import { fitting } from "../fit-request.ts";
import { COHERE_CHAT } from "./facts.ts";
import type { Dialect } from "../dialect.ts";
import { cohereEmbedder, cohereReranker } from "./unary.ts";
import { formatCohere } from "./format.ts";
import { parseCohereAnswer, parseCohereStream, readCohereError } from "./read-answer.ts";

/**
 * Cohere's second chat protocol (docs/protocols.md#cohere-chat), for providers only: no surface
 * speaks it.
 */
export const dialect = {
  generate: {
    format: fitting(formatCohere, COHERE_CHAT.requires),
    parseStream: parseCohereStream,
    parseAnswer: parseCohereAnswer,
    readError: readCohereError,
  },
  embed: cohereEmbedder,
  rerank: cohereReranker,
} satisfies Dialect;
