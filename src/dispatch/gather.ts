import type { Candidate } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import { failureOf, type UpstreamFailure } from "../canon/failure.ts";
import type { DroppedField } from "../canon/generate/edit.ts";
import type { JsonObject } from "../canon/json.ts";
import type { EndpointRow } from "../canon/table.ts";
import type { Target, UnaryResult } from "../dialects/dialect.ts";
import type { AnswerBytes } from "../dialects/unary/answer-bytes.ts";
import type { PartEnd, UnaryCall, UnaryPart, UnaryTask } from "../dialects/unary/surface.ts";
import { Siblings, type AttemptReport, type WalkJob } from "./attempt.ts";
import type { Connection } from "./connections.ts";
import { failureError, reportedFailure } from "./failures.ts";
import { PlanWalk } from "./plan-walk.ts";
import { ProviderCall } from "./provider-call.ts";
import type { StopCause, StopReason } from "./stop-order.ts";

/** The answer to one part. */
interface PartAnswer {
  readonly candidate: Candidate;
  readonly result: UnaryResult;
  /** As received. */
  readonly bytes: AnswerBytes;
  readonly dropped: readonly DroppedField[];
}

/** One call to one endpoint whose whole answer is needed before it is used. */
class UnaryAttempt extends ProviderCall<PartAnswer> {
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
      headers: [...connection.headers, ...(connection.simulated ? (call.simulated ?? []) : [])],
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
      // A parser bug must fail this request only.
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

  #finish(failure: UpstreamFailure | null, answer: PartAnswer | null) {
    if (answer === null && !this.ended) this.#siblings.discard(this.#collected);
    // The whole answer is the first visible output. A call that was ended for a quicker one took at
    // least this long.
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

/**
 * One request in parts, each answered by the first candidate that can. `maxAttempts` applies to
 * each part. A stop order only prevents new calls; running ones are ended by {@link
 * Gathering.cancel}.
 */
export interface GatherJob extends WalkJob {
  readonly task: UnaryTask;
  /** The body as the caller sent it. */
  readonly callersBody: JsonObject;
  /** The wire protocol of the caller. */
  readonly ownDialect: string;
  /** By endpoint id. */
  readonly targets: ReadonlyMap<string, Target>;
  /**
   * Largest answer to one part, bytes; all parts together may have {@link PARTS_AT_ONCE} times
   * that.
   */
  readonly maxAnswerBytes: number;
}

/** A provider's counts of one part; `null` where it has none. */
interface PartUsage {
  readonly endpoint: EndpointRow;
  readonly inputTokens: number | null;
  /** Searches billed for a rerank; 0 for other operations. */
  readonly searches: number | null;
}

export interface Gathered {
  /** In the order of the parts; `null` where the request failed. */
  readonly ends: readonly PartEnd[] | null;
  /** The caller's error; `null` with an answer, and where the request was cancelled. */
  readonly error: ServiceError | null;
  /** One entry per endpoint and kind of end. */
  readonly attempts: readonly AttemptReport[];
  /** Calls made. */
  readonly calls: number;
  /** The candidates whose answers are kept, each once, in the order of the first part of each. */
  readonly answeredBy: readonly Candidate[];
  readonly dropped: readonly DroppedField[];
  /** Providers' counts of each answered part, kept or not. */
  readonly answeredParts: readonly PartUsage[];
  /** Why parts are missing, where the router itself stopped their calls. */
  readonly ended: StopReason | null;
}

/** Concurrent parts of one request: enough to hide latency, too few to starve other requests. */
const PARTS_AT_ONCE = 4;

/**
 * Fetches the parts of one request independently: a failed part is retried while the others keep
 * their answers. All or nothing unless the caller accepts gaps: the first part that has failed for
 * good ends the others.
 */
export class Gathering {
  readonly #job: GatherJob;
  readonly #dropped = new Set<DroppedField>();
  readonly #ends: (PartEnd | undefined)[];
  readonly #running = new Set<PlanWalk<PartAnswer>>();
  readonly #siblings: Siblings;
  /** For each part the candidate that answered it. */
  readonly #answeredBy: (Candidate | undefined)[];
  #next = 0;
  #failure: { readonly index: number; readonly error: ServiceError } | null = null;
  #cancelled = false;
  /** Why no new call begins. */
  #stopped: StopReason | null = null;

  constructor(job: GatherJob) {
    this.#job = job;
    this.#siblings = new Siblings(job.maxAnswerBytes * PARTS_AT_ONCE);
    this.#ends = job.task.parts.map(() => undefined);
    this.#answeredBy = job.task.parts.map(() => undefined);
  }

  /** Runs to the end. Rejects only for a bug of ours. */
  async run(): Promise<Gathered> {
    const forget = this.#job.stopOrder?.onGiven(({ reason }) => {
      this.#stopped ??= reason;
      for (const walk of this.#running) walk.stop(reason, "finish");
    });
    try {
      return await this.#run();
    } finally {
      forget?.();
    }
  }

  async #run(): Promise<Gathered> {
    const workers = Math.min(PARTS_AT_ONCE, this.#ends.length);
    await Promise.all(Array.from({ length: workers }, () => this.#work()));
    const attempts = this.#siblings.reports();
    const common = {
      attempts,
      calls: this.#siblings.madeCalls,
      dropped: [...this.#dropped],
      answeredBy: [...new Set(this.#answeredBy.flatMap((candidate) => candidate ?? []))],
      answeredParts: this.#answeredParts(),
      ended: this.#ends.every((end) => end !== undefined && "result" in end) ? null : this.#stopped,
    };
    if (this.#cancelled) return { ...common, ends: null, error: null };
    const ends = this.#ends.flatMap((end) => end ?? []);
    const whole = ends.length === this.#ends.length && ends.some((end) => "result" in end);
    if (whole && this.#failure === null) return { ...common, ends, error: null };
    return { ...common, ends: null, error: this.#error() };
  }

  /** The answer is no longer needed: every call ends, and its socket is closed. */
  cancel(cause: StopCause): void {
    this.#cancelled = true;
    this.#endAll(cause);
  }

  async #work() {
    while (this.#next < this.#ends.length && !this.#cancelled && this.#failure === null) {
      const index = this.#next;
      this.#next += 1;
      await this.#runPart(index);
    }
  }

  async #runPart(index: number) {
    const part = this.#job.task.parts[index];
    if (part === undefined) throw new Error("gather: no such part");
    const walk = this.#walkOf(part, index);
    this.#running.add(walk);
    if (this.#stopped !== null) walk.stop(this.#stopped, "finish");
    const { answer } = await walk.run().finally(() => this.#running.delete(walk));
    if (this.#cancelled) return;
    if (answer === null) {
      const failure = failureError(walk.failed);
      this.#ends[index] = { failure };
      if (!this.#job.task.acceptsPartial) this.#fail(index, failure);
      return;
    }
    for (const field of answer.dropped) this.#dropped.add(field);
    this.#ends[index] = { result: answer.result, bytes: answer.bytes };
    this.#answeredBy[index] = answer.candidate;
  }

  #walkOf(part: UnaryPart, index: number): PlanWalk<PartAnswer> {
    const { callersBody, deadline, ownDialect, targets, maxAnswerBytes } = this.#job;
    const siblings = this.#siblings;
    return new PlanWalk<PartAnswer>(
      this.#job,
      {
        prepare: (candidate, connection) => {
          const translated = candidate.endpoint.dialect !== ownDialect;
          const target = targets.get(candidate.endpoint.id);
          if (target === undefined) throw new Error("gather: a candidate without its rows");
          const call = part.callTo(target);
          const most = maxAnswerBytes;
          return new UnaryAttempt(
            candidate,
            call,
            callersBody,
            connection,
            deadline,
            most,
            translated,
            siblings,
          );
        },
        report: (report) => {
          siblings.add(report);
          const { candidate, failure } = report;
          if (siblings.isFull && failure?.kind === "too_large")
            this.#fail(index, failureError([{ endpoint: candidate.endpoint.id, failure }]));
        },
      },
      siblings,
    );
  }

  /** The request fails; the first such error counts. */
  #fail(index: number, error: ServiceError) {
    if (this.#failure !== null) return;
    this.#failure = { index, error };
    this.#endAll("abandoned");
  }

  #endAll(cause: StopCause) {
    for (const walk of this.#running) walk.stop(cause, "end");
  }

  /**
   * The error of the part that failed first, with its inputs; where the caller accepts gaps, of the
   * first part: all have failed.
   */
  #error(): ServiceError {
    const { parts } = this.#job.task;
    const [first] = this.#ends;
    const index = this.#failure?.index ?? 0;
    const error =
      this.#failure?.error ?? (first !== undefined && "failure" in first ? first.failure : null);
    const part = parts[index];
    const end = parts.at(-1);
    if (error === null || part === undefined || end === undefined)
      throw new Error("gather: a failure without an error");
    const total = end.first + end.count;
    if (total === 1) return error;
    // Where gaps were allowed, every part has failed.
    const [from, to] =
      this.#failure === null ? [0, total - 1] : [part.first, part.first + part.count - 1];
    const inputs = from === to ? `Input ${from}` : `Inputs ${from} to ${to}`;
    return { ...error, message: `${error.message} ${inputs} had no result, so none is given.` };
  }

  #answeredParts(): readonly PartUsage[] {
    return this.#ends.flatMap((end, index) => {
      const endpoint = this.#answeredBy[index]?.endpoint;
      if (end === undefined || !("result" in end) || endpoint === undefined) return [];
      const { result } = end;
      const searches = result.operation === "rerank" ? result.searchUnits : 0;
      return [{ endpoint, inputTokens: result.inputTokens, searches }];
    });
  }
}
