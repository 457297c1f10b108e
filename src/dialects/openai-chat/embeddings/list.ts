import type { AnswerBytes } from "../../unary/answer-bytes.ts";
import type { UpstreamFailure } from "../../../canon/failure.ts";
import type { JsonObject, JsonValue } from "../../../canon/json.ts";
import type { EmbedRequest, Vector } from "../../../canon/unary.ts";
import type { Target } from "../../dialect.ts";
import { failureIn } from "../read-error.ts";
import { faultyAnswer, type AnswerFault } from "../../answer-failure.ts";
import { listIn } from "../../json.ts";
import type { CutAnswer } from "../../unary/cut-vectors.ts";
import {
  checkedVectors,
  orderedByIndex,
  readObject,
  type OrderedItems,
} from "../../unary/embed-checks.ts";

/** OpenAI's list of embeddings, checked against the request. */
export interface OpenAiList extends OrderedItems {
  readonly body: JsonObject;
  readonly skeleton: CutAnswer["skeleton"];
  readonly vectors: readonly Vector[];
}

/**
 * Reads an answer `{data: [{index, embedding}]}`.
 *
 * @param read makes a vector of an `embedding`.
 */
export function readOpenAiList(
  bytes: AnswerBytes,
  request: EmbedRequest,
  target: Target,
  read: (value: JsonValue | undefined, vectorAt: CutAnswer["vectorAt"]) => Vector | AnswerFault,
): OpenAiList | UpstreamFailure {
  const answer = readObject(bytes);
  if (answer === null) return faultyAnswer("not_json");
  const { body, skeleton, vectorAt } = answer;
  const failure = failureIn(body);
  if (failure !== null) return failure;
  const data = listIn(body, "data");
  if (data === null) return faultyAnswer("missing_results");
  const ordered = orderedByIndex(data, request.inputs.length);
  if (typeof ordered === "string") return faultyAnswer(ordered);
  const entries = ordered.items.map((item) => item["embedding"]);
  const vectors = checkedVectors(entries, (value) => read(value, vectorAt), request, target);
  return typeof vectors === "string"
    ? faultyAnswer(vectors)
    : { ...ordered, body, skeleton, vectors };
}
