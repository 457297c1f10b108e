import type { Dialect } from "../dialect-facts.ts";
import { fitting } from "../fit-request.ts";
import { COHERE_CHAT } from "./facts.ts";
import type { Upstream } from "../dialect.ts";
import { cohereEmbedder } from "./embed.ts";
import { cohereReranker } from "./rerank-upstream.ts";
import { readCohereError } from "./read-error.ts";
import { formatCohere } from "./format.ts";
import { parseCohereAnswer, parseCohereStream } from "./parse-answer.ts";

/**
 * Cohere's second chat protocol (docs/protocols.md#cohere-chat), for providers only: no surface
 * speaks it.
 */
export const cohereChatUpstream: Upstream = {
  format: fitting(formatCohere, COHERE_CHAT.requires),
  parseStream: parseCohereStream,
  parseAnswer: parseCohereAnswer,
  readError: readCohereError,
};

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = {
  generate: cohereChatUpstream,
  embed: cohereEmbedder,
  rerank: cohereReranker,
};
