import type { SimulationReport } from "../../simulate/report/report.ts";
import { exitCodeOf, meetsGate, type ExitFlags } from "./exit-code.ts";

/** One thing that decides the exit code. */
export interface Gate {
  /** `assertions`, `coverage`, `complete`, or a value of `--fail-on`. */
  readonly name: string;
  readonly passed: boolean;
}

/** What the command ends with, and why. */
export interface Verdict {
  readonly exitCode: number;
  readonly gates: readonly Gate[];
}

export function verdictOf(report: SimulationReport, flags: ExitFlags): Verdict {
  const { assertions, complete } = report;
  const required = assertions?.coverage.filter(({ required: share }) => share !== null) ?? [];
  return {
    exitCode: exitCodeOf(report, flags),
    gates: [
      ...(assertions === null ? [] : [{ name: "assertions", passed: assertions.failed === 0 }]),
      ...(required.length === 0
        ? []
        : [{ name: "coverage", passed: complete && required.every(({ status }) => status === "PASS") }]),
      ...flags.failOn.map((name) => ({ name, passed: !meetsGate(report, name, flags) })),
      { name: "complete", passed: complete },
    ],
  };
}
