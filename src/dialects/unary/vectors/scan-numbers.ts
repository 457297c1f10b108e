const COMMA = 0x2c;
const CLOSE = 0x5d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

/** A number is finite without a look at its value when its exponent has at most two digits and its text no more characters than this: it is below 10³⁰⁰. */
const SURELY_FINITE = 200;

/** A JSON array of one or more finite numbers. */
export interface NumberArray {
  /** How many numbers it has. */
  readonly count: number;
  /** Place after its closing bracket. */
  readonly end: number;
}

/**
 * Reads a JSON array of numbers without making the numbers (RFC 8259, §6). On the path of every vector: a byte at a time, nothing allocated.
 *
 * @param open place of the opening bracket.
 * @returns `null` where something else than finite numbers is in it, nothing is, or the bytes end before it does.
 */
export function scanNumberArray(bytes: Uint8Array, open: number): NumberArray | null {
  let place = afterSpace(bytes, open + 1);
  for (let count = 1; ; count += 1) {
    const end = afterNumber(bytes, place);
    if (end === NONE) return null;
    place = afterSpace(bytes, end);
    const byte = bytes[place];
    if (byte === CLOSE) return { count, end: place + 1 };
    if (byte !== COMMA) return null;
    place = afterSpace(bytes, place + 1);
  }
}

const NONE = -1;

/** Place after the finite number that begins at `start`; `NONE` where none does. */
function afterNumber(bytes: Uint8Array, start: number): number {
  let place = bytes[start] === MINUS ? start + 1 : start;
  if (bytes[place] === ZERO) place += 1;
  else {
    const first = place;
    place = afterDigits(bytes, first);
    if (place === first) return NONE;
  }
  if (bytes[place] === POINT) {
    const first = place + 1;
    place = afterDigits(bytes, first);
    if (place === first) return NONE;
  }
  let exponentDigits = 0;
  if (bytes[place] === LOWER_E || bytes[place] === UPPER_E) {
    const sign = bytes[place + 1];
    const first = sign === PLUS || sign === MINUS ? place + 2 : place + 1;
    place = afterDigits(bytes, first);
    exponentDigits = place - first;
    if (exponentDigits === 0) return NONE;
  }
  const isPlain = exponentDigits < 3 && place - start <= SURELY_FINITE;
  return isPlain || Number.isFinite(Number(ascii.decode(bytes.subarray(start, place)))) ? place : NONE;
}

const ascii = new TextDecoder();

function afterDigits(bytes: Uint8Array, start: number): number {
  let place = start;
  for (;;) {
    const byte = bytes[place];
    if (byte === undefined || byte < ZERO || byte > NINE) return place;
    place += 1;
  }
}

/** The four characters that JSON allows between its tokens. */
function afterSpace(bytes: Uint8Array, start: number): number {
  let place = start;
  for (;;) {
    const byte = bytes[place];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return place;
    place += 1;
  }
}
