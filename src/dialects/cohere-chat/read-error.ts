import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonValue } from "../../canon/json.ts";
import { parseAnswerBytes } from "../json.ts";
import { refusedAnswer, refusedFrame } from "../refusals.ts";

/** Reads an answer with an error status as a failure (docs/protocols.md#errors-of-providers). */
export function readCohereError(status: number, bytes: Uint8Array): UpstreamFailure {
  return refusedAnswer(status, parseAnswerBytes(bytes), null);
}

/** An error's object instead of an event, or of an answer that said 200. */
export function readErrorObject(error: JsonValue): UpstreamFailure {
  return refusedFrame(error, null);
}
