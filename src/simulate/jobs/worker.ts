import { parentPort, workerData } from "node:worker_threads";
import type { JobInput } from "./job-input.ts";
import { JobRunner } from "./job-runner.ts";
import type { JobAnswer, JobRequest } from "./protocol.ts";

// Untyped by Node; the only thread that starts this file is `job-thread.ts`.
const input: JobInput = workerData;
const runner = new JobRunner(input);
await runner.load();
parentPort?.on("message", (request: JobRequest) => answer(run(request)));
answer({ kind: "ready" });

function run(request: JobRequest): JobAnswer {
  if (request.kind === "tally") return { kind: "tally", tally: runner.takeTally() };
  return { kind: "ran", done: request.jobs.filter((job) => runner.run(job)).length };
}

function answer(value: JobAnswer): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(value);
}
