import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { emptyTally, mergeTally, type SimulationTally } from "../compare/simulation-tally.ts";
import type { JobInput } from "./job-input.ts";
import type { JobRunner } from "./job-runner.ts";
import type { JobAnswer, JobRequest } from "./protocol.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(`./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url);

/** Jobs that are handed to a thread together: fewer would be all messages, more would leave threads idle at the end. */
const JOBS_PER_BATCH = 8;

/** Somebody who decides jobs, here or in threads. */
interface JobPool {
  /**
   * Decides jobs, in their order, until the time is up.
   *
   * @returns what it came to, and how many were decided whole. @throws the signal's reason.
   */
  run(
    jobs: readonly number[],
    onDone: (jobs: number) => void,
  ): Promise<{ readonly tally: SimulationTally; readonly done: number }>;
  close(): Promise<void>;
}

/** Does everything in this thread, which hears of an abort between two batches. */
export function localPool(runner: JobRunner, signal: AbortSignal): JobPool {
  return {
    async run(jobs, onDone) {
      let done = 0;
      for (const batch of batchesOf(jobs)) {
        for (const job of batch) if (runner.run(job)) done += 1;
        onDone(done);
        await pause(signal);
        if (runner.isOver) break;
      }
      return { tally: runner.takeTally(), done };
    },
    close: () => Promise.resolve(),
  };
}

/** Lets other work of the process go on. @throws the signal's reason. */
export async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

/** Starts threads, each of which compiles nothing and loads the policies for itself. */
export function threadPool(input: JobInput, threads: number, signal: AbortSignal): JobPool {
  const workers = Array.from({ length: threads }, () => new JobThread(new Worker(WORKER_FILE, { workerData: input })));
  const abort = (): void => workers.forEach((worker) => worker.fail(signal.reason));
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return {
    async run(jobs, onDone) {
      let done = 0;
      await share(workers, batchesOf(jobs), async (worker, batch) => {
        const answer = await worker.ask({ kind: "run", jobs: batch });
        if (answer.kind === "ran") onDone((done += answer.done));
      });
      const tally = emptyTally();
      for (const worker of workers) {
        const answer = await worker.ask({ kind: "tally" });
        if (answer.kind === "tally") mergeTally(tally, answer.tally);
      }
      return { tally, done };
    },
    async close() {
      signal.removeEventListener("abort", abort);
      await Promise.all(workers.map((worker) => worker.end()));
    },
  };
}

/** Each worker takes the next batch when it is done with one. */
async function share<Batch>(
  workers: readonly JobThread[],
  batches: Iterable<Batch>,
  work: (worker: JobThread, batch: Batch) => Promise<void>,
): Promise<void> {
  const left = batches[Symbol.iterator]();
  await Promise.all(
    workers.map(async (worker) => {
      for (let next = left.next(); next.done !== true; next = left.next()) await work(worker, next.value);
    }),
  );
}

/** One thread, with one request at a time. */
class JobThread {
  readonly #worker: Worker;
  #waiting: PromiseWithResolvers<JobAnswer> | null = null;
  #failure: unknown = null;

  constructor(worker: Worker) {
    this.#worker = worker;
    worker.on("message", (answer: JobAnswer) => {
      this.#waiting?.resolve(answer);
      this.#waiting = null;
    });
    worker.on("error", (error) => this.fail(error));
    worker.on("exit", () => this.fail(new Error("a thread of the simulation ended; it may have run out of memory")));
  }

  ask(request: JobRequest): Promise<JobAnswer> {
    const waiting = Promise.withResolvers<JobAnswer>();
    this.#waiting = waiting;
    if (this.#failure !== null) waiting.reject(this.#failure);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    else this.#worker.postMessage(request);
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

function* batchesOf(jobs: readonly number[]): Generator<readonly number[]> {
  for (let first = 0; first < jobs.length; first += JOBS_PER_BATCH) yield jobs.slice(first, first + JOBS_PER_BATCH);
}
