import type { AssistantPart, ReasoningPart, ToolCallPart, ToolResult, Turn } from "../../../canon/generate/message.ts";
import { isJsonObject } from "../../../canon/json.ts";
import { parseJsonText } from "../../json-bytes.ts";
import type { Members } from "../../members.ts";
import { readSealedReasoning } from "../sealed-reasoning.ts";
import { readAssistantPart, readContent, readResultPart, readSystemPart, readUserPart, textPart } from "./parts.ts";

/**
 * The conversation of a body as turns: `instructions` first, then the items. Reasoning, texts and calls that follow one another are one
 * assistant's turn, unless two messages do; tool results that follow one another are one turn.
 */
export function readTurns(body: Members): readonly Turn[] {
  const turns: Turn[] = [];
  const instructions = body.text("instructions");
  if (instructions === "") body.ledger.lose("empty_text_dropped");
  else if (instructions !== null)
    turns.push({ role: "system", authority: "system", content: [textPart(instructions)] });
  const input = body.take("input");
  if (typeof input === "string") {
    turns.push({ role: "user", name: null, content: [textPart(input)] });
    return turns;
  }
  const builder = new TurnBuilder(turns);
  for (const item of body.objects("input")) {
    readItem(item, builder);
    item.close();
  }
  builder.end();
  return turns;
}

/** Joins what belongs to one turn. */
class TurnBuilder {
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

function readItem(item: Members, builder: TurnBuilder): void {
  const type = item.take("type") ?? "message";
  item.drop(["id", "status"], "item_id_dropped");
  if (type === "message") return readMessage(item, builder);
  if (type === "reasoning") return builder.said(readReasoning(item));
  takeDirectCaller(item);
  if (type === "function_call") return builder.said([readCall(item)]);
  if (type === "function_call_output") return builder.result(readResult(item));
  // Every other kind asks for this protocol, so no translation sees it; if one did, its members would be reported.
}

function readMessage(item: Members, builder: TurnBuilder): void {
  const role = item.word("role", ["user", "assistant", "system", "developer"]);
  item.drop(["phase"], "message_phase_dropped");
  switch (role) {
    case "system":
    case "developer":
      return builder.turn({ role: "system", authority: role, content: readContent(item, "content", readSystemPart) });
    case "assistant":
      return builder.message(readContent(item, "content", readAssistantPart));
    case "user":
      return builder.turn({ role: "user", name: null, content: readContent(item, "content", readUserPart) });
    case null:
      return item.refuse("role", "missing_field", "is required");
  }
}

const UNSIGNED = { text: "", signature: null, family: null } as const;

/** Full text is signed where there is any; a summary beside it goes along without a signature. */
function readReasoning(item: Members): readonly ReasoningPart[] {
  const content = joinedTexts(item, "content");
  const summary = joinedTexts(item, "summary");
  const encrypted = item.text("encrypted_content") ?? "";
  const { text: sealed, ...signed } = encrypted === "" ? UNSIGNED : readSealedReasoning(encrypted);
  const text = content === "" ? sealed : content;
  if (text === "" && summary === "" && signed.signature === null) {
    item.ledger.lose("unsigned_reasoning_dropped");
    return [];
  }
  if (text === "") return [{ kind: "reasoning", text: summary, summary: summary !== "", ...signed }];
  const full: ReasoningPart = { kind: "reasoning", text, summary: false, ...signed };
  if (summary === "") return [full];
  return [{ kind: "reasoning", text: summary, summary: true, signature: null, family: null }, full];
}

/** Kinds of parts that reasoning is made of; what is of another kind is not reasoning, and would not be read as such. */
const REASONING_PARTS = ["summary_text", "reasoning_text", "text"] as const;

/** Texts of several parts, a paragraph each. */
function joinedTexts(item: Members, name: string): string {
  const texts = item.objects(name).map((part) => {
    part.word("type", REASONING_PARTS);
    const text = part.text("text") ?? "";
    part.close();
    return text;
  });
  return texts.join("\n\n");
}

function readCall(item: Members): ToolCallPart {
  const id = item.text("call_id") ?? "";
  const name = item.text("name") ?? "";
  const text = item.text("arguments") ?? "";
  const call = { kind: "tool_call", id, name, cache: null } as const;
  if (text.trim() === "") {
    item.ledger.lose("tool_arguments_normalised");
    return { ...call, arguments: "{}" };
  }
  if (!isJsonObject(parseJsonText(text))) {
    item.refuse("arguments", "invalid_tool_arguments", "must be the JSON text of an object");
  }
  return { ...call, arguments: text };
}

function readResult(item: Members): ToolResult {
  const callId = item.text("call_id") ?? "";
  return { callId, content: readContent(item, "output", readResultPart), isError: null, cache: null };
}

/** A call that says that the model made it says nothing. */
function takeDirectCaller(item: Members): void {
  item.take("caller");
}
