import type {
  AssistantPart,
  GenerateRequest,
  InputPart,
  ReasoningRequest,
  TextPart,
  Tool,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { readDataUrl } from "../../../src/dialects/data-url.ts";

/**
 * Reads a body of the protocol into canon, as the provider would understand it. No surface of ours
 * speaks the protocol, so this is written from its published description and from recorded
 * requests, not from our printer. Throws for every member that it does not know.
 */
export function readBody(body: JsonObject): GenerateRequest {
  const members = new Members(body, "");
  const request: GenerateRequest = {
    purpose: "generate",
    turns: joinResults(
      listOf(members.take("messages")).map((message) => readMessage(objectOf(message))),
    ),
    ...readTools(members),
    parallelToolCalls: null,
    format: readFormat(members.take("response_format")),
    maxOutputTokens: numberOr(members.take("max_tokens")),
    temperature: numberOr(members.take("temperature")),
    topP: numberOr(members.take("p")),
    topK: numberOr(members.take("k")),
    frequencyPenalty: numberOr(members.take("frequency_penalty")),
    presencePenalty: numberOr(members.take("presence_penalty")),
    logitBias: null,
    seed: numberOr(members.take("seed")),
    stop: listOf(members.take("stop_sequences") ?? []).map(String),
    logprobs: members.take("logprobs") === true ? 0 : null,
    reasoning: readThinking(members.take("thinking")),
    verbosity: null,
    hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
    stream: members.take("stream") === true,
  };
  members.take("model");
  members.close();
  return request;
}

class Members {
  readonly #object: JsonObject;
  readonly #path: string;
  readonly #taken = new Set<string>();

  constructor(object: JsonObject, path: string) {
    this.#object = object;
    this.#path = path;
  }

  take(name: string): JsonValue | undefined {
    this.#taken.add(name);
    return this.#object[name];
  }

  close(): void {
    const unknown = Object.keys(this.#object).filter((name) => !this.#taken.has(name));
    if (unknown.length > 0)
      throw new Error(`unknown members of ${this.#path || "the body"}: ${unknown.join(", ")}`);
  }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new Error(`no object: ${JSON.stringify(value)}`);
  return value;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (!Array.isArray(value)) throw new Error(`no list: ${JSON.stringify(value)}`);
  return value;
}

function textOf(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw new Error(`no text: ${JSON.stringify(value)}`);
  return value;
}

function numberOr(value: JsonValue | undefined): number | null {
  if (value !== undefined && typeof value !== "number")
    throw new Error(`no number: ${JSON.stringify(value)}`);
  return value ?? null;
}

const say = (text: string): TextPart => ({ kind: "text", text, cache: null });

function readMessage(message: JsonObject): Turn {
  const members = new Members(message, "a message");
  const role = textOf(members.take("role"));
  const content = members.take("content");
  const turn = readTurn(role, content, members);
  members.close();
  return turn;
}

function readTurn(role: string, content: JsonValue | undefined, members: Members): Turn {
  switch (role) {
    case "system":
      return { role, authority: "system", content: readTexts(content) };
    case "user":
      return { role, name: null, content: readParts(content) };
    case "tool": {
      const callId = textOf(members.take("tool_call_id"));
      return {
        role,
        results: [{ callId, content: readTexts(content), isError: null, cache: null }],
      };
    }
    case "assistant":
      return { role, name: null, content: readSaid(content, members) };
    default:
      throw new Error(`unknown role ${role}`);
  }
}

function readTexts(content: JsonValue | undefined): readonly TextPart[] {
  return readParts(content).map((part) => {
    if (part.kind !== "text") throw new Error(`${part.kind} where only text may stand`);
    return part;
  });
}

function readParts(content: JsonValue | undefined): readonly InputPart[] {
  if (typeof content === "string") return [say(content)];
  return listOf(content).map((part): InputPart => {
    const members = new Members(objectOf(part), "a part");
    const type = members.take("type");
    if (type === "text") {
      const text = textOf(members.take("text"));
      members.close();
      return say(text);
    }
    if (type !== "image_url") throw new Error(`unknown part ${JSON.stringify(type)}`);
    const image = new Members(objectOf(members.take("image_url")), "an image");
    const url = textOf(image.take("url"));
    const detail = image.take("detail") ?? null;
    image.close();
    members.close();
    if (detail !== null && detail !== "auto" && detail !== "low" && detail !== "high")
      throw new Error("detail");
    const data = readDataUrl(url);
    return {
      kind: "image",
      source: data === null ? { kind: "url", url } : { kind: "base64", ...data },
      detail,
      cache: null,
    };
  });
}

function readSaid(content: JsonValue | undefined, members: Members): readonly AssistantPart[] {
  const said: AssistantPart[] = [];
  if (typeof content === "string") said.push(say(content));
  else {
    for (const part of listOf(content ?? [])) {
      const { type, text, thinking, ...rest } = objectOf(part);
      if (Object.keys(rest).length > 0) throw new Error("unknown members of a part");
      if (type === "text") said.push(say(textOf(text)));
      else
        said.push({
          kind: "reasoning",
          text: textOf(thinking),
          summary: false,
          signature: null,
          family: null,
        });
    }
  }
  const plan = members.take("tool_plan");
  if (plan !== undefined) said.push(say(textOf(plan)));
  for (const call of listOf(members.take("tool_calls") ?? [])) {
    const { id, type, function: called, ...rest } = objectOf(call);
    const { name, arguments: json, ...more } = objectOf(called);
    if (type !== "function" || Object.keys({ ...rest, ...more }).length > 0)
      throw new Error("unknown call");
    said.push({
      kind: "tool_call",
      id: textOf(id),
      name: textOf(name),
      arguments: textOf(json),
      cache: null,
    });
  }
  return said;
}

/** Results that follow each other belong to the calls of one turn. */
function joinResults(turns: readonly Turn[]): readonly Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (turn.role === "tool" && last?.role === "tool") {
      joined[joined.length - 1] = { role: "tool", results: [...last.results, ...turn.results] };
    } else joined.push(turn);
  }
  return joined;
}

function readTools(members: Members): Pick<GenerateRequest, "tools" | "toolChoice"> {
  const strict = members.take("strict_tools") ?? null;
  const choice = members.take("tool_choice");
  const tools = listOf(members.take("tools") ?? []).map((value): Tool => {
    const { type, function: called, ...rest } = objectOf(value);
    const { name, description, parameters, ...more } = objectOf(called);
    if (type !== "function" || Object.keys({ ...rest, ...more }).length > 0)
      throw new Error("unknown tool");
    if (strict !== null && typeof strict !== "boolean") throw new Error("strict_tools");
    return {
      name: textOf(name),
      description: description === undefined ? null : textOf(description),
      parameters: objectOf(parameters),
      strict,
      cache: null,
    };
  });
  if (choice === undefined) return { tools, toolChoice: null };
  if (choice !== "REQUIRED" && choice !== "NONE")
    throw new Error(`unknown tool_choice ${JSON.stringify(choice)}`);
  return { tools, toolChoice: { mode: choice === "NONE" ? "none" : "required" } };
}

function readFormat(value: JsonValue | undefined): GenerateRequest["format"] {
  if (value === undefined) return null;
  const { type, json_schema: schema, ...rest } = objectOf(value);
  if (type !== "json_object" || Object.keys(rest).length > 0)
    throw new Error("unknown response_format");
  if (schema === undefined) return { kind: "json_object" };
  return {
    kind: "json_schema",
    name: null,
    description: null,
    schema: objectOf(schema),
    strict: null,
  };
}

function readThinking(value: JsonValue | undefined): ReasoningRequest | null {
  if (value === undefined) return null;
  const { type, token_budget: budget, ...rest } = objectOf(value);
  if (Object.keys(rest).length > 0) throw new Error("unknown thinking");
  if (type === "disabled") return { effort: "none", budget: null, adaptive: false, display: null };
  if (type !== "enabled") throw new Error("unknown thinking");
  return {
    effort: "unspecified",
    budget: numberOr(budget),
    adaptive: budget === undefined,
    display: null,
  };
}
