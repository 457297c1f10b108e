import type { Candidate } from "./decision.ts";
import type { UpstreamFailure } from "./failure.ts";
import type { FinishReason, TokenUsage } from "./generate/event.ts";
import type { ProviderRow } from "./table.ts";

/** How one call to a provider ended, as far as a trace shows. */
export interface CallTraceEnd {
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
}

/** One call to a provider in a trace. */
export interface CallTrace {
  /**
   * What the provider is sent of the trace; names and values by turns. None unless its row requires
   * it.
   */
  readonly headers: readonly string[];
  /** Once, whatever becomes of the call. */
  end(end: CallTraceEnd): void;
}

/** A call begins. */
export type CallTracer = (candidate: Candidate, provider: ProviderRow) => CallTrace;
