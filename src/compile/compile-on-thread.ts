import { Worker } from "node:worker_threads";
import type { CompiledConfiguration, CompileOptions } from "./compile.ts";
import type { ConfigurationFiles } from "./load.ts";
import { restoreTable } from "./compile-table.ts";

/** Type stripping runs the sources as `.ts`; a build has `.js` beside this file. */
const WORKER_FILE = new URL(
  `./compile-worker${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`,
  import.meta.url,
);

/**
 * The same as `compileConfiguration`, on a thread of its own: a server answers requests while a
 * large file compiles.
 *
 * @throws {Error} where the thread ends without a result, for instance for want of memory.
 */
export async function compileOnThread(
  files: ConfigurationFiles,
  options: CompileOptions,
): Promise<CompiledConfiguration> {
  const worker = new Worker(WORKER_FILE, { workerData: { files, options } });
  const answer = Promise.withResolvers<CompiledConfiguration>();
  worker.on("message", (compiled: CompiledConfiguration) => answer.resolve(compiled));
  worker.on("error", (error) => answer.reject(error));
  worker.on("exit", () =>
    answer.reject(new Error("the thread that compiles the configuration ended without a result")),
  );
  try {
    const compiled = await answer.promise;
    return { ...compiled, table: compiled.table === null ? null : restoreTable(compiled.table) };
  } finally {
    await worker.terminate();
  }
}
