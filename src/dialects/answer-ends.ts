import { failureOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { FinishReason } from "../canon/generate/event.ts";
import type { JsonMember } from "../canon/json.ts";
import { ownValue } from "./json.ts";

/** The failure itself, or one of this kind. */
export function failureOfAnswer(
  failure: UpstreamFailure | FailureKind,
  code?: string | null,
): UpstreamFailure {
  return typeof failure === "string" ? failureOf(failure, code) : failure;
}

/**
 * The member that an upstream's error names by a path (`max_tokens`, `messages[2].content`,
 * `messages.2.content`): its name, and its position in a list. The rest may be the caller's own
 * text (names of a schema) and is omitted. `null` without such a path.
 */
export function namedMember(path: JsonMember): { readonly param: string } | null {
  const match =
    typeof path === "string"
      ? /^([a-z][a-z0-9_]{0,63})(?:\.?\[(\d{1,6})\]|\.(\d{1,6})(?!\w))?(?!\w)/i.exec(path)
      : null;
  if (match === null) return null;
  const [, name = "", bracketed, dotted] = match;
  const index = bracketed ?? dotted;
  return { param: index === undefined ? name : `${name}[${index}]` };
}

/** Failure kind of an error status, in any protocol. */
export function kindOfStatus(status: number): FailureKind {
  // A success that is not 200 is no answer of any protocol.
  if (status < 300) return "malformed";
  if (status < 400) return "redirect";
  if (status === 401 || status === 402 || status === 403) return "auth";
  // A server without the path may also answer that the method is not allowed.
  if (status === 404 || status === 405 || status === 501) return "not_found";
  if (status === 408) return "timeout_first_byte";
  if (status === 429) return "rate_limited";
  if (status === 503 || status === 529) return "overloaded";
  return status >= 500 ? "server_error" : "rejected";
}

/**
 * Faults of answers with status 200. The codes reach clients and the evidence, and contain none of
 * the content.
 */
export const ANSWER_FAULTS = {
  not_json: "the answer is not JSON, or not an object",
  missing_results: "there is no list of results",
  result_count: "there are more or fewer results than inputs",
  index_invalid: "an index is outside the request",
  index_repeated: "two results have the same index",
  vector_malformed: "a vector is neither a list of numbers nor base64 of them",
  vector_not_finite: "a vector has a value that is not a finite number",
  dimension_mixed: "the vectors are not of one length",
  dimension_wrong:
    "the vectors have neither the requested length nor the one that routes.yaml gives the model",
  score_invalid: "a score is not a finite number",
  category_unknown:
    "the answer has a category that neither the protocol nor the model's `moderation_categories` has",
  category_missing:
    "the answer lacks a category that the protocol, or the model's `moderation_categories`, has",
  verdict_invalid: "a verdict is neither true nor false, or contradicts those of its categories",
  input_unjudged: "an image was sent, and the answer does not say that it was judged",
} as const satisfies Record<string, string>;

export type AnswerFault = keyof typeof ANSWER_FAULTS;

/** The failure for an answer with wrong values. */
export function faultyAnswer(fault: AnswerFault): UpstreamFailure {
  return failureOf("malformed", fault);
}

/**
 * Finish reasons, by the provider's value (docs/protocols.md#finish-reasons), in lower
 * case. One table for all protocols: servers and gateways of one protocol send values of another
 * (`end_turn` in chat completions, `stop` in messages), and no two protocols give one value two
 * meanings.
 */
const ENDS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  end_turn: "stop",
  complete: "stop",
  completed: "stop",
  // Together, and servers on Text Generation Inference
  // (https://huggingface.co/docs/text-generation-inference/reference/api_reference).
  eos: "stop",
  eos_token: "stop",
  end: "stop",
  stop_sequence: "stop_sequence",
  length: "length",
  max_tokens: "length",
  max_output_tokens: "length",
  model_length: "length",
  model_context_window_exceeded: "context_window",
  tool_calls: "tool_calls",
  tool_call: "tool_calls",
  tool_use: "tool_calls",
  function_call: "tool_calls",
  refusal: "refusal",
  content_filter: "content_filter",
  content_filtered: "content_filter",
  // Z.ai: https://docs.z.ai/api-reference/llm/chat-completion
  sensitive: "content_filter",
  guardrail_intervened: "content_filter",
  // Gemini: https://ai.google.dev/api/generate-content#FinishReason
  safety: "content_filter",
  recitation: "content_filter",
  // The text was held back because it is in a language that the service does not serve.
  language: "content_filter",
  blocklist: "content_filter",
  prohibited_content: "content_filter",
  spii: "content_filter",
  model_armor: "content_filter",
  image_safety: "content_filter",
  image_prohibited_content: "content_filter",
  image_recitation: "content_filter",
  image_other: "content_filter",
  pause_turn: "pause",
};

/** Finish reasons of invalid answers, with our codes. */
const FAILURES: Readonly<Record<string, readonly [FailureKind, string | null]>> = {
  error: ["error_frame", null],
  error_toxic: ["error_frame", null],
  error_limit: ["error_frame", null],
  network_error: ["error_frame", null],
  abort: ["error_frame", null],
  timeout: ["error_frame", "generation_timeout"],
  insufficient_system_resource: ["overloaded", null],
  malformed_function_call: ["error_frame", "malformed_function_call"],
  malformed_response: ["error_frame", "malformed_response"],
  unexpected_tool_call: ["error_frame", "unexpected_tool_call"],
  too_many_tool_calls: ["error_frame", "too_many_tool_calls"],
  missing_thought_signature: ["error_frame", "missing_thought_signature"],
  no_image: ["error_frame", "no_image"],
  malformed_model_output: ["malformed", "malformed_model_output"],
  malformed_tool_use: ["malformed", "malformed_tool_use"],
};

/**
 * The reason that a value stands for; `other` for an unknown one, `null` where there is none (no
 * text, empty, or `"null"`, which DashScope sends).
 */
export function finishReason(value: JsonMember): FinishReason | null {
  if (typeof value !== "string" || value === "" || value === "null") return null;
  return ownValue(ENDS, value.toLowerCase()) ?? "other";
}

/** The failure that a value stands for; `null` for every other value. */
export function finishFailure(value: JsonMember): UpstreamFailure | null {
  if (typeof value !== "string") return null;
  const failure = ownValue(FAILURES, value.toLowerCase());
  return failure === undefined ? null : failureOf(...failure);
}
