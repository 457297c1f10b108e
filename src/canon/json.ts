/** Any JSON value (RFC 8259). */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/** The value of a member; `undefined` where it is absent. */
export type JsonMember = JsonValue | undefined;

/** A JSON object. Look names from outside up with `Object.hasOwn`: `constructor` is a name too. */
export interface JsonObject {
  readonly [name: string]: JsonMember;
}

/** @example isJsonObject([]) // false */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The canonical text of a JSON value: members sorted by UTF-16 code units, no white space, numbers
 * and strings as ECMAScript prints them (RFC 8785). Members whose value is `undefined` are left
 * out, as JSON.stringify does.
 *
 * @throws {TypeError} for a number without a JSON form (NaN, infinities): a bug of the caller.
 * @example canonicalJson({ b: 1, a: undefined }) // '{"b":1}'
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === "boolean" || typeof value === "string")
    return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isFinite(value))
      throw new TypeError("canonicalJson: a number that is not finite has no JSON form");
    return JSON.stringify(value);
  }
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object")
    throw new TypeError(`canonicalJson: ${typeof value} has no JSON form`);
  const members: string[] = [];
  const sorted = Object.entries(value).toSorted(([left], [right]) => compareText(left, right));
  for (const [name, member] of sorted)
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** By UTF-16 code units. @example ["b", "a"].toSorted(compareText) // ["a", "b"] */
export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/**
 * Freezes a tree of plain JSON in place and returns it; later writes throw instead of changing a
 * shared table.
 *
 * @example Object.isFrozen(deepFreeze({ rows: [] }).rows) // true
 */
export function deepFreeze<Value>(value: Value): Value {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

/** ECMAScript 2026, in the engine and not yet in the compiler's library. */
declare global {
  interface JSON {
    /**
     * An object that `stringify` prints as `text`. Throws where `text` is not the JSON text of a
     * primitive value.
     */
    rawJSON(text: string): JsonObject;
    isRawJSON(value: unknown): boolean;
    /** `source` is the text of a primitive value; absent for objects and arrays. */
    parse(text: string, reviver: Reviver): JsonValue;
  }
}

/**
 * As the second argument of JSON.parse; `source` is the text of a primitive value, absent for
 * objects and arrays.
 */
type Reviver = (name: string, value: JsonValue, context: { readonly source?: string }) => JsonValue;

/**
 * JSON.parse without a bug of the engine. The engine of Node 24 and 26 reads a member's name
 * wrongly when it is written with an escape and an object read before has a name with a backslash
 * in the same place: after `{"\\":0}`, `{"\n":1}` gives a member named `\` (nodejs/node#63785). One
 * caller's request could change how another one's is read. A name that was read wrongly always
 * contains a backslash: only then the text is read again, without escapes in names.
 *
 * @example parseJson('{"a":1}') // { a: 1 }
 *
 * @throws {SyntaxError} as JSON.parse does. Its message quotes the text, so it must not be logged
 * or sent.
 */
export function parseJson(text: string, reviver?: Reviver): JsonValue {
  const value = read(text, reviver);
  return text.includes("\\") && hasNameWithBackslash(value)
    ? parseWithoutEscapedNames(text, reviver)
    : value;
}

function read(text: string, reviver: Reviver | undefined): JsonValue {
  const value: JsonValue = reviver === undefined ? JSON.parse(text) : JSON.parse(text, reviver);
  return value;
}

/** Not recursive: the depth is not bounded yet. */
function hasNameWithBackslash(value: JsonValue): boolean {
  const stack: JsonValue[] = [value];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (isArray(next)) {
      for (const member of next)
        if (typeof member === "object" && member !== null) stack.push(member);
      continue;
    }
    for (const name of Object.keys(next)) {
      if (name.includes("\\")) return true;
      const member = next[name];
      if (typeof member === "object" && member !== null) stack.push(member);
    }
  }
  return false;
}

/**
 * Prefix of the number of a name while the text is read; from the private use area, so that it
 * needs no escape.
 */
const MARK = "\uE000";
const BACKSLASH = 92;
const COLON = 58;

function parseWithoutEscapedNames(text: string, reviver: Reviver | undefined): JsonValue {
  const { plain, names } = withoutEscapedNames(text);
  const originalName = (name: string) =>
    name.startsWith(MARK) ? (names[Number(name.slice(1))] ?? name) : name;
  const value = read(
    plain,
    reviver === undefined
      ? undefined
      : (name, member, context) => reviver(originalName(name), member, context),
  );
  restoreNames(value, originalName);
  return value;
}

/**
 * The same JSON text with a mark and a number instead of each name that cannot be written without
 * an escape.
 */
function withoutEscapedNames(text: string): {
  readonly plain: string;
  readonly names: readonly string[];
} {
  const numbers = new Map<string, number>();
  const pieces: string[] = [];
  let copied = 0;
  for (let open = text.indexOf('"'); open !== -1;) {
    const end = endOfString(text, open);
    if (text.charCodeAt(afterSpace(text, end)) === COLON) {
      const name: string = JSON.parse(text.slice(open, end));
      // Each name has one spelling, so an object that has it twice keeps the last value.
      if (needsEscape(name) && !numbers.has(name)) numbers.set(name, numbers.size);
      const number = numbers.get(name);
      pieces.push(
        text.slice(copied, open),
        number === undefined ? `"${name}"` : `"${MARK}${number}"`,
      );
      copied = end;
    }
    open = text.indexOf('"', end);
  }
  return { plain: pieces.join("") + text.slice(copied), names: [...numbers.keys()] };
}

/**
 * The position after the closing quote of a string, or the end of a text that lacks one. It
 * searches at the engine's speed.
 *
 * @example endOfString('["a\\\\",1]', 1) // 6
 *
 * @param open where the string begins.
 */
export function endOfString(text: string, open: number): number {
  let quote = open;
  do {
    quote = text.indexOf('"', quote + 1);
    if (quote === -1) return text.length;
  } while (isEscaped(text, quote));
  return quote + 1;
}

/**
 * Whether an odd number of backslashes is before a quote inside a string. The string's own quote
 * ends the count.
 */
function isEscaped(text: string, quote: number): boolean {
  let at = quote - 1;
  while (text.charCodeAt(at) === BACKSLASH) at -= 1;
  return (quote - at) % 2 === 0;
}

/**
 * Position of the next character that is not JSON white space.
 *
 * @example afterSpace("{  1}", 1) // 3
 */
export function afterSpace(text: string, from: number): number {
  let at = from;
  while (" \n\r\t".includes(text.charAt(at)) && at < text.length) at += 1;
  return at;
}

/**
 * RFC 8259 §7. Names that begin with the mark are numbered too: otherwise a caller's name could
 * pass for one of our marks.
 */
function needsEscape(name: string) {
  return name.startsWith(MARK) || JSON.stringify(name) !== `"${name}"`;
}

/** In place, every object in the order of its text. */
function restoreNames(value: JsonValue, originalName: (name: string) => string) {
  const stack: JsonValue[] = [value];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const members: readonly JsonMember[] = isArray(next) ? next : Object.values(next);
    for (const member of members)
      if (typeof member === "object" && member !== null) stack.push(member);
    if (!isArray(next) && Object.keys(next).some((name) => name.startsWith(MARK)))
      rename(next, originalName);
  }
}

function rename(object: JsonObject, originalName: (name: string) => string) {
  const members = Object.entries(object);
  for (const [name] of members) Reflect.deleteProperty(object, name);
  for (const [name, value] of members) {
    // An assignment to the name `__proto__` would set the prototype.
    Object.defineProperty(object, originalName(name), {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

/** `Array.isArray` for JSON, whose lists are read-only. @example isArray({}) // false */
export function isArray(value: JsonObject | readonly JsonValue[]): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/**
 * Parses a JSON object; `null` for any other text. V8's error is dropped, since it quotes the text.
 *
 * @example parseJsonObject("[]") // null
 */
export function parseJsonObject(text: string): JsonObject | null {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
