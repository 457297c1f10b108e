import { afterSpace, endOfString } from "../../canon/json.ts";

const QUOTE = 0x22;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const COLON = 0x3a;

/**
 * Whether all readers of JSON read an answer alike, so that the caller reads the values that were
 * checked. Where an object has a name twice some take the first value and some the last; an `index`
 * that is not written as digits (`1.0`, `-0`) is a whole number to some, a fraction or an error to
 * others. White space and the way of escaping make no difference.
 *
 * @param json valid JSON.
 */
export function hasOneMeaning(json: string): boolean {
  return hasUniqueNames(json, true);
}

const decoder = new TextDecoder();

/**
 * Whether an object in a JSON text has a name twice: parsers differ in which of the two they take.
 *
 * @param bytes of valid JSON.
 */
export function repeatsMember(bytes: Uint8Array): boolean {
  return !hasUniqueNames(decoder.decode(bytes), false);
}

function hasUniqueNames(json: string, checksIndex: boolean): boolean {
  const names: Set<string>[] = [];
  let offset = 0;
  while (offset < json.length) {
    const unit = json.charCodeAt(offset);
    if (unit !== QUOTE) {
      if (unit === OPEN) names.push(new Set());
      else if (unit === CLOSE) names.pop();
      offset += 1;
      continue;
    }
    const end = endOfString(json, offset);
    const next = afterSpace(json, end);
    // Only a name has a colon after it.
    if (json.charCodeAt(next) === COLON) {
      const name = nameOf(json.slice(offset, end));
      const siblings = names.at(-1);
      if (siblings === undefined || siblings.has(name)) return false;
      siblings.add(name);
      if (checksIndex && name === "index" && !isDigits(json, afterSpace(json, next + 1)))
        return false;
    }
    offset = end;
  }
  return true;
}

function nameOf(quoted: string): string {
  if (!quoted.includes("\\")) return quoted.slice(1, -1);
  const name: string = JSON.parse(quoted);
  return name;
}

/** The beginning of a number that is not written as digits alone. */
const NOT_DIGITS = /-|\d+[.eE]/y;

function isDigits(json: string, start: number): boolean {
  NOT_DIGITS.lastIndex = start;
  return !NOT_DIGITS.test(json);
}
