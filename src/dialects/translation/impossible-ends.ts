import type { FinishReason, InferenceEvent } from "../../canon/generate/event.ts";
import type { EventParser } from "../dialect.ts";
import { answerFailure } from "./answer-failure.ts";

/** The events with a failure in place of an end that no request of the surface can lead to. */
export function refuseEnds(
  events: readonly InferenceEvent[],
  impossible: readonly FinishReason[],
): readonly InferenceEvent[] {
  const last = events.at(-1);
  if (last?.type !== "finish" || !impossible.includes(last.reason)) return events;
  return [...events.slice(0, -1), { type: "failure", failure: answerFailure("malformed", "unexpected_output_item") }];
}

/** The same for a stream: an end is the last thing that a parser gives. */
export function refusingEnds(parser: EventParser, impossible: readonly FinishReason[]): EventParser {
  return {
    push: (chunk) => refuseEnds(parser.push(chunk), impossible),
    end: () => refuseEnds(parser.end(), impossible),
  };
}
