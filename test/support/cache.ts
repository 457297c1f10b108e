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
 * `XDG_CACHE_HOME` of commands that a test runs: outside of every working tree; policies that one
 * test compiled, the others load.
 */
export const TEST_HOME = process.env.SIGNALBOX_TEST_HOME ?? join(tmpdir(), "signalbox-test-home");

/**
 * The same as commands use that run with `--cache` of {@link TEST_CACHE_FOLDER}, so that they share
 * entries.
 */
export const TEST_CACHE: CompileCache = {
  directory: TEST_CACHE_FOLDER,
  secretDirectory: userCacheFolder(process.env) ?? TEST_HOME,
};

/**
 * One of several shared caches: a folder keeps 256 results, fewer than all tests have, and with one
 * for all each run would compile everything again.
 */
export function testCache(area: string): CompileCache {
  return { ...TEST_CACHE, directory: join(TEST_CACHE_FOLDER, area) };
}

/** A cache of one test, with a secret of its own. */
export function cacheIn(folder: string): CompileCache {
  return { directory: join(folder, "cache"), secretDirectory: join(folder, "own") };
}
