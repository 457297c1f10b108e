import { rolldown } from "rolldown";
import { STORE_THREAD } from "./store-thread.ts";

/**
 * Bundles the store's thread, as it is in the package. The tests open some hundred stores, and each
 * of their threads would load sixty sources one by one, which is more than half of the time that
 * opening takes.
 */
export default async function bundleStoreThread(): Promise<void> {
  const bundle = await rolldown({
    input: STORE_THREAD.source,
    platform: "node",
    tsconfig: false,
    external: /^node:/,
  });
  await bundle.write({ file: STORE_THREAD.bundle, format: "esm" });
  await bundle.close();
}
