import { syncBuiltinESMExports } from "node:module";
import threads, { type MessagePort } from "node:worker_threads";

/** One task: what its thread imports of `node:worker_threads`, and the thread's module. */
export interface ThreadTask {
  readonly module: string;
  readonly parentPort: MessagePort;
  readonly workerData: unknown;
}

let tasks = 0;
threads.parentPort?.on("message", ({ module, ...thread }: ThreadTask) => {
  Object.assign(threads, thread);
  syncBuiltinESMExports();
  tasks += 1;
  // Evaluated again, unlike what it imports. A rejection ends the thread, as it would otherwise.
  void import(`${module}?${tasks}`);
});
