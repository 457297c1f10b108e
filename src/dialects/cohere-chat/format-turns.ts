import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type {
  AssistantPart,
  AssistantTurn,
  CacheMark,
  ImagePart,
  InputPart,
  ReasoningPart,
  SystemTurn,
  TextPart,
  ToolCallPart,
  ToolResult,
  Turn,
  UserTurn,
} from "../../canon/generate/generate-request.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import { printDataUrl } from "../data-url.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";

/** The body of a request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue>;
  readonly dropped: Set<DroppedField>;
}

/** The 400 for what the protocol cannot express. */
export function lacking(what: string): ServiceError {
  return invalidRequest(
    "feature_not_supported",
    `An endpoint that may get the request has no ${what}`,
  );
}

/** Writes `messages`; the error is a 400 for what this protocol cannot say. */
export function formatTurns(turns: readonly Turn[], draft: Draft): ServiceError | null {
  const formatter = new TurnFormatter(draft);
  for (const turn of turns) formatter.add(turn);
  if (formatter.refusal !== null) return formatter.refusal;
  draft.body["messages"] = formatter.messages;
  return null;
}

/** A turn's messages, and what they could not say. */
class TurnFormatter {
  readonly messages: JsonObject[] = [];
  refusal: ServiceError | null = null;
  readonly #draft: Draft;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  add(turn: Turn): void {
    switch (turn.role) {
      case "system":
        return this.#addSystem(turn);
      case "user":
        return this.#addUser(turn);
      case "assistant":
        return this.#addAssistant(turn);
      case "tool":
        for (const result of turn.results) this.#addResult(result);
    }
  }

  #addSystem({ authority, content }: SystemTurn): void {
    if (authority === "developer") this.#draft.dropped.add("developer_as_system");
    this.#push("system", this.#inputs(content));
  }

  #addUser({ name, content }: UserTurn): void {
    this.#dropName(name);
    this.#push("user", this.#inputs(content));
  }

  #push(role: string, content: readonly JsonObject[]): void {
    this.messages.push({ role, content: plain(content) });
  }

  #inputs(parts: readonly InputPart[]): readonly JsonObject[] {
    return parts.flatMap((part) => this.#input(part));
  }

  #input(part: InputPart): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return this.#text(part);
      case "image":
        return [this.#image(part)];
      case "file":
        return this.#refuse("files");
      case "audio":
        return this.#refuse("audio");
    }
  }

  #text({ text, cache }: TextPart): readonly JsonObject[] {
    this.#dropMark(cache);
    return [{ type: "text", text }];
  }

  #image({ source, detail, cache }: ImagePart): JsonObject {
    this.#dropMark(cache);
    const url = source.kind === "url" ? source.url : printDataUrl(source.mediaType, source.data);
    return { type: "image_url", image_url: { url, ...(detail === null ? {} : { detail }) } };
  }

  /**
   * A message has a member for each kind of content, in this order: thought, text, the plan, calls.
   */
  #addAssistant({ name, content }: AssistantTurn): void {
    this.#dropName(name);
    const said: JsonObject[] = [];
    const calls: JsonObject[] = [];
    for (const part of content) {
      if (part.kind === "tool_call") {
        calls.push(this.#call(part));
        continue;
      }
      const printed = this.#said(part);
      if (calls.length > 0 && printed.length > 0) this.#draft.dropped.add("parts_reordered");
      for (const one of printed) said.push(one);
    }
    this.messages.push({
      role: "assistant",
      ...spoken(said, calls.length > 0),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    });
  }

  #said(part: Exclude<AssistantPart, ToolCallPart>): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return this.#text(part);
      case "refusal":
        this.#draft.dropped.add("refusal_as_text");
        return this.#text({ kind: "text", text: part.text, cache: null });
      case "reasoning":
        return this.#thinking(part);
    }
  }

  #thinking({ text, summary, signature }: ReasoningPart): readonly JsonObject[] {
    if (signature !== null) return this.#refuse("member for signed reasoning of an earlier answer");
    if (summary) this.#draft.dropped.add("reasoning_display_dropped");
    return [{ type: "thinking", thinking: text }];
  }

  #call({ id, name, arguments: json, cache }: ToolCallPart): JsonObject {
    this.#dropMark(cache);
    return { id, type: "function", function: { name, arguments: json } };
  }

  #addResult({ callId, content, isError, cache }: ToolResult): void {
    this.#dropMark(cache);
    if (isError === true) this.#draft.dropped.add("tool_error_flag_dropped");
    const texts = content.flatMap((part) => (part.kind === "text" ? this.#text(part) : []));
    // Every call needs a result, one that says nothing too.
    this.messages.push({
      role: "tool",
      tool_call_id: callId,
      content: texts.length === 0 ? "" : plain(texts),
    });
  }

  #dropMark(cache: CacheMark | null): void {
    if (cache !== null) this.#draft.dropped.add("cache_mark_dropped");
  }

  #dropName(name: string | null): void {
    if (name !== null) this.#draft.dropped.add("participant_name_dropped");
  }

  /**
   * The decision keeps such requests away; one that gets here all the same must not lose what it
   * says.
   */
  #refuse(what: string): readonly JsonObject[] {
    this.refusal ??= lacking(what);
    return [];
  }
}

/** One text stands for itself, anything else in a list. */
function plain(parts: readonly JsonObject[]): JsonValue {
  const [only] = parts;
  return parts.length === 1 && only?.["type"] === "text" ? (only["text"] ?? "") : parts;
}

/**
 * The text before calls is their plan: this is how the model's own plan, as text, comes back to it.
 */
function spoken(said: readonly JsonObject[], called: boolean): JsonObject {
  const last = said.at(-1);
  const plan = called && last?.["type"] === "text" ? last["text"] : undefined;
  const content = plan === undefined ? said : said.slice(0, -1);
  return {
    ...(content.length === 0 ? {} : { content: plain(content) }),
    ...(plan === undefined ? {} : { tool_plan: plan }),
  };
}
