import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { mergeTally, type SimulationTally } from "../compare/simulation-tally.ts";
import type { JobInput, JobRunner } from "./job-runner.ts";
import type { JobAnswer, JobRequest } from "./worker.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(
  `./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * One thread, with one request at a time. It compiles nothing, and loads the policies for itself.
 */
class JobThread {
  readonly #worker: Worker;
  #waiting: PromiseWithResolvers<JobAnswer> | null = null;
  #failure: unknown = null;
  #isReady = false;
  /** Settles when the thread can be given jobs. */
  readonly ready: Promise<unknown>;

  constructor(input: JobInput) {
    this.#worker = new Worker(WORKER_FILE, { workerData: input });
    this.#worker.on("message", (answer: JobAnswer) => {
      if (answer.kind === "ready") this.#isReady = true;
      this.#waiting?.resolve(answer);
      this.#waiting = null;
    });
    this.#worker.on("error", (error) => this.fail(error));
    this.#worker.on("exit", () =>
      this.fail(new Error("a thread of the simulation ended; it may have run out of memory")),
    );
    this.ready = this.#answer();
    // A pool that closes early does not await it.
    this.ready.catch(() => {});
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  ask(request: JobRequest): Promise<JobAnswer> {
    const answer = this.#answer();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    if (this.#failure === null) this.#worker.postMessage(request);
    return answer;
  }

  #answer(): Promise<JobAnswer> {
    const waiting = Promise.withResolvers<JobAnswer>();
    if (this.#failure === null) this.#waiting = waiting;
    else waiting.reject(this.#failure);
    return waiting.promise;
  }

  fail(reason: unknown): void {
    this.#failure ??= reason ?? new Error("the simulation was stopped");
    this.#waiting?.reject(this.#failure);
    this.#waiting = null;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }
}

/**
 * Jobs that are handed to a thread together: fewer would be all messages, more would leave others
 * idle at the end.
 */
const JOBS_PER_BATCH = 8;

/** Milliseconds of deciding after which the rest can be estimated. */
const THREADS_AFTER = 300;

/**
 * Milliseconds of deciding that must be left for a thread to be worth it: it starts in half of
 * that, and repeats evaluations that this thread remembers.
 */
const WORTH_A_THREAD = 1_500;

interface PoolOptions {
  /** From 1, which is this thread alone. */
  readonly threads: number;
  /** As `SimulationRequest` has it. */
  readonly threadsAfter?: number | undefined;
}

/**
 * Decides jobs: this thread from the first one on, and further threads, where there is enough to
 * do, from the last one on.
 */
export class JobPool {
  readonly #runner: JobRunner;
  readonly #options: PoolOptions;
  readonly #signal: AbortSignal;
  readonly #threads: JobThread[] = [];
  readonly #abort = () => this.#threads.forEach((thread) => thread.fail(this.#signal.reason));

  constructor(runner: JobRunner, options: PoolOptions, signal: AbortSignal) {
    this.#runner = runner;
    this.#options = options;
    this.#signal = signal;
    signal.addEventListener("abort", this.#abort, { once: true });
  }

  /**
   * Decides jobs until the time is up.
   *
   * @returns the tally, and how many jobs were decided whole. @throws the signal's reason.
   */
  async run(
    jobs: readonly number[],
    onDone: (jobs: number) => void,
  ): Promise<{ readonly tally: SimulationTally; readonly done: number }> {
    const tallies: SimulationTally[] = [];
    let [next, end, done] = [0, jobs.length, 0];
    const count = (more: number) => onDone((done += more));
    const help = async (thread: JobThread) => {
      await thread.ready;
      while (next < end && !this.#runner.isOver) {
        // Smaller batches towards the end, so that all are done at once.
        const from =
          end - Math.min(JOBS_PER_BATCH, Math.ceil((end - next) / (2 * this.#options.threads)));
        const batch = jobs.slice(from, end);
        end = from;
        const answer = await thread.ask({ kind: "run", jobs: batch });
        if (answer.kind !== "ran") break;
        count(answer.done);
        // Its memory may be full while another thread goes on.
        if (answer.done < batch.length) break;
      }
      const answer = await thread.ask({ kind: "tally" });
      if (answer.kind === "tally") tallies.push(answer.tally);
    };
    const helping = new Map<JobThread, Promise<void>>();
    // A thread may fail while this one waits for nothing.
    const failures: unknown[] = [];
    const start = () => {
      for (let index = 1; index < this.#options.threads; index += 1) {
        const thread = new JobThread(this.#runner.input);
        this.#threads.push(thread);
        helping.set(
          thread,
          help(thread).catch((error: unknown) => void failures.push(error)),
        );
      }
    };
    const began = performance.now();
    if (this.#options.threadsAfter === 0) {
      start();
      await Promise.race([
        Promise.all(this.#threads.map(({ ready }) => ready)),
        Promise.all(helping.values()),
      ]);
    }
    while (next < end && failures.length === 0 && !this.#runner.isOver) {
      const job = jobs[next] ?? 0;
      next += 1;
      count(this.#runner.run(job) ? 1 : 0);
      if (this.#threads.length === 0 && this.#isWorthThreads(performance.now() - began, next, end))
        start();
      await pause(this.#signal);
    }
    // A thread that is not ready yet has nothing.
    await Promise.all(
      [...helping].filter(([thread]) => thread.isReady).map(([, helped]) => helped),
    );
    this.#signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];
    const tally = this.#runner.takeTally();
    for (const other of tallies) mergeTally(tally, other);
    return { tally, done };
  }

  /** @param spent milliseconds that the first jobs took. */
  #isWorthThreads(spent: number, next: number, end: number): boolean {
    const { threadsAfter = THREADS_AFTER } = this.#options;
    return spent >= threadsAfter && (spent / next) * (end - next) >= WORTH_A_THREAD;
  }

  async close(): Promise<void> {
    this.#signal.removeEventListener("abort", this.#abort);
    await Promise.all(this.#threads.map((thread) => thread.end()));
  }
}

/** Lets other work of the process go on. @throws the signal's reason. */
export async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}
