import type { AnswerBytes } from "./answer-bytes.ts";
import type { JsonValue } from "../../canon/json.ts";
import type { Vector } from "../../canon/unary.ts";
import { parseJsonText } from "../json.ts";
import type { AnswerFault } from "../answer-failure.ts";
import { NumberArrays } from "./scan-numbers.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x5b;

/**
 * A JSON answer whose arrays of numbers have been cut out as text. Where one stood, `body` has a
 * mark that only `vectorAt` can read.
 */
export interface CutAnswer {
  readonly body: JsonValue;
  /** The text that `body` was made of: the answer's own, but for its arrays of numbers. */
  readonly skeleton: string;
  /** The vector of a value of `body` that should be an array of numbers. */
  readonly vectorAt: (value: JsonValue | undefined) => Vector | AnswerFault;
}

/**
 * Reads an answer without making numbers of its vectors: a megabyte of them would be a hundred
 * thousand numbers that only the caller wants, as they were printed. The text of a vector is made
 * when it is read: an answer that is relayed as it came needs none.
 *
 * The mark of the n-th array is the array `[n]`. No provider can write one: every array of finite
 * numbers is cut out, those with one number too, so that whatever else stands in `body` is no such
 * array.
 *
 * @returns `null` where the bytes are not UTF-8, not JSON, or nested more deeply than any answer.
 */
export function cutVectors(answer: AnswerBytes): CutAnswer | null {
  const vectors: Vector[] = [];
  const skeleton = skeletonIn(answer, vectors);
  const body = skeleton === null ? undefined : parseJsonText(skeleton);
  if (skeleton === null || body === undefined) return null;
  return { body, skeleton, vectorAt: (value) => markedVector(vectors, value) ?? faultOf(value) };
}

/**
 * Unlike most decoders it keeps a byte order mark, so that one between two pieces of an answer
 * makes it no JSON.
 */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** `null` where the bytes are not UTF-8. */
function skeletonIn(answer: AnswerBytes, vectors: Vector[]): string | null {
  try {
    return skeletonOf(answer, vectors);
  } catch {
    return null;
  }
}

/**
 * The answer's text with a mark for every vector. What is no JSON stays none: only whole arrays,
 * found outside strings, are exchanged for other arrays.
 *
 * @throws where the bytes are not UTF-8.
 */
function skeletonOf(answer: AnswerBytes, vectors: Vector[]): string {
  const bytes = answer.look();
  const arrays = new NumberArrays(bytes);
  const pieces: string[] = [];
  let kept = 0;
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
    pieces.push(strict.decode(bytes.subarray(kept, offset)), `[${vectors.length}]`);
    vectors.push(vectorIn(answer, offset, end, count));
    kept = end;
    offset = end;
  }
  pieces.push(strict.decode(bytes.subarray(kept)));
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
 * Whether an odd number of backslashes stands before a quote inside a string. The string's own
 * quote ends the count.
 */
function isEscaped(bytes: Uint8Array, quote: number): boolean {
  let offset = quote - 1;
  while (bytes[offset] === BACKSLASH) offset -= 1;
  return (quote - offset) % 2 === 0;
}

function markedVector(
  vectors: readonly Vector[],
  value: JsonValue | undefined,
): Vector | undefined {
  if (!Array.isArray(value) || value.length !== 1) return undefined;
  const [ordinal]: readonly unknown[] = value;
  return typeof ordinal === "number" ? vectors[ordinal] : undefined;
}

/** What is wrong with something that was not cut out although a vector should be there. */
function faultOf(value: JsonValue | undefined): AnswerFault {
  const numbers: readonly unknown[] = Array.isArray(value) ? value : [];
  const isOverflow = numbers.length > 0 && numbers.every((number) => typeof number === "number");
  return isOverflow ? "vector_not_finite" : "vector_malformed";
}
