import type { CoverageResult } from "../report/report.ts";
import { COVERAGE_MEASURES, type CoverageDemand, type CoverageMeasure } from "./assertion.ts";

/** What all classes together brought into play of head. */
export interface CoverageFacts {
  /** `eu-residency/processed_in_eu`; covered where some request fails it and some passes. */
  readonly constraints: readonly {
    readonly id: string;
    readonly failed: boolean;
    readonly passed: boolean;
  }[];
  /** `eu-residency/processed_in_eu/REGION_NOT_IN_EU` */
  readonly reasons: readonly { readonly id: string; readonly given: boolean }[];
  readonly routes: readonly { readonly id: string; readonly chosen: boolean }[];
  /** `chat-large → gpt-5-eu` */
  readonly fallback_edges: readonly { readonly id: string; readonly used: boolean }[];
}

/** All four measures; those without a gate pass. What nothing is demanded of is covered whole. */
export function coverageResults(
  { gates, except }: CoverageDemand,
  facts: CoverageFacts,
): readonly CoverageResult[] {
  const left = new Set(except);
  return COVERAGE_MEASURES.map((what) => {
    const subjects = subjectsOf(what, facts).filter(({ id }) => !left.has(id));
    const missing = subjects.filter(({ covered }) => !covered).map(({ id }) => id);
    const gate = gates.find((each) => each.what === what);
    const covered = subjects.length - missing.length;
    // Compared without a division: 2 of 3 must pass a gate of exactly 200/3 per cent on every
    // machine.
    const passes = gate === undefined || covered * 100 >= gate.required * subjects.length;
    return {
      what,
      covered,
      of: subjects.length,
      required: gate?.required ?? null,
      status: passes ? "PASS" : "FAIL",
      missing: missing.toSorted(),
      location: gate?.location ?? null,
    };
  });
}

/** Marks gates that this change does not make fail. @param before the same of base. */
export function withFailuresOfBase(
  results: readonly CoverageResult[],
  before: readonly CoverageResult[],
): readonly CoverageResult[] {
  const failing = new Set(before.flatMap(({ what, status }) => (status === "FAIL" ? [what] : [])));
  return results.map((result) =>
    result.status === "FAIL" && failing.has(result.what)
      ? { ...result, fails_in_base: true }
      : result,
  );
}

function subjectsOf(
  what: CoverageMeasure,
  facts: CoverageFacts,
): readonly { readonly id: string; readonly covered: boolean }[] {
  switch (what) {
    case "constraints":
      return facts.constraints.map(({ id, failed, passed }) => ({ id, covered: failed && passed }));
    case "reasons":
      return facts.reasons.map(({ id, given }) => ({ id, covered: given }));
    case "routes":
      return facts.routes.map(({ id, chosen }) => ({ id, covered: chosen }));
    case "fallback_edges":
      return facts.fallback_edges.map(({ id, used }) => ({ id, covered: used }));
  }
}
