import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

/** Characters of a prompt without turns that tell conversations apart: they grow at the end, and all of it would change with every request. */
const PROMPT_HEAD = 1_024;

/** Tokens of one that is given as numbers. */
const PROMPT_HEAD_TOKENS = 256;

/** Instructions before the first turn that are looked at. */
const MOST_INSTRUCTIONS = 8;

/** The caller's own name for a conversation, which providers' caches get; `null` where there is none. */
export function conversationName({ prompt_cache_key: name }: JsonObject): string | null {
  return typeof name === "string" && name !== "" ? endsOf(name) : null;
}

/**
 * What the requests of a conversation have in common however long it grows: its first turn, and the instructions before it. The turn comes first, so that long
 * instructions, which many conversations share, do not use up the text. Tools are left out: they are long, and change between turns.
 *
 * @param turns a list, or one text. @param instructions of the whole conversation.
 */
export function turnsOpening(turns: JsonValue | undefined, instructions?: JsonValue): string | null {
  const opening = Array.isArray(turns) ? firstTurn(turns) : headOf(turns);
  return summaryOf(instructions === undefined ? opening : [...opening, instructions]);
}

/** The beginning of a prompt without turns. */
export function promptOpening(prompt: JsonValue | undefined): string | null {
  return summaryOf(headOf(prompt));
}

function summaryOf(values: readonly JsonValue[]): string | null {
  if (values.length === 0) return null;
  const summary = new Summary();
  for (const value of values) summary.add(value, 0);
  return summary.text;
}

function firstTurn(turns: readonly JsonValue[]): readonly JsonValue[] {
  const first = turns.findIndex((turn) => isJsonObject(turn) && turn["role"] === "user");
  if (first === -1) return turns.slice(0, 1);
  return [...turns.slice(first, first + 1), ...turns.slice(0, Math.min(first, MOST_INSTRUCTIONS))];
}

/** The beginning of a prompt: a text, the first of several, or tokens. */
function headOf(prompt: JsonValue | undefined): readonly JsonValue[] {
  if (typeof prompt === "string") return [prompt.slice(0, PROMPT_HEAD)];
  if (!Array.isArray(prompt)) return [];
  const items: readonly JsonValue[] = prompt;
  return typeof items[0] === "number" ? [items.slice(0, PROMPT_HEAD_TOKENS)] : headOf(items[0]);
}

/** Longest text that counts whole, and what is taken of both ends of a longer one, such as an image. Characters. */
const WHOLE_TEXT = 8_192;
const TEXT_END = 4_096;

/** Characters that count, and levels that are looked into: a request may be large and deep, and its beginning tells enough. */
const LONGEST_SUMMARY = 65_536;
const DEEPEST = 32;

/** Members that clients move or add from turn to turn while the turn stays the same. */
const UNSTABLE_MEMBERS: ReadonlySet<string> = new Set(["cache_control", "id", "status"]);

function endsOf(text: string): string {
  return text.length <= WHOLE_TEXT ? text : text.slice(0, TEXT_END) + text.slice(-TEXT_END);
}

/** The beginning of some values, in few enough characters to digest with every request. */
class Summary {
  #text = "";

  get text(): string {
    return this.#text;
  }

  add(value: JsonValue | undefined, depth: number): void {
    if (this.#text.length >= LONGEST_SUMMARY || depth > DEEPEST) return;
    if (typeof value === "string") {
      // With its length before it, a text cannot pass for the end of one and the beginning of the next.
      this.#text += `${value.length}"${endsOf(value)}`;
    } else if (isJsonObject(value)) {
      this.#text += "{";
      for (const [name, member] of Object.entries(value)) {
        if (UNSTABLE_MEMBERS.has(name)) continue;
        this.add(name, depth + 1);
        this.add(member, depth + 1);
      }
      this.#text += "}";
    } else if (typeof value === "object" && value !== null) {
      this.#text += "[";
      for (const item of value) this.add(item, depth + 1);
      this.#text += "]";
    } else {
      this.#text += `${value},`;
    }
  }
}
