import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { userCacheFolder } from "../../src/cli/terminal/process.ts";
import type { CompileCache } from "../../src/policy/toolchain/compile-cache.ts";

/**
 * Shared by all tests of a checkout: compiling the same policies again would cost each file half a
 * second.
 */
export const TEST_CACHE_FOLDER = resolve(import.meta.dirname, "../../.signalbox/test-cache");

/**
 * The same as commands use that run with `--cache` of {@link TEST_CACHE_FOLDER}, so that they share
 * entries.
 */
export const TEST_CACHE: CompileCache = {
  directory: TEST_CACHE_FOLDER,
  secretDirectory: userCacheFolder(process.env) ?? join(tmpdir(), "signalbox-test-home"),
};

/** A cache of one test, with a secret of its own. */
export function cacheIn(folder: string): CompileCache {
  return { directory: join(folder, "cache"), secretDirectory: join(folder, "own") };
}
