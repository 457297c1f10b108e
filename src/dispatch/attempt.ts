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

/** A plan to be tried, and the bounds within which it is. */
export interface WalkJob {
  /** In the order to try them; at least one. */
  readonly plan: readonly Candidate[];
  /**
   * How many of them, from the first, are in service: those behind are out for their health, and
   * tried last.
   */
  readonly inService: number;
  readonly connections: ReadonlyMap<string, Connection>;
  /** On the clock of `performance.now()`. */
  readonly deadline: number;
  /** Calls that reach a provider, at least 1. */
  readonly maxAttempts: number;
  /** A request that its provider may have read is sent to the same provider again. */
  readonly resends: boolean;
  /**
   * Milliseconds without an answer after which a second candidate is called as well; never where
   * `null` or absent.
   */
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
  /**
   * When the client was sent its first byte; after that no other candidate is tried. On the clock
   * of `performance.now()`.
   */
  readonly firstByteAt: number | null;
  /**
   * Milliseconds from the request sent to the first output; `null` where there was none to measure.
   */
  readonly firstToken: number | null;
  /** Milliseconds to the whole answer of a call that is no stream; absent where there was none. */
  readonly wholeAnswer?: number | undefined;
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
  /** The call went through a forward proxy. */
  readonly proxied: boolean;
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
  /**
   * Each candidate's turn, once it is over. The report's duration is that of the call alone. @param
   * queued milliseconds before it.
   */
  report(report: AttemptReport, queued: number): void;
}

/** Of a candidate that was not called. @param code see `UpstreamFailure`. */
export function notTried(
  kind: FailureKind,
  code: string | null = null,
): CallEnd<never> & { readonly failure: UpstreamFailure } {
  const failure = { ...failureOf(kind), code };
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

/** Of a call that ended in an exception: nothing is learnt of its candidate. */
export const ABANDONED = notTried("abandoned");

/** A request's decision on its way to the disk. */
export interface Recording {
  /**
   * Resolves with `null` when the decision is on disk; nothing may be sent to the client before.
   * Where it resolves with an error no answer is sent, calls are given up, and the outcome is
   * `failed` with that error. Never rejects.
   */
  readonly result: Promise<ServiceError | null>;
  /** An answer waits: the decision is written now. */
  needed(): void;
}

/** One request to be answered by the first candidate of its plan that can. */
export interface RelayJob extends WalkJob {
  readonly request: InferenceRequest;
  /** Endpoint id → how to call it and how to read its answer; for every candidate. */
  readonly exchangePlans: ReadonlyMap<string, ExchangePlan>;
  /**
   * The request's tokens count against a limit: a stream whose client disconnects is read on for a
   * moment, until the provider reports its count.
   */
  readonly countsTokens: boolean;
  /** Largest answer that is collected, bytes. A stream may have eight times as many. */
  readonly maxAnswerBytes: number;
  readonly recording: Recording;
  /**
   * Headers of an answer by this candidate at this attempt; names and values by turns.
   *
   * @param known what was changed in its request and, as far as it has been read, in its answer.
   */
  readonly answerHeaders: (
    candidate: Candidate,
    attempt: number,
    known: AnswerEdits,
  ) => readonly string[];
}

export interface RelayOutcome {
  readonly terminal: "completed" | "incomplete" | "failed" | "client_closed";
  /**
   * The error that the client must still be sent, where nothing has been sent; `null` where the
   * answer has been sent.
   */
  readonly error: ServiceError | null;
  readonly attempts: readonly AttemptReport[];
  readonly finish: FinishReason | null;
  readonly usage: TokenUsage | null;
  /** Characters of output of a stream; `null` for an answer in one piece and where none arrived. */
  readonly outputCharacters: number | null;
  /** Why the router itself has ended the request; absent where it did not. */
  readonly ended?: StopReason;
  /** On the clock of `performance.now()`; `null` where no byte was sent. */
  readonly firstByteAt: number | null;
  /** Names of members taken out of the request. */
  readonly stripped: readonly string[];
  /** Members that translation left out or changed; each once. */
  readonly dropped: readonly DroppedField[];
  /** Other edits of requests and answer. */
  readonly edits: EditSet;
}

/**
 * The client's side of an exchange. One implementation over a node response, one in memory for
 * tests.
 */
export interface ClientAnswer {
  /** The client has disconnected, or the answer has ended. */
  readonly closed: boolean;
  /** Sends status and headers. Once. Names and values by turns. */
  start(status: number, headers: readonly string[]): void;
  /** Sends bytes; `false`: wait for `onDrain` before sending more. */
  write(bytes: Uint8Array): boolean;
  end(bytes?: Uint8Array): void;
  /** Called when the client disconnects before the answer has ended; at most once. */
  onClose(listener: () => void): void;
  /** Called whenever a full buffer has emptied. */
  onDrain(listener: () => void): void;
}

/** State that the parts of one request share: their calls under way and ended. */
export class Siblings {
  /** Provider id → calls of this request under way. */
  readonly #calls = new Map<string, number>();
  readonly #reports = new Map<string, AttemptReport & { readonly calls: number }>();
  readonly #maxBytes: number;
  #bytes = 0;
  #madeCalls = 0;
  #waiting: (() => void)[] = [];
  /** The parts together have more bytes than the request may: no further call can help. */
  isFull = false;

  /** @param maxBytes most bytes of all answers that are kept or under way. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  mayCollect(count: number): boolean {
    this.#bytes += count;
    this.isFull ||= this.#bytes > this.#maxBytes;
    return !this.isFull;
  }

  /** Subtracts the bytes of an answer that is not kept. */
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

  hasCallTo(provider: string): boolean {
    return (this.#calls.get(provider) ?? 0) > 0;
  }

  /** Resolves when any call of the request has ended; never where none is under way. */
  nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /**
   * Counts calls that ended alike together: a batch of two thousand parts must not become two
   * thousand lines of evidence.
   */
  add(report: AttemptReport): void {
    const { candidate, failure, status } = report;
    if (failure === null || hasCalledProvider(failure)) this.#madeCalls += 1;
    const key = `${candidate.endpoint.id}|${failure?.kind ?? ""}|${failure?.code ?? ""}|${status ?? ""}`;
    const known = this.#reports.get(key);
    const duration = Math.max(known?.duration ?? 0, report.duration);
    this.#reports.set(key, { ...report, duration, calls: (known?.calls ?? 0) + 1 });
  }

  /** Calls that reached a provider. */
  get madeCalls(): number {
    return this.#madeCalls;
  }

  /** In the order in which each way to end was first met. */
  reports(): readonly AttemptReport[] {
    return [...this.#reports.values()];
  }
}
