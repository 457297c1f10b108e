import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { mergeTally, type SimulationTally } from "../compare/simulation-tally.ts";
import type { SimulationRequest } from "../request.ts";
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
function jobThread(input: JobInput) {
  const worker = new Worker(WORKER_FILE, { workerData: input });
  let waiting: PromiseWithResolvers<JobAnswer> | null = null;
  let failure: unknown = null;
  const fail = (reason: unknown) => {
    failure ??= reason;
    waiting?.reject(failure);
    waiting = null;
  };
  const answered = () => {
    const next = Promise.withResolvers<JobAnswer>();
    if (failure === null) waiting = next;
    else next.reject(failure);
    return next.promise;
  };
  worker.on("message", (answer: JobAnswer) => {
    waiting?.resolve(answer);
    waiting = null;
  });
  worker.on("error", fail);
  worker.on("exit", () =>
    fail(new Error("a thread of the simulation ended; it may have run out of memory")),
  );
  return {
    /** Settles when the thread can be given jobs. */
    ready: answered(),
    fail,
    ask(request: JobRequest): Promise<JobAnswer> {
      const answer = answered();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      if (failure === null) worker.postMessage(request);
      return answer;
    },
    end: (): Promise<unknown> => worker.terminate(),
  };
}

type JobThread = ReturnType<typeof jobThread>;

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

/**
 * Decides jobs until the time is up: this thread from the first one on, and further threads, where
 * there is enough to do, from the last one on.
 *
 * @returns the tally, and how many jobs were decided whole. @throws the signal's reason.
 */
export async function runJobs(
  runner: JobRunner,
  jobs: readonly number[],
  { workers, threadsAfter = THREADS_AFTER }: Pick<SimulationRequest, "workers" | "threadsAfter">,
  signal: AbortSignal,
  onDone: (jobs: number) => void,
): Promise<{ readonly tally: SimulationTally; readonly done: number }> {
  const threads: JobThread[] = [];
  const tallies: SimulationTally[] = [];
  let [next, end, done] = [0, jobs.length, 0];
  const count = (more: number) => onDone((done += more));
  const help = async (thread: JobThread) => {
    while (next < end && !runner.isOver()) {
      // Smaller batches towards the end, so that all are done at once.
      const from = end - Math.min(JOBS_PER_BATCH, Math.ceil((end - next) / (2 * workers)));
      const batch = jobs.slice(from, end);
      end = from;
      const answer = await thread.ask(batch);
      count(answer.done);
      // Its memory may be full; other threads continue.
      if (answer.done < batch.length) break;
    }
    const { tally } = await thread.ask([]);
    if (tally !== null) tallies.push(tally);
  };
  // A thread may fail while this one waits for nothing.
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  /** The work of threads that are ready; others have nothing yet. */
  const helping: Promise<void>[] = [];
  const start = async () => {
    for (let index = 1; index < workers; index += 1) threads.push(jobThread(runner.input));
    await Promise.all(
      threads.map(async (thread) => {
        await thread.ready;
        helping.push(help(thread).catch(failed));
      }),
    );
  };
  const abort = () => threads.forEach(({ fail }) => fail(signal.reason));
  signal.addEventListener("abort", abort, { once: true });
  const began = performance.now();
  const isWorthThreads = () => {
    const spent = performance.now() - began;
    return spent >= threadsAfter && (spent / next) * (end - next) >= WORTH_A_THREAD;
  };
  try {
    if (threadsAfter === 0) await start();
    while (next < end && failures.length === 0 && !runner.isOver()) {
      const job = jobs[next] ?? 0;
      next += 1;
      count(runner.run(job) ? 1 : 0);
      if (threads.length === 0 && isWorthThreads()) start().catch(failed);
      await pause(signal);
    }
    await Promise.all(helping);
    signal.throwIfAborted();
    if (failures.length > 0) throw failures[0];
    const tally = runner.takeTally();
    for (const other of tallies) mergeTally(tally, other);
    return { tally, done };
  } finally {
    signal.removeEventListener("abort", abort);
    await Promise.all(threads.map((thread) => thread.end()));
  }
}

/** Lets other work of the process go on. @throws the signal's reason. */
export async function pause(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}
