import type { Candidate } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { FailureKind, UpstreamFailure } from "../../canon/failure.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import type { UnaryPart } from "../../dialects/unary/surface.ts";
import type { UnaryResult } from "../../dialects/unary/upstream.ts";
import type { Connection } from "../connections.ts";
import { failureError, wasAsked, type FailedAttempt } from "../failure-error.ts";
import { nextStep } from "../next-step.ts";
import { isPassing, pauseBeforeRound } from "./again.ts";
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

/** One part on its way through the plan: place after place, and once more from the start where the failures may have passed. */
export class PartRun {
  readonly #job: GatherJob;
  readonly #part: UnaryPart;
  readonly #tally: AttemptTally;
  readonly #siblings: Siblings;
  readonly #failed: FailedAttempt[] = [];
  #attempt: UnaryAttempt | null = null;
  /** What the last call left out of the request. */
  #losses: readonly Loss[] = [];
  #wake: (() => void) | null = null;
  #givenUp: GivenUp | null = null;

  constructor(job: GatherJob, part: UnaryPart, tally: AttemptTally, siblings: Siblings) {
    this.#job = job;
    this.#part = part;
    this.#tally = tally;
    this.#siblings = siblings;
  }

  async run(): Promise<PartRunEnd> {
    for (let round = 1; ; round += 1) {
      const before = this.#failed.length;
      const answered = await this.#runRound();
      if (answered !== null) return answered;
      const pause = this.#pauseAfter(round, this.#failed.slice(before));
      if (pause === null || this.#givenUp !== null) return { failure: failureError(this.#failed) };
      await this.#sleep(pause);
    }
  }

  /** Gives the part up: its call is closed, its pause ends. */
  cancel(why: GivenUp): void {
    this.#givenUp = why;
    this.#attempt?.cancel();
    this.#wake?.();
  }

  async #runRound(): Promise<PartRunEnd | null> {
    const { plan, maxAttempts } = this.#job;
    for (const [index, candidate] of plan.entries()) {
      if (this.#givenUp !== null) {
        this.#failed.push({ endpoint: candidate.endpoint.id, failure: failureOf(this.#givenUp) });
        return null;
      }
      const end = await this.#tryPlace(candidate);
      if ("result" in end) {
        return { result: end.result, bytes: end.bytes, candidate, losses: this.#losses };
      }
      this.#failed.push({ endpoint: candidate.endpoint.id, failure: end.failure });
      if (nextStep(end.failure, maxAttempts - this.#asked(), plan.length - index - 1) === "stop") return null;
    }
    return null;
  }

  /** @param failed how the places of the round failed. */
  #pauseAfter(round: number, failed: readonly FailedAttempt[]): number | null {
    const last = failed.at(-1)?.failure;
    if (last === undefined || this.#asked() >= this.#job.maxAttempts) return null;
    // The caller's own mistake and the deadline stop a plan before its end; nothing else does.
    const isWholePlan = failed.length === this.#job.plan.length;
    const passing = failed.findLast(({ failure }) => isPassing(failure.kind))?.failure;
    if (!isWholePlan || passing === undefined) return null;
    return pauseBeforeRound(passing, round, this.#job.deadline - performance.now(), this.#job.random());
  }

  #asked(): number {
    return this.#failed.filter(({ failure }) => wasAsked(failure)).length;
  }

  async #tryPlace(candidate: Candidate): Promise<AttemptEnd> {
    // A part whose turn comes too late is not sent: that is no call, and no line of the evidence.
    if (performance.now() >= this.#job.deadline) return { failure: failureOf("timeout_total"), status: null };
    const connection = this.#job.connections.get(candidate.endpoint.provider);
    if (connection === undefined) return this.#notTried(candidate, "credentials_missing");
    while (isFull(connection)) {
      // Calls of this very request have the place: one of them will end in a moment. Those of others are not waited for.
      const isOwn = this.#siblings.callsTo(connection.provider.id) > 0;
      if (!isOwn || this.#givenUp !== null) return this.#notTried(candidate, "saturated");
      await this.#siblings.nextEnd();
    }
    return this.#call(candidate, connection);
  }

  async #call(candidate: Candidate, connection: Connection): Promise<AttemptEnd> {
    const { deadline, ownDialect } = this.#job;
    const call = this.#part.callTo(this.#job.targetOf(candidate));
    this.#losses = call.losses;
    const attempt = new UnaryAttempt(call, connection, deadline, this.#siblings);
    const startedAt = performance.now();
    this.#attempt = attempt;
    connection.gate.inFlight += 1;
    this.#siblings.callBegins(connection.provider.id);
    const ended = await attempt.run().finally(() => {
      connection.gate.inFlight -= 1;
      this.#siblings.callEnds(connection.provider.id);
      this.#attempt = null;
    });
    const end = this.#givenUp !== null && "failure" in ended ? { ...ended, failure: failureOf(this.#givenUp) } : ended;
    const failure = "failure" in end ? end.failure : null;
    const translated = candidate.endpoint.dialect !== ownDialect;
    const duration = performance.now() - startedAt;
    this.#tally.add(candidate, connection.simulated, translated, failure, end.status, duration);
    return end;
  }

  #notTried(candidate: Candidate, kind: FailureKind): AttemptEnd {
    const failure = failureOf(kind);
    this.#tally.add(candidate, false, false, failure, null, 0);
    return { failure, status: null };
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
    });
  }
}

function isFull({ gate, provider }: Connection): boolean {
  return gate.inFlight >= provider.maxConcurrency;
}

/** A place that was not asked, or a call that was given up. */
function failureOf(kind: FailureKind): UpstreamFailure {
  return { kind, status: null, retryAfter: null, code: null };
}
