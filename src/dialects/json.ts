import type { TokenUsage } from "../canon/generate/event.ts";
import {
  isArray,
  isJsonObject,
  parseJson,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../canon/json.ts";

/** Members of an object while it is written; `undefined` is not printed. */
export type Members = Record<string, JsonMember>;

const strict = new TextDecoder("utf-8", { fatal: true });

/**
 * Parses a caller's bytes as JSON, as `parseExactJsonText` does; `undefined` where they are not
 * UTF-8 or not JSON.
 */
export function parseJsonBytes(bytes: Uint8Array): JsonMember {
  return parseExactJsonText(decodeUtf8(bytes) ?? "");
}

/** `null` where the bytes are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return strict.decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Parses text as JSON; `undefined` where it is not. The engine's error is discarded because it
 * quotes the text, which must not reach a log. A number that a double cannot hold (2⁵³ + 1, 1e999)
 * is kept as its text in a raw JSON object: it is printed again as it came, and has no type that a
 * schema accepts.
 */
export function parseExactJsonText(text: string): JsonMember {
  try {
    const value = parseJson(text);
    // Reviving recurses; every contract refuses deeper values.
    if (
      !mayHaveSuspicious(text) ||
      !SUSPICIOUS_NUMBER.test(text) ||
      isDeeperThan(value, MAXIMUM_DEPTH)
    )
      return value;
    return parseJson(text, (_name, member, { source }) =>
      typeof member === "number" && source !== undefined && !isExact(member, source)
        ? JSON.rawJSON(source)
        : member,
    );
  } catch {
    return undefined;
  }
}

/**
 * Parses an upstream's bytes as JSON, as `parseJsonText` does; `undefined` where they are not UTF-8
 * either.
 */
export function parseAnswerBytes(bytes: Uint8Array): JsonMember {
  return parseJsonText(decodeUtf8(bytes) ?? "");
}

/**
 * Sixteen digits or an exponent of three, where a value may begin. It may match inside a string,
 * which only costs time. It never misses: shorter numbers survive a double.
 */
const SUSPICIOUS_NUMBER = /(?:^|[:[,\s])-?\d(?:[\d.]{15}|[\d.]{0,14}[eE][+-]?\d{3})/;

/**
 * Whether {@link SUSPICIOUS_NUMBER} may hit a number: all that it hits has three digits in a row,
 * which the engine finds in a quarter of the time, and few texts have many of them.
 */
function mayHaveSuspicious(text: string): boolean {
  let rows = 0;
  // Not `matchAll`, which compiles the expression again for each text.
  THREE_DIGITS.lastIndex = 0;
  for (let row = THREE_DIGITS.exec(text); row !== null; row = THREE_DIGITS.exec(text)) {
    const { 0: digits, index } = row;
    rows += 1;
    // Of sixteen digits with a point among them, eight stand in a row. An exponent of three digits
    // follows its letter and perhaps a sign.
    if (
      rows > MOST_ROWS ||
      digits.length >= 8 ||
      EXPONENT.test(text.slice(Math.max(0, index - 2), index))
    )
      return true;
  }
  return false;
}

const THREE_DIGITS = /\d{3,}/g;
const EXPONENT = /[eE][+-]?$/;

/** In a text with more numbers than this the expression itself is faster. */
const MOST_ROWS = 16;

const encoder = new TextEncoder();

/** A value as JSON in UTF-8. */
export function printJsonBytes(value: JsonObject): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

/** Deepest JSON that is read: walking or printing deeper values could overflow the stack. */
export const MAXIMUM_DEPTH = 500;

/**
 * Whether printing the double gives the text's number again. Fractions may lose digits beyond a
 * double's precision.
 */
function isExact(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) && value !== 0) return true;
  if (!Number.isFinite(value)) return false;
  if (value === 0) return significantDigits(source) === "";
  return (
    Math.abs(value) < Number.MAX_SAFE_INTEGER ||
    significantDigits(source) === significantDigits(String(value))
  );
}

/**
 * The digits of a number without sign, point, exponent, and zeros at both ends; two nearby numbers
 * are equal when these are.
 */
function significantDigits(number: string): string {
  const [mantissa = ""] = number.split(/[eE]/, 1);
  return mantissa.replaceAll(/[-.]/g, "").replace(/^0+/, "").replace(/0+$/, "");
}

/**
 * Parses text as JSON, to be read and not to be sent on; numbers are doubles. `undefined` where it
 * is not JSON, or is nested more deeply than any answer.
 */
export function parseJsonText(text: string): JsonMember {
  try {
    const value = parseJson(text);
    // Short text cannot be deep: the walk is left out for nearly all events of a stream.
    return text.length > MAXIMUM_DEPTH && isDeeperThan(value, MAXIMUM_DEPTH) ? undefined : value;
  } catch {
    return undefined;
  }
}

/**
 * Whether a value is nested more deeply than `limit`; serialising or walking such a value would
 * overflow the stack.
 */
export function isDeeperThan(value: JsonMember, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (limit === 0) return true;
  if (isArray(value)) {
    for (const member of value) if (isDeeperThan(member, limit - 1)) return true;
    return false;
  }
  // Parsed JSON inherits no enumerable names, and this makes no list of its members.
  for (const name in value) if (isDeeperThan(value[name], limit - 1)) return true;
  return false;
}

/**
 * The member that an object itself has, never one of its prototype; `undefined` where it has none,
 * or the value is no object.
 */
export function memberIn(value: JsonMember, name: string): JsonMember {
  return isJsonObject(value) ? ownValue(value, name) : undefined;
}

/** The row of a table under a name from outside, never one of its prototype. */
export function ownValue<Value>(
  table: Readonly<Record<string, Value>>,
  name: string,
): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** The items of a list; none where the value is no list. */
export function listOf(value: JsonMember): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** A list with its objects changed; the value itself where nothing changes or it is no list. */
export function mapObjects(
  list: JsonMember,
  change: (object: JsonObject) => JsonValue,
): JsonMember {
  if (!Array.isArray(list)) return list;
  const changed = list.map((item: JsonValue) => (isJsonObject(item) ? change(item) : item));
  return changed.every((item, index) => item === list[index]) ? list : changed;
}

/** An object with one member changed; the object itself where nothing changes. */
export function withMember(
  object: JsonObject,
  name: string,
  change: (value: JsonMember) => JsonMember,
): JsonObject {
  const value = object[name];
  const changed = change(value);
  return changed === value ? object : { ...object, [name]: changed };
}

/** The same for a member that is an object. */
export function withObject(
  object: JsonObject,
  name: string,
  change: (value: JsonObject) => JsonObject,
): JsonObject {
  return withMember(object, name, (value) => (isJsonObject(value) ? change(value) : value));
}

/** A list of an answer; `null` for other values. */
export function listIn(value: JsonMember, name: string): readonly JsonValue[] | null {
  const list = memberIn(value, name);
  return Array.isArray(list) ? list : null;
}

/**
 * A count of an answer; `null` where it is absent or invalid: Bedrock sends -1 for unknown counts.
 */
export function readCount(value: JsonMember): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}

export function countIn(value: JsonMember, name: string): number | null {
  return readCount(memberIn(value, name));
}

/** Empty where the value is no text. */
export function textOf(value: JsonMember): string {
  return typeof value === "string" ? value : "";
}

export function textOrNull(value: JsonMember): string | null {
  return typeof value === "string" ? value : null;
}

/** `null` where the value is absent, or a number too large for a double. */
export function numberOrNull(value: JsonMember): number | null {
  return typeof value === "number" ? value : null;
}

export function flagOrNull(value: JsonMember): boolean | null {
  return typeof value === "boolean" ? value : null;
}

/** A text of an answer; `null` for other values and empty text. */
export function textIn(value: JsonMember, name: string): string | null {
  const text = memberIn(value, name);
  return typeof text === "string" && text !== "" ? text : null;
}

/**
 * Output tokens with reasoning. Some providers count reasoning beside the output (recorded: xAI,
 * Gemini's chat completions); the answer's total shows it, or reasoning above the output.
 *
 * @param output output tokens, as the provider reports them. @param input all tokens read.
 */
export function wholeOutput(
  output: number | null,
  reasoning: number | null,
  input: number | null,
  total: number | null,
): number | null {
  if (output === null) return null;
  const rest = total === null || input === null ? 0 : total - input;
  return Math.max(output, rest, reasoning !== null && reasoning > output ? output + reasoning : 0);
}

/**
 * The counts of `later`, and those that only `earlier` has: providers spread counts over several
 * events.
 */
export function mergeUsage(earlier: TokenUsage | null, later: TokenUsage): TokenUsage {
  if (earlier === null) return later;
  const counts = Object.entries(later).filter(([, count]) => count !== null);
  return { ...earlier, ...Object.fromEntries(counts) };
}
