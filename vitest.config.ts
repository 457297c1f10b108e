import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // For a hang, not for a slow machine: a whole server starts in a second here and in ten where others compile beside it.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
