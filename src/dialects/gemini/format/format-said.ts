import type { AssistantPart, ReasoningPart, ToolCallPart } from "../../../canon/generate/message.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { parseExactJsonText } from "../../json-bytes.ts";
import { readMarked, UNSIGNED_CALL } from "../signed-parts.ts";
import { type Draft, dropMark, formatText } from "./format-parts.ts";

type Made = Record<string, JsonValue | undefined>;

/** How this provider wants calls to be written. */
export interface CallStyle {
  readonly withIds: boolean;
  /** The model signs, and refuses calls that are not signed. */
  readonly signs: boolean;
}

/** Makes the parts of one model turn, and puts signatures back on the parts that they were taken from (`signed-parts.ts`). */
export class SaidParts {
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
        return this.#addTexts(formatText({ text: part.text, cache: null }, this.#draft));
      case "text":
        return this.#addTexts(formatText(part, this.#draft));
    }
  }

  /** All parts; a signature whose part is gone stands on an empty text, as the provider itself writes them at the end of a stream. */
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
      this.#parts.push({ text, thought: true, ...(isOnThought ? { thoughtSignature: placed.signature } : {}) });
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
    if (!isJsonObject(args)) throw new Error("SaidParts: arguments that no parser at the door let in");
    const functionCall = { ...(this.#style.withIds ? { id } : {}), name, args };
    const signature = this.#take(this.#forCalls) ?? this.#placeholder();
    this.#hasCall = true;
    this.#parts.push({ functionCall, ...(signature === null ? {} : { thoughtSignature: signature }) });
  }

  #addTexts(parts: readonly JsonObject[]): void {
    for (const part of parts) {
      const signature = this.#take(this.#forTexts);
      this.#parts.push({ ...part, ...(signature === null ? {} : { thoughtSignature: signature }) });
    }
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
