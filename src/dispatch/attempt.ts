import type { CallTraceEnd, CallTracer } from "../canon/call-trace.ts";
import type { Candidate } from "../canon/decision.ts";
import { failureOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { Connection } from "./connections.ts";
import type { CallTracker } from "./endpoints/endpoint-tracker.ts";
import type { StopCause, StopSource } from "./limiters/stop-order.ts";

/** A plan to be tried, and the bounds within which it is. */
export interface WalkJob {
  /** In the order to try them; at least one. */
  readonly plan: readonly Candidate[];
  /** How many of them, from the first, are in service: those behind are out for their health, and tried last. */
  readonly inService: number;
  readonly connections: ReadonlyMap<string, Connection>;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** Calls that reach a provider, at least 1. */
  readonly maxAttempts: number;
  /** A request that its provider may have read is sent to the same provider again. */
  readonly resends: boolean;
  /** Milliseconds without an answer after which a second candidate is called as well; never where `null` or absent. */
  readonly hedgeAfter?: number | null;
  /** From 0 to 1; spreads repetitions. */
  readonly random: () => number;
  /** Counts calls and how they end. */
  readonly endpoints: CallTracker;
  /** Puts calls into the request's trace. */
  readonly callTracer?: CallTracer | null;
  /** Ends the request, or keeps it from further calls; absent where nothing does. */
  readonly stopOrder?: StopSource | undefined;
}

/** How one candidate fared. */
export interface CallEnd<Answer> extends CallTraceEnd {
  readonly answer: Answer | null;
  /** When the client was sent its first byte; after that no other candidate is tried. On the clock of `performance.now()`. */
  readonly firstByteAt: number | null;
  /** Milliseconds from the request sent to the first output; `null` where there was none to measure. */
  readonly firstToken: number | null;
  /** It was ended before anything of the request had left: there was no attempt. */
  readonly unsent?: true;
}

/** One call to one candidate. */
export interface Attempt<Answer> {
  /** The candidate speaks another dialect than the caller. */
  readonly translated: boolean;
  /** Calls once. Rejects only for a bug of ours. @param traceHeaders names and values by turns. */
  run(traceHeaders: readonly string[]): Promise<CallEnd<Answer>>;
  /** Ends the call; `run` resolves soon after. */
  stop(cause: StopCause): void;
}

/** How one candidate fared, for the evidence. */
export interface AttemptReport {
  readonly candidate: Candidate;
  readonly simulated: boolean;
  /** The candidate speaks another dialect than the caller. */
  readonly translated: boolean;
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  /** Milliseconds; the longest where several calls are reported together. */
  readonly duration: number;
  /** Calls that ended alike, where a request was sent in parts; one where absent. */
  readonly calls?: number;
}

/** The calls of one walk. */
export interface Calls<Answer> {
  prepare(candidate: Candidate, connection: Connection): Attempt<Answer>;
  /** Each candidate's turn, once it is over. The report's duration is that of the call alone. @param queued milliseconds before it. */
  report(report: AttemptReport, queued: number): void;
}

/** Of a candidate that was not called. @param code see `UpstreamFailure`. */
export function notTried(
  kind: FailureKind,
  code: string | null = null,
): CallEnd<never> & { readonly failure: UpstreamFailure } {
  const failure = { ...failureOf(kind), code };
  return { failure, status: null, finish: null, usage: null, answer: null, firstByteAt: null, firstToken: null };
}

/** Of a call that ended in an exception: nothing is learnt of its candidate. */
export const ABANDONED = notTried("abandoned");

/** @param duration milliseconds of the whole call. @returns `null` where the provider did not count. */
export function tokensPerSecond({ firstToken, usage }: CallEnd<unknown>, duration: number): number | null {
  const tokens = usage?.output ?? 0;
  // A whole answer shows its tokens at once: its time is all that there is.
  const span = duration - (firstToken ?? 0);
  return tokens > 0 && span > 0 ? (tokens * 1000) / span : null;
}
