import { rolldown } from "rolldown";
import { STORE_THREAD } from "./store-thread.ts";

/**
 * Bundles the store's thread, as it is in the package: each of its threads would load sixty
 * sources one by one.
 */
export default async function bundleStoreThread(): Promise<void> {
  const bundle = await rolldown({
    input: STORE_THREAD.source,
    platform: "node",
    tsconfig: false,
    external: /^node:/,
    plugins: [{ name: "function-of-thread", renderChunk: asFunction }],
  });
  await bundle.write({ file: STORE_THREAD.bundle, format: "esm" });
  await bundle.close();
}

/**
 * Makes the module a function, which the thread calls for each store with what it would import of
 * its thread (`pooled-store-thread.ts`).
 */
function asFunction(code: string): string {
  const imports = /^import .*;$/gm;
  const own = 'import { parentPort, workerData } from "node:worker_threads";';
  if (!code.includes(own)) throw new Error("the store's thread has another import of its thread");
  const body = code.replace(imports, "").replace(/^export \{\s*\};$/m, "");
  return `${(code.match(imports) ?? []).filter((line) => line !== own).join("\n")}
import { parentPort as thread } from "node:worker_threads";
async function run({ port: parentPort, workerData }) {
${body}
}
thread.on("message", (start) => void run(start));
`;
}
