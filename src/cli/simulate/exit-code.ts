import { CHANGE_KINDS, type ChangeKind } from "../../simulate/change-kind.ts";
import type { ComparisonReport, SimulationReport } from "../../simulate/report/report.ts";

/** Exit codes of `signalbox simulate`. A command line that cannot be used is an error: 2 means something else here. */
export const SIMULATE_EXIT = { ok: 0, error: 1, differences: 2, failed: 3, incomplete: 4 } as const;

/** What `--fail-on` takes. */
export const FAIL_ON_VALUES = [
  ...CHANGE_KINDS,
  "new_data_paths",
  "more_permissive",
  "less_permissive",
  "incomparable",
  "any",
] as const;
export type FailOnValue = (typeof FAIL_ON_VALUES)[number];

export interface ExitFlags {
  readonly detailedExitcode: boolean;
  readonly failOn: readonly FailOnValue[];
  /** Whether `--promote` was given: then `--fail-on` looks at what the promotion does as well. */
  readonly promoting: boolean;
}

/** What the report comes to. @param report `null` where there is none because of an error. */
export function exitCodeOf(report: SimulationReport | null, flags: ExitFlags): number {
  if (report === null) return SIMULATE_EXIT.error;
  const { declared, promoted, assertions, complete } = report;
  const gated = flags.promoting ? [declared, promoted] : [declared];
  // What an incomplete run did not meet, the classes that were left out may.
  const gateFailed = complete && assertions?.coverage.some(({ status }) => status === "FAIL") === true;
  if ((assertions?.failed ?? 0) > 0 || gateFailed) return SIMULATE_EXIT.failed;
  if (flags.failOn.some((value) => gated.some((comparison) => meets(comparison, value)))) return SIMULATE_EXIT.failed;
  const both = [declared, promoted];
  if (!complete || both.some((comparison) => changes(comparison, "indeterminate_new"))) {
    return SIMULATE_EXIT.incomplete;
  }
  return flags.detailedExitcode && both.some(differs) ? SIMULATE_EXIT.differences : SIMULATE_EXIT.ok;
}

function meets(comparison: ComparisonReport, value: FailOnValue): boolean {
  const { access } = comparison;
  if (value === "any") return differs(comparison);
  if (value === "new_data_paths") return comparison.new_data_paths.length > 0;
  if (value === "incomparable") return access === "incomparable";
  if (value === "more_permissive" || value === "less_permissive") {
    // What allows more here and less there does both: a grant must not hide behind a denial beside it.
    return access === value || access === "incomparable";
  }
  return changes(comparison, value);
}

function changes(comparison: ComparisonReport, wanted: ChangeKind): boolean {
  return comparison.words.some(({ word, classes }) => word === wanted && classes > 0);
}

function differs({ changed_classes, new_data_paths, lost_data_paths, access }: ComparisonReport): boolean {
  return changed_classes > 0 || new_data_paths.length > 0 || lost_data_paths.length > 0 || access !== "equivalent";
}
