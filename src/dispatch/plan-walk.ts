import { setTimeout as delay } from "node:timers/promises";
import type { Candidate } from "../canon/decision.ts";
import type { UpstreamFailure } from "../canon/failure.ts";
import {
  ABANDONED,
  notTried,
  type Attempt,
  type CallEnd,
  type Calls,
  type WalkJob,
} from "./attempt.ts";
import type { Connection } from "./connections.ts";
import { Itinerary, NOT_WAITED, retryActionFor, type Step } from "./itinerary.ts";
import type { FailedAttempt } from "./failures.ts";
import type { EndpointLimiter, Release } from "./concurrency-limiter.ts";
import type { Stop, StopCause, StopReason } from "./stop-order.ts";
import type { Siblings } from "./unary-attempt.ts";

/** Why a walk makes no further call. */
export interface WalkStop {
  readonly cause: StopCause;
  /** The router's own reason. It stays when the client disconnects later. */
  readonly ended: StopReason | null;
}

/** A cause replaces one of a lower rank: an answer can be sent after the first rank only. */
const RANKS: Readonly<Record<StopCause, number>> = {
  server_stopping: 0,
  key_revoked: 0,
  abandoned: 1,
  client_closed: 2,
};

const NO_HEADERS: readonly string[] = [];

/**
 * Tries the candidates of a plan in the order of its itinerary: pauses between attempts, waits in
 * queues, and calls a second candidate beside a slow one where the route allows it.
 */
export class PlanWalk<Answer> {
  readonly #job: WalkJob;
  readonly #calls: Calls<Answer>;
  readonly #siblings: Siblings | null;
  readonly #failed: FailedAttempt[] = [];
  /** Under way: one, or two where the second is a hedge. */
  #turns: readonly Turn<Answer>[] = [];
  /** Ends a pause, or a wait in a queue; made where there is one. */
  #exit: AbortController | null = null;
  #stop: WalkStop | null = null;

  /** @param siblings the other walks of the same request; `null` where there are none. */
  constructor(job: WalkJob, calls: Calls<Answer>, siblings: Siblings | null = null) {
    this.#job = job;
    this.#calls = calls;
    this.#siblings = siblings;
  }

  get stopped(): WalkStop | null {
    return this.#stop;
  }

  /** In the order of their failures. */
  get failed(): readonly FailedAttempt[] {
    return this.#failed;
  }

  /** No call begins any more. @param running what becomes of one that has begun. */
  stop(cause: StopCause, running: Stop["running"]): void {
    const before = this.#stop;
    if (before === null || RANKS[cause] > RANKS[before.cause]) {
      const isOwn = cause === "server_stopping" || cause === "key_revoked";
      this.#stop = { cause, ended: before === null ? (isOwn ? cause : null) : before.ended };
    }
    this.#exit?.abort();
    if (running === "end") for (const turn of this.#turns) turn.attempt?.stop(cause);
  }

  /** Walks to the first answer, or to the end. @returns how the last candidate fared. */
  async run(): Promise<CallEnd<Answer>> {
    const { plan, maxAttempts, deadline, resends, random } = this.#job;
    const itinerary = new Itinerary(plan.length, maxAttempts, deadline, resends);
    let step: Step = { destination: 0, pause: 0 };
    for (;;) {
      if (step.pause > 0 && this.#stop === null) await pause(step.pause, this.#exitSignal());
      const candidate = plan[step.destination];
      if (candidate === undefined) throw new Error("plan walk: no such candidate");
      const hasOther = itinerary.hasFresh(this.#isWorthTrying);
      const hedgeAfter = hasOther ? (this.#job.hedgeAfter ?? null) : null;
      const end =
        hedgeAfter === null
          ? await this.#try(candidate, hasOther, this.#takeTurn())
          : await this.#hedged(candidate, itinerary, hedgeAfter);
      if (end.failure === null || end.firstByteAt !== null || this.#isUnanswered) return end;
      this.#failed.push({ endpoint: candidate.endpoint.id, failure: end.failure });
      const next = itinerary.next(end.failure, performance.now(), random());
      if (next === null) return end;
      step = next;
    }
  }

  /** Nothing is sent to the client, whatever the provider has said. */
  get #isUnanswered(): boolean {
    return this.#stop !== null && RANKS[this.#stop.cause] > 0;
  }

  #exitSignal(): AbortSignal {
    return (this.#exit ??= new AbortController()).signal;
  }

  #takeTurn(): Turn<Answer> {
    const turn = new Turn<Answer>();
    this.#turns = [turn];
    return turn;
  }

  /** The first answer of two candidates, where the first is slow; otherwise the one candidate's. */
  async #hedged(
    candidate: Candidate,
    itinerary: Itinerary,
    hedgeAfter: number,
  ): Promise<CallEnd<Answer>> {
    const turn = this.#takeTurn();
    const first = Promise.resolve(this.#try(candidate, true, turn));
    const patience = new AbortController();
    const early = await Promise.race([first, pause(hedgeAfter, patience.signal)]);
    patience.abort();
    if (early !== undefined) return early;
    const destination = this.#stop === null ? itinerary.takeFresh(this.#isWorthTrying) : null;
    const other = destination === null ? undefined : this.#job.plan[destination];
    if (other === undefined) return first;
    const hedge = new Turn<Answer>();
    this.#turns = [turn, hedge];
    const { end, failed } = await settledEnd(first, Promise.resolve(this.#try(other, true, hedge)));
    // The slower call ends at once, and its line of the evidence says why.
    for (const each of this.#turns) each.end();
    await Promise.all(this.#turns.flatMap(({ call }) => call ?? []));
    if (failed !== null) this.#failed.push({ endpoint: other.endpoint.id, failure: failed });
    return end;
  }

  /** A queue is not passed by for a candidate that is out, or that cannot be called at all. */
  readonly #isWorthTrying = (destination: number): boolean => {
    const { plan, inService, connections } = this.#job;
    const candidate = plan[destination];
    return (
      candidate !== undefined &&
      destination < inService &&
      connections.has(candidate.endpoint.provider)
    );
  };

  /** @param hasOther another candidate is fresh: then this one's queue is not waited in. */
  #try(
    candidate: Candidate,
    hasOther: boolean,
    turn: Turn<Answer>,
  ): CallEnd<Answer> | Promise<CallEnd<Answer>> {
    if (this.#stop !== null) return notTried(this.#stop.cause);
    const startedAt = performance.now();
    // It would be too late: that is no call, and no line of the evidence.
    if (startedAt >= this.#job.deadline) return notTried("timeout_total");
    const connection = this.#job.connections.get(candidate.endpoint.provider);
    if (connection === undefined)
      return this.#passBy(candidate, false, notTried("credentials_missing"), startedAt);
    const limiter = connection.limiterOf(candidate.endpoint);
    const release = limiter.tryEnter();
    if (release === null)
      return this.#tryLater(candidate, connection, limiter, hasOther, turn, startedAt);
    // In the turn in which the slot is taken: siblings that find it taken must see by whom.
    this.#siblings?.callBegins(connection.provider.id);
    return (turn.call = this.#call(candidate, connection, turn, startedAt, release));
  }

  /** The same where the endpoint has no free slot. */
  async #tryLater(
    candidate: Candidate,
    connection: Connection,
    limiter: EndpointLimiter,
    hasOther: boolean,
    turn: Turn<Answer>,
    startedAt: number,
  ): Promise<CallEnd<Answer>> {
    const provider = connection.provider.id;
    const release = await this.#waitFor(limiter, provider, hasOther, turn);
    const why = this.stopped?.cause ?? (turn.isOver ? "abandoned" : null);
    const end = why === null ? notTried("saturated", hasOther ? NOT_WAITED : null) : notTried(why);
    if (release === null)
      return why === null ? this.#passBy(candidate, connection.simulated, end, startedAt) : end;
    if (why === null)
      return (turn.call = this.#call(candidate, connection, turn, startedAt, release));
    // It was ended in the moment in which a slot became free: no provider was called.
    release();
    this.#siblings?.callEnds(provider);
    return end;
  }

  #passBy(
    candidate: Candidate,
    simulated: boolean,
    end: CallEnd<Answer>,
    turnStartedAt: number,
  ): CallEnd<Answer> {
    const { failure } = end;
    const report = {
      candidate,
      simulated,
      proxied: false,
      translated: false,
      failure,
      status: null,
      duration: 0,
    };
    this.#calls.report(report, performance.now() - turnStartedAt);
    return end;
  }

  /**
   * A slot among the endpoint's calls, by its queue; `null` where there is none. Calls of this very
   * request are waited for without a queue: one of them will end in a moment.
   */
  async #waitFor(
    limiter: EndpointLimiter,
    provider: string,
    hasOther: boolean,
    turn: Turn<Answer>,
  ): Promise<Release | null> {
    let release: Release | null = null;
    while (
      release === null &&
      this.#stop === null &&
      !turn.isOver &&
      this.#siblings?.hasCallTo(provider) === true
    ) {
      await this.#siblings.nextEnd();
      release = limiter.tryEnter();
    }
    if (release === null && !hasOther && this.#stop === null) {
      release = await limiter.enter(this.#job.deadline, this.#exitSignal());
    }
    if (release !== null) this.#siblings?.callBegins(provider);
    return release;
  }

  async #call(
    candidate: Candidate,
    connection: Connection,
    turn: Turn<Answer>,
    turnStartedAt: number,
    release: Release,
  ): Promise<CallEnd<Answer>> {
    const { endpoints, callTracer } = this.#job;
    const { id } = candidate.endpoint;
    try {
      const attempt = this.#calls.prepare(candidate, connection);
      const trace = callTracer?.(candidate, connection.provider) ?? null;
      turn.attempt = attempt;
      const startedAt = performance.now();
      endpoints.begin(id, startedAt);
      let end: CallEnd<Answer> = ABANDONED;
      let duration = 0;
      try {
        end = await attempt.run(trace?.headers ?? NO_HEADERS);
      } finally {
        turn.attempt = null;
        duration = performance.now() - startedAt;
        const { failure, firstToken, wholeAnswer } = end;
        const measured = {
          failure,
          firstToken,
          wholeAnswer,
          tokensPerSecond: tokensPerSecond(end, duration),
        };
        endpoints.end(id, measured, startedAt + duration);
        trace?.end(end);
      }
      const { failure, status } = end;
      const { simulated, proxied } = connection;
      const report = {
        candidate,
        simulated,
        proxied,
        translated: attempt.translated,
        failure,
        status,
        duration,
      };
      if (end.unsent !== true) this.#calls.report(report, startedAt - turnStartedAt);
      return end;
    } finally {
      release();
      this.#siblings?.callEnds(connection.provider.id);
    }
  }
}

/** A candidate's turn, which another candidate may end by answering sooner. */
class Turn<Answer> {
  isOver = false;
  /** The call that is under way. */
  attempt: Attempt<Answer> | null = null;
  call: Promise<CallEnd<Answer>> | null = null;

  end(): void {
    this.isOver = true;
    this.attempt?.stop("abandoned");
  }
}

/** Resolves after the time, in milliseconds, or when the wait is ended. */
function pause(milliseconds: number, exit: AbortSignal): Promise<void> {
  return delay(milliseconds, undefined, { signal: exit }).catch(() => undefined);
}

/**
 * The first of two that settles the matter: an answer, or a failure after which nothing helps;
 * otherwise the first one's. `failed`: how the second went wrong, where it did.
 */
async function settledEnd<End extends CallEnd<unknown>>(
  first: Promise<End>,
  second: Promise<End>,
): Promise<{ readonly end: End; readonly failed: UpstreamFailure | null }> {
  const isSettled = ({ failure }: End): boolean =>
    failure === null || retryActionFor(failure) === "stop";
  const winner = await Promise.race([
    first.then((end) => ({ end, failed: null })),
    second.then((end) => ({ end, failed: end.failure })),
  ]);
  if (isSettled(winner.end)) return winner;
  const [firstEnd, secondEnd] = await Promise.all([first, second]);
  return { end: isSettled(secondEnd) ? secondEnd : firstEnd, failed: secondEnd.failure };
}

/**
 * @param duration milliseconds of the whole call. @returns `null` where the provider did not count.
 */
function tokensPerSecond({ firstToken, usage }: CallEnd<unknown>, duration: number): number | null {
  const tokens = usage?.output ?? 0;
  // A whole answer shows its tokens at once: its time is all that there is.
  const span = duration - (firstToken ?? 0);
  return tokens > 0 && span > 0 ? (tokens * 1000) / span : null;
}
