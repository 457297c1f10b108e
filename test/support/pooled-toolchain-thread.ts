import threads from "node:worker_threads";

export const TOOLCHAIN = new URL("../../src/policy/toolchain/worker.ts", import.meta.url).href;
const ARTEFACT = new URL("../../tools/rego/dist/", import.meta.url).href;

/** Threads that were ended while they waited for a run. */
const idle: PooledToolchainThread[] = [];

/**
 * A server ends an idle thread after two seconds, for its memory. The next one would decompress and
 * compile the toolchain again, which takes a second of a core.
 */
class PooledToolchainThread extends threads.Worker {
  #isIdle = false;

  constructor(url: string, options: threads.WorkerOptions) {
    super(new URL(url), options);
    // Each use adds a listener of errors.
    this.setMaxListeners(0);
    this.on("message", ({ ok }: { readonly ok: boolean }) => {
      this.#isIdle = ok && options.workerData === ARTEFACT;
    });
  }

  override postMessage(run: unknown): void {
    this.#isIdle = false;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    super.postMessage(run);
  }

  override terminate(): Promise<number> {
    if (!this.#isIdle) return super.terminate();
    idle.push(this);
    return Promise.resolve(0);
  }
}

/** An idle thread, or a new one where there is none or the artefact is a test's copy. */
export function takeToolchainThread(url: string, options: threads.WorkerOptions): threads.Worker {
  const thread = options.workerData === ARTEFACT ? idle.pop() : undefined;
  // A thread that has died has no id any more.
  if (thread === undefined || thread.threadId === -1)
    return new PooledToolchainThread(url, options);
  thread.ref();
  return thread;
}
