import type { Candidate } from "../canon/decision.ts";
import type { ServiceError } from "../canon/error.ts";
import { INCOMPLETE_REASONS } from "../canon/generate/event.ts";
import { NO_EDITS, type DroppedField, type EditSet } from "../canon/generate/edit.ts";
import type {
  AttemptReport,
  CallEnd,
  Calls,
  RelayJob,
  RelayOutcome,
  ClientAnswer,
} from "./attempt.ts";
import type { Connection } from "./connections.ts";
import { failureError, stoppedError, hasCalledProvider } from "./failures.ts";
import type { StopReason } from "./stop-order.ts";
import { PlanWalk, type WalkStop } from "./plan-walk.ts";
import { RelayAttempt, type RelayedAnswer } from "./relay-attempt.ts";

/**
 * Tries the candidates of the plan until one commits (docs/dispatch.md#the-commit-point). Before
 * the first byte to the client a failed call may be tried at another candidate or again; after it
 * the stream ends with the protocol's failure.
 */
export function relayPlan(job: RelayJob, client: ClientAnswer): Promise<RelayOutcome> {
  return new RelayRun(job, client).run();
}

/** One request whose answer goes to the client as it comes. */
class RelayRun implements Calls<RelayedAnswer> {
  readonly #job: RelayJob;
  readonly #client: ClientAnswer;
  readonly #walk: PlanWalk<RelayedAnswer>;
  readonly #attempts: AttemptReport[] = [];
  #stripped: readonly string[] = [];
  #dropped: readonly DroppedField[] = [];
  #edits: EditSet = NO_EDITS;
  /** The decision is on disk. */
  #isDurable = false;
  /** The decision could not be recorded in time. */
  #unrecorded: ServiceError | null = null;
  /** The latest; one that has ended ignores `resume`. */
  #attempt: RelayAttempt | null = null;

  constructor(job: RelayJob, client: ClientAnswer) {
    this.#job = job;
    this.#client = client;
    this.#walk = new PlanWalk(job, this);
    if (client.closed) this.#walk.stop("client_closed", "end");
    void job.recording.result.then((error) => {
      this.#unrecorded = error;
      if (error !== null) return this.#walk.stop("abandoned", "end");
      this.#isDurable = true;
      this.#attempt?.becomeDurable();
    });
    client.onClose(() => this.#walk.stop("client_closed", "end"));
    client.onDrain(() => this.#attempt?.resume());
  }

  async run(): Promise<RelayOutcome> {
    const forget = this.#job.stopOrder?.onGiven(({ reason, running }) =>
      this.#walk.stop(reason, running),
    );
    try {
      const end = await this.#walk.run();
      const stopped = this.#walk.stopped;
      const isUnanswered = stopped !== null && stopped.cause !== stopped.ended;
      if (end.failure !== null && end.firstByteAt === null && !isUnanswered)
        return await this.#failed();
      return this.#ended(end, stopped);
    } finally {
      forget?.();
    }
  }

  prepare(candidate: Candidate, connection: Connection): RelayAttempt {
    const plan = this.#job.exchangePlans.get(candidate.endpoint.id);
    if (plan === undefined) throw new Error("relay: a candidate without an exchange plan");
    this.#stripped = union(this.#stripped, plan.stripped);
    this.#dropped = union(this.#dropped, plan.dropped);
    this.#edits |= plan.edits;
    // Candidates that were not called are no attempts.
    const number =
      1 +
      this.#attempts.filter(({ failure }) => failure === null || hasCalledProvider(failure)).length;
    this.#attempt = new RelayAttempt(
      this.#job,
      candidate,
      connection,
      plan,
      number,
      this.#client,
      this.#isDurable,
    );
    return this.#attempt;
  }

  report(report: AttemptReport, queued: number): void {
    this.#attempts.push({ ...report, duration: queued + report.duration });
  }

  /** The client has an answer, or a part of one, or gets none. */
  #ended(end: CallEnd<RelayedAnswer>, stopped: WalkStop | null): RelayOutcome {
    const { failure, finish } = end;
    // A stream that was let run on can fail for a reason of its own.
    const reason = stopped !== null && failure?.kind === stopped.ended ? stopped.ended : null;
    if (stopped?.cause === "client_closed")
      return this.#outcome("client_closed", null, reason, end);
    if (failure !== null || stopped?.cause === "abandoned")
      return this.#outcome("failed", this.#unrecorded, reason, end);
    const isIncomplete = finish !== null && INCOMPLETE_REASONS.has(finish);
    return this.#outcome(isIncomplete ? "incomplete" : "completed", null, null, end);
  }

  /** Nothing has been sent. The client may leave while the decision is written. */
  async #failed(): Promise<RelayOutcome> {
    // An error is an answer too.
    this.#job.recording.needed();
    await this.#job.recording.result;
    const stopped = this.#walk.stopped;
    const reason = stopped?.ended ?? null;
    if (stopped?.cause === "client_closed")
      return this.#outcome("client_closed", null, reason, null);
    const error = reason === null ? failureError(this.#walk.failed) : stoppedError(reason);
    return this.#outcome("failed", this.#unrecorded ?? error, reason, null);
  }

  #outcome(
    terminal: RelayOutcome["terminal"],
    error: ServiceError | null,
    ended: StopReason | null,
    end: CallEnd<RelayedAnswer> | null,
  ): RelayOutcome {
    const answer = end?.answer ?? null;
    const outcome = {
      terminal,
      error,
      attempts: this.#attempts,
      finish: end?.finish ?? null,
      usage: end?.usage ?? null,
      outputCharacters: answer?.outputCharacters ?? null,
      firstByteAt: end?.firstByteAt ?? null,
      stripped: this.#stripped,
      dropped: answer === null ? this.#dropped : union(this.#dropped, answer.dropped),
      edits: this.#edits | (answer?.edits ?? NO_EDITS),
    };
    return ended === null ? outcome : { ...outcome, ended };
  }
}

/** Each once, in the order of their first occurrence. */
function union<Value>(first: readonly Value[], second: readonly Value[]): readonly Value[] {
  return second.length === 0 ? first : [...new Set([...first, ...second])];
}
