import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// For a hang, not for a slow machine: a whole server starts in a second here and in ten where others compile beside it.
const limits = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } };

/** Tests of pure functions, which leave nothing behind: a process for each file would cost as much as they do. */
const pure = ["canon", "decide", "dialects", "governance", "lifecycle", "recorded"].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

export default defineConfig({
  test: {
    // Half of the time is spent waiting for sockets, clocks and processes: as many files at once as there are cores, two at least.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { test: { ...limits, name: "pure", include: pure, isolate: false } },
      { test: { ...limits, name: "whole", include: ["test/**/*.test.ts"], exclude: ["**/node_modules/**", ...pure] } },
    ],
  },
});
