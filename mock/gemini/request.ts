import { isJsonObject, type JsonObject } from "../json.ts";
import { isBoolean, isList, isObject, isText, isTextOrObject, memberTable, type Check } from "../member-table.ts";
import { invalid, type Problem } from "../problem.ts";
import { readConfig, type Config } from "./config.ts";
import { readContents, readInstruction, type Conversation } from "./contents.ts";
import { readMessage } from "./members.ts";
import { readTools, type GeminiTools } from "./tools.ts";

/** A request that Google would accept, as far as the simulated answer depends on it. */
export interface GeminiRequest {
  readonly conversation: Conversation;
  /** Estimated tokens of everything that the model reads. */
  readonly tokens: number;
  readonly tools: GeminiTools;
  readonly config: Config;
}

/** What a request is asked of. */
export interface Asked {
  readonly model: string;
  /** Path and query. */
  readonly target: string;
  readonly lenient: boolean;
}

const isListOrObject: Check = (value) => isList(value) || isObject(value);

/** Every member of a body of generateContent. */
const GENERATE = memberTable(
  ["model", "a string", isText],
  ["contents", "a list", isList],
  ["systemInstruction", "a content", isTextOrObject],
  ["tools", "a list", isListOrObject],
  ["toolConfig", "an object", isObject],
  ["generationConfig", "an object", isObject],
  ["safetySettings", "a list", isList],
  ["labels", "an object", isObject],
  ["modelArmorConfig", "an object", isObject],
  ["serviceTier", "a string", (value) => ["standard", "flex", "priority", "unspecified"].includes(String(value))],
  ["store", "a boolean", isBoolean],
);

export function readGenerateRequest(body: JsonObject, asked: Asked): GeminiRequest | Problem {
  const read = readMessage(body, GENERATE, "", asked.lenient);
  if ("problem" in read) return read.problem;
  const { members } = read;
  // Nothing is kept here, so nothing that was kept can be found.
  if (members["store"] === true) return invalid("store", "The simulated provider stores nothing.");
  const instruction = readInstruction(members["systemInstruction"]);
  if ("status" in instruction) return instruction;
  const conversation = readContents(members["contents"], demandsSignatures(asked.model));
  if ("status" in conversation) return conversation;
  const tools = readTools(members);
  if ("status" in tools) return tools;
  const config = readConfig(members["generationConfig"]);
  if ("status" in config) return config;
  if (config.isJson && tools.hasFunctions && !demandsSignatures(asked.model)) {
    return invalid(null, "Function calling with a response mime type: 'application/json' is unsupported");
  }
  return { conversation, tokens: conversation.tokens + instruction.tokens + tools.tokens, tools, config };
}

/** The third generation refuses calls without signatures, and takes functions together with JSON; older ones do neither. */
function demandsSignatures(model: string): boolean {
  return !/^gemini-[12]/.test(model);
}

/** Vertex AI takes the request's members beside each other. */
const FLAT = memberTable(
  ["model", "a string", isText],
  ["contents", "a list", isList],
  ["systemInstruction", "a content", isTextOrObject],
  ["tools", "a list", isListOrObject],
  ["generationConfig", "an object", isObject],
);

/** The Gemini API takes contents alone, or a whole request of generateContent. */
const NESTED = memberTable(["contents", "a list", isList], ["generateContentRequest", "an object", isObject]);

export function readCountRequest(body: JsonObject, asked: Asked): GeminiRequest | Problem {
  const isFlat = asked.target.includes("/publishers/");
  const read = readMessage(body, isFlat ? FLAT : NESTED, "", asked.lenient);
  if ("problem" in read) return read.problem;
  const { generateContentRequest: nested, contents } = read.members;
  if (!isJsonObject(nested)) return readGenerateRequest(read.members, asked);
  if (contents !== undefined) return invalid(null, "contents and generate_content_request are mutually exclusive");
  if (nested["model"] === undefined) return invalid("generate_content_request.model", "required field is not set");
  return readGenerateRequest(nested, asked);
}
