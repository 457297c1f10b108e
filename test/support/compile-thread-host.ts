import { syncBuiltinESMExports } from "node:module";
import threads, { type MessagePort } from "node:worker_threads";

/** One compilation: what its thread imports of `node:worker_threads`, and the thread's module. */
export interface Compilation {
  readonly module: string;
  readonly parentPort: MessagePort;
  readonly workerData: unknown;
}

let compilations = 0;
threads.parentPort?.on("message", ({ module, ...thread }: Compilation) => {
  Object.assign(threads, thread);
  syncBuiltinESMExports();
  compilations += 1;
  // Evaluated again, unlike what it imports. A rejection ends the thread, as it would otherwise.
  void import(`${module}?${compilations}`);
});
