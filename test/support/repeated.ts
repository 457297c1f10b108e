import type { Reporter, TestCase } from "vitest/node";

/**
 * Names the tests that failed once and passed when they were repeated, with the failure: each is a
 * fault of the test or of the server that is still to be found.
 */
export default class RepeatedTests implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { flaky, retryCount } = test.diagnostic() ?? {};
    if (flaky !== true) return;
    const [first] = test.result().errors ?? [];
    process.stdout.write(
      `passed when repeated (${retryCount}): ${test.module.relativeModuleId} > ${test.fullName}\n`,
    );
    process.stdout.write(
      `  ${(first?.message ?? "no message").slice(0, MOST_CHARACTERS).replaceAll("\n", "\n  ")}\n`,
    );
  }
}

/** A property prints its counterexample. */
const MOST_CHARACTERS = 4_000;
