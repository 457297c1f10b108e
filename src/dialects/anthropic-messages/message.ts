import type { FinishReason } from "../../canon/generate/event.ts";
import type { DroppedField } from "../../canon/generate/dropped-field.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { AnswerContext } from "../dialect.ts";
import { formatStopReason } from "./finish.ts";

/** A message before anything has been said in it, without its usage. */
export function emptyMessage(context: AnswerContext, model: string | null): JsonObject {
  return {
    id: `msg_${context.answerId}`,
    type: "message",
    role: "assistant",
    model: model ?? context.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    container: null,
  };
}

/** The members that say why the answer ended. */
export function stopOf(
  { reason, stopSequence }: { readonly reason: FinishReason; readonly stopSequence: string | null },
  { request }: AnswerContext,
  dropped: Set<DroppedField>,
): JsonObject {
  // Some protocols give the same reason for an answer that ended by itself and one that a stop sequence ended.
  const stops = request.body["stop_sequences"];
  const unsaid = reason === "stop" && Array.isArray(stops) && stops.length > 0;
  if (unsaid || (reason === "stop_sequence" && stopSequence === null)) dropped.add("stop_sequence_unnamed");
  const stopReason = formatStopReason(reason);
  return {
    stop_reason: stopReason,
    stop_sequence: reason === "stop_sequence" ? stopSequence : null,
    stop_details: stopReason === "refusal" ? { type: "refusal", category: null, explanation: null } : null,
  };
}
