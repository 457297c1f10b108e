import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type {
  AssistantPart,
  CacheMark,
  FilePart,
  ImagePart,
  InputPart,
  SystemTurn,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import { parseExactJsonText } from "../json.ts";
import { redactedData } from "./reasoning.ts";
import { base64ToText } from "../../canon/json/text-base64.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";

type Role = "user" | "assistant" | "system";

/** Writes `system` and `messages`. The error is for data that is not what it says it is. */
export function formatTurns(turns: readonly Turn[], draft: Draft): ServiceError | null {
  const first = turns.findIndex(({ role }) => role !== "system");
  const leading = first === -1 ? turns.length : first;
  const system = formatSystem(turns.slice(0, leading), draft);
  if (system !== undefined) draft.body["system"] = system;
  const messages = new MessageList(draft);
  for (const turn of turns.slice(leading)) {
    const refused = messages.add(turn);
    if (refused !== null) return refused.error;
  }
  draft.body["messages"] = messages.list;
  return null;
}

/**
 * The system text before the first turn: a plain text where it is one, a list of blocks where it is
 * more.
 */
function formatSystem(turns: readonly Turn[], draft: Draft): JsonValue | undefined {
  const systems = turns.filter((turn): turn is SystemTurn => turn.role === "system");
  if (systems.length > 1) draft.dropped.add("system_joined");
  const blocks = systems.flatMap((turn) => formatSystemTurn(turn, draft));
  const [only] = blocks;
  if (only === undefined) return undefined;
  return blocks.length === 1 && only["cache_control"] === undefined ? only["text"] : blocks;
}

function formatSystemTurn({ authority, content }: SystemTurn, draft: Draft): readonly JsonObject[] {
  if (authority === "developer") draft.dropped.add("developer_as_system");
  return content.map(({ text, cache }) => formatText(text, cache));
}

/**
 * Messages as they are made. Results of tools stand in user messages, and turns of one role in one
 * message.
 */
class MessageList {
  readonly list: JsonObject[] = [];
  readonly #draft: Draft;
  #blocks: JsonObject[] = [];
  #role: Role | null = null;
  /** The kind of the turn that the last message ends with. */
  #last: Turn["role"] | null = null;

  constructor(draft: Draft) {
    this.#draft = draft;
  }

  add(turn: Turn): Refused | null {
    const blocks = this.#format(turn);
    if (blocks instanceof Refused) return blocks;
    const role = turn.role === "tool" ? "user" : turn.role;
    if (role === this.#role && role !== "system") {
      if (turn.role === this.#last && turn.role !== "tool") this.#draft.dropped.add("turns_merged");
      for (const block of blocks) this.#blocks.push(block);
    } else {
      this.#role = role;
      this.#blocks = [...blocks];
      this.list.push({ role, content: this.#blocks });
    }
    this.#last = turn.role;
    return null;
  }

  #format(turn: Turn): readonly JsonObject[] | Refused {
    const { dropped } = this.#draft;
    switch (turn.role) {
      case "system":
        return formatSystemTurn(turn, this.#draft);
      case "user": {
        if (turn.name !== null) dropped.add("participant_name_dropped");
        return formatInput(turn.content, this.#draft);
      }
      case "assistant":
        if (turn.name !== null) dropped.add("participant_name_dropped");
        return turn.content.flatMap((part) => this.#formatSaid(part));
      case "tool": {
        const results: JsonObject[] = [];
        for (const result of turn.results) {
          const block = this.#formatResult(result);
          if (block instanceof Refused) return block;
          results.push(block);
        }
        return results;
      }
    }
  }

  #formatResult({ callId, content, isError, cache }: ToolResult): JsonObject | Refused {
    const blocks = formatInput(content, this.#draft);
    if (blocks instanceof Refused) return blocks;
    const [only] = blocks;
    const plain =
      blocks.length === 1 && only?.["type"] === "text" && only["cache_control"] === undefined;
    return {
      type: "tool_result",
      tool_use_id: callId,
      ...(blocks.length === 0 ? {} : { content: plain ? only["text"] : blocks }),
      ...(isError === null ? {} : { is_error: isError }),
      ...formatMark(cache),
    };
  }

  #formatSaid(part: AssistantPart): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return [formatText(part.text, part.cache)];
      case "refusal":
        this.#draft.dropped.add("refusal_as_text");
        return [formatText(part.text, null)];
      case "tool_call": {
        const { id, name, cache } = part;
        const input = parseExactJsonText(part.arguments);
        if (!isJsonObject(input))
          throw new Error("formatTurns: arguments that no parser at the door let in");
        return [{ type: "tool_use", id, name, input, ...formatMark(cache) }];
      }
      case "reasoning": {
        const { text, signature } = part;
        const data = redactedData(signature ?? "");
        return [
          data === null
            ? { type: "thinking", thinking: text, signature }
            : { type: "redacted_thinking", data },
        ];
      }
    }
  }
}

/** The body of a request while it is made, and what could not be said in it. */
export interface Draft {
  readonly body: Record<string, JsonValue | undefined>;
  readonly dropped: Set<DroppedField>;
}

/**
 * What cannot be printed, and why. A class, because a block is an object too and must be
 * distinguished from it.
 */
class Refused {
  readonly error: ServiceError;

  constructor(error: ServiceError) {
    this.error = error;
  }
}

function formatText(text: string, cache: CacheMark | null): JsonObject {
  return { type: "text", text, ...formatMark(cache) };
}

/** The blocks of a user's turn or of a tool's result. */
function formatInput(parts: readonly InputPart[], draft: Draft): readonly JsonObject[] | Refused {
  const blocks: JsonObject[] = [];
  for (const part of parts) {
    const formatted = formatPart(part, draft);
    if (formatted instanceof Refused) return formatted;
    for (const block of formatted) blocks.push(block);
  }
  return blocks;
}

function formatPart(part: InputPart, draft: Draft): readonly JsonObject[] | Refused {
  switch (part.kind) {
    case "text":
      return [formatText(part.text, part.cache)];
    case "image":
      return [formatImage(part, draft)];
    case "file":
      return formatFile(part);
    case "audio":
      throw new Error("formatMessages: audio, which the dialect does not express");
  }
}

function formatImage({ source, detail, cache }: ImagePart, { dropped }: Draft): JsonObject {
  if (detail !== null) dropped.add("image_detail_dropped");
  const from =
    source.kind === "url"
      ? { type: "url", url: source.url }
      : { type: "base64", media_type: source.mediaType, data: source.data };
  return { type: "image", source: from, ...formatMark(cache) };
}

function formatFile({ source, name, cache }: FilePart): readonly JsonObject[] | Refused {
  const more = { ...(name === null ? {} : { title: name }), ...formatMark(cache) };
  if (source.kind === "url")
    return [{ type: "document", source: { type: "url", url: source.url }, ...more }];
  const [essence = ""] = source.mediaType.toLowerCase().split(";", 1);
  if (essence.trim() !== "text/plain") {
    const from = { type: "base64", media_type: source.mediaType, data: source.data };
    return [{ type: "document", source: from, ...more }];
  }
  const text = base64ToText(source.data);
  if (text === null) {
    return new Refused(
      invalidRequest("invalid_file_data", "A text file's data must be base64 of UTF-8 text"),
    );
  }
  return [
    { type: "document", source: { type: "text", media_type: "text/plain", data: text }, ...more },
  ];
}

/** The member that marks the end of what a provider may keep. */
export function formatMark(cache: CacheMark | null): JsonObject {
  if (cache === null) return {};
  return {
    cache_control: { type: "ephemeral", ...(cache.ttl === null ? {} : { ttl: cache.ttl }) },
  };
}
