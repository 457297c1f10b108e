import type { Diagnostic } from "../../../canon/diagnostic.ts";
import type { PolicyTest, TestRun } from "./test-run.ts";

export type TestFailureCode = "POLICY_TEST_FAILED" | "POLICY_TEST_ERROR";

/** Tests that did not pass, as findings: what annotations are made of. */
export function failuresOf({ policies }: TestRun): readonly Diagnostic<TestFailureCode>[] {
  return policies.flatMap(({ tests }) => tests.flatMap(failureOf));
}

function failureOf(test: PolicyTest): readonly Diagnostic<TestFailureCode>[] {
  const { name, file, line, column, outcome, cases, printed, error } = test;
  if (outcome !== "fail" && outcome !== "error") return [];
  const hint = [...error, ...printed.map((text) => `printed: ${text}`)].join("\n");
  const which = cases.length === 0 ? "" : ` for ${cases.join(", ")}`;
  const location = { severity: "error", file, line, column, hint } as const;
  return [
    outcome === "error"
      ? { code: "POLICY_TEST_ERROR", message: `${name} ended with an error`, ...location }
      : { code: "POLICY_TEST_FAILED", message: `${name} does not hold${which}`, ...location },
  ];
}
