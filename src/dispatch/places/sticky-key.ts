import { createHmac, randomBytes } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";

/**
 * What keeps a conversation at one endpoint: the caller's own word for it (`prompt_cache_key`, else the session header's value), else what all its
 * requests begin with. `null` where the request says nothing of the kind.
 *
 * @param body the parsed request.
 * @param session the session header's value; `null` where there is none.
 */
export type StickyKeyOf = (body: JsonObject, session: string | null) => string | null;

/**
 * Makes keys that say nothing of what they were made from: a keyed digest, whose secret dies with the process. Equal requests have equal keys only under one
 * secret; replicas that shall agree where a conversation goes are given the same one.
 */
export function stickyKeys(secret: Uint8Array = randomBytes(32)): StickyKeyOf {
  return (body, session) => {
    const cacheKey = body["prompt_cache_key"];
    if (typeof cacheKey === "string" && cacheKey !== "") return digestOf(secret, "prompt_cache_key", [cacheKey]);
    if (session !== null && session !== "") return digestOf(secret, "session", [session]);
    const opening = openingOf(body);
    return opening.length === 0 ? null : digestOf(secret, "opening", opening);
  };
}

/** Characters of a prompt without turns that tell conversations apart: they grow at the end, and all of it would change with every request. */
const PROMPT_HEAD = 1_024;

/** Tokens of one that is given as numbers. */
const PROMPT_HEAD_TOKENS = 256;

/** Instructions before the first turn that are looked at. */
const MOST_INSTRUCTIONS = 8;

/**
 * What the requests of a conversation have in common however long it grows: its first turn, and the instructions before it. The turn comes first, so that long
 * instructions, which many conversations share, do not use up what is digested. Tools are left out: they are long, and change between turns.
 */
function openingOf(body: JsonObject): readonly JsonValue[] {
  const turns = body["messages"] ?? body["input"];
  const opening = Array.isArray(turns) ? firstTurn(turns) : headOf(turns ?? body["prompt"]);
  const instructions = [body["system"], body["instructions"]].filter((value) => value !== undefined);
  return [...opening, ...instructions];
}

function firstTurn(turns: readonly JsonValue[]): readonly JsonValue[] {
  const place = turns.findIndex((turn) => isJsonObject(turn) && turn["role"] === "user");
  if (place === -1) return turns.slice(0, 1);
  return [...turns.slice(place, place + 1), ...turns.slice(0, Math.min(place, MOST_INSTRUCTIONS))];
}

/** The beginning of a prompt: a text, the first of several, or tokens. */
function headOf(prompt: JsonValue | undefined): readonly JsonValue[] {
  if (typeof prompt === "string") return [prompt.slice(0, PROMPT_HEAD)];
  if (!Array.isArray(prompt)) return [];
  const items: readonly JsonValue[] = prompt;
  return typeof items[0] === "number" ? [items.slice(0, PROMPT_HEAD_TOKENS)] : headOf(items[0]);
}

function digestOf(secret: Uint8Array, kind: string, values: readonly JsonValue[]): string {
  const summary = new Summary();
  for (const value of values) summary.add(value, 0);
  return createHmac("sha256", secret).update(`${kind}:${summary.text}`).digest("base64url");
}

/** Longest text that is digested whole, and what is taken of both ends of a longer one, such as an image. Characters. */
const WHOLE_TEXT = 8_192;
const TEXT_END = 4_096;

/** Characters that are digested, and levels that are looked into: a request may be large and deep, and its beginning tells enough. */
const LONGEST_SUMMARY = 65_536;
const DEEPEST = 32;

/** Members that clients move or add from turn to turn while the turn stays the same. */
const UNSTABLE_MEMBERS: ReadonlySet<string> = new Set(["cache_control", "id", "status"]);

/** The beginning of some values, in few enough characters to digest with every request. */
class Summary {
  #text = "";

  get text(): string {
    return this.#text;
  }

  add(value: JsonValue | undefined, depth: number): void {
    if (this.#text.length >= LONGEST_SUMMARY || depth > DEEPEST) return;
    if (typeof value === "string") {
      const ends = value.length <= WHOLE_TEXT ? value : value.slice(0, TEXT_END) + value.slice(-TEXT_END);
      // With its length before it, a text cannot pass for the end of one and the beginning of the next.
      this.#text += `${value.length}"${ends}`;
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
