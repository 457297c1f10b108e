import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import {
  isJsonObject,
  type JsonMember,
  type JsonObject,
  type JsonValue,
} from "../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest, EmbedResult, Vector } from "../../canon/unary.ts";
import { faultyAnswer, type AnswerFault } from "../answer-ends.ts";
import type { Target, UnaryUpstream } from "../dialect.ts";
import { memberIn } from "../json.ts";
import type { AnswerBytes } from "./answer-bytes.ts";
import { isIndex } from "./ranking.ts";
import { cutVectors, type CutAnswer } from "./cut-vectors.ts";

/** An answer that is a JSON object, its vectors cut out. */
type ObjectAnswer = CutAnswer & { readonly body: JsonObject };

/** Result as the answer has it, before it is checked against the request. */
interface FoundVectors {
  /** Where the vectors should be, in the order of the inputs. */
  readonly entries: readonly JsonMember[];
  readonly inputTokens: number | null;
}

/** `null` where the bytes are no JSON object. */
export function readObject(bytes: AnswerBytes): ObjectAnswer | null {
  const answer = cutVectors(bytes);
  return isJsonObject(answer?.body) ? { ...answer, body: answer.body } : null;
}

/**
 * Reads answers whose vectors are arrays of numbers in the order of the inputs. They do not name
 * the model.
 *
 * @param find finds them in the protocol's members; a failure where the object is an error.
 */
export function vectorReader(
  find: (body: JsonObject, target: Target) => FoundVectors | AnswerFault | UpstreamFailure,
): UnaryUpstream<EmbedRequest, EmbedResult>["parseAnswer"] {
  return (bytes, request, target) => {
    const answer = readObject(bytes);
    if (answer === null) return faultyAnswer("not_json");
    const found = find(answer.body, target);
    if (typeof found === "string") return faultyAnswer(found);
    if ("kind" in found) return found;
    const { entries, inputTokens } = found;
    const vectors = checkedVectors(entries, answer.vectorAt, request, target);
    if (typeof vectors === "string") return faultyAnswer(vectors);
    return { operation: "embed", vectors, inputTokens, model: null, isVerbatim: false };
  };
}

/**
 * Exactly one vector for each input, all of one length, which is the one requested or the model's
 * own.
 *
 * @param read makes a vector of an entry.
 */
export function checkedVectors(
  entries: readonly JsonMember[],
  read: (value: JsonMember) => Vector | AnswerFault,
  { inputs, dimensions }: EmbedRequest,
  { model }: Target,
): readonly Vector[] | AnswerFault {
  if (entries.length !== inputs.length) return "result_count";
  const vectors: Vector[] = [];
  for (const entry of entries) {
    const vector = read(entry);
    if (typeof vector === "string") return vector;
    vectors.push(vector);
  }
  const length = vectors[0]?.dimension;
  if (vectors.some(({ dimension }) => dimension !== length)) return "dimension_mixed";
  const expected = dimensions ?? model.defaultDimensions;
  return expected === null || length === expected ? vectors : "dimension_wrong";
}

/** The items of an answer in the order of the inputs. */
export interface OrderedItems {
  readonly items: readonly JsonObject[];
  /** The answer had that order. */
  readonly cameInOrder: boolean;
}

/** Sorts items by their `index`. Every input must have exactly one. */
export function orderedByIndex(
  list: readonly JsonValue[],
  count: number,
): OrderedItems | AnswerFault {
  if (list.length !== count) return "result_count";
  const items: (JsonObject | undefined)[] = Array.from({ length: count });
  let cameInOrder = true;
  for (const [position, item] of list.entries()) {
    const index = memberIn(item, "index");
    if (!isJsonObject(item) || !isIndex(index, count)) return "index_invalid";
    if (items[index] !== undefined) return "index_repeated";
    items[index] = item;
    cameInOrder &&= index === position;
  }
  return { items: items.filter((item) => item !== undefined), cameInOrder };
}

/** The inputs of a request at an endpoint that takes text only. */
export function textsOf({ inputs }: EmbedRequest): readonly string[] | ServiceError {
  const texts = inputs.filter((input) => typeof input === "string");
  return texts.length === inputs.length
    ? texts
    : notSupported(
        "input must be text: an endpoint that may get the request takes no tokens",
        "input",
      );
}

/** The input of a request at an endpoint that embeds one text a call. */
export function onlyText(request: EmbedRequest): string | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const [text] = texts;
  return text !== undefined && texts.length === 1
    ? text
    : notSupported(
        "input must be one text: an endpoint that may get the request embeds one a call",
        "input",
      );
}

/**
 * The protocol's value for the purpose of the vectors; `undefined` where the caller named none.
 *
 * @param values of the purposes that the protocol has.
 */
export function formatPurpose(
  { purpose }: EmbedRequest,
  values: Readonly<Partial<Record<EmbedPurpose, string>>>,
): string | undefined | ServiceError {
  const value = purpose === null ? undefined : values[purpose];
  if (value !== undefined || purpose === null) return value;
  const possible = Object.keys(values).join(" or ");
  const rule = possible === "" ? "must be left out" : `must be ${possible}`;
  return notSupported(
    `input_type ${rule}: an endpoint that may get the request supports no other`,
    "input_type",
  );
}

/** For protocols that demand a purpose: without one, inputs are sent as documents. */
export function droppedPurpose({ purpose }: EmbedRequest): readonly DroppedField[] {
  return purpose === null ? ["input_purpose_defaulted"] : [];
}

function notSupported(message: string, param: string) {
  return invalidRequest("feature_not_supported", message, param);
}

/** Encoding of a vector in base64: little-endian single-precision numbers, or signed bytes. */
export type Base64Kind = "float32" | "int8";

/**
 * A vector that came in base64. One of signed bytes is written as numbers at once, because no
 * caller's protocol has such.
 *
 * @param text of the answer: checked to be base64 of such numbers, padded, without white space, all
 * of them finite.
 */
export function vectorFromBase64(text: string, kind: Base64Kind): Vector | AnswerFault {
  const bytes = decoded(text);
  if (bytes === null || bytes.length === 0) return "vector_malformed";
  if (kind === "int8") {
    return {
      dimension: bytes.length,
      encoding: "float",
      text: `[${new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length).join(",")}]`,
    };
  }
  if (bytes.length % FLOAT_BYTES !== 0) return "vector_malformed";
  if (!areFinite(bytes)) return "vector_not_finite";
  return { dimension: bytes.length / FLOAT_BYTES, encoding: "base64", text };
}

/**
 * The vector as a JSON array. Numbers of single precision are printed with as few digits as make
 * the same number again.
 */
export function asFloatText(vector: Vector): Vector {
  if (vector.encoding === "float") return vector;
  const bytes = decoded(vector.text);
  if (bytes === null) throw new Error("vectors: base64 that was not checked");
  const view = viewOf(bytes);
  const numbers: unknown[] = [];
  for (let offset = 0; offset < bytes.length; offset += FLOAT_BYTES) {
    const number = view.getFloat32(offset, true);
    // JSON.stringify prints the other zero as this one.
    numbers.push(Object.is(number, -0) ? NEGATIVE_ZERO : shortestDecimal(number));
  }
  return { dimension: vector.dimension, encoding: "float", text: JSON.stringify(numbers) };
}

/** The vector as base64 of single-precision numbers; a fault where a number is beyond them. */
export function asBase64Text(vector: Vector): Vector | AnswerFault {
  if (vector.encoding === "base64") return vector;
  const numbers: readonly number[] = JSON.parse(vector.text);
  const bytes = Buffer.alloc(numbers.length * FLOAT_BYTES);
  const view = viewOf(bytes);
  for (const [index, number] of numbers.entries())
    view.setFloat32(index * FLOAT_BYTES, number, true);
  if (!areFinite(bytes)) return "vector_not_finite";
  return { dimension: vector.dimension, encoding: "base64", text: bytes.toString("base64") };
}

const FLOAT_BYTES = 4;
const NEGATIVE_ZERO = JSON.rawJSON("-0.0");

function areFinite(bytes: Uint8Array<ArrayBuffer>): boolean {
  const view = viewOf(bytes);
  for (let offset = 0; offset < bytes.length; offset += FLOAT_BYTES) {
    if (!Number.isFinite(view.getFloat32(offset, true))) return false;
  }
  return true;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** `null` for text that is not canonical base64, which the decoder itself would skip. */
function decoded(text: string): Uint8Array<ArrayBuffer> | null {
  // Uint8Array.fromBase64 would be one step, and is missing in Node 22 and 24.
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

/**
 * The double that prints as the shortest decimal which is the single-precision number `value`
 * again, such as -0.025122926 for what a double prints as -0.02512292563915252. Of several it is
 * the nearest; where only another one is the number again, which is so for three powers of two
 * (2⁻⁹⁶, 2⁸⁷, 2⁹⁰), one digit more is given.
 *
 * @param value finite and single-precision.
 */
export function shortestDecimal(value: number): number {
  const size = Math.abs(value);
  if (size < SMALLEST_QUICK || size >= LARGEST_QUICK) return slowly(value);
  const exponent = Math.floor(Math.log10(size));
  for (let digits = FEWEST_DIGITS; digits <= MOST_DIGITS; digits += 1) {
    const power = digits - 1 - exponent;
    const scale = POWERS[Math.abs(power)] ?? NaN;
    const decimal =
      power >= 0 ? Math.round(size * scale) / scale : Math.round(size / scale) * scale;
    if (Math.fround(decimal) === size) return value < 0 ? -decimal : decimal;
  }
  return slowly(value);
}

/**
 * Decimals of fewer digits are found with zeros at their end: up to six digits survive single
 * precision. One less, as the logarithm may be off by one.
 */
const FEWEST_DIGITS = 5;
/** Enough digits for every number. */
const MOST_DIGITS = 9;

/**
 * Between these all powers of ten below are doubles, and quotients by them are correctly rounded,
 * as parsing a decimal is.
 */
const SMALLEST_QUICK = 1e-12;
const LARGEST_QUICK = 1e9;
const POWERS: readonly number[] = Array.from({ length: 23 }, (_, power) => Number(`1e${power}`));

/** For numbers of any size: subnormal ones have fewer digits than others. */
function slowly(value: number): number {
  for (let digits = 1; digits < MOST_DIGITS; digits += 1) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === value) return decimal;
  }
  return Number(value.toPrecision(MOST_DIGITS));
}
