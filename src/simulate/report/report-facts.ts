import type { SimulationReport } from "./report.ts";

/** The parts of a report that promotions are judged by. */
export interface ReportFacts {
  /** Whether every class was decided. */
  readonly complete: boolean;
  /** Results of assertions and of the coverage gates that were set; all 0 where there is no assertions file. */
  readonly assertions: { readonly passed: number; readonly failed: number; readonly waived: number };
}

export function reportFacts({ complete, assertions }: SimulationReport): ReportFacts {
  if (assertions === null) return { complete, assertions: { passed: 0, failed: 0, waived: 0 } };
  // Without a gate, no coverage is required.
  const gates = assertions.coverage.filter(({ required }) => required !== null);
  const passed = gates.filter(({ status }) => status === "PASS").length;
  return {
    complete,
    assertions: {
      passed: assertions.passed + passed,
      failed: assertions.failed + gates.length - passed,
      waived: assertions.waived,
    },
  };
}
