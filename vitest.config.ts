import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longest-first.ts";
import { COMPILED } from "./test/support/node-cache.ts";

// The test processes and the threads of their stores load what Node compiled once: compiling the
// sources is half of opening a store.
Object.assign(process.env, COMPILED);

// For a hang, not for a slow machine: a whole server starts in a second here and in ten where
// others compile beside it.
const limits = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 30_000 } },
  setupFiles: ["test/support/each-file.ts"],
};

/**
 * CI repeats a failed test once: of 14,000 such tests one now and then meets a machine that is busy
 * elsewhere, and would refuse the work of a day. `test/support/repeated.ts` prints its name.
 * Outside of CI nothing is repeated.
 */
const repeated = { ...limits, retry: process.env["CI"] === "true" ? 1 : 0 };

/**
 * `*.long.test.ts`: long proofs (`npm run test:long`): processes killed again and again, several
 * replicas, packages installed, every command of the documents, every fault on every surface.
 * `npm test` has a quick test of the same parts.
 *
 * `*.scaled.test.ts`: long proofs of which `npm test` runs a short form (`test/support/long.ts`).
 */
const LONG = "test/**/*.long.test.ts";
const SCALED = "test/**/*.scaled.test.ts";

/**
 * Test files share a process and its modules, which one of its own for each would load again: each
 * leaves both as they were, so `vi.mock` has no place. WebAssembly is not optimised: the Rego
 * toolchain runs too shortly to earn what that costs (ten compilations take 2.0 s of a core instead
 * of 4.6). `npm run test:long` runs it as users do.
 */
const quick = {
  ...repeated,
  globalSetup: ["test/support/memory-folder.ts"],
  isolate: false,
  execArgv: ["--liftoff-only"],
  // Part of the time is spent waiting for sockets, clocks and processes, so one file more than
  // there are cores runs at once. With twice as many, tests of deadlines fail.
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 0 },
};

/**
 * Each starts servers and databases of its own, which answer 503 where a third file takes their
 * time.
 */
const thorough = {
  ...repeated,
  env: { SIGNALBOX_TEST_LONG: "1" },
  maxWorkers: Math.max(2, availableParallelism() - 1),
  sequence: { groupOrder: 1 },
};

const modules = "**/node_modules/**";

export default defineConfig({
  test: {
    globalSetup: ["test/support/bundle-store-thread.ts", "test/support/compiled-checks.ts"],
    reporters: ["default", "./test/support/repeated.ts"],
    sequence: { sequencer: LongestFirst },
    // Node loads the sources as it does for users, in an eighth less of a core's time.
    experimental: { viteModuleRunner: false },
    projects: [
      {
        test: {
          ...quick,
          name: "quick",
          include: ["test/**/*.test.ts"],
          exclude: [modules, LONG],
        },
      },
      { test: { ...thorough, name: "long", include: [LONG, SCALED], exclude: [modules] } },
    ],
  },
});
