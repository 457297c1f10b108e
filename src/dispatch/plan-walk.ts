import { setTimeout as delay } from "node:timers/promises";
import type { Candidate } from "../canon/decision.ts";
import { FAILURES, type RetryAction, type UpstreamFailure } from "../canon/failure.ts";
import {
  ABANDONED,
  notTried,
  type Attempt,
  type CallEnd,
  type Calls,
  type WalkJob,
  type Siblings,
} from "./attempt.ts";
import type { EndpointLimiter, Release } from "./concurrency-limiter.ts";
import type { Connection } from "./connections.ts";
import { hasCalledProvider, type FailedAttempt } from "./failures.ts";
import type { Stop, StopCause, StopReason } from "./stop-order.ts";

/**
 * Code of a candidate that was skipped because all its slots were in use and another candidate was
 * still untried. Its queue has not been tried yet.
 */
const NOT_WAITED = "not_waited";

/**
 * Codes of answers that a repeated call would get again: the provider's output has no form in the
 * caller's protocol.
 */
const GIVEN_AGAIN: ReadonlySet<string> = new Set([
  "unexpected_output_item",
  "missing_finish_reason",
  "format_not_followed",
  "unknown_finish_reason",
]);

/**
 * A timeout that the provider itself reported (408) was quick, so it is retried.
 *
 * @param resends the route allows resending a request that the provider may have read.
 */
export function retryActionFor(
  { kind, status, code, final, added }: UpstreamFailure,
  resends = false,
): RetryAction {
  if (final === true) return "stop";
  if (added === true) return "elsewhere";
  if (kind === "reset" && resends) return "again";
  if (kind === "malformed" && code !== null && GIVEN_AGAIN.has(code)) return "elsewhere";
  if (kind === "saturated" && code === NOT_WAITED) return "again";
  return kind === "timeout_first_byte" && status !== null ? "again" : FAILURES[kind].next;
}

/** The next candidate, and the pause before it in milliseconds. */
export interface Step {
  /** Index in the plan. */
  readonly destination: number;
  readonly pause: number;
}

/** Calls to one candidate per request. */
const TRIES = 2;

/** Full jitter between zero and this, doubled after every attempt. Milliseconds. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 5_000;

/**
 * A longer `Retry-After` is not waited for; the caller gets an error with it instead. Milliseconds.
 */
const LONGEST_WAIT = 30_000;

interface Destination {
  tries: number;
  /** This request does not call it again. */
  closed: boolean;
  /** Earliest next call, on the caller's clock. */
  readyAt: number;
}

function isUntriedDestination(destination: Destination | undefined) {
  return destination !== undefined && destination.tries === 0 && !destination.closed;
}

/**
 * Order of the candidates for one request, or for one part of a batch: each once in plan order,
 * then once more those whose failure may have passed, earliest ready first. A state machine without
 * clock, timer or randomness.
 */
export class Itinerary {
  readonly #count: number;
  /** Empty until a candidate fails: nearly every request ends at its first. */
  readonly #states: Destination[] = [];
  readonly #maxAttempts: number;
  readonly #deadline: number;
  readonly #resends: boolean;
  #at = 0;
  #attempts = 0;

  /**
   * @param destinations how many the plan has, at least 1.
   * @param maxAttempts calls that reach a provider, at least 1.
   * @param deadline when the request must have ended, on the clock of `next`.
   * @param resends see {@link retryActionFor}.
   */
  constructor(destinations: number, maxAttempts: number, deadline: number, resends = false) {
    this.#count = destinations;
    this.#maxAttempts = maxAttempts;
    this.#deadline = deadline;
    this.#resends = resends;
  }

  /**
   * Whether an untried candidate is worth trying: the request does not queue while there is one.
   */
  hasUntried(isUsable: (destination: number) => boolean): boolean {
    for (let destination = 0; destination < this.#count; destination += 1) {
      const isUntried =
        this.#states.length === 0 || isUntriedDestination(this.#states[destination]);
      if (isUntried && destination !== this.#at && isUsable(destination)) return true;
    }
    return false;
  }

  get #destinations(): Destination[] {
    while (this.#states.length < this.#count)
      this.#states.push({ tries: 0, closed: false, readyAt: 0 });
    return this.#states;
  }

  /**
   * Takes the next untried candidate for a hedge; it is not tried again. `null` where there is none
   * to spare.
   */
  takeUntried(isUsable: (destination: number) => boolean): number | null {
    if (this.#attempts + 1 >= this.#maxAttempts) return null;
    const destination = this.#destinations.findIndex(
      (each, index) => index !== this.#at && isUntriedDestination(each) && isUsable(index),
    );
    const hedge = this.#destinations[destination];
    if (hedge === undefined) return null;
    hedge.tries = 1;
    hedge.closed = true;
    this.#attempts += 1;
    return destination;
  }

  /**
   * The next candidate after a failure of the current one; the first candidate is 0. `null`: the
   * request has failed.
   *
   * @param now milliseconds. @param random from 0 to 1.
   */
  next(failure: UpstreamFailure, now: number, random: number): Step | null {
    const failed = this.#destinations[this.#at];
    if (failed === undefined) throw new Error("itinerary: no such candidate");
    failed.tries += 1;
    if (hasCalledProvider(failure)) this.#attempts += 1;
    const action = retryActionFor(failure, this.#resends);
    if (action === "stop" || this.#attempts >= this.#maxAttempts) return null;
    failed.closed = action === "elsewhere" || failed.tries >= TRIES;
    // The queue admits the request as soon as a slot is free; a pause could only be longer.
    const pause =
      failure.kind === "saturated" ? 0 : (failure.retryAfter ?? random * this.#longestPause());
    failed.readyAt = now + pause;
    const fresh = this.#destinations.findIndex(isUntriedDestination);
    return this.#go(fresh === -1 ? this.#readiest() : fresh, now);
  }

  #go(destination: number | null, now: number): Step | null {
    const next = destination === null ? undefined : this.#destinations[destination];
    if (destination === null || next === undefined) return null;
    const pause = next.tries === 0 ? 0 : Math.max(next.readyAt - now, 0);
    // A pause beyond the deadline would only delay the same failure.
    if (pause > LONGEST_WAIT || (pause > 0 && now + pause >= this.#deadline)) return null;
    this.#at = destination;
    return { destination, pause };
  }

  #readiest(): number | null {
    let best: number | null = null;
    for (const [index, { closed, readyAt }] of this.#destinations.entries()) {
      if (!closed && (best === null || readyAt < (this.#destinations[best]?.readyAt ?? 0)))
        best = index;
    }
    return best;
  }

  #longestPause() {
    return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.max(this.#attempts - 1, 0));
  }
}

/** The reason why a walk makes no further call. */
export interface WalkStop {
  readonly cause: StopCause;
  /** The router's own reason; kept when the client disconnects later. */
  readonly ended: StopReason | null;
}

/** A cause replaces one of lower rank. Only the first rank still allows an answer. */
const RANKS: Readonly<Record<StopCause, number>> = {
  server_stopping: 0,
  key_revoked: 0,
  abandoned: 1,
  client_closed: 2,
};

const NO_HEADERS: readonly string[] = [];

/**
 * Tries the candidates of a plan in the order of its itinerary: pauses between attempts, queues,
 * and calls a second candidate beside a slow one where the route allows it.
 */
export class PlanWalk<Answer> {
  readonly #job: WalkJob;
  readonly #calls: Calls<Answer>;
  readonly #siblings: Siblings | null;
  readonly #failed: FailedAttempt[] = [];
  /** Running turns: one, or two with a hedge. */
  #turns: readonly Turn<Answer>[] = [];
  /** Ends a pause or a wait in a queue; created when one begins. */
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

  /** No new call begins. @param running whether calls that have begun end or finish. */
  stop(cause: StopCause, running: Stop["running"]): void {
    const before = this.#stop;
    if (before === null || RANKS[cause] > RANKS[before.cause]) {
      const isLocalCause = cause === "server_stopping" || cause === "key_revoked";
      this.#stop = { cause, ended: before === null ? (isLocalCause ? cause : null) : before.ended };
    }
    this.#exit?.abort();
    if (running === "end") for (const turn of this.#turns) turn.attempt?.stop(cause);
  }

  /** Walks to the first answer, or to the end. @returns the end of the last call. */
  async run(): Promise<CallEnd<Answer>> {
    const { plan, maxAttempts, deadline, resends, random } = this.#job;
    const itinerary = new Itinerary(plan.length, maxAttempts, deadline, resends);
    let step: Step = { destination: 0, pause: 0 };
    for (;;) {
      if (step.pause > 0 && this.#stop === null) await waitFor(step.pause, this.#exitSignal());
      const candidate = plan[step.destination];
      if (candidate === undefined) throw new Error("plan walk: no such candidate");
      const hasAlternative = itinerary.hasUntried(this.#isWorthTrying);
      const hedgeAfter = hasAlternative ? (this.#job.hedgeAfter ?? null) : null;
      const end =
        hedgeAfter === null
          ? await this.#try(candidate, hasAlternative, this.#takeTurn())
          : await this.#hedged(candidate, itinerary, hedgeAfter);
      if (end.failure === null || end.firstByteAt !== null || this.#isUnanswered) return end;
      this.#failed.push({ endpoint: candidate.endpoint.id, failure: end.failure });
      const next = itinerary.next(end.failure, performance.now(), random());
      if (next === null) return end;
      step = next;
    }
  }

  /** The client gets nothing of the provider's answer. */
  get #isUnanswered(): boolean {
    return this.#stop !== null && RANKS[this.#stop.cause] > 0;
  }

  #exitSignal() {
    return (this.#exit ??= new AbortController()).signal;
  }

  #takeTurn(): Turn<Answer> {
    const turn = new Turn<Answer>();
    this.#turns = [turn];
    return turn;
  }

  /** The first answer of two candidates where the first is slow; otherwise the one candidate's. */
  async #hedged(
    candidate: Candidate,
    itinerary: Itinerary,
    hedgeAfter: number,
  ): Promise<CallEnd<Answer>> {
    const turn = this.#takeTurn();
    const first = Promise.resolve(this.#try(candidate, true, turn));
    const patience = new AbortController();
    const early = await Promise.race([first, waitFor(hedgeAfter, patience.signal)]);
    patience.abort();
    if (early !== undefined) return early;
    const destination = this.#stop === null ? itinerary.takeUntried(this.#isWorthTrying) : null;
    const other = destination === null ? undefined : this.#job.plan[destination];
    if (other === undefined) return first;
    const hedge = new Turn<Answer>();
    this.#turns = [turn, hedge];
    const { end, failed } = await settledEnd(first, Promise.resolve(this.#try(other, true, hedge)));
    // Cancels the slower call; its attempt in the evidence records why.
    for (const each of this.#turns) each.endTurn();
    await Promise.all(this.#turns.flatMap(({ call }) => call ?? []));
    if (failed !== null) this.#failed.push({ endpoint: other.endpoint.id, failure: failed });
    return end;
  }

  /** Ejected candidates, and those without a connection, are no reason to skip a queue. */
  readonly #isWorthTrying = (destination: number): boolean => {
    const { plan, inService, connections } = this.#job;
    const candidate = plan[destination];
    return (
      candidate !== undefined &&
      destination < inService &&
      connections.has(candidate.endpoint.provider)
    );
  };

  /** @param hasAlternative another candidate is untried: then this one's queue is skipped. */
  #try(
    candidate: Candidate,
    hasAlternative: boolean,
    turn: Turn<Answer>,
  ): CallEnd<Answer> | Promise<CallEnd<Answer>> {
    if (this.#stop !== null) return notTried(this.#stop.cause);
    const startedAt = performance.now();
    // Past the deadline there is no call, and no attempt in the evidence.
    if (startedAt >= this.#job.deadline) return notTried("timeout_total");
    const connection = this.#job.connections.get(candidate.endpoint.provider);
    if (connection === undefined)
      return this.#passBy(candidate, false, notTried("credentials_missing"), startedAt);
    const limiter = connection.limiterOf(candidate.endpoint);
    const release = limiter.tryEnter();
    if (release === null)
      return this.#tryLater(candidate, connection, limiter, hasAlternative, turn, startedAt);
    // In the same turn as the slot is taken: siblings that find no slot must see who has it.
    this.#siblings?.callBegins(connection.provider.id);
    return (turn.call = this.#call(candidate, connection, turn, startedAt, release));
  }

  /** The same where the endpoint has no free slot. */
  async #tryLater(
    candidate: Candidate,
    connection: Connection,
    limiter: EndpointLimiter,
    hasAlternative: boolean,
    turn: Turn<Answer>,
    startedAt: number,
  ): Promise<CallEnd<Answer>> {
    const provider = connection.provider.id;
    const release = await this.#waitFor(limiter, provider, hasAlternative, turn);
    const why = this.stopped?.cause ?? (turn.hasEnded ? "abandoned" : null);
    const end =
      why === null ? notTried("saturated", hasAlternative ? NOT_WAITED : null) : notTried(why);
    if (release === null)
      return why === null ? this.#passBy(candidate, connection.simulated, end, startedAt) : end;
    if (why === null)
      return (turn.call = this.#call(candidate, connection, turn, startedAt, release));
    // The walk ended just as a slot became free: no provider was called.
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
    const startedAt = performance.now();
    const report = {
      candidate,
      simulated,
      proxied: false,
      translated: false,
      failure,
      status: null,
      startedAt,
      duration: 0,
    };
    this.#calls.report(report, startedAt - turnStartedAt);
    return end;
  }

  /**
   * A slot among the endpoint's calls, by its queue; `null` where there is none. While this very
   * request has calls there, it waits for one of them to end instead of queueing.
   */
  async #waitFor(
    limiter: EndpointLimiter,
    provider: string,
    hasAlternative: boolean,
    turn: Turn<Answer>,
  ): Promise<Release | null> {
    let release: Release | null = null;
    while (
      release === null &&
      this.#stop === null &&
      !turn.hasEnded &&
      this.#siblings?.isCalling(provider) === true
    ) {
      await this.#siblings.nextEnd();
      release = limiter.tryEnter();
    }
    if (release === null && !hasAlternative && this.#stop === null) {
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
        endpoints.endCall(id, measured, startedAt + duration);
        trace?.endCall(end);
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
        startedAt,
        duration,
      };
      if (end.notSent !== true) this.#calls.report(report, startedAt - turnStartedAt);
      return end;
    } finally {
      release();
      this.#siblings?.callEnds(connection.provider.id);
    }
  }
}

/** One candidate's turn. Another candidate ends it by answering sooner. */
class Turn<Answer> {
  hasEnded = false;
  /** The running call. */
  attempt: Attempt<Answer> | null = null;
  call: Promise<CallEnd<Answer>> | null = null;

  endTurn(): void {
    this.hasEnded = true;
    this.attempt?.stop("abandoned");
  }
}

/** Resolves after the time, in milliseconds, or when the wait is ended. */
function waitFor(milliseconds: number, exit: AbortSignal): Promise<void> {
  return delay(milliseconds, undefined, { signal: exit }).catch(() => undefined);
}

/**
 * The first conclusive end of two calls: an answer, or a failure that no retry can fix; if neither
 * is conclusive, the end of `first`. `failed`: the failure of `second`, if it failed.
 */
async function settledEnd<End extends CallEnd<unknown>>(
  first: Promise<End>,
  second: Promise<End>,
): Promise<{ readonly end: End; readonly failed: UpstreamFailure | null }> {
  const endsWalk = ({ failure }: End) => failure === null || retryActionFor(failure) === "stop";
  const winner = await Promise.race([
    first.then((end) => ({ end, failed: null })),
    second.then((end) => ({ end, failed: end.failure })),
  ]);
  if (endsWalk(winner.end)) return winner;
  const [firstEnd, secondEnd] = await Promise.all([first, second]);
  return { end: endsWalk(secondEnd) ? secondEnd : firstEnd, failed: secondEnd.failure };
}

/**
 * @param duration milliseconds of the whole call. @returns `null` where the provider did not count.
 */
function tokensPerSecond({ firstToken, usage }: CallEnd<unknown>, duration: number): number | null {
  const tokens = usage?.output ?? 0;
  // A whole answer brings its tokens at once, so its whole time counts.
  const span = duration - (firstToken ?? 0);
  return tokens > 0 && span > 0 ? (tokens * 1000) / span : null;
}
