import type { JsonMember, JsonValue } from "../../canon/json.ts";
import type { Vector } from "../../canon/unary.ts";
import type { AnswerFault } from "../answer-ends.ts";
import { listOf, parseJsonText } from "../json.ts";
import type { AnswerBytes } from "./answer-bytes.ts";
import { COUNT_NUMBERS } from "./count-numbers.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x5b;

/**
 * A JSON answer whose arrays of numbers have been cut out as text. Where one stood, `body` has a
 * mark that only `vectorAt` can read.
 */
export interface CutAnswer {
  readonly body: JsonValue;
  /** Text of `body`: the answer's own, with marks for its arrays of numbers. */
  readonly skeleton: string;
  /** The vector of a value of `body` that should be an array of numbers. */
  readonly vectorAt: (value: JsonMember) => Vector | AnswerFault;
}

/**
 * Reads an answer without making numbers of its vectors: a megabyte has a hundred thousand numbers,
 * which only the caller needs, as printed. The text of a vector is decoded when it is read, because
 * a relayed answer needs none.
 *
 * The mark of the n-th array is the array `[n]`. No provider can write one: every array of finite
 * numbers is cut out, those with one number too, so `body` has no other such array.
 *
 * @returns `null` where the bytes are not UTF-8, not JSON, or nested more deeply than any answer.
 */
export function cutVectors(answer: AnswerBytes): CutAnswer | null {
  const vectors: Vector[] = [];
  let skeleton: string;
  try {
    skeleton = skeletonOf(answer, vectors);
  } catch {
    return null;
  }
  const body = parseJsonText(skeleton);
  if (body === undefined) return null;
  return { body, skeleton, vectorAt: (value) => markedVector(vectors, value) ?? faultOf(value) };
}

/**
 * Unlike most decoders it keeps a byte order mark, so that one between two pieces of an answer
 * makes it no JSON.
 */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The answer's text with a mark for every vector. Invalid JSON stays invalid: only whole arrays
 * outside of strings are replaced, by other arrays.
 *
 * @throws where the bytes are not UTF-8.
 */
function skeletonOf(answer: AnswerBytes, vectors: Vector[]): string {
  const bytes = answer.look();
  const arrays = new NumberArrays(bytes);
  const pieces: string[] = [];
  let copiedTo = 0;
  let offset = 0;
  while (offset < bytes.length) {
    const byte = bytes[offset];
    if (byte === QUOTE) {
      offset = afterString(bytes, offset);
      continue;
    }
    const numbers = byte === OPEN ? arrays.at(offset) : null;
    if (numbers === null) {
      offset += 1;
      continue;
    }
    const { count, end } = numbers;
    pieces.push(strict.decode(bytes.subarray(copiedTo, offset)), `[${vectors.length}]`);
    vectors.push(vectorIn(answer, offset, end, count));
    copiedTo = end;
    offset = end;
  }
  pieces.push(strict.decode(bytes.subarray(copiedTo)));
  return pieces.join("");
}

/** The array of numbers between two offsets of an answer. */
function vectorIn(answer: AnswerBytes, open: number, end: number, dimension: number): Vector {
  return {
    dimension,
    encoding: "float",
    get text() {
      return strict.decode(answer.whole.subarray(open, end));
    },
  };
}

/** Offset after the string that begins at `open`, or the end where it does not end. */
function afterString(bytes: Uint8Array, open: number): number {
  let quote = open;
  do {
    quote = bytes.indexOf(QUOTE, quote + 1);
    if (quote === -1) return bytes.length;
  } while (isEscaped(bytes, quote));
  return quote + 1;
}

/**
 * Whether an odd number of backslashes is before a quote inside a string. The string's own quote
 * ends the count.
 */
function isEscaped(bytes: Uint8Array, quote: number): boolean {
  let offset = quote - 1;
  while (bytes[offset] === BACKSLASH) offset -= 1;
  return (quote - offset) % 2 === 0;
}

function markedVector(vectors: readonly Vector[], value: JsonMember): Vector | undefined {
  if (!Array.isArray(value) || value.length !== 1) return undefined;
  const [ordinal]: readonly unknown[] = value;
  return typeof ordinal === "number" ? vectors[ordinal] : undefined;
}

/** Fault of a value that is no vector. */
function faultOf(value: JsonMember): AnswerFault {
  const numbers = listOf(value);
  const isOverflow = numbers.length > 0 && numbers.every((number) => typeof number === "number");
  return isOverflow ? "vector_not_finite" : "vector_malformed";
}

const COMMA = 0x2c;
const CLOSE = 0x5d;
const MINUS = 0x2d;
const PLUS = 0x2b;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_E = 0x45;
const LOWER_E = 0x65;

/**
 * A number is finite without a look at its value when its exponent has at most two digits and its
 * text no more characters than this: it is below 10³⁰⁰.
 */
const SURELY_FINITE = 200;

/** A JSON array of one or more finite numbers. */
interface NumberArray {
  /** How many numbers it has. */
  readonly count: number;
  /** Offset after its closing bracket. */
  readonly end: number;
}

/**
 * Reads a JSON array of numbers without making the numbers (RFC 8259, §6). On the path of every
 * vector: a byte at a time, nothing allocated.
 *
 * @param open offset of the opening bracket.
 * @returns `null` where something else than finite numbers is in it, nothing is, or the bytes end
 * before it does.
 */
export function scanNumberArray(bytes: Uint8Array, open: number): NumberArray | null {
  let offset = afterSpace(bytes, open + 1);
  for (let count = 1; ; count += 1) {
    const end = afterNumber(bytes, offset);
    if (end === NONE) return null;
    offset = afterSpace(bytes, end);
    const byte = bytes[offset];
    if (byte === CLOSE) return { count, end: offset + 1 };
    if (byte !== COMMA) return null;
    offset = afterSpace(bytes, offset + 1);
  }
}

const NONE = -1;

/** Offset after the finite number that begins at `start`; `NONE` where none does. */
function afterNumber(bytes: Uint8Array, start: number): number {
  let offset = bytes[start] === MINUS ? start + 1 : start;
  if (bytes[offset] === ZERO) offset += 1;
  else {
    const first = offset;
    offset = afterDigits(bytes, first);
    if (offset === first) return NONE;
  }
  if (bytes[offset] === POINT) {
    const first = offset + 1;
    offset = afterDigits(bytes, first);
    if (offset === first) return NONE;
  }
  let exponentDigits = 0;
  if (bytes[offset] === LOWER_E || bytes[offset] === UPPER_E) {
    const sign = bytes[offset + 1];
    const first = sign === PLUS || sign === MINUS ? offset + 2 : offset + 1;
    offset = afterDigits(bytes, first);
    exponentDigits = offset - first;
    if (exponentDigits === 0) return NONE;
  }
  const isSurelyFinite = exponentDigits < 3 && offset - start <= SURELY_FINITE;
  return isSurelyFinite || Number.isFinite(Number(ascii.decode(bytes.subarray(start, offset))))
    ? offset
    : NONE;
}

const ascii = new TextDecoder();

function afterDigits(bytes: Uint8Array, start: number): number {
  let offset = start;
  for (;;) {
    const byte = bytes[offset];
    if (byte === undefined || byte < ZERO || byte > NINE) return offset;
    offset += 1;
  }
}

/** The four characters that JSON allows between its tokens. */
function afterSpace(bytes: Uint8Array, start: number): number {
  let offset = start;
  for (;;) {
    const byte = bytes[offset];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return offset;
    offset += 1;
  }
}

/**
 * Bytes of an answer that are read together: they stay in a processor's second cache. The kernel's
 * memory has one page more.
 */
const WINDOW_BYTES = 4 * 65_536;

interface Kernel {
  /**
   * @returns how many numbers; 0: not surely an array of finite numbers; -1: it continues at `end`.
   */
  readonly count: (first: number, end: number) => number;
  readonly after: () => number;
  readonly memory: Uint8Array;
}

let kernel: Kernel | null = null;

/**
 * Compiled when the first answer with vectors comes. Calls are synchronous, so one memory is enough
 * for all answers.
 */
function makeKernel(): Kernel {
  const module = new WebAssembly.Module(Buffer.from(COUNT_NUMBERS, "base64"));
  const { count, after, memory } = new WebAssembly.Instance(module).exports;
  if (
    typeof count !== "function" ||
    !(after instanceof WebAssembly.Global) ||
    !(memory instanceof WebAssembly.Memory)
  ) {
    throw new Error("vectors: count-numbers.ts is not of this version");
  }
  return {
    count: (first, end) => Number(count(first, end)),
    after: () => Number(after.value),
    memory: new Uint8Array(memory.buffer),
  };
}

/**
 * The arrays of numbers in one answer. Most are counted 64 bytes at a time
 * (`tools/vectors/count-numbers.wat`); all other text is read byte by byte. Valid until another
 * answer is read.
 */
export class NumberArrays {
  readonly #bytes: Uint8Array;
  readonly #kernel = (kernel ??= makeKernel());
  /** Range of the bytes in the kernel's memory. */
  #from = 0;
  #to = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /**
   * The array whose opening bracket is at `open`; `null` where something else than finite numbers
   * is in it, or nothing is.
   */
  at(open: number): NumberArray | null {
    const count = this.#count(open + 1);
    return count > 0
      ? { count, end: this.#from + this.#kernel.after() }
      : scanNumberArray(this.#bytes, open);
  }

  #count(first: number): number {
    const count =
      first < this.#to ? this.#kernel.count(first - this.#from, this.#to - this.#from) : -1;
    if (count !== -1 || this.#to === this.#bytes.length) return count;
    this.#from = first;
    this.#to = Math.min(first + WINDOW_BYTES, this.#bytes.length);
    this.#kernel.memory.set(this.#bytes.subarray(this.#from, this.#to));
    return this.#kernel.count(0, this.#to - this.#from);
  }
}
