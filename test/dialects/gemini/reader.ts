import type {
  AssistantPart,
  GenerateRequest,
  InputPart,
  OutputFormat,
  ReasoningRequest,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { FormattedRequest } from "../../../src/dialects/dialect.ts";
import { UNSIGNED_CALL } from "../../../src/dialects/gemini/signatures.ts";
import { hello, text } from "./target.ts";

/** The protocol as far as requests are printed in it. */
interface Body {
  readonly model?: string;
  readonly generateContentRequest?: Body;
  readonly contents: readonly Content[];
  readonly systemInstruction?: Content;
  readonly tools?: readonly { readonly functionDeclarations: readonly Declaration[] }[];
  readonly toolConfig?: ToolConfig;
  readonly generationConfig?: Config;
  readonly serviceTier?: "standard" | "flex" | "priority";
}

interface Content {
  readonly role?: string;
  readonly parts: readonly Part[];
}

interface Part {
  readonly text?: string;
  readonly thought?: boolean;
  readonly thoughtSignature?: string;
  readonly inlineData?: { readonly mimeType: string; readonly data: string };
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: JsonObject };
  readonly functionResponse?: {
    readonly id: string;
    readonly name: string;
    readonly response: {
      readonly output?: string | readonly string[];
      readonly error?: string | readonly string[];
    };
    readonly parts?: readonly Part[];
  };
}

interface Declaration {
  readonly name: string;
  readonly description?: string;
  readonly parametersJsonSchema?: JsonObject;
}

interface ToolConfig {
  readonly functionCallingConfig: {
    readonly mode: string;
    readonly allowedFunctionNames?: readonly string[];
  };
}

interface Thinking {
  readonly thinkingLevel?: "minimal" | "low" | "medium" | "high";
  readonly thinkingBudget?: number;
  readonly includeThoughts?: boolean;
}

interface Config {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly seed?: number;
  readonly stopSequences?: readonly string[];
  readonly responseLogprobs?: boolean;
  readonly logprobs?: number;
  readonly responseMimeType?: string;
  readonly responseJsonSchema?: JsonObject;
  readonly thinkingConfig?: Thinking;
  readonly mediaResolution?: string;
}

/** Members that are left when all known ones have been taken: there must be none. */
function take<Known extends object>(
  object: Known,
  ...names: readonly (keyof Known & string)[]
): Known {
  const known: readonly string[] = names;
  const strange = Object.keys(object).filter((name) => !known.includes(name));
  if (strange.length > 0) throw new Error(`the reader does not know ${strange.join(", ")}`);
  return object;
}

/**
 * Reads a request of this protocol into canon, as a surface of it would: the only proof that
 * nothing disappears on the way out.
 */
export function readBack({ path, body }: FormattedRequest): GenerateRequest {
  const printed: Body = JSON.parse(JSON.stringify(body));
  const isCount = path.endsWith(":countTokens");
  const { contents, systemInstruction, tools, toolConfig, generationConfig, serviceTier } = take(
    isCount ? (take(printed, "generateContentRequest").generateContentRequest ?? printed) : printed,
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "serviceTier",
    ...(isCount ? (["model"] as const) : []),
  );
  const config = take(
    generationConfig ?? {},
    "maxOutputTokens",
    "temperature",
    "topP",
    "topK",
    "frequencyPenalty",
    "presencePenalty",
    "seed",
    "stopSequences",
    "responseLogprobs",
    "logprobs",
    "responseMimeType",
    "responseJsonSchema",
    "thinkingConfig",
    "mediaResolution",
  );
  const choice = readChoice(toolConfig);
  const tiers = { standard: "default", flex: "flex", priority: "priority" };
  return {
    ...hello,
    purpose: isCount ? "count" : "generate",
    stream: path.includes(":streamGenerateContent"),
    turns: [...readSystem(systemInstruction), ...contents.flatMap(readContent)],
    tools: readTools(tools, choice.strict),
    toolChoice: choice.choice,
    format: readFormat(config),
    maxOutputTokens: config.maxOutputTokens ?? null,
    temperature: config.temperature ?? null,
    topP: config.topP ?? null,
    topK: config.topK ?? null,
    frequencyPenalty: config.frequencyPenalty ?? null,
    presencePenalty: config.presencePenalty ?? null,
    seed: config.seed ?? null,
    stop: config.stopSequences ?? [],
    logprobs: config.responseLogprobs === true ? (config.logprobs ?? 0) : null,
    reasoning: readReasoning(config.thinkingConfig),
    hints: { ...hello.hints, serviceTier: serviceTier === undefined ? null : tiers[serviceTier] },
  };
}

function readSystem(instruction: Content | undefined): readonly Turn[] {
  if (instruction === undefined) return [];
  const content = take(instruction, "parts").parts.map((part) =>
    text(take(part, "text").text ?? ""),
  );
  return [{ role: "system", authority: "system", content }];
}

function readContent(content: Content): readonly Turn[] {
  const { role, parts } = take(content, "role", "parts");
  if (role === "model")
    return [{ role: "assistant", name: null, content: parts.flatMap(readSaid) }];
  if (role !== "user" || parts.length === 0)
    throw new Error("a turn without a role, or without content");
  if (parts.every(({ functionResponse }) => functionResponse !== undefined)) {
    return [{ role: "tool", results: parts.map(readResult) }];
  }
  return [{ role: "user", name: null, content: parts.map(readInput) }];
}

function readInput(part: Part): InputPart {
  const { text: value, inlineData } = take(part, "text", "inlineData");
  if (inlineData === undefined) return text(value ?? "");
  const { mimeType, data } = take(inlineData, "mimeType", "data");
  const source = { kind: "base64", mediaType: mimeType, data } as const;
  if (mimeType.startsWith("image/")) return { kind: "image", source, detail: null, cache: null };
  if (mimeType.startsWith("audio/"))
    return { kind: "audio", format: mimeType.slice("audio/".length), data };
  return { kind: "file", source, name: null, cache: null };
}

/**
 * A signature on a part is reasoning without text before it; one on a thought is that thought's.
 */
function readSaid(part: Part): readonly AssistantPart[] {
  const {
    text: value,
    thought,
    thoughtSignature,
    functionCall,
  } = take(part, "text", "thought", "thoughtSignature", "functionCall");
  const signature =
    thoughtSignature === undefined || thoughtSignature === UNSIGNED_CALL ? null : thoughtSignature;
  const family = signature === null ? null : "gemini";
  const reasoning = (said: string) =>
    ({ kind: "reasoning", text: said, summary: true, signature, family }) as const;
  if (thought === true) return [reasoning(value ?? "")];
  const before = signature === null ? [] : [reasoning("")];
  if (functionCall === undefined)
    return value === undefined || value === "" ? before : [...before, text(value)];
  const { id, name, args } = take(functionCall, "id", "name", "args");
  return [...before, { kind: "tool_call", id, name, arguments: JSON.stringify(args), cache: null }];
}

function readResult({ functionResponse }: Part): ToolResult {
  if (functionResponse === undefined) throw new Error("not a result");
  const { id, response, parts } = take(functionResponse, "id", "name", "response", "parts");
  const { output, error } = take(response, "output", "error");
  const said = output ?? error ?? [];
  const texts = (typeof said === "string" ? [said] : said).map(text);
  return {
    callId: id,
    content: [...texts, ...(parts ?? []).map(readFile)],
    isError: error === undefined ? null : true,
    cache: null,
  };
}

function readFile(part: Part): Exclude<InputPart, { kind: "audio" }> {
  const read = readInput(part);
  if (read.kind === "audio") throw new Error("a recording in a result, which canon does not have");
  return read;
}

function readTools(tools: Body["tools"], strict: boolean): readonly Tool[] {
  return (tools ?? []).flatMap((tool) =>
    take(tool, "functionDeclarations").functionDeclarations.map((declared): Tool => {
      const { name, description, parametersJsonSchema } = take(
        declared,
        "name",
        "description",
        "parametersJsonSchema",
      );
      return {
        name,
        description: description ?? null,
        parameters: parametersJsonSchema ?? null,
        strict,
        cache: null,
      };
    }),
  );
}

function readChoice(toolConfig: ToolConfig | undefined): {
  readonly choice: ToolChoice | null;
  readonly strict: boolean;
} {
  if (toolConfig === undefined) return { choice: null, strict: false };
  const { mode, allowedFunctionNames: names } = take(
    take(toolConfig, "functionCallingConfig").functionCallingConfig,
    "mode",
    "allowedFunctionNames",
  );
  const allowed = names === undefined ? null : { mode: "allowed" as const, names };
  switch (mode) {
    case "AUTO":
      return { choice: { mode: "auto" }, strict: false };
    case "NONE":
      return { choice: { mode: "none" }, strict: false };
    case "ANY":
      return {
        choice: allowed === null ? { mode: "required" } : { ...allowed, required: true },
        strict: false,
      };
    case "VALIDATED":
      return allowed === null
        ? { choice: null, strict: true }
        : { choice: { ...allowed, required: false }, strict: false };
    default:
      throw new Error("a mode that the protocol does not have");
  }
}

function readFormat(config: Config): OutputFormat | null {
  const { responseMimeType: type, responseJsonSchema: schema } = config;
  if (type === undefined) return null;
  if (type !== "application/json") throw new Error("a media type that is never requested");
  return schema === undefined
    ? { kind: "json_object" }
    : { kind: "json_schema", name: null, description: null, schema, strict: null };
}

function readReasoning(config: Thinking | undefined): ReasoningRequest | null {
  if (config === undefined) return null;
  const { thinkingLevel, thinkingBudget, includeThoughts } = take(
    config,
    "thinkingLevel",
    "thinkingBudget",
    "includeThoughts",
  );
  const display = includeThoughts === true ? "summarized" : "omitted";
  if (thinkingBudget === 0) return { effort: "none", budget: null, adaptive: false, display };
  return {
    effort: thinkingLevel ?? "unspecified",
    budget: thinkingBudget ?? null,
    adaptive: false,
    display,
  };
}
