import { NO_EDITS, type EditSet } from "../canon/generate/edit.ts";
import { failureOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { FinishReason } from "../canon/generate/event.ts";
import type { Loss } from "../canon/generate/loss.ts";
import type { TokenUsage } from "../canon/generate/usage.ts";
import type { CallOutcome } from "./endpoints/endpoint-tracker.ts";

/** Most of an error answer that is read; only its machine code is wanted. Bytes. */
export const MAXIMUM_ERROR_BYTES = 64 * 1024;

/** A stream has a frame around every few characters: it may have this many times the bytes of an answer in one piece. */
export const STREAM_FACTOR = 8;

/** How one attempt ended. `firstByteAt` tells whether the client has seen anything of it. */
export interface AttemptResult {
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
  /** What the answer lost on its way to the client. */
  readonly losses: readonly Loss[];
  /** What was changed in the answer without a loss. */
  readonly edits: EditSet;
  readonly firstByteAt: number | null;
  /** Milliseconds from the request sent to the first output of a stream; `null` where there was none. */
  readonly firstToken: number | null;
  /** Characters of output of a stream, as far as it was read; `null` for an answer in one piece and where none arrived. */
  readonly outputCharacters: number | null;
  /** It was ended before anything of the request had left: there was no attempt. */
  readonly unsent?: true;
}

/** Whether a whole answer goes to the client: one that has failed does where the failure is the answer. @param bytes what there is to pass on. */
export function isPassedOn(failure: UpstreamFailure | null, bytes: Uint8Array): boolean {
  return failure === null || (failure.final === true && bytes.length > 0);
}

/** Of a candidate that was not asked. @param code see `UpstreamFailure`. */
export function notTried(kind: FailureKind, code: string | null = null): AttemptResult {
  return {
    failure: { ...failureOf(kind), code },
    status: null,
    finish: null,
    usage: null,
    losses: [],
    edits: NO_EDITS,
    firstByteAt: null,
    firstToken: null,
    outputCharacters: null,
  };
}

/** What a call says of its candidate that was ended from here. */
export const NOTHING_LEARNT: CallOutcome = {
  failure: failureOf("abandoned"),
  firstToken: null,
  tokensPerSecond: null,
};

/** What a call says of its candidate. @param duration milliseconds of the whole call. */
export function learnt({ failure, firstToken, usage }: AttemptResult, duration: number): CallOutcome {
  const tokens = usage?.output ?? 0;
  // A whole answer shows its tokens at once: its time is all that there is.
  const span = duration - (firstToken ?? 0);
  return { failure, firstToken, tokensPerSecond: tokens > 0 && span > 0 ? (tokens * 1000) / span : null };
}
