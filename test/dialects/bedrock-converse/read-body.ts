import type {
  AssistantPart,
  CacheMark,
  GenerateRequest,
  InputPart,
  SystemTurn,
  Tool,
  ToolChoice,
  ToolResult,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { REASONING_EFFORTS } from "../../../src/canon/request.ts";
import type { FormattedRequest } from "../../../src/dialects/dialect.ts";
import { hello } from "./target.ts";

/** Takes members out of an object; what is left at the end is not understood. */
class Members {
  readonly #object: Record<string, JsonValue | undefined>;

  constructor(value: JsonValue | undefined) {
    if (!isJsonObject(value)) throw new Error(`not an object: ${JSON.stringify(value)}`);
    this.#object = { ...value };
  }

  any(name: string): JsonValue | undefined {
    const value = this.#object[name];
    delete this.#object[name];
    return value;
  }

  text(name: string): string {
    const value = this.any(name);
    if (typeof value !== "string") throw new Error(`${name} is no text: ${JSON.stringify(value)}`);
    return value;
  }

  textOrNull(name: string): string | null {
    return this.#object[name] === undefined ? null : this.text(name);
  }

  number(name: string): number | null {
    const value = this.any(name) ?? null;
    if (value !== null && typeof value !== "number") throw new Error(`${name} is no number`);
    return value;
  }

  list(name: string): readonly JsonValue[] {
    const value = this.any(name) ?? [];
    if (!Array.isArray(value)) throw new Error(`${name} is no list`);
    return value;
  }

  at(name: string): Members {
    return new Members(this.any(name) ?? {});
  }

  close(): void {
    const rest = Object.keys(this.#object);
    if (rest.length > 0)
      throw new Error(`not understood: ${rest.join(", ")} of ${JSON.stringify(this.#object)}`);
  }
}

type Marked<Part> = Part & { readonly cache: CacheMark | null };

/** Reads what was printed as a provider would. `family`: who reads the signatures there. */
export function readBody({ path, body }: FormattedRequest, family: string | null): GenerateRequest {
  const [, id = "", operation = ""] = /^\/model\/([^/]+)\/([a-z-]+)$/.exec(path) ?? [];
  if (decodeURIComponent(id) !== "eu.vendor.model-v1:0")
    throw new Error(`a path of another model: ${path}`);
  const counts = operation === "count-tokens";
  // As it goes over the wire.
  const parsed: JsonValue = JSON.parse(JSON.stringify(body));
  const members = counts ? new Members(parsed).at("input").at("converse") : new Members(parsed);
  const inference = members.at("inferenceConfig");
  const additional = members.at("additionalModelRequestFields");
  const output = members.at("outputConfig");
  const parallel = readParallel(additional);
  const request: GenerateRequest = {
    ...hello,
    purpose: counts ? "count" : "generate",
    stream: operation === "converse-stream",
    turns: [
      ...readSystem(members.list("system")),
      ...members.list("messages").flatMap((one) => readMessage(one, family)),
    ],
    ...readTools(members.at("toolConfig")),
    parallelToolCalls: parallel,
    format: readFormat(output),
    reasoning: readReasoning(additional, output),
    topK: additional.number("top_k"),
    maxOutputTokens: inference.number("maxTokens"),
    temperature: inference.number("temperature"),
    topP: inference.number("topP"),
    stop: inference.list("stopSequences").map(String),
    hints: { ...hello.hints, serviceTier: members.at("serviceTier").textOrNull("type") },
  };
  for (const each of [members, inference, additional, output]) each.close();
  return request;
}

/** A list with cache points, each of which marks what stands before it. */
function readMarked<Part extends object>(
  list: readonly JsonValue[],
  read: (members: Members) => Part,
): readonly Marked<Part>[] {
  const parts: Marked<Part>[] = [];
  for (const item of list) {
    const members = new Members(item);
    const point = members.any("cachePoint");
    if (point === undefined) {
      parts.push({ ...read(members), cache: null });
      members.close();
      continue;
    }
    const mark = new Members(point);
    const last = parts.pop();
    const kind = mark.text("type");
    const ttl = mark.textOrNull("ttl");
    if (last === undefined || last.cache !== null || kind !== "default")
      throw new Error("a cache point that marks nothing");
    if (ttl !== null && ttl !== "5m" && ttl !== "1h") throw new Error("an unknown time");
    parts.push({ ...last, cache: { ttl } });
  }
  return parts;
}

function readSystem(list: readonly JsonValue[]): readonly SystemTurn[] {
  const content = readMarked(list, (members) => ({
    kind: "text" as const,
    text: members.text("text"),
  }));
  return content.length === 0 ? [] : [{ role: "system", authority: "system", content }];
}

/** Results of tools stand in a user's message, before what the user says. */
function readMessage(value: JsonValue, family: string | null): readonly Turn[] {
  const message = new Members(value);
  const role = message.text("role");
  const list = message.list("content");
  message.close();
  if (role === "assistant")
    return [
      {
        role,
        name: null,
        content: readMarked(list, (members) => readSaid(members, family)).map(unmarked),
      },
    ];
  if (role !== "user") throw new Error(`a message of ${role}`);
  const turns: Turn[] = [];
  for (const part of readMarked<{ readonly input: InputPart } | { readonly result: ToolResult }>(
    list,
    readUserBlock,
  )) {
    const last = turns.at(-1);
    if ("result" in part) {
      turns.push({ role: "tool", results: [{ ...part.result, cache: part.cache }] });
    } else {
      const input = part.input.kind === "audio" ? part.input : { ...part.input, cache: part.cache };
      if (last?.role === "user")
        turns[turns.length - 1] = { ...last, content: [...last.content, input] };
      else turns.push({ role: "user", name: null, content: [input] });
    }
  }
  return turns;
}

/** Reasoning has no marks. */
function unmarked(part: Marked<AssistantPart>): AssistantPart {
  if (part.kind !== "reasoning") return part;
  const { cache, ...reasoning } = part;
  if (cache !== null) throw new Error("a cache point after reasoning");
  return reasoning;
}

function readUserBlock(
  members: Members,
): { readonly input: InputPart } | { readonly result: ToolResult } {
  const result = members.any("toolResult");
  if (result === undefined) return { input: readInput(members) };
  const inner = new Members(result);
  const status = inner.textOrNull("status");
  const content = inner.list("content").map((item) => {
    const part = readInput(new Members(item));
    if (part.kind === "audio") throw new Error("a sound in a tool's result");
    return part;
  });
  const read = {
    callId: inner.text("toolUseId"),
    content,
    isError: status === null ? null : status === "error",
    cache: null,
  };
  inner.close();
  return { result: read };
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  txt: "text/plain",
  pdf: "application/pdf",
  csv: "text/csv",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

function readInput(members: Members): InputPart {
  const text = members.textOrNull("text");
  if (text !== null) return { kind: "text", text, cache: null };
  for (const kind of ["image", "document", "audio"] as const) {
    const value = members.any(kind);
    if (value === undefined) continue;
    const inner = new Members(value);
    const format = inner.text("format");
    const source = inner.at("source");
    const data = source.text("bytes");
    const name = kind === "document" ? inner.text("name") : null;
    inner.close();
    source.close();
    if (kind === "audio") return { kind, format, data };
    if (kind === "image")
      return {
        kind,
        source: { kind: "base64", mediaType: `image/${format}`, data },
        detail: null,
        cache: null,
      };
    return {
      kind: "file",
      source: { kind: "base64", mediaType: MEDIA_TYPES[format] ?? format, data },
      name,
      cache: null,
    };
  }
  throw new Error("a block of no kind");
}

function readSaid(members: Members, family: string | null): AssistantPart {
  const call = members.any("toolUse");
  if (call !== undefined) {
    const inner = new Members(call);
    const id = inner.text("toolUseId");
    const name = inner.text("name");
    const input = inner.any("input");
    inner.close();
    return { kind: "tool_call", id, name, arguments: JSON.stringify(input), cache: null };
  }
  const thought = members.any("reasoningContent");
  if (thought === undefined) return { kind: "text", text: members.text("text"), cache: null };
  const inner = new Members(thought);
  const redacted = inner.textOrNull("redactedContent");
  if (redacted !== null)
    return {
      kind: "reasoning",
      text: "",
      summary: false,
      signature: `redacted:${redacted}`,
      family,
    };
  const said = inner.at("reasoningText");
  const read = {
    kind: "reasoning",
    text: said.text("text"),
    summary: false,
    signature: said.text("signature"),
    family,
  } as const;
  said.close();
  inner.close();
  return read;
}

function readTools(config: Members): {
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice | null;
} {
  const tools = readMarked(config.list("tools"), (members) => {
    const specification = members.at("toolSpec");
    const schema = specification.at("inputSchema");
    const json = schema.any("json");
    schema.close();
    const tool = {
      name: specification.text("name"),
      description: specification.textOrNull("description"),
      parameters: isJsonObject(json) ? json : null,
      strict: specification.any("strict") === true ? true : null,
    };
    specification.close();
    return tool;
  });
  const choice = config.any("toolChoice");
  config.close();
  return {
    tools: tools.filter(({ name }) => name !== "unavailable"),
    toolChoice: readChoice(choice),
  };
}

function readChoice(value: JsonValue | undefined): ToolChoice | null {
  if (value === undefined) return null;
  const [[choice, more] = ["", {}], ...rest] = Object.entries(new Object(value)) as readonly [
    string,
    JsonObject,
  ][];
  if (rest.length === 0 && choice === "auto") return null;
  if (rest.length === 0 && choice === "any") return { mode: "required" };
  if (rest.length === 0 && choice === "tool")
    return { mode: "named", name: new Members(more).text("name") };
  throw new Error(`an unknown choice of tools: ${choice}`);
}

function readParallel(additional: Members): boolean | null {
  const value = additional.any("tool_choice");
  if (value === undefined) return null;
  const choice = new Members(value);
  choice.text("type");
  choice.textOrNull("name");
  const off = choice.any("disable_parallel_tool_use");
  choice.close();
  return off !== true;
}

function readFormat(output: Members): GenerateRequest["format"] {
  const value = output.any("textFormat");
  if (value === undefined) return null;
  const format = new Members(value);
  const structure = format.at("structure");
  const inner = structure.at("jsonSchema");
  const schema: JsonValue = JSON.parse(inner.text("schema"));
  const read = {
    name: inner.textOrNull("name"),
    description: inner.textOrNull("description"),
    strict: null,
  };
  if (format.text("type") !== "json_schema" || !isJsonObject(schema))
    throw new Error("an answer of no form");
  for (const each of [inner, structure, format]) each.close();
  return { kind: "json_schema", schema, ...read };
}

function readReasoning(additional: Members, output: Members): GenerateRequest["reasoning"] {
  const level = output.textOrNull("effort");
  const effort = REASONING_EFFORTS.find((known) => known === level) ?? "unspecified";
  const value = additional.any("thinking");
  const nothing = { effort, budget: null, adaptive: false, display: null };
  if (value === undefined) return level === null ? null : nothing;
  const thinking = new Members(value);
  const kind = thinking.text("type");
  const budget = thinking.number("budget_tokens");
  thinking.close();
  if (kind === "disabled") return { ...nothing, effort: "none" };
  return { ...nothing, budget, adaptive: kind === "adaptive" };
}
