import { fitting } from "../fit-request.ts";
import { GEMINI } from "./facts.ts";
import type { Dialect, Upstream } from "../dialect.ts";
import { geminiEmbedder } from "./embed.ts";
import { parseGeminiAnswer, parseGeminiStream, readGeminiError } from "./read-answer.ts";
import { formatGemini } from "./format.ts";

/**
 * Gemini's generateContent, as Google's two services speak it. They differ in the address and the
 * credentials, which are the provider row's, and in the body of a count (flag `flat_count_tokens`).
 */
export const geminiUpstream: Upstream = {
  format: fitting(formatGemini, GEMINI.requires),
  parseStream: parseGeminiStream,
  parseAnswer: parseGeminiAnswer,
  readError: readGeminiError,
};

/** The row of `dialects/table.ts`. */
export const dialect: Dialect = { generate: geminiUpstream, embed: geminiEmbedder };
