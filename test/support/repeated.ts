import type { Reporter, TestCase } from "vitest/node";

/** Names the tests that failed once and passed when they were repeated: each is a fault of the test or of the server that is still to be found. */
export default class RepeatedTests implements Reporter {
  onTestCaseResult(test: TestCase): void {
    const { flaky, retryCount } = test.diagnostic() ?? {};
    if (flaky !== true) return;
    process.stdout.write(`passed when repeated (${retryCount}): ${test.module.relativeModuleId} > ${test.fullName}\n`);
  }
}
