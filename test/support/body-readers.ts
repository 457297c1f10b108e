import type { JsonObject } from "../../src/canon/json.ts";
import type { BodyReader } from "../../src/canon/request.ts";
import type { RequestReader } from "../../src/dialects/dialect.ts";
import { messagesSurface } from "../../src/dialects/anthropic-messages/dialect.ts";
import { rerankSurface } from "../../src/dialects/cohere-chat/rerank-surface.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { completionsSurface } from "../../src/dialects/openai-completions/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";

function readerOf(surface: RequestReader, body: JsonObject): BodyReader {
  const headers = { version: null, betas: [] };
  const request = surface.parse({ model: "r", ...body }, 0, headers);
  if ("code" in request) throw new Error(`refused: ${request.message}`);
  return request.reader;
}

export const CHAT_BODY = readerOf(chatSurface, { messages: [{ role: "user", content: "Hi" }] });
export const COMPLETIONS_BODY = readerOf(completionsSurface, { prompt: "Hi" });
export const RESPONSES_BODY = readerOf(responsesSurface, { input: "Hi" });
export const MESSAGES_BODY = readerOf(messagesSurface, {
  max_tokens: 1,
  messages: [{ role: "user", content: "Hi" }],
});
export const RERANK_BODY = readerOf(rerankSurface, { query: "Hi", documents: ["Hi"] });
