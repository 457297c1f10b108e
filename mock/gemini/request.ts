import { isJsonObject, type JsonObject } from "../json.ts";
import type { Conversation } from "../model/conversation.ts";
import { invalid, type Problem } from "../problem.ts";
import { readConfig, type Config } from "./config.ts";
import { readContents } from "./contents.ts";
import { message } from "./members.ts";
import { readTools, type GeminiTools } from "./tools.ts";

/** A request, as far as the simulated answer depends on it. */
export interface GeminiRequest {
  readonly conversation: Conversation;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly tools: GeminiTools;
  readonly config: Config;
}

/**
 * Reads a request; one without contents is refused.
 *
 * @param model the third generation refuses calls without signatures, older ones do not.
 */
export function readGenerateRequest(value: JsonObject, model: string): GeminiRequest | Problem {
  const body = message(value);
  const conversation = readContents(body, !/^gemini-[12]/.test(model));
  if ("status" in conversation) return conversation;
  if (conversation.messages === 0) return invalid("contents", "contents is not specified");
  const tools = readTools(body);
  const config = readConfig(body.generationConfig);
  return { conversation, tokens: conversation.tokens + tools.tokens, tools, config };
}

/** The same for a count: the Gemini API takes a whole request of generateContent inside as well. */
export function readCountRequest(value: JsonObject, model: string): GeminiRequest | Problem {
  const { generateContentRequest: nested } = message(value);
  return readGenerateRequest(isJsonObject(nested) ? nested : value, model);
}
