import type { FailureKind, UpstreamFailure } from "../canon/failure.ts";
import type { FinishReason } from "../canon/generate/event.ts";
import type { JsonValue } from "../canon/json.ts";
import { answerFailure } from "./answer-failure.ts";

/**
 * Why answers end, by the value that a provider gives (docs/protocols.md#finish-reasons), in lower
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

/** Values that mean that there is no valid answer, with our codes for them. */
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
export function finishReason(value: JsonValue | undefined): FinishReason | null {
  if (typeof value !== "string" || value === "" || value === "null") return null;
  const known = value.toLowerCase();
  return (Object.hasOwn(ENDS, known) ? ENDS[known] : undefined) ?? "other";
}

/** The failure that a value stands for; `null` for every other value. */
export function finishFailure(value: JsonValue | undefined): UpstreamFailure | null {
  if (typeof value !== "string") return null;
  const known = value.toLowerCase();
  const failure = Object.hasOwn(FAILURES, known) ? FAILURES[known] : undefined;
  return failure === undefined ? null : answerFailure(...failure);
}
