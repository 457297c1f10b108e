import type { Candidate } from "../canon/decision.ts";
import { NO_EDITS, type EditSet } from "../canon/generate/edit.ts";
import { INCOMPLETE_REASONS } from "../canon/generate/event.ts";
import type { Loss } from "../canon/generate/loss.ts";
import type { AttemptReport, CallEnd, Calls } from "./attempt.ts";
import type { ClientAnswer } from "./client/client-answer.ts";
import type { Connection } from "./connections.ts";
import { failureError, stoppedError, hasCalledProvider } from "./failure-error.ts";
import type { StopReason } from "./limiters/stop-order.ts";
import { PlanWalk } from "./plan-walk.ts";
import { RelayAttempt, type RelayedAnswer } from "./relay-attempt.ts";
import type { RelayJob, RelayOutcome } from "./relay-job.ts";

/**
 * Tries the candidates of the plan until one commits (docs/dispatch.md#the-commit-point). Before the first byte to the client a failed call may be tried at
 * another candidate or again; after it the stream ends with the protocol's failure.
 */
export async function relayPlan(job: RelayJob, client: ClientAnswer): Promise<RelayOutcome> {
  return new RelayRun(job, client).run();
}

/** One request whose answer goes to the client as it comes. */
class RelayRun implements Calls<RelayedAnswer> {
  readonly #job: RelayJob;
  readonly #client: ClientAnswer;
  readonly #walk: PlanWalk<RelayedAnswer>;
  readonly #attempts: AttemptReport[] = [];
  #stripped: readonly string[] = [];
  #losses: readonly Loss[] = [];
  #edits: EditSet = NO_EDITS;
  /** The decision is on disk. */
  #isDurable = false;
  /** The latest; one that has ended ignores `resume`. */
  #attempt: RelayAttempt | null = null;

  constructor(job: RelayJob, client: ClientAnswer) {
    this.#job = job;
    this.#client = client;
    this.#walk = new PlanWalk(job, this);
    if (client.closed) this.#walk.stop("client_closed", "end");
    job.durable.then(
      () => {
        this.#isDurable = true;
        this.#attempt?.becomeDurable();
      },
      // The decision is not on disk in time: no other provider is called.
      () => this.#walk.stop("abandoned", "end"),
    );
    client.onClose(() => this.#walk.stop("client_closed", "end"));
    client.onDrain(() => this.#attempt?.resume());
  }

  async run(): Promise<RelayOutcome> {
    const forget = this.#job.stopOrder?.onGiven(({ reason, running }) => this.#walk.stop(reason, running));
    try {
      return await this.#outcome(await this.#walk.run());
    } finally {
      forget?.();
    }
  }

  prepare(candidate: Candidate, connection: Connection): RelayAttempt {
    const plan = this.#job.exchangePlanFor(candidate);
    this.#stripped = union(this.#stripped, plan.stripped);
    this.#losses = union(this.#losses, plan.losses);
    this.#edits |= plan.edits;
    // Candidates that were not called are no attempts.
    const number = 1 + this.#attempts.filter(({ failure }) => failure === null || hasCalledProvider(failure)).length;
    this.#attempt = new RelayAttempt(this.#job, candidate, connection, plan, number, this.#client, this.#isDurable);
    return this.#attempt;
  }

  report(report: AttemptReport, queued: number): void {
    this.#attempts.push({ ...report, duration: queued + report.duration });
  }

  async #outcome(end: CallEnd<RelayedAnswer>): Promise<RelayOutcome> {
    const { failure, finish, usage, firstByteAt, answer } = end;
    const known = {
      attempts: this.#attempts,
      stripped: this.#stripped,
      losses: answer === null ? this.#losses : union(this.#losses, answer.losses),
      edits: this.#edits | (answer?.edits ?? NO_EDITS),
    };
    const stopped = this.#walk.stopped;
    // A stream that was let run on can fail for a reason of its own.
    const ended = stopped !== null && stopped.ended !== null && failure?.kind === stopped.ended ? stopped.ended : null;
    const seen = {
      ...known,
      finish,
      usage,
      outputCharacters: answer?.outputCharacters ?? null,
      firstByteAt,
      error: null,
    };
    if (stopped?.cause === "client_closed") return { ...seen, ...endedBy(ended), terminal: "client_closed" };
    if (stopped?.cause === "abandoned") return { ...seen, ...endedBy(ended), terminal: "failed" };
    if (failure === null) {
      const isIncomplete = finish !== null && INCOMPLETE_REASONS.has(finish);
      return { ...seen, terminal: isIncomplete ? "incomplete" : "completed" };
    }
    if (firstByteAt !== null) return { ...seen, ...endedBy(ended), terminal: "failed" };
    // An error is an answer too.
    await this.#job.durable.catch(() => {});
    return { ...known, ...this.#failed(), finish: null, usage: null, outputCharacters: null, firstByteAt: null };
  }

  /** Nothing has been sent. The client may have left while the decision was written. */
  #failed(): Pick<RelayOutcome, "terminal" | "error" | "ended"> {
    const stopped = this.#walk.stopped;
    const ended = endedBy(stopped?.ended ?? null);
    if (stopped?.cause === "client_closed") return { terminal: "client_closed", error: null, ...ended };
    if (stopped?.cause === "abandoned") return { terminal: "failed", error: null, ...ended };
    const error = ended.ended === undefined ? failureError(this.#walk.failed) : stoppedError(ended.ended);
    return { terminal: "failed", error, ...ended };
  }
}

function endedBy(reason: StopReason | null): Pick<RelayOutcome, "ended"> {
  return reason === null ? {} : { ended: reason };
}

/** Each once, in the order of their first occurrence. */
function union<Value>(first: readonly Value[], second: readonly Value[]): readonly Value[] {
  return second.length === 0 ? first : [...new Set([...first, ...second])];
}
