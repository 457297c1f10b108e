import type { AnswerBytes } from "./answer-bytes.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest, EmbedResult, Vector } from "../../canon/unary.ts";
import type { Target } from "../dialect.ts";
import { faultyAnswer, type AnswerFault } from "../answer-failure.ts";
import { cutVectors, type CutAnswer } from "./cut-vectors.ts";
import { invalidRequest, type ServiceError } from "../../canon/error.ts";

/** An answer that is a JSON object, its vectors cut out. */
interface ObjectAnswer {
  readonly body: JsonObject;
  readonly skeleton: CutAnswer["skeleton"];
  readonly vectorAt: CutAnswer["vectorAt"];
}

/** What a protocol finds in its answers, not yet checked against the request. */
export interface FoundVectors {
  /** Where the vectors should be, in the order of the inputs. */
  readonly entries: readonly (JsonValue | undefined)[];
  readonly inputTokens: number | null;
  readonly model: string | null;
}

/** `null` where the bytes are no JSON object. */
export function readObject(bytes: AnswerBytes): ObjectAnswer | null {
  const answer = cutVectors(bytes);
  if (answer === null || !isJsonObject(answer.body)) return null;
  return { ...answer, body: answer.body };
}

/**
 * The answer of a protocol whose vectors are arrays of numbers in the order of the inputs.
 *
 * @param find what the protocol's members mean; a failure where the object is an error.
 */
export function readInOrder(
  bytes: AnswerBytes,
  request: EmbedRequest,
  target: Target,
  find: (body: JsonObject) => FoundVectors | AnswerFault | UpstreamFailure,
): EmbedResult | UpstreamFailure {
  const answer = readObject(bytes);
  if (answer === null) return faultyAnswer("not_json");
  const found = find(answer.body);
  if (typeof found === "string") return faultyAnswer(found);
  if ("kind" in found) return found;
  const vectors = checkedVectors(found.entries, answer.vectorAt, request, target);
  if (typeof vectors === "string") return faultyAnswer(vectors);
  const { inputTokens, model } = found;
  return { operation: "embed", vectors, inputTokens, model, isVerbatim: false };
}

/**
 * Exactly one vector for each input, all of one length, which is the one requested or the model's
 * own.
 *
 * @param read makes a vector of an entry.
 */
export function checkedVectors(
  entries: readonly (JsonValue | undefined)[],
  read: (value: JsonValue | undefined) => Vector | AnswerFault,
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
  const wanted = dimensions ?? model.defaultDimensions;
  return wanted === null || length === wanted ? vectors : "dimension_wrong";
}

/** The items of an answer in the order of the inputs. */
export interface OrderedItems {
  readonly items: readonly JsonObject[];
  /** They came in that order. */
  readonly cameInOrder: boolean;
}

/**
 * Puts items where their `index` says that they belong. Every input has exactly one, or there is a
 * fault.
 */
export function orderedByIndex(
  list: readonly JsonValue[],
  count: number,
): OrderedItems | AnswerFault {
  if (list.length !== count) return "result_count";
  const items: (JsonObject | undefined)[] = Array.from({ length: count });
  let cameInOrder = true;
  for (const [position, item] of list.entries()) {
    const index = isJsonObject(item) ? item["index"] : undefined;
    if (
      !isJsonObject(item) ||
      typeof index !== "number" ||
      !(Number.isInteger(index) && index >= 0 && index < count)
    ) {
      return "index_invalid";
    }
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
 * The protocol's value for the purpose of the vectors.
 *
 * @param values the purposes that the protocol has, and its values for them.
 */
export function formatPurpose(
  purpose: EmbedPurpose,
  values: Readonly<Partial<Record<EmbedPurpose, string>>>,
): string | ServiceError {
  const value = values[purpose];
  if (value !== undefined) return value;
  const known = Object.keys(values).join(" or ");
  const rule = known === "" ? "must be left out" : `must be ${known}`;
  return notSupported(
    `input_type ${rule}: an endpoint that may get the request supports no other`,
    "input_type",
  );
}

function notSupported(message: string, param: string): ServiceError {
  return invalidRequest("feature_not_supported", message, param);
}
