import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import threads from "node:worker_threads";
import { afterAll } from "vitest";
import { STORE_THREAD } from "./store-thread.ts";
import { endFile } from "./file-end.ts";

const SOURCE = pathToFileURL(STORE_THREAD.source).href;

/** Starts the store's thread from its bundle. */
class TestWorker extends threads.Worker {
  constructor(file: string | URL, options?: threads.WorkerOptions) {
    super(String(file) === SOURCE ? STORE_THREAD.bundle : file, options);
  }
}

// Vitest runs this file (`setupFiles`) before each test file, in a process that files share.
if (threads.Worker.name !== TestWorker.name) {
  threads.Worker = TestWorker;
  syncBuiltinESMExports();
}

// What is registered first of `afterAll` runs last.
afterAll(endFile);
