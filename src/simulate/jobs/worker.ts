import { parentPort, workerData } from "node:worker_threads";
import { type JobInput, jobRunner } from "./job-runner.ts";
import type { SimulationTally } from "../compare/simulation-tally.ts";

/**
 * Jobs to decide; none: a request for the tally. A thread answers one at a time, in their order.
 */
export type JobRequest = readonly number[];

/** The first one is sent before any request: the thread is ready. */
export interface JobAnswer {
  /** How many of the jobs were decided whole before the time was up. */
  readonly done: number;
  /** `null` unless it was requested. */
  readonly tally: SimulationTally | null;
}

// Untyped by Node; the only thread that starts this file is `job-pool.ts`.
const input: JobInput = workerData;
const runner = jobRunner(input);
await runner.load();
parentPort?.on("message", (jobs: JobRequest) =>
  answer({
    done: jobs.filter((job) => runner.run(job)).length,
    tally: jobs.length === 0 ? runner.takeTally() : null,
  }),
);
answer({ done: 0, tally: null });

function answer(value: JobAnswer) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(value);
}
