import { parentPort, workerData } from "node:worker_threads";
import { type JobInput, JobRunner } from "./job-runner.ts";
import type { SimulationTally } from "../compare/simulation-tally.ts";

/** Requests to a thread; it answers one at a time, in their order. */
export type JobRequest =
  | { readonly kind: "run"; readonly jobs: readonly number[] }
  | { readonly kind: "tally" };

/**
 * `ready`: sent once, before the first job. `done`: how many of the jobs were decided whole before
 * the time was up.
 */
export type JobAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "ran"; readonly done: number }
  | { readonly kind: "tally"; readonly tally: SimulationTally };

// Untyped by Node; the only thread that starts this file is `job-pool.ts`.
const input: JobInput = workerData;
const runner = new JobRunner(input);
await runner.load();
parentPort?.on("message", (request: JobRequest) => answer(run(request)));
answer({ kind: "ready" });

function run(request: JobRequest): JobAnswer {
  if (request.kind === "tally") return { kind: "tally", tally: runner.takeTally() };
  return { kind: "ran", done: request.jobs.filter((job) => runner.run(job)).length };
}

function answer(value: JobAnswer) {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(value);
}
