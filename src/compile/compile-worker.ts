import { parentPort, workerData } from "node:worker_threads";
import { compileConfiguration, type CompileOptions } from "./compile.ts";
import type { ConfigurationFiles } from "./load.ts";

// Untyped by Node; the only thread that starts this file is that of `compile-on-thread.ts`.
const { files, options }: { readonly files: ConfigurationFiles; readonly options: CompileOptions } =
  workerData;

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(await compileConfiguration(files, options));
