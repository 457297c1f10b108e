import type { Candidate } from "../../canon/decision.ts";
import type { ServiceError } from "../../canon/error.ts";
import type { Loss } from "../../canon/generate/loss.ts";
import type { PartEnd } from "../../dialects/unary/surface.ts";
import type { StopReason } from "../limiters/stop-order.ts";
import { AttemptTally } from "./attempt-tally.ts";
import { Siblings } from "./siblings.ts";
import { PartRun, type GivenUp } from "./part-run.ts";
import type { Gathered, GatherJob } from "./gather-job.ts";

/** Parts of one request under way at once: enough to hide latency, too few to take a provider from everybody else. */
const PARTS_AT_ONCE = 4;

/**
 * Gets the parts of one request, each by itself: a part that fails is tried again or elsewhere while the others keep what they have. All-or-nothing
 * unless the caller takes gaps: the first part that has failed for good ends the others.
 */
export class Gathering {
  readonly #job: GatherJob;
  readonly #tally = new AttemptTally();
  readonly #losses = new Set<Loss>();
  readonly #ends: (PartEnd | undefined)[];
  readonly #running = new Set<PartRun>();
  readonly #siblings: Siblings;
  /** For each part the candidate that answered it. */
  readonly #answeredBy: (Candidate | undefined)[];
  #next = 0;
  #failure: { readonly index: number; readonly error: ServiceError } | null = null;
  #cancelled = false;
  /** Why no call begins any more. */
  #stopped: StopReason | null = null;

  constructor(job: GatherJob) {
    this.#job = job;
    this.#siblings = new Siblings(job.maxAnswerBytes);
    this.#ends = job.task.parts.map(() => undefined);
    this.#answeredBy = job.task.parts.map(() => undefined);
  }

  /** Runs to the end. Rejects only for a bug of ours. */
  async run(): Promise<Gathered> {
    const forget = this.#job.stopOrder?.onGiven(({ reason }) => this.#beginNothing(reason));
    try {
      return await this.#run();
    } finally {
      forget?.();
    }
  }

  async #run(): Promise<Gathered> {
    const workers = Math.min(PARTS_AT_ONCE, this.#ends.length);
    await Promise.all(Array.from({ length: workers }, () => this.#work()));
    const attempts = this.#tally.reports();
    const common = {
      attempts,
      calls: this.#tally.calls,
      losses: [...this.#losses],
      answeredBy: [...new Set(this.#answeredBy.flatMap((candidate) => candidate ?? []))],
      spentTokens: this.#spentTokens(),
      ended: this.#ends.every((end) => end !== undefined && "result" in end) ? null : this.#stopped,
    };
    if (this.#cancelled) return { ...common, ends: null, error: null };
    const ends = this.#ends.flatMap((end) => end ?? []);
    const whole = ends.length === this.#ends.length && ends.some((end) => "result" in end);
    if (whole && this.#failure === null) return { ...common, ends, error: null };
    return { ...common, ends: null, error: this.#error() };
  }

  /** No caller waits any more: every call is given up and its socket closed. */
  cancel(why: GivenUp): void {
    this.#cancelled = true;
    this.#stop(why);
  }

  async #work(): Promise<void> {
    while (this.#next < this.#ends.length && !this.#cancelled && this.#failure === null) {
      const index = this.#next;
      this.#next += 1;
      await this.#runPart(index);
    }
  }

  async #runPart(index: number): Promise<void> {
    const part = this.#job.task.parts[index];
    if (part === undefined) throw new Error("gather: no such part");
    const run = new PartRun(this.#job, part, this.#tally, this.#siblings);
    this.#running.add(run);
    if (this.#stopped !== null) run.beginNothing(this.#stopped);
    const end = await run.run().finally(() => this.#running.delete(run));
    if (this.#cancelled) return;
    if ("failure" in end) {
      this.#ends[index] = { failure: end.failure };
      if (this.#job.task.takesGaps || this.#failure !== null) return;
      this.#failure = { index, error: end.failure };
      return this.#stop("abandoned");
    }
    for (const loss of end.losses) this.#losses.add(loss);
    this.#ends[index] = { result: end.result, bytes: end.bytes };
    this.#answeredBy[index] = end.candidate;
  }

  #beginNothing(why: StopReason): void {
    this.#stopped ??= why;
    for (const run of this.#running) run.beginNothing(why);
  }

  #stop(why: GivenUp): void {
    for (const run of this.#running) run.cancel(why);
  }

  /** The error of the part that failed first, with its inputs; where the caller took gaps, of the first part: all have failed. */
  #error(): ServiceError {
    const { parts } = this.#job.task;
    const [first] = this.#ends;
    const index = this.#failure?.index ?? 0;
    const error = this.#failure?.error ?? (first !== undefined && "failure" in first ? first.failure : null);
    const part = parts[index];
    const end = parts.at(-1);
    if (error === null || part === undefined || end === undefined)
      throw new Error("gather: a failure without an error");
    const total = end.first + end.count;
    if (total === 1) return error;
    // Where gaps were allowed, nothing at all has come.
    const [from, to] = this.#failure === null ? [0, total - 1] : [part.first, part.first + part.count - 1];
    const inputs = from === to ? `Input ${from}` : `Inputs ${from} to ${to}`;
    return { ...error, message: `${error.message} ${inputs} had no result, so none is given.` };
  }

  #spentTokens(): number | null {
    let sum: number | null = null;
    for (const end of this.#ends) {
      if (end === undefined || !("result" in end)) continue;
      if (end.result.inputTokens === null) return null;
      sum = (sum ?? 0) + end.result.inputTokens;
    }
    return sum;
  }
}
