import { fitting } from "../fit-request.ts";
import { GEMINI } from "./facts.ts";
import type { Dialect } from "../dialect.ts";
import { geminiEmbedder } from "./embed.ts";
import { parseGeminiAnswer, parseGeminiStream, readGeminiError } from "./read-answer.ts";
import { formatGemini } from "./format.ts";

/**
 * Gemini's generateContent, as Google's two services speak it. They differ in the address and the
 * credentials, which are the provider row's, and in the body of a count (flag `flat_count_tokens`).
 */
export const dialect = {
  generate: {
    format: fitting(formatGemini, GEMINI.requires),
    parseStream: parseGeminiStream,
    parseAnswer: parseGeminiAnswer,
    readError: readGeminiError,
  },
  embed: geminiEmbedder,
} satisfies Dialect;
