import { Worker } from "node:worker_threads";
import type { JobInput } from "./job-input.ts";
import type { JobAnswer, JobRequest } from "./worker.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(
  `./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * One thread, with one request at a time. It compiles nothing, and loads the policies for itself.
 */
export class JobThread {
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
    // Who needs no thread any more does not wait for it to be ready.
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
