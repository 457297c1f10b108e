import type { Candidate } from "../canon/decision.ts";
import { failureOf, type UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type { JsonObject } from "../canon/json.ts";
import type { UnaryResult } from "../dialects/dialect.ts";
import type { AnswerBytes } from "../dialects/unary/answer-bytes.ts";
import type { UnaryCall } from "../dialects/unary/surface.ts";
import type { AttemptReport } from "./attempt.ts";
import type { Connection } from "./connections.ts";
import { hasCalledProvider, reportedFailure } from "./failures.ts";
import { ProviderCall } from "./provider-call.ts";
import type { StopCause } from "./stop-order.ts";

/** The answer to one part. */
export interface PartAnswer {
  readonly candidate: Candidate;
  readonly result: UnaryResult;
  /** As they came. */
  readonly bytes: AnswerBytes;
  readonly dropped: readonly DroppedField[];
}

/** One call to one endpoint whose whole answer is wanted before anything is done with it. */
export class UnaryAttempt extends ProviderCall<PartAnswer> {
  readonly translated: boolean;
  readonly #candidate: Candidate;
  readonly #call: UnaryCall;
  readonly #startedAt = performance.now();
  readonly #maxAnswerBytes: number;
  readonly #siblings: Siblings;
  #collected = 0;

  /**
   * @param callers the body as the caller sent it. @param deadline on the clock of
   * `performance.now()`.
   */
  constructor(
    candidate: Candidate,
    call: UnaryCall,
    callers: JsonObject,
    connection: Connection,
    deadline: number,
    maxAnswerBytes: number,
    translated: boolean,
    siblings: Siblings,
  ) {
    super(connection, {
      path: `${connection.pathPrefix}${call.path}`,
      headers: [
        ...connection.headers,
        ...call.headers,
        ...(connection.simulated ? (call.simulated ?? []) : []),
      ],
      body: call.body,
      timeouts: connection.provider.timeouts,
      deadline,
      awaitsOutput: false,
      callers,
      readError: call.readError,
    });
    this.translated = translated;
    this.#candidate = candidate;
    this.#call = call;
    this.#maxAnswerBytes = maxAnswerBytes;
    this.#siblings = siblings;
  }

  stop(cause: StopCause): void {
    this.break(cause);
  }

  fail(failure: UpstreamFailure): void {
    this.#finish(reportedFailure(failure), null);
  }

  protected mayCollect(count: number): boolean {
    this.#collected += count;
    return this.#siblings.mayCollect(count) && this.#collected <= this.#maxAnswerBytes;
  }

  protected whole(bytes: AnswerBytes): void {
    let read: ReturnType<UnaryCall["read"]>;
    try {
      read = this.#call.read(bytes);
    } catch {
      // Whatever an upstream can send that a reader of ours cannot bear must not end more than its
      // own request.
      return this.fail(failureOf("malformed"));
    }
    if ("kind" in read) this.fail(read);
    else
      this.#finish(null, {
        candidate: this.#candidate,
        result: read,
        bytes,
        dropped: this.#call.dropped,
      });
  }

  #finish(failure: UpstreamFailure | null, answer: PartAnswer | null): void {
    if (answer === null && !this.ended) this.#siblings.discard(this.#collected);
    // The whole answer is the first output that there is to see; a call that was given up for a
    // quicker one took at least so long.
    const isTimed = failure === null || failure.kind === "abandoned";
    const firstToken = isTimed ? performance.now() - this.#startedAt : null;
    const ended = {
      failure,
      status: this.status,
      answer,
      firstByteAt: null,
      finish: null,
      usage: null,
    };
    this.finish({ ...ended, firstToken, wholeAnswer: firstToken ?? undefined });
  }
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
