import type { ServiceError } from "../../canon/error.ts";
import type {
  AssistantPart,
  AssistantTurn,
  ReasoningPart,
  SystemTurn,
  ToolCallPart,
  ToolResult,
  ToolTurn,
  Turn,
} from "../../canon/generate/generate-request.ts";
import { type JsonObject, isJsonObject, type JsonValue } from "../../canon/json.ts";
import {
  type Draft,
  formatInput,
  formatResults,
  formatText,
  OpenCalls,
  dropMark,
  readMarked,
  UNSIGNED_CALL,
} from "./format-parts.ts";
import { parseExactJsonText } from "../json.ts";

/**
 * Writes `systemInstruction` and `contents`. The error is for a tool result that answers no call.
 */
export function formatTurns(
  turns: readonly Turn[],
  style: CallStyle,
  draft: Draft,
): ServiceError | null {
  const first = turns.findIndex(({ role }) => role !== "system");
  const leading = first === -1 ? turns.length : first;
  const system = turns
    .slice(0, leading)
    .filter((turn): turn is SystemTurn => turn.role === "system");
  const instruction = formatSystem(system, draft);
  if (instruction.length > 0) draft.body["systemInstruction"] = { parts: instruction };
  const contents = formatContents(turns.slice(leading), style, draft);
  if (!isParts(contents)) return contents;
  if (turns.at(-1)?.role === "assistant") draft.dropped.add("prefill_as_turn");
  draft.body["contents"] = contents;
  return null;
}

function formatSystem(turns: readonly SystemTurn[], draft: Draft): readonly JsonObject[] {
  if (turns.length > 1) draft.dropped.add("system_joined");
  if (turns.some(({ authority }) => authority === "developer"))
    draft.dropped.add("developer_as_system");
  return turns.flatMap(({ content }) => content.map((part) => formatText(part, draft)));
}

/**
 * Results must follow the calls that they answer in one turn, so that turns of tools that follow
 * each other are one, and turns of the model are, too. Turns of the user stay apart: the provider
 * takes several in a row.
 */
function formatContents(
  turns: readonly Turn[],
  style: CallStyle,
  draft: Draft,
): readonly JsonObject[] | ServiceError {
  const contents: JsonObject[] = [];
  const calls = new OpenCalls();
  for (const group of groupTurns(turns)) {
    for (const turn of group) calls.note(turn);
    const parts = formatGroup(group, calls, style, draft);
    if (!isParts(parts)) return parts;
    contents.push({ role: group[0]?.role === "assistant" ? "model" : "user", parts });
  }
  return contents;
}

function isParts(parts: readonly JsonObject[] | ServiceError): parts is readonly JsonObject[] {
  return Array.isArray(parts);
}

function groupTurns(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const groups: Turn[][] = [];
  for (const turn of turns) {
    const last = groups.at(-1);
    const role = last?.[0]?.role;
    if (last !== undefined && role === turn.role && role !== "user") last.push(turn);
    else groups.push([turn]);
  }
  return groups;
}

function formatGroup(
  group: readonly Turn[],
  calls: OpenCalls,
  style: CallStyle,
  draft: Draft,
): readonly JsonObject[] | ServiceError {
  const [first] = group;
  switch (first?.role) {
    case "user":
      if (first.name !== null) draft.dropped.add("participant_name_dropped");
      return formatInput(first.content, draft);
    case "assistant":
      return formatSaid(
        group.filter((turn): turn is AssistantTurn => turn.role === "assistant"),
        style,
        draft,
      );
    case "tool": {
      const results = group
        .filter((turn): turn is ToolTurn => turn.role === "tool")
        .flatMap((turn): readonly ToolResult[] => turn.results);
      return formatResults(results, calls, style.withIds, draft);
    }
    case "system":
    case undefined:
      throw new Error(
        "formatTurns: system text after the first turn, which the dialect has no feature for",
      );
  }
}

function formatSaid(
  turns: readonly AssistantTurn[],
  style: CallStyle,
  draft: Draft,
): readonly JsonObject[] {
  if (turns.length > 1) draft.dropped.add("turns_merged");
  const said = new SaidParts(draft, style);
  for (const { name, content } of turns) {
    if (name !== null) draft.dropped.add("participant_name_dropped");
    for (const part of content) said.add(part);
  }
  return said.end();
}

type Made = Record<string, JsonValue | undefined>;

/** How this provider wants calls to be written. */
interface CallStyle {
  readonly withIds: boolean;
  /** The model signs, and refuses calls that are not signed. */
  readonly signs: boolean;
}

/**
 * Makes the parts of one model turn, and puts signatures back on the parts that they were taken
 * from (`format-parts.ts`).
 */
class SaidParts {
  readonly #parts: Made[] = [];
  readonly #draft: Draft;
  readonly #style: CallStyle;
  /** Signatures that wait for the part that they belong to. */
  readonly #forCalls: string[] = [];
  readonly #forTexts: string[] = [];
  /** A signature without the kind of its part: it belongs to the next part. */
  #forNext: string | null = null;
  #hasCall = false;

  constructor(draft: Draft, style: CallStyle) {
    this.#draft = draft;
    this.#style = style;
  }

  add(part: AssistantPart): void {
    switch (part.kind) {
      case "reasoning":
        return this.#addReasoning(part);
      case "tool_call":
        return this.#addCall(part);
      case "refusal":
        this.#draft.dropped.add("refusal_as_text");
        return this.#addText(formatText({ text: part.text, cache: null }, this.#draft));
      case "text":
        return this.#addText(formatText(part, this.#draft));
    }
  }

  /**
   * All parts; a signature whose part is gone stands on an empty text, as the provider itself
   * writes them at the end of a stream.
   */
  end(): readonly JsonObject[] {
    this.#flushNext();
    for (const signature of [...this.#forCalls, ...this.#forTexts]) this.#addEmpty(signature);
    return this.#parts;
  }

  #addReasoning({ text, signature }: ReasoningPart): void {
    this.#flushNext();
    const placed = signature === null ? null : readMarked(signature);
    const isOnThought = placed?.part === "thought" || (placed?.part === null && text !== "");
    if (text !== "" || isOnThought) {
      this.#parts.push({
        text,
        thought: true,
        ...(isOnThought ? { thoughtSignature: placed.signature } : {}),
      });
    }
    if (placed === null || isOnThought) return;
    if (placed.part === "call") this.#forCalls.push(placed.signature);
    else if (placed.part === "text") this.#forTexts.push(placed.signature);
    else if (placed.part === "empty") this.#addEmpty(placed.signature);
    else this.#forNext = placed.signature;
  }

  #addCall({ id, name, arguments: text, cache }: ToolCallPart): void {
    dropMark(cache, this.#draft);
    const args = parseExactJsonText(text);
    if (!isJsonObject(args))
      throw new Error("SaidParts: arguments that no parser at the door let in");
    const functionCall = { ...(this.#style.withIds ? { id } : {}), name, args };
    const signature = this.#take(this.#forCalls) ?? this.#placeholder();
    this.#hasCall = true;
    this.#parts.push({
      functionCall,
      ...(signature === null ? {} : { thoughtSignature: signature }),
    });
  }

  #addText(part: JsonObject): void {
    const signature = this.#take(this.#forTexts);
    this.#parts.push({ ...part, ...(signature === null ? {} : { thoughtSignature: signature }) });
  }

  #take(waiting: string[]): string | null {
    const next = this.#forNext;
    this.#forNext = null;
    return next ?? waiting.shift() ?? null;
  }

  /** Only the first of several calls at once is signed. */
  #placeholder(): string | null {
    if (this.#hasCall || !this.#style.signs) return null;
    this.#draft.dropped.add("signature_placeholder");
    return UNSIGNED_CALL;
  }

  #flushNext(): void {
    if (this.#forNext !== null) this.#addEmpty(this.#forNext);
    this.#forNext = null;
  }

  #addEmpty(signature: string): void {
    this.#parts.push({ text: "", thoughtSignature: signature });
  }
}
