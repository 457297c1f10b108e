import type { Candidate } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import { failureOf, type FailureKind, type UpstreamFailure } from "../../canon/failure.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import type { UnaryPart } from "../../dialects/unary/surface.ts";
import type { UnaryResult } from "../../dialects/unary/upstream.ts";
import type { Connection } from "../connections.ts";
import { failureError, type FailedAttempt } from "../failure-error.ts";
import type { Leave } from "../limiters/concurrency-limiter.ts";
import type { StopReason } from "../limiters/stop-order.ts";
import { Itinerary, NOT_WAITED, retryActionFor, type Step } from "../itinerary.ts";
import { Pause } from "../pause.ts";
import type { AttemptTally } from "./attempt-tally.ts";
import type { GatherJob } from "./gather-job.ts";
import type { Siblings } from "./siblings.ts";
import { UnaryAttempt } from "./unary-attempt.ts";

/** A part's answer, and where it came from. */
interface PartResult {
  readonly result: UnaryResult;
  readonly bytes: Uint8Array;
  readonly candidate: Candidate;
  readonly losses: readonly Loss[];
}

/** How one candidate fared. */
type CandidateResult = PartResult | { readonly failure: UpstreamFailure };

export type PartRunEnd = PartResult | { readonly failure: ServiceError };

/** Why a part is not run to its end: no caller waits for it, another part of the request has failed, or the router ends the request. */
export type GivenUp = Extract<FailureKind, "client_closed" | "abandoned" | StopReason>;

/** One part on its way through the plan (`itinerary.ts`). */
export class PartRun {
  readonly #job: GatherJob;
  readonly #part: UnaryPart;
  readonly #tally: AttemptTally;
  readonly #siblings: Siblings;
  readonly #failed: FailedAttempt[] = [];
  /** Under way: one, or two where the second is a hedge. */
  readonly #attempts = new Set<UnaryAttempt>();
  readonly #calls = new Set<Promise<CandidateResult>>();
  readonly #pause = new Pause();
  /** Ends a wait in a queue; made where there is one. */
  #left: AbortController | null = null;
  #givenUp: GivenUp | null = null;
  /** Why no call begins any more; one that is under way runs to its end. */
  #stopped: StopReason | null = null;

  constructor(job: GatherJob, part: UnaryPart, tally: AttemptTally, siblings: Siblings) {
    this.#job = job;
    this.#part = part;
    this.#tally = tally;
    this.#siblings = siblings;
  }

  async run(): Promise<PartRunEnd> {
    const { plan, maxAttempts, deadline, resends, random } = this.#job;
    const itinerary = new Itinerary(plan.length, maxAttempts, deadline, resends);
    let step: Step | null = { destination: 0, pause: 0 };
    while (step !== null) {
      if (step.pause > 0) await this.#pause.of(step.pause);
      const candidate = plan[step.destination];
      if (candidate === undefined) throw new Error("part: no such candidate");
      const end = await this.#hedged(candidate, itinerary);
      if ("result" in end) return end;
      this.#failed.push({ endpoint: candidate.endpoint.id, failure: end.failure });
      step = itinerary.next(end.failure, performance.now(), random());
    }
    return { failure: failureError(this.#failed) };
  }

  /** No call begins any more: neither in another try or candidate, nor beside one that is under way. */
  beginNothing(why: StopReason): void {
    this.#stopped = why;
    this.#left?.abort();
    this.#pause.end();
  }

  /** Gives the part up: its call is closed, its pause ends. */
  cancel(why: GivenUp): void {
    this.#givenUp = why;
    this.#left?.abort();
    for (const attempt of this.#attempts) attempt.cancel();
    this.#pause.end();
  }

  /** The first answer of two candidates, where the first is slow and the route allows a second call; otherwise the one candidate's. */
  async #hedged(candidate: Candidate, itinerary: Itinerary): Promise<CandidateResult> {
    const { hedgeAfter, plan } = this.#job;
    const hasOther = itinerary.hasFresh(this.#isWorthTrying);
    if (hedgeAfter === null || !hasOther) return this.#tryCandidate(candidate, hasOther, new Chance());
    const chances = [new Chance(), new Chance()] as const;
    const first = this.#tryCandidate(candidate, true, chances[0]);
    const patience = new Pause();
    const early = await Promise.race([first, patience.of(hedgeAfter)]);
    patience.end();
    if (early !== undefined) return early;
    const destination = this.#ending === null ? itinerary.takeFresh(this.#isWorthTrying) : null;
    const other = destination === null ? undefined : plan[destination];
    if (other === undefined) return first;
    const second = this.#tryCandidate(other, true, chances[1]);
    const { end, failed } = await settledEnd(first, second);
    // Whoever is slower is given up; its call ends at once, and its line of the evidence says why.
    for (const chance of chances) chance.end();
    await Promise.all(this.#calls);
    if (failed !== null) this.#failed.push({ endpoint: other.endpoint.id, failure: failed });
    return end;
  }

  /** Why no provider is called any more. */
  get #ending(): GivenUp | null {
    return this.#givenUp ?? this.#stopped;
  }

  /** A queue is not passed by for a candidate that is out, or that cannot be called at all. */
  readonly #isWorthTrying = (place: number): boolean => {
    const { plan, inService, connections } = this.#job;
    const candidate = plan[place];
    return candidate !== undefined && place < inService && connections.has(candidate.endpoint.provider);
  };

  /** @param hasOther another candidate is fresh: then this one's queue is not waited in. */
  async #tryCandidate(candidate: Candidate, hasOther: boolean, chance: Chance): Promise<CandidateResult> {
    if (this.#ending !== null) return { failure: failureOf(this.#ending) };
    // A part whose turn comes too late is not sent: that is no call, and no line of the evidence.
    if (performance.now() >= this.#job.deadline) return { failure: failureOf("timeout_total") };
    const connection = this.#job.connections.get(candidate.endpoint.provider);
    if (connection === undefined) return this.#notTried(candidate, failureOf("credentials_missing"));
    const leave = await this.#enter(candidate, connection, hasOther, chance);
    const why = this.#ending ?? (chance.isOver ? "abandoned" : null);
    if (leave === null) {
      if (why !== null) return { failure: failureOf(why) };
      return this.#notTried(candidate, { ...failureOf("saturated"), code: hasOther ? NOT_WAITED : null });
    }
    try {
      // It may have been given up in the moment in which a slot became free: no provider was called.
      if (why !== null) return { failure: failureOf(why) };
      const call = this.#call(candidate, connection, chance);
      this.#calls.add(call);
      return await call.finally(() => this.#calls.delete(call));
    } finally {
      leave();
      this.#siblings.callEnds(connection.provider.id);
    }
  }

  /** Calls of this very request are waited for without a queue: one of them will end in a moment. For those of others there is the queue. */
  async #enter(candidate: Candidate, connection: Connection, hasOther: boolean, chance: Chance): Promise<Leave | null> {
    const limiter = connection.limiterOf(candidate.endpoint);
    const provider = connection.provider.id;
    let leave = limiter.tryEnter();
    while (leave === null && this.#ending === null && !chance.isOver && this.#siblings.callsTo(provider) > 0) {
      await this.#siblings.nextEnd();
      leave = limiter.tryEnter();
    }
    if (leave === null && !hasOther && this.#ending === null) {
      this.#left ??= new AbortController();
      leave = await limiter.enter(this.#job.deadline, this.#left.signal);
    }
    // In the turn in which the slot is taken: siblings that find it taken must see by whom.
    if (leave !== null) this.#siblings.callBegins(provider);
    return leave;
  }

  async #call(candidate: Candidate, connection: Connection, chance: Chance): Promise<CandidateResult> {
    const { deadline, ownDialect, endpoints, targetOf } = this.#job;
    const { id, dialect } = candidate.endpoint;
    const call = this.#part.callTo(targetOf(candidate));
    const trace = this.#job.callTracer?.(candidate, connection.provider) ?? null;
    const headers = [...call.headers, ...(trace?.headers ?? [])];
    const attempt = new UnaryAttempt({ ...call, headers }, this.#job.callersBody, connection, deadline, this.#siblings);
    const startedAt = performance.now();
    this.#attempts.add(attempt);
    chance.onEnd = () => attempt.cancel();
    endpoints.begin(id, startedAt);
    const ended = await attempt.run();
    this.#attempts.delete(attempt);
    const why = this.#givenUp ?? (chance.isOver ? "abandoned" : null);
    const failure = "failure" in ended ? (why === null ? ended.failure : failureOf(why)) : null;
    const now = performance.now();
    const duration = now - startedAt;
    // The whole answer is the first that there is to see; a call that was given up for a quicker one took at least so long.
    const isTimed = failure === null || failure.kind === "abandoned";
    endpoints.end(id, { failure, firstToken: isTimed ? duration : null, tokensPerSecond: null }, now);
    trace?.end({ failure, status: ended.status, finish: null, usage: null });
    this.#tally.add(candidate, connection.simulated, dialect !== ownDialect, failure, ended.status, duration);
    if ("result" in ended) return { result: ended.result, bytes: ended.bytes, candidate, losses: call.losses };
    return { failure: failure ?? ended.failure };
  }

  #notTried(candidate: Candidate, failure: UpstreamFailure): CandidateResult {
    this.#tally.add(candidate, false, false, failure, null, 0);
    return { failure };
  }
}

/** A candidate's turn, which another candidate may end by answering sooner. */
class Chance {
  isOver = false;
  /** Ends the call that is under way. */
  onEnd: (() => void) | null = null;

  end(): void {
    this.isOver = true;
    this.onEnd?.();
  }
}

/**
 * The first of two that settles the matter: a result, or a failure after which nothing helps; otherwise the first one's. `failed`: how the second went
 * wrong, where it did.
 */
async function settledEnd(
  first: Promise<CandidateResult>,
  second: Promise<CandidateResult>,
): Promise<{ readonly end: CandidateResult; readonly failed: UpstreamFailure | null }> {
  const isSettled = (end: CandidateResult): boolean => "result" in end || retryActionFor(end.failure) === "stop";
  const winner = await Promise.race([
    first.then((end) => ({ end, failed: null })),
    second.then((end) => ({ end, failed: "failure" in end ? end.failure : null })),
  ]);
  if (isSettled(winner.end)) return winner;
  const [firstEnd, secondEnd] = await Promise.all([first, second]);
  const failed = "failure" in secondEnd ? secondEnd.failure : null;
  return { end: isSettled(secondEnd) ? secondEnd : firstEnd, failed };
}
