import { CHANGE_KINDS, type ChangeKind } from "../../simulate/change-kind.ts";
import { SETTING_EFFECTS } from "../../simulate/settings/setting-effect.ts";
import type {
  ComparisonReport,
  SideReport,
  SimulationReport,
} from "../../simulate/report/report.ts";

/**
 * Exit codes of `signalbox simulate`. With `--detailed-exitcode`, a command line that cannot be
 * used is an error too: 2 means something else then.
 */
export const SIMULATE_EXIT = { ok: 0, error: 1, differences: 2, failed: 3, incomplete: 4 } as const;

/** Values of `--fail-on`. */
export const FAIL_ON_VALUES = [
  "new_destination",
  "new_region_for_route",
  "more_permissive",
  "assertions",
  ...CHANGE_KINDS,
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

/**
 * Whether a value of `--fail-on` holds: as declared, with `--promote` as if promoted too, or by the
 * files.
 */
export function meetsGate(
  report: SimulationReport,
  value: FailOnValue,
  { promoting }: ExitFlags,
): boolean {
  const gated = promoting ? [report.declared, report.promoted] : [report.declared];
  return (
    gated.some((comparison) => meets(comparison, value)) ||
    hasLatentChange(report, value, promoting) ||
    isMetByFiles(report, value)
  );
}

/**
 * Latent changes: a later change of the row alone would not be reported as wider.
 */
function hasLatentChange(
  { future_rows: latent }: SimulationReport,
  value: FailOnValue,
  promoting: boolean,
) {
  return (latent?.changes ?? []).some(
    ({ kind, direction, view }) =>
      value === (kind === "constraint" ? "more_permissive" : "weaker_obligation") &&
      direction === "weaker" &&
      (promoting || view === "declared"),
  );
}

function meets(comparison: ComparisonReport, value: FailOnValue): boolean {
  const { access } = comparison;
  if (value === "any") return differs(comparison);
  if (value === "new_destination") return comparison.new_data_paths.length > 0;
  if (value === "new_region_for_route") return comparison.new_route_paths.length > 0;
  // Of the files, not of a comparison; an assertion that fails has failed the run already.
  if (value === "assertions") return false;
  if (value === "incomparable" || value === "more_permissive" || value === "less_permissive") {
    // An incomparable change is both: a grant must not hide behind a denial.
    return access === value || access === "incomparable";
  }
  return changes(comparison, value);
}

/** Changed settings, assertions and policies, even if no request is decided differently. */
function isMetByFiles(
  { changed_settings: settings, base, head }: SimulationReport,
  value: FailOnValue,
): boolean {
  if (value !== "any") return settings.some(({ gate }) => gate === value);
  return (
    settings.some(({ effect, gate }) => gate !== null || SETTING_EFFECTS[effect].matters) ||
    contentsOf(base) !== contentsOf(head)
  );
}

function contentsOf({ policies }: SideReport) {
  return JSON.stringify(
    policies.map(({ id, digest, slot, content }) => [id, digest, slot, content]),
  );
}

function changes(comparison: ComparisonReport, changeKind: ChangeKind) {
  return comparison.kinds.some(({ kind, classes }) => kind === changeKind && classes > 0);
}

function differs({
  changed_classes: changed,
  access,
  new_data_paths: gained,
  lost_data_paths: lostPaths,
  new_route_paths: routes,
}: ComparisonReport) {
  return changed + gained.length + lostPaths.length + routes.length > 0 || access !== "equivalent";
}

/** One condition of the exit code. */
export interface Gate {
  /** `assertions`, `coverage`, `complete`, or a value of `--fail-on`. */
  readonly name: string;
  readonly passed: boolean;
}

/** The exit code, and the gates that decide it. */
export interface Verdict extends Pick<ExitFlags, "promoting"> {
  readonly exitCode: number;
  readonly gates: readonly Gate[];
}

export function verdictOf(report: SimulationReport, flags: ExitFlags): Verdict {
  const { assertions, complete } = report;
  const required = assertions?.coverage.filter(({ required: share }) => share !== null) ?? [];
  const isCovered = required.every(({ status }) => status === "PASS");
  const gates: readonly Gate[] = [
    ...(assertions === null ? [] : [{ name: "assertions", passed: assertions.failed === 0 }]),
    ...(required.length === 0 ? [] : [{ name: "coverage", passed: complete && isCovered }]),
    ...flags.failOn.map((name) => ({ name, passed: !meetsGate(report, name, flags) })),
  ];
  // Classes that an incomplete run left out may be what is not covered.
  const isFailed = gates.some(({ name, passed }) => !passed && (complete || name !== "coverage"));
  return {
    promoting: flags.promoting,
    exitCode: isFailed ? SIMULATE_EXIT.failed : exitCodeOfChanges(report, flags),
    gates: [...gates, { name: "complete", passed: complete }],
  };
}

function exitCodeOfChanges(
  { declared, promoted, complete }: SimulationReport,
  { detailedExitcode }: ExitFlags,
): number {
  const comparisons = [declared, promoted];
  if (!complete || comparisons.some((comparison) => changes(comparison, "indeterminate_new")))
    return SIMULATE_EXIT.incomplete;
  return detailedExitcode && comparisons.some(differs)
    ? SIMULATE_EXIT.differences
    : SIMULATE_EXIT.ok;
}
