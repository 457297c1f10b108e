import { textOf } from "../json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { BlockSequencer } from "../answer-events.ts";

/**
 * Reasoning in the members where providers put it: `reasoning_content`, `reasoning`, `reasoning_details`, and parts `thinking` of the content.
 * A signature ends a piece of reasoning; what follows is another.
 */
export class ReasoningReader {
  readonly #sequencer: BlockSequencer;
  /** Who reads the model's signatures; `null` where none is named, so that they are worth nothing. */
  readonly #family: string | null;
  #piece = 0;
  /** What the plain members have isRepeated of the piece. A stream may send it once more, whole, beside its signature. */
  #plain = "";
  /** Whether the piece is a summary that encrypted reasoning may still follow. */
  #isSummary = false;
  #dropped = false;

  constructor(sequencer: BlockSequencer, family: string | null) {
    this.#sequencer = sequencer;
    this.#family = family;
  }

  /** Whether a signature has been left out. */
  get hasDropped(): boolean {
    return this.#dropped;
  }

  /** Takes what a delta or a message says of reasoning. */
  read(delta: JsonObject): void {
    const text = firstText(delta["reasoning_content"], delta["reasoning"]);
    if (text !== "") {
      this.text(text, false);
      this.#plain += text;
    }
    const details = delta["reasoning_details"];
    if (!Array.isArray(details)) return;
    for (const detail of details) if (isJsonObject(detail)) this.#readDetail(detail, text !== "");
  }

  text(text: string, summary: boolean): void {
    if (text === "") return;
    this.#isSummary = summary;
    this.#sequencer.reasoning(text, summary, String(this.#piece));
  }

  /** @param isRepeated the text of the details stands beside them as well, so only their signatures are news. */
  #readDetail(detail: JsonObject, isRepeated: boolean): void {
    switch (textOf(detail["type"])) {
      case "reasoning.text":
        if (!isRepeated) this.#emit(textOf(detail["text"]), false);
        this.#sign(textOf(detail["signature"]), false);
        break;
      case "reasoning.summary":
        if (!isRepeated) this.#emit(textOf(detail["summary"]), true);
        this.#isSummary = true;
        break;
      case "reasoning.encrypted":
        this.#sign(textOf(detail["data"]), !this.#isSummary);
        break;
    }
  }

  #emit(text: string, summary: boolean): void {
    if (!this.#plain.endsWith(text)) this.text(text, summary);
  }

  /** @param alone the signature is a piece of its own: reasoning that is hidden altogether. */
  #sign(signature: string, alone: boolean): void {
    if (signature === "") return;
    if (this.#family === null) {
      this.#dropped = true;
      return;
    }
    if (alone) this.#next();
    this.#sequencer.signature(signature, this.#family, String(this.#piece));
    this.#next();
  }

  #next(): void {
    this.#piece += 1;
    this.#plain = "";
    this.#isSummary = false;
  }
}

function firstText(...values: readonly (JsonValue | undefined)[]): string {
  for (const value of values) if (typeof value === "string" && value !== "") return value;
  return "";
}
