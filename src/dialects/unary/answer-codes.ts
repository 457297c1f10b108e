import type { UpstreamFailure } from "../../canon/failure.ts";
import { answerFailure } from "../translation/answer-failure.ts";

/** What can be wrong with an answer that said 200. The words reach clients and the evidence; they say nothing of the content. */
export const ANSWER_FAULTS = {
  not_json: "the answer is not JSON, or not an object",
  missing_results: "there is no list of results",
  result_count: "there are more or fewer results than inputs",
  index_invalid: "an index is outside the request",
  index_repeated: "two results have the same index",
  vector_malformed: "a vector is no list of numbers and no base64 of them",
  vector_not_finite: "a vector holds something that is no finite number",
  dimension_mixed: "the vectors are not of one length",
  dimension_wrong: "the vectors are not of the length that was asked for or that routes.yaml gives the model",
  score_invalid: "a score is no finite number",
  category_unknown: "the answer has a category that neither the protocol nor the model's `moderation_categories` has",
  category_missing: "the answer lacks a category that the protocol, or the model's `moderation_categories`, has",
  verdict_invalid: "a verdict is neither true nor false, or contradicts those of its categories",
  input_unjudged: "an image was sent, and the answer does not say that it was judged",
} as const satisfies Record<string, string>;

export type AnswerFault = keyof typeof ANSWER_FAULTS;

/** The failure for an answer whose words are wrong. */
export function faultyAnswer(fault: AnswerFault): UpstreamFailure {
  return answerFailure("malformed", fault);
}
