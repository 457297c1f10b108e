import { defineConfig } from "vitest/config";

// For a hang, not for a slow machine: a whole server starts in a second here and in ten where others compile beside it.
const limits = { testTimeout: 30_000, hookTimeout: 30_000 };

/** Tests of pure functions, which leave nothing behind: a process for each file would cost as much as they do. */
const pure = ["test/dialects/**/*.test.ts", "test/lifecycle/**/*.test.ts"];

export default defineConfig({
  test: {
    projects: [
      { test: { ...limits, name: "pure", include: pure, isolate: false } },
      { test: { ...limits, name: "whole", include: ["test/**/*.test.ts"], exclude: ["**/node_modules/**", ...pure] } },
    ],
  },
});
