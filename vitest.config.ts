import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { COMPILED } from "./test/support/node-cache.ts";

// The test processes and the threads of their stores load what Node compiled once: compiling the sources is half of opening a store.
Object.assign(process.env, COMPILED);

// For a hang, not for a slow machine: a whole server starts in a second here and in ten where others compile beside it.
const limits = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  expect: { poll: { timeout: 30_000 } },
  setupFiles: ["test/support/each-file.ts"],
};

/**
 * CI repeats a failed test once: of 14,000 such tests one now and then meets a machine that is busy elsewhere, and
 * would refuse the work of a day. `test/support/repeated.ts` prints its name. Outside of CI nothing is repeated.
 */
const repeated = { ...limits, retry: process.env["CI"] === "true" ? 1 : 0 };

/**
 * Long proofs (`npm run test:long`): processes killed again and again, several replicas, packages installed, every command of the
 * documents, every fault on every surface. `npm test` has a quick test of the same parts.
 */
const long = [
  "test/action/**/*.test.ts",
  "test/chaos/matrix.test.ts",
  "test/chaos/raw.test.ts",
  "test/cli/explain-base.test.ts",
  "test/cli/policy-new.test.ts",
  "test/cli/policy-test.test.ts",
  "test/cli/simulate/printed-commands.test.ts",
  "test/clients/failures.test.ts",
  "test/clients/matrix/**/*.test.ts",
  "test/compile/properties.test.ts",
  "test/conformance/conformance.test.ts",
  "test/conformance/main.test.ts",
  "test/console/{decisions,faults,figures,keys,pages,policies,report,routes}.test.ts",
  "test/contract/fuzz/*.test.ts",
  "test/contract/schemathesis/*.test.ts",
  "test/docs/commands/*.test.ts",
  "test/docs/policy-lifecycle.test.ts",
  "test/docs/pull-requests.test.ts",
  "test/docs/simulate-recipes.test.ts",
  "test/docs/simulate.test.ts",
  "test/evidence/cli-policies.test.ts",
  "test/evidence/kill.test.ts",
  "test/leaks/*.test.ts",
  "test/limits/crash.test.ts",
  "test/package/package.test.ts",
  "test/dialects/approvals/reviewed.test.ts",
  "test/dialects/bedrock-converse/round-trip.test.ts",
  "test/dialects/laws/features.test.ts",
  "test/dialects/laws/requests.test.ts",
  "test/dialects/laws/translations.test.ts",
  "test/dispatch/endpoints/endpoint-tracker.test.ts",
  "test/dispatch/limiters/concurrency-limiter.test.ts",
  "test/policy/policy-set.test.ts",
  "test/policy/shadow.test.ts",
  "test/policy/strings-permuted.test.ts",
  "test/recorded/anthropic-messages.test.ts",
  "test/recorded/bedrock-converse.test.ts",
  "test/recorded/bedrock-invoke.test.ts",
  "test/recorded/cross.test.ts",
  "test/recorded/openai-chat.test.ts",
  "test/recorded/openai-chat-translation.test.ts",
  "test/replicas/*.test.ts",
  "test/running/workers*.test.ts",
  "test/security/forged-cache.test.ts",
  "test/security/forged-module.test.ts",
  "test/simulate/brute-force.test.ts",
  "test/simulate/left-jobs.test.ts",
  "test/simulate/distinguished.test.ts",
  "test/simulate/remembering-set.test.ts",
  "test/simulate/random-preferences.test.ts",
  "test/simulate/settings/every-rule.test.ts",
  "test/simulate/settings/every-setting.test.ts",
  "test/store/crash.test.ts",
  "test/store/lent-thread.test.ts",
  "test/store/lost-file.test.ts",
  "test/store/policy-log-crash.test.ts",
  "test/store/postgres/busy-process.test.ts",
  "test/store/postgres/faults.test.ts",
  "test/store/postgres/postgres.test.ts",
  "test/store/sqlite.test.ts",
];

/** Long proofs of which `npm test` runs a short form: the setting tells them how much to do (`test/support/long.ts`). */
const scaled = [
  "test/chaos/matrix.test.ts",
  "test/cli/simulate/printed-commands.test.ts",
  "test/clients/failures.test.ts",
  "test/compile/properties.test.ts",
  "test/conformance/conformance.test.ts",
  "test/dialects/bedrock-converse/round-trip.test.ts",
  "test/dialects/laws/features.test.ts",
  "test/dialects/laws/requests.test.ts",
  "test/dialects/laws/translations.test.ts",
  "test/dispatch/endpoints/endpoint-tracker.test.ts",
  "test/dispatch/limiters/concurrency-limiter.test.ts",
  "test/evidence/kill.test.ts",
  "test/policy/policy-set.test.ts",
  "test/recorded/anthropic-messages.test.ts",
  "test/recorded/bedrock-converse.test.ts",
  "test/recorded/bedrock-invoke.test.ts",
  "test/recorded/openai-chat.test.ts",
  "test/recorded/openai-chat-translation.test.ts",
  "test/security/forged-cache.test.ts",
  "test/security/forged-module.test.ts",
  "test/simulate/distinguished.test.ts",
  "test/simulate/remembering-set.test.ts",
  "test/simulate/random-preferences.test.ts",
  "test/simulate/settings/every-rule.test.ts",
  "test/simulate/settings/every-setting.test.ts",
  "test/store/lent-thread.test.ts",
  "test/store/lost-file.test.ts",
  "test/store/sqlite.test.ts",
];

/**
 * Test files share a process and its modules, which one of its own for each would load again: each leaves both as they were, so
 * `vi.mock` has no place. WebAssembly is not optimised: the Rego toolchain runs too shortly to earn what that costs
 * (ten compilations take 2.0 s of a core instead of 4.6). `npm run test:long` runs it as users do.
 */
const quick = {
  ...repeated,
  isolate: false,
  execArgv: ["--liftoff-only"],
  // Part of the time is spent waiting for sockets, clocks and processes, so one file more than there are cores runs at once.
  maxWorkers: availableParallelism() + 1,
  sequence: { groupOrder: 0 },
};

/** Each starts servers and databases of its own, which answer 503 where a third file takes their time. */
const thorough = {
  ...repeated,
  env: { SIGNALBOX_TEST_LONG: "1" },
  maxWorkers: Math.max(2, availableParallelism() - 1),
  sequence: { groupOrder: 1 },
};

const modules = "**/node_modules/**";
const onlyLong = long.filter((path) => !scaled.includes(path));

export default defineConfig({
  test: {
    globalSetup: ["test/support/bundle-store-thread.ts"],
    reporters: ["default", "./test/support/repeated.ts"],
    projects: [
      { test: { ...quick, name: "quick", include: ["test/**/*.test.ts"], exclude: [modules, ...onlyLong] } },
      { test: { ...thorough, name: "long", include: long, exclude: [modules] } },
    ],
  },
});
