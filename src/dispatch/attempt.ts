import type { CallTraceEnd, CallTracer } from "../canon/call-trace.ts";
import type { Candidate } from "../canon/decision.ts";
import { failureOf, type FailureKind, type UpstreamFailure } from "../canon/failure.ts";
import type { Connection } from "./connections.ts";
import { hasCalledProvider } from "./failures.ts";
import type { CallTracker } from "./endpoint-tracker.ts";
import type { StopCause, StopSource, StopReason } from "./stop-order.ts";
import type { ServiceError } from "../canon/error.ts";
import type { AnswerEdits, DroppedField, EditSet } from "../canon/generate/edit.ts";
import type { FinishReason, TokenUsage } from "../canon/generate/event.ts";
import type { InferenceRequest } from "../canon/request.ts";
import type { ExchangePlan } from "../dialects/exchange-plan.ts";

/** A plan to try, and the bounds of doing so. */
export interface WalkJob {
  /** In the order of calls; at least one. */
  readonly plan: readonly Candidate[];
  /**
   * How many of them, from the first, are in service: those after them are ejected, and tried last.
   */
  readonly inService: number;
  readonly connections: ReadonlyMap<string, Connection>;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** Calls that reach a provider, at least 1. */
  readonly maxAttempts: number;
  /** The route allows resending a request that the provider may have read. */
  readonly resends: boolean;
  /**
   * Milliseconds without an answer after which a second candidate is called too; never where `null`
   * or absent.
   */
  readonly hedgeAfter?: number | null;
  /** From 0 to 1; jitter of retries. */
  readonly random: () => number;
  /** Counts calls and their results. */
  readonly endpoints: CallTracker;
  /** Adds calls to the request's trace. */
  readonly callTracer?: CallTracer | null;
  /** Ends the request, or prevents further calls; absent where nothing does. */
  readonly stopOrder?: StopSource | undefined;
}

/** The end of one candidate's call. */
export interface CallEnd<Answer> extends CallTraceEnd {
  readonly answer: Answer | null;
  /**
   * When the client got its first byte; no other candidate is tried after it. On the clock of
   * `performance.now()`.
   */
  readonly firstByteAt: number | null;
  /** Milliseconds from the request to the first output; `null` where none was measured. */
  readonly firstToken: number | null;
  /** Milliseconds to the whole answer of a call without a stream; absent without one. */
  readonly wholeAnswer?: number | undefined;
  /** It ended before anything was sent: this is no attempt. */
  readonly notSent?: true;
}

/** One call to one candidate. */
export interface Attempt<Answer> {
  /** The candidate speaks another dialect than the caller. */
  readonly translated: boolean;
  /**
   * Calls once. Rejects only for our own bugs. @param traceHeaders alternating names and values.
   */
  run(traceHeaders: readonly string[]): Promise<CallEnd<Answer>>;
  /** Ends the call; `run` resolves soon after. */
  stop(cause: StopCause): void;
}

/** The end of one candidate's call, for the evidence. */
export interface AttemptReport {
  readonly candidate: Candidate;
  readonly simulated: boolean;
  /** The call went through a forward proxy. */
  readonly proxied: boolean;
  /** The candidate speaks another dialect than the caller. */
  readonly translated: boolean;
  readonly failure: UpstreamFailure | null;
  readonly status: number | null;
  /**
   * Beginning of the call, or of a turn that made none; the earliest where several calls are
   * reported together. On the clock of `performance.now()`.
   */
  readonly startedAt: number;
  /** Milliseconds; the longest where several calls are reported together. */
  readonly duration: number;
  /** Calls with the same end, where a request was sent in parts; one where absent. */
  readonly calls?: number;
}

/** The calls of one walk. */
export interface Calls<Answer> {
  prepare(candidate: Candidate, connection: Connection): Attempt<Answer>;
  /**
   * Each candidate's turn, once it is over. The report's duration is that of the call alone.
   *
   * @param queued milliseconds before it.
   */
  report(report: AttemptReport, queued: number): void;
}

/** For a candidate that was not called. @param code see `UpstreamFailure`. */
export function notTried(
  kind: FailureKind,
  code: string | null = null,
): CallEnd<never> & { readonly failure: UpstreamFailure } {
  const failure = failureOf(kind, code);
  return {
    failure,
    status: null,
    finish: null,
    usage: null,
    answer: null,
    firstByteAt: null,
    firstToken: null,
  };
}

/** For a call that ended in an exception, which proves nothing about its candidate. */
export const ABANDONED = notTried("abandoned");

/** A request's decision that is being written. */
export interface Recording {
  /**
   * Resolves with `null` when the decision is on disk; nothing may be sent to the client before.
   * With an error no answer is sent, calls are cancelled, and the outcome is `failed` with that
   * error. Never rejects.
   */
  readonly result: Promise<ServiceError | null>;
  /** An answer waits: write the decision now. */
  needed(): void;
}

/** One request that the first able candidate of its plan answers. */
export interface RelayJob extends WalkJob {
  readonly request: InferenceRequest;
  /** Endpoint id → how to call it and read its answer; for every candidate. */
  readonly exchangePlans: ReadonlyMap<string, ExchangePlan>;
  /**
   * The request's tokens count against a limit: after its client disconnects, a stream is drained
   * for a moment, until the provider reports its usage.
   */
  readonly countsTokens: boolean;
  /** Largest whole answer, bytes. A stream may have eight times as many. */
  readonly maxAnswerBytes: number;
  readonly recording: Recording;
  /**
   * Headers of an answer by this candidate at this attempt; alternating names and values.
   *
   * @param changes of its request and, as far as it has been read, of its answer.
   */
  readonly answerHeaders: (
    candidate: Candidate,
    attempt: number,
    changes: AnswerEdits,
  ) => readonly string[];
}

export interface RelayOutcome {
  readonly terminal: "completed" | "incomplete" | "failed" | "client_closed";
  /** The error that still has to be sent to the client; `null` where the answer was sent. */
  readonly error: ServiceError | null;
  readonly attempts: readonly AttemptReport[];
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
  /** Output characters of a stream; `null` for a whole answer and without any. */
  readonly outputCharacters: number | null;
  /** Why the router itself ended the request; absent where it did not. */
  readonly ended?: StopReason;
  /** On the clock of `performance.now()`; `null` where no byte was sent. */
  readonly firstByteAt: number | null;
  /** Members removed from the request. */
  readonly stripped: readonly string[];
  /** Members that translation left out or changed; each once. */
  readonly dropped: readonly DroppedField[];
  /** Other edits of requests and answer. */
  readonly edits: EditSet;
}

/**
 * The client's side of an exchange: one implementation over a node response, one in memory for
 * tests.
 */
export interface ClientAnswer {
  /** The client has disconnected, or the answer has ended. */
  readonly closed: boolean;
  /** Sends status and headers. Once. Alternating names and values. */
  start(status: number, headers: readonly string[]): void;
  /** Sends bytes; `false`: wait for `onDrain` before sending more. */
  write(bytes: Uint8Array): boolean;
  end(bytes?: Uint8Array): void;
  /** Called when the client disconnects before the answer has ended; at most once. */
  onClose(listener: () => void): void;
  /** Called whenever a full buffer has emptied. */
  onDrain(listener: () => void): void;
}

/** Shared state of the parts of one request: running and ended calls. */
export class Siblings {
  /** Provider id → calls of this request under way. */
  readonly #calls = new Map<string, number>();
  readonly #reports = new Map<string, AttemptReport & { readonly calls: number }>();
  readonly #maxBytes: number;
  #bytes = 0;
  #madeCalls = 0;
  #waiting: (() => void)[] = [];
  /** The parts together exceed the request's bytes: no further call can help. */
  isFull = false;

  /** @param maxBytes most bytes of all kept and running answers. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  mayCollect(count: number): boolean {
    this.#bytes += count;
    this.isFull ||= this.#bytes > this.#maxBytes;
    return !this.isFull;
  }

  /** Subtracts the bytes of a discarded answer. */
  discard(count: number): void {
    this.#bytes -= count;
  }

  callBegins(provider: string): void {
    this.#calls.set(provider, (this.#calls.get(provider) ?? 0) + 1);
  }

  callEnds(provider: string): void {
    this.#calls.set(provider, (this.#calls.get(provider) ?? 0) - 1);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  isCalling(provider: string): boolean {
    return (this.#calls.get(provider) ?? 0) > 0;
  }

  /** Resolves when any call of the request has ended; never without one in flight. */
  nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /**
   * Sums up calls with the same end: a batch of two thousand parts must not become two thousand
   * lines of evidence.
   */
  add(report: AttemptReport): void {
    const { candidate, failure, status } = report;
    if (failure === null || hasCalledProvider(failure)) this.#madeCalls += 1;
    const key = `${candidate.endpoint.id}|${failure?.kind ?? ""}|${failure?.code ?? ""}|${status ?? ""}`;
    const earlier = this.#reports.get(key);
    const duration = Math.max(earlier?.duration ?? 0, report.duration);
    // Calls are reported when they end.
    const startedAt = Math.min(earlier?.startedAt ?? report.startedAt, report.startedAt);
    this.#reports.set(key, { ...report, startedAt, duration, calls: (earlier?.calls ?? 0) + 1 });
  }

  /** Calls that reached a provider. */
  get madeCalls(): number {
    return this.#madeCalls;
  }

  /** In the order of the first call of each kind. */
  reports(): readonly AttemptReport[] {
    return [...this.#reports.values()];
  }
}
