import type { Candidate } from "./decision.ts";
import type { UpstreamFailure } from "./failure.ts";
import type { FinishReason, TokenUsage } from "./generate/event.ts";
import type { ProviderRow } from "./table.ts";

/** Outcome of one call to a provider, for a trace. */
export interface CallTraceEnd {
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
}

/** One call to a provider in a trace. */
export interface CallTrace {
  /**
   * Headers of the trace for the provider, names and values by turns; empty unless its row requires
   * them.
   */
  readonly headers: readonly string[];
  /** Called once. */
  endCall(end: CallTraceEnd): void;
}

/** Starts the trace of a call. */
export type CallTracer = (candidate: Candidate, provider: ProviderRow) => CallTrace;
