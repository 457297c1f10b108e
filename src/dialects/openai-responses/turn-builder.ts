import type { AssistantPart, ToolResult, Turn } from "../../canon/generate/message.ts";

/** Joins what belongs to one turn. */
export class TurnBuilder {
  readonly #turns: Turn[];
  #said: AssistantPart[] = [];
  #results: ToolResult[] = [];

  constructor(turns: Turn[]) {
    this.#turns = turns;
  }

  turn(turn: Turn): void {
    this.end();
    this.#turns.push(turn);
  }

  message(parts: readonly AssistantPart[]): void {
    const last = this.#said.at(-1)?.kind;
    if (last === "text" || last === "refusal") this.end();
    this.said(parts);
  }

  said(parts: readonly AssistantPart[]): void {
    if (this.#results.length > 0) this.end();
    for (const part of parts) this.#said.push(part);
  }

  result(result: ToolResult): void {
    if (this.#said.length > 0) this.end();
    this.#results.push(result);
  }

  end(): void {
    if (this.#said.length > 0) this.#turns.push({ role: "assistant", name: null, content: this.#said });
    if (this.#results.length > 0) this.#turns.push({ role: "tool", results: this.#results });
    this.#said = [];
    this.#results = [];
  }
}
