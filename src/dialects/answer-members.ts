import { isJsonObject, type JsonValue } from "../canon/json.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";

/** The member that an object itself has, never one of its prototype; `undefined` where it has none, or the value is no object. */
export function memberIn(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** A list of an answer; `null` where it is none. */
export function listIn(value: JsonValue | undefined, name: string): readonly JsonValue[] | null {
  const list = memberIn(value, name);
  return Array.isArray(list) ? list : null;
}

/** A count of an answer; `null` where there is none, or a number that counts nothing: Bedrock says -1 for what it does not know. */
export function readCount(value: JsonValue | undefined): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function countIn(value: JsonValue | undefined, name: string): number | null {
  return readCount(memberIn(value, name));
}

/** Empty where the value is no text. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** A text of an answer; `null` where it is none or empty. */
export function textIn(value: JsonValue | undefined, name: string): string | null {
  const text = memberIn(value, name);
  return typeof text === "string" && text !== "" ? text : null;
}

/**
 * All that was read, of a count that should have cached tokens in it. A part cannot be larger than the whole: a provider that says so (recorded: Grok at
 * Azure) counts cached tokens beside the others.
 *
 * @param counted tokens, as the provider names them. @param cached tokens read from or written to a cache, within or beside `counted`.
 */
export function wholeInput(counted: number | null, ...cached: readonly (number | null)[]): number | null {
  if (counted === null) return null;
  const parts = cached.reduce<number>((sum, part) => sum + (part ?? 0), 0);
  return parts > counted ? counted + parts : counted;
}

/** What `later` says, and what only `earlier` said: providers spread their counts over several events. */
export function mergeUsage(earlier: TokenUsage | null, later: TokenUsage): TokenUsage {
  if (earlier === null) return later;
  const merged = {
    input: later.input ?? earlier.input,
    output: later.output ?? earlier.output,
    cacheRead: later.cacheRead ?? earlier.cacheRead,
    cacheWrite: later.cacheWrite ?? earlier.cacheWrite,
    reasoning: later.reasoning ?? earlier.reasoning,
  };
  const cacheWriteHour = later.cacheWriteHour ?? earlier.cacheWriteHour;
  return cacheWriteHour === undefined ? merged : { ...merged, cacheWriteHour };
}
