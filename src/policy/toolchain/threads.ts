import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { ToolchainError, type Run, type RunResult } from "./protocol.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(
  `./worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * How long a thread waits for its next run, milliseconds. It holds the compiled artefact, so it
 * must not stay.
 */
const IDLE_TIME = 2_000;

interface IdleThread {
  readonly worker: Worker;
  readonly expiry: NodeJS.Timeout;
}

/**
 * Threads that have done a run, by the folder of their artefact: the next run saves the 0.2 s of
 * reading and compiling it.
 */
const idle = new Map<string, IdleThread[]>();

/**
 * Runs under way, and those that wait for one of them: a thread beyond the cores would compile an
 * artefact for nothing.
 */
let running = 0;
const queue: (() => void)[] = [];

/**
 * Runs the toolchain once. Runs at the same time have a thread each, as many as there are cores.
 *
 * @param timeLimit milliseconds; the thread of a run that takes longer is ended.
 * @throws {ToolchainError}
 */
export async function runOnThread(directory: URL, run: Run, timeLimit: number): Promise<string> {
  // A waiting caller gets the slot of a run that ends.
  if (running < availableParallelism()) running += 1;
  else await new Promise<void>((resolve) => queue.push(resolve));
  const worker = takeThread(directory);
  const result = await answerOf(worker, run, timeLimit);
  if (result === "late" || !result.ok) await worker.terminate();
  else keepThread(directory, worker);
  const next = queue.shift();
  if (next === undefined) running -= 1;
  else next();
  if (result === "late") {
    throw new ToolchainError(
      "TOOLCHAIN_TIMEOUT",
      `rego ${run.command} did not finish within ${timeLimit / 1000} s`,
    );
  }
  if (result.ok) return result.response;
  if (result.error !== null) throw new ToolchainError(result.error.code, result.error.message);
  throw new ToolchainError(
    "TOOLCHAIN_FAILED",
    `rego ${run.command} ended without an answer; the sources may be too large`,
  );
}

function answerOf(worker: Worker, run: Run, timeLimit: number): Promise<RunResult | "late"> {
  return new Promise((resolve) => {
    const settle = (result: RunResult | "late"): void => {
      clearTimeout(timer);
      worker.off("message", settle).off("error", ended).off("exit", ended);
      resolve(result);
    };
    const ended = (): void => settle({ ok: false, error: null });
    const timer = setTimeout(() => settle("late"), timeLimit);
    worker.on("message", settle).on("error", ended).on("exit", ended);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage(run);
  });
}

function takeThread(directory: URL): Worker {
  const waiting = idle.get(directory.href)?.pop();
  // A thread that has died has no id any more, and would never answer.
  if (waiting === undefined || waiting.worker.threadId === -1) {
    const worker = new Worker(WORKER_FILE, { workerData: directory.href });
    // A thread that fails while it waits must not end the process; its run, if it has one, hears of
    // it too.
    worker.on("error", () => {});
    return worker;
  }
  clearTimeout(waiting.expiry);
  waiting.worker.ref();
  return waiting.worker;
}

/** An idle thread keeps no process alive. */
function keepThread(directory: URL, worker: Worker): void {
  const waiting = idle.get(directory.href) ?? [];
  idle.set(directory.href, waiting);
  const expiry = setTimeout(() => {
    waiting.splice(waiting.indexOf(thread), 1);
    void worker.terminate();
  }, IDLE_TIME);
  const thread: IdleThread = { worker, expiry };
  expiry.unref();
  worker.unref();
  waiting.push(thread);
}
