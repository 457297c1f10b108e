import type { FinishReason } from "../../canon/generate/event.ts";
import type { JsonValue } from "../../canon/json.ts";
import type { InferenceRequest } from "../../canon/request.ts";

/** The protocol's reasons for a proper end (docs/protocols.md#finish-reasons). */
const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop_sequence",
  max_tokens: "length",
  model_context_window_exceeded: "context_window",
  tool_use: "tool_calls",
  refusal: "refusal",
  pause_turn: "pause",
};

/** `null` where no reason is given; `other` for a word that we do not know, so that no upstream text reaches evidence. */
export function readStopReason(value: JsonValue | undefined): FinishReason | null {
  if (typeof value !== "string" || value === "") return null;
  return (Object.hasOwn(REASONS, value) ? REASONS[value] : undefined) ?? "other";
}

/** Whether a request only fills the provider's cache: it is answered with nothing, and nothing has no reason to end. */
export function asksNothing({ body }: InferenceRequest): boolean {
  return body["max_tokens"] === 0;
}

const WORDS: Readonly<Record<FinishReason, string | null>> = {
  stop: "end_turn",
  stop_sequence: "stop_sequence",
  length: "max_tokens",
  context_window: "model_context_window_exceeded",
  tool_calls: "tool_use",
  refusal: "refusal",
  content_filter: "refusal",
  pause: "pause_turn",
  other: null,
};

/** @throws for `other`, which native relays alone know: whoever translates it would have to make a reason up. */
export function formatStopReason(reason: FinishReason): string {
  const word = WORDS[reason];
  if (word === null) throw new Error("formatStopReason: a finish reason that no translation gives");
  return word;
}
