import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");

/** The store's thread, and the file that holds it with all that it loads. */
export const STORE_THREAD = {
  source: join(ROOT, "src/store/sqlite/worker.ts"),
  bundle: join(ROOT, ".signalbox/test-threads/store.mjs"),
} as const;
