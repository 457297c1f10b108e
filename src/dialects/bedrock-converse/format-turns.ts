import type {
  AssistantPart,
  SystemTurn,
  ToolResult,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { isJsonObject, type JsonObject } from "../../canon/json.ts";
import { redactedData } from "../anthropic-messages/reasoning.ts";
import { parseExactJsonText } from "../json.ts";
import { cachePoint, DocumentNames, type Draft, PartFormatter } from "./format-parts.ts";

type Role = "user" | "assistant";

/**
 * Writes `system` and `messages`. Leading system text is the one; the protocol has none in the
 * middle.
 */
export function formatTurns(turns: readonly Turn[], draft: Draft): void {
  const parts = new PartFormatter(draft, new DocumentNames(draft.dropped));
  const first = turns.findIndex(({ role }) => role !== "system");
  const leading = first === -1 ? turns.length : first;
  const systems = turns
    .slice(0, leading)
    .filter((turn): turn is SystemTurn => turn.role === "system");
  if (systems.length > 1) draft.dropped.add("system_joined");
  if (systems.some(({ authority }) => authority === "developer"))
    draft.dropped.add("developer_as_system");
  const system = systems.flatMap(({ content }) => parts.input(content));
  if (system.length > 0) draft.body["system"] = system;
  const messages = new MessageList(draft, parts);
  for (const turn of turns.slice(leading)) messages.add(turn);
  draft.body["messages"] = messages.list;
}

/**
 * Whether the history has calls of tools or their results, which the protocol takes only together
 * with `toolConfig`.
 */
export function hasToolHistory(turns: readonly Turn[]): boolean {
  return turns.some(
    (turn) =>
      turn.role === "tool" ||
      (turn.role === "assistant" && turn.content.some(({ kind }) => kind === "tool_call")),
  );
}

/**
 * Messages as they are made. Roles alternate strictly, and results of tools stand in user messages.
 */
class MessageList {
  readonly list: JsonObject[] = [];
  readonly #draft: Draft;
  readonly #parts: PartFormatter;
  #blocks: JsonObject[] = [];
  #role: Role | null = null;
  /** The kind of the turn that the last message ends with. */
  #last: Turn["role"] | null = null;

  constructor(draft: Draft, parts: PartFormatter) {
    this.#draft = draft;
    this.#parts = parts;
  }

  add(turn: Turn): void {
    const blocks = this.#format(turn);
    const role = turn.role === "assistant" ? "assistant" : "user";
    if (role === this.#role) {
      if (turn.role === this.#last && turn.role !== "tool") this.#draft.dropped.add("turns_merged");
      for (const block of blocks) this.#blocks.push(block);
    } else {
      this.#role = role;
      this.#blocks = [...blocks];
      this.list.push({ role, content: this.#blocks });
    }
    this.#last = turn.role;
  }

  #format(turn: Turn): readonly JsonObject[] {
    switch (turn.role) {
      case "system":
        // The decision keeps such requests away; hoisting the text would change what it is about.
        this.#draft.refuse(
          "feature_not_supported",
          "The converse protocol has no system text after the first turn of the conversation",
        );
        return [];
      case "user":
        if (turn.name !== null) this.#draft.dropped.add("participant_name_dropped");
        return this.#parts.input(turn.content);
      case "assistant":
        if (turn.name !== null) this.#draft.dropped.add("participant_name_dropped");
        return turn.content.flatMap((part) => this.#said(part));
      case "tool":
        return turn.results.flatMap((result) => this.#result(result));
    }
  }

  #result({ callId, content, isError, cache }: ToolResult): readonly JsonObject[] {
    const toolResult = {
      toolUseId: callId,
      content: this.#parts.result(content),
      ...(isError === null ? {} : { status: isError ? "error" : "success" }),
    };
    return [{ toolResult }, ...cachePoint(cache)];
  }

  #said(part: AssistantPart): readonly JsonObject[] {
    switch (part.kind) {
      case "text":
        return this.#parts.input([part]);
      case "refusal":
        this.#draft.dropped.add("refusal_as_text");
        return this.#parts.input([{ kind: "text", text: part.text, cache: null }]);
      case "tool_call": {
        const { id, name, cache } = part;
        const input = parseExactJsonText(part.arguments);
        if (!isJsonObject(input))
          throw new Error("formatTurns: arguments that no parser at the door let in");
        return [{ toolUse: { toolUseId: id, name, input } }, ...cachePoint(cache)];
      }
      case "reasoning": {
        const { text, signature } = part;
        const data = redactedData(signature ?? "");
        const reasoningText = { text, signature };
        return [
          { reasoningContent: data === null ? { reasoningText } : { redactedContent: data } },
        ];
      }
    }
  }
}
