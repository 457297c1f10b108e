import type { Upstream } from "../dialect.ts";
import { readCohereError } from "./read-error.ts";
import { formatCohere } from "./upstream/format.ts";
import { parseCohereAnswer, parseCohereStream } from "./upstream/parse.ts";

/** Cohere's second chat protocol as providers speak it (protocols.md §4); no product speaks it to us. */
export const cohereChatUpstream: Upstream = {
  format: formatCohere,
  parseStream: parseCohereStream,
  parseAnswer: parseCohereAnswer,
  readError: readCohereError,
};
