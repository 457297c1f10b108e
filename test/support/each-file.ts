import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import threads from "node:worker_threads";
import { afterAll } from "vitest";
import { PooledStoreThread } from "./pooled-store-thread.ts";
import { PooledTaskThread, TASKS } from "./pooled-task-thread.ts";
import { takeToolchainThread, TOOLCHAIN } from "./pooled-toolchain-thread.ts";
import { STORE_THREAD } from "./store-thread.ts";
import { endFile } from "./file-end.ts";

const SOURCE = pathToFileURL(STORE_THREAD.source).href;

/** Takes the threads that tests start most often from a pool. */
class TestWorker extends threads.Worker {
  constructor(file: string | URL, options: threads.WorkerOptions = {}) {
    const url = String(file);
    if (url === SOURCE) return new PooledStoreThread(options) as unknown as TestWorker;
    if (TASKS.has(url)) return new PooledTaskThread(url, options) as unknown as TestWorker;
    if (url === TOOLCHAIN) return takeToolchainThread(url, options);
    super(file, options);
  }
}

// Vitest runs this file (`setupFiles`) before each test file, in a process that files share.
if (threads.Worker.name !== TestWorker.name) {
  threads.Worker = TestWorker;
  syncBuiltinESMExports();
}

// What is registered first of `afterAll` runs last.
afterAll(endFile);
