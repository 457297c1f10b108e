import type { Candidate } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import { failureOf, type FailureKind } from "../../canon/failure.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import type { UnaryPart } from "../../dialects/unary/surface.ts";
import type { UnaryResult } from "../../dialects/unary/upstream.ts";
import type { Connection } from "../connections.ts";
import { failureError, type FailedAttempt } from "../failure-error.ts";
import type { Leave } from "../gates/gate.ts";
import { Itinerary, type Step } from "../itinerary.ts";
import { Pause } from "../pause.ts";
import type { AttemptTally } from "./attempt-tally.ts";
import type { GatherJob } from "./gather.ts";
import type { Siblings } from "./siblings.ts";
import { UnaryAttempt, type AttemptEnd } from "./unary-attempt.ts";

export type PartRunEnd =
  | {
      readonly result: UnaryResult;
      readonly bytes: Uint8Array;
      readonly candidate: Candidate;
      readonly losses: readonly Loss[];
    }
  | { readonly failure: ServiceError };

/** Why a part is not run to its end: nobody waits for it, or another part of the request has failed. */
export type GivenUp = Extract<FailureKind, "client_closed" | "abandoned">;

/** One part on its way through the plan (`itinerary.ts`). */
export class PartRun {
  readonly #job: GatherJob;
  readonly #part: UnaryPart;
  readonly #tally: AttemptTally;
  readonly #siblings: Siblings;
  readonly #failed: FailedAttempt[] = [];
  #attempt: UnaryAttempt | null = null;
  /** What the last call left out of the request. */
  #losses: readonly Loss[] = [];
  readonly #pause = new Pause();
  /** Ends a wait in a queue; made where there is one. */
  #left: AbortController | null = null;
  #givenUp: GivenUp | null = null;

  constructor(job: GatherJob, part: UnaryPart, tally: AttemptTally, siblings: Siblings) {
    this.#job = job;
    this.#part = part;
    this.#tally = tally;
    this.#siblings = siblings;
  }

  async run(): Promise<PartRunEnd> {
    const { plan, maxAttempts, deadline, random } = this.#job;
    const itinerary = new Itinerary(plan.length, maxAttempts, deadline);
    let step: Step | null = { place: 0, pause: 0 };
    while (step !== null) {
      if (step.pause > 0) await this.#pause.of(step.pause);
      const candidate = plan[step.place];
      if (candidate === undefined) throw new Error("part: no such place");
      const end: AttemptEnd =
        this.#givenUp === null
          ? await this.#tryPlace(candidate, itinerary.hasFresh)
          : { failure: failureOf(this.#givenUp), status: null };
      if ("result" in end) return { result: end.result, bytes: end.bytes, candidate, losses: this.#losses };
      this.#failed.push({ endpoint: candidate.endpoint.id, failure: end.failure });
      step = itinerary.next(end.failure, performance.now(), random());
    }
    return { failure: failureError(this.#failed) };
  }

  /** Gives the part up: its call is closed, its pause ends. */
  cancel(why: GivenUp): void {
    this.#givenUp = why;
    this.#left?.abort();
    this.#attempt?.cancel();
    this.#pause.end();
  }

  /** @param hasOther another place is fresh: then this one's queue is not waited in. */
  async #tryPlace(candidate: Candidate, hasOther: boolean): Promise<AttemptEnd> {
    // A part whose turn comes too late is not sent: that is no call, and no line of the evidence.
    if (performance.now() >= this.#job.deadline) return { failure: failureOf("timeout_total"), status: null };
    const connection = this.#job.connections.get(candidate.endpoint.provider);
    if (connection === undefined) return this.#notTried(candidate, "credentials_missing");
    const leave = await this.#enter(candidate, connection, hasOther);
    if (leave === null) return this.#notTried(candidate, this.#givenUp ?? "saturated");
    try {
      // It may have been given up in the moment in which the place became free.
      if (this.#givenUp !== null) return { failure: failureOf(this.#givenUp), status: null };
      return await this.#call(candidate, connection);
    } finally {
      leave();
      this.#siblings.callEnds(connection.provider.id);
    }
  }

  /** Calls of this very request are waited for without a queue: one of them will end in a moment. For those of others there is the queue. */
  async #enter(candidate: Candidate, connection: Connection, hasOther: boolean): Promise<Leave | null> {
    const gate = connection.gateOf(candidate.endpoint);
    const provider = connection.provider.id;
    let leave = gate.tryEnter();
    while (leave === null && this.#givenUp === null && this.#siblings.callsTo(provider) > 0) {
      await this.#siblings.nextEnd();
      leave = gate.tryEnter();
    }
    if (leave === null && !hasOther && this.#givenUp === null) {
      this.#left ??= new AbortController();
      leave = await gate.enter(this.#job.deadline, this.#left.signal);
    }
    // In the turn in which the place is taken: siblings that find it taken must see by whom.
    if (leave !== null) this.#siblings.callBegins(provider);
    return leave;
  }

  async #call(candidate: Candidate, connection: Connection): Promise<AttemptEnd> {
    const { deadline, ownDialect } = this.#job;
    const call = this.#part.callTo(this.#job.targetOf(candidate));
    this.#losses = call.losses;
    const attempt = new UnaryAttempt(call, connection, deadline, this.#siblings);
    const startedAt = performance.now();
    const { id } = candidate.endpoint;
    this.#attempt = attempt;
    this.#job.places.begin(id);
    const ended = await attempt.run();
    this.#attempt = null;
    const end = this.#givenUp !== null && "failure" in ended ? { ...ended, failure: failureOf(this.#givenUp) } : ended;
    const failure = "failure" in end ? end.failure : null;
    const translated = candidate.endpoint.dialect !== ownDialect;
    const now = performance.now();
    const duration = now - startedAt;
    // The whole answer is the first that there is to see.
    const firstToken = failure === null ? duration : null;
    this.#job.places.end(id, { failure, firstToken, tokensPerSecond: null }, now);
    this.#tally.add(candidate, connection.simulated, translated, failure, end.status, duration);
    return end;
  }

  #notTried(candidate: Candidate, kind: FailureKind): AttemptEnd {
    const failure = failureOf(kind);
    this.#tally.add(candidate, false, false, failure, null, 0);
    return { failure, status: null };
  }
}
