const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const COLON = 0x3a;

/**
 * Whether all readers of JSON understand an answer alike, so that what we checked is what the
 * caller reads. Where an object has a name twice some take the first value and some the last; an
 * `index` that is not written as digits (`1.0`, `-0`) is a whole number to some, a fraction or an
 * error to others. White space and the way of escaping mean nothing.
 *
 * Strings are passed over at the engine's speed; everything else is looked at once.
 *
 * @param json text that is known to be JSON.
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
    const end = afterString(json, offset);
    const next = afterSpace(json, end);
    // Only a name has a colon after it.
    if (json.charCodeAt(next) === COLON) {
      const name = nameOf(json.slice(offset, end));
      const known = names.at(-1);
      if (known === undefined || known.has(name)) return false;
      known.add(name);
      if (checksIndex && name === "index" && !isPlain(json, afterSpace(json, next + 1)))
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

/**
 * Whether the value that begins at `start` is a whole number in digits alone, or no number at all.
 */
function isPlain(json: string, start: number): boolean {
  let offset = start;
  while (isDigit(json.charCodeAt(offset))) offset += 1;
  const next = json.charAt(offset);
  return offset === start ? next !== "-" : next !== "." && next !== "e" && next !== "E";
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

/** Offset after the string that begins at `open`. */
function afterString(json: string, open: number): number {
  let quote = open;
  do {
    quote = json.indexOf('"', quote + 1);
    if (quote === -1) return json.length;
  } while (isEscaped(json, quote));
  return quote + 1;
}

/**
 * Whether an odd number of backslashes stands before a quote inside a string. The string's own
 * quote ends the count.
 */
function isEscaped(json: string, quote: number): boolean {
  let offset = quote - 1;
  while (json.charCodeAt(offset) === BACKSLASH) offset -= 1;
  return (quote - offset) % 2 === 0;
}

/** The four characters that JSON allows between its tokens. */
function afterSpace(json: string, start: number): number {
  let offset = start;
  for (;;) {
    const unit = json.charCodeAt(offset);
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return offset;
    offset += 1;
  }
}
