import {
  COVERAGE_MEASURES,
  lastMoment,
  type Assertion,
  type CoverageDemand,
  type CoverageMeasure,
} from "./assertion.ts";
import {
  formatDenial,
  outcomeViolation,
  VIEW_TITLES,
  type AssertionCount,
  type AssertionTally,
} from "./run.ts";
import type { CaseExpectation } from "./schema.ts";
import type { AssertionResult, AssertionsReport, CoverageResult } from "../report/report.ts";
import {
  VIEWS,
  type Outcome,
  type OutcomePair,
  type SampleRequest,
  type View,
} from "../sample-request.ts";

/**
 * The subjects of each measure: `eu-residency/processed_in_eu`,
 * `eu-residency/processed_in_eu/REGION_NOT_IN_EU`, `chat-large`, `chat-large → gpt-5-eu`. A
 * constraint is covered where some request fails it and some request passes it.
 */
export type CoverageFacts = Readonly<
  Record<CoverageMeasure, readonly { readonly id: string; readonly covered: boolean }[]>
>;

/** All four measures; those without a gate pass. */
export function coverageResults(
  { gates, except }: CoverageDemand,
  facts: CoverageFacts,
): readonly CoverageResult[] {
  const left = new Set(except);
  return COVERAGE_MEASURES.map((what) => {
    const subjects = facts[what].filter(({ id }) => !left.has(id));
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

/** The command line that explains a request on head, without the program's name. */
export type ExplainArguments = (sample: SampleRequest) => readonly string[];

/**
 * The results of all assertions, in the order of the file.
 *
 * @param tally of all classes.
 * @param now decides whether a waiver still holds.
 * @param explain `null`: results have no command that explains their example.
 */
export function assertionResults(
  assertions: readonly Assertion[],
  tally: AssertionTally,
  cases: readonly CaseResult[],
  now: Date,
  explain: ExplainArguments | null = null,
): readonly AssertionResult[] {
  const counts = new Map(tally.map((count) => [count.id, count]));
  return assertions.map((assertion) => {
    const count =
      assertion.kind === "cases" ? countOfCases(assertion.id, cases) : counts.get(assertion.id);
    // An assertion that was not counted must not look like one that met no request, or like a pass.
    if (count === undefined)
      throw new Error(`assertionResults: the tally lacks assertion ${assertion.id}`);
    return resultOf(assertion, count, now, explain);
  });
}

/** The section of the report. Gates are not counted among the assertions. */
export function assertionsReport(
  file: string,
  results: readonly AssertionResult[],
  coverage: readonly CoverageResult[],
): AssertionsReport {
  const count = (status: AssertionResult["status"]) =>
    results.filter((result) => result.status === status).length;
  return {
    file,
    results,
    coverage,
    passed: count("PASS"),
    failed: count("FAIL"),
    waived: count("WAIVED"),
  };
}

function countOfCases(id: string, cases: readonly CaseResult[]): AssertionCount {
  const results = cases.filter(({ assertion }) => assertion === id);
  const failed = results.flatMap(({ sample, message }) =>
    message === null ? [] : [{ sample, message }],
  );
  return { id, classes: results.length, violations: failed.length, first: failed[0] ?? null };
}

function resultOf(
  assertion: Assertion,
  { classes, violations, first }: AssertionCount,
  now: Date,
  explain: ExplainArguments | null,
): AssertionResult {
  const { id, title, kind, view, location } = assertion;
  const empty = classes === 0 && !assertion.may_be_empty;
  const failure =
    first?.message ??
    (empty ? "it selects no request; correct its selectors, or write `may_be_empty: true`" : null);
  const waiver = waiverOf(assertion, now);
  const waived = failure !== null && waiver?.expired === false;
  return {
    id,
    title,
    kind,
    status: failure === null ? "PASS" : waived ? "WAIVED" : "FAIL",
    fails_in_base: null,
    view,
    classes,
    violations,
    message: messageOf(failure, waiver),
    example: first?.sample ?? null,
    explain: first === null || explain === null ? null : explain(first.sample),
    waiver,
    location,
  };
}

function waiverOf({ waiver }: Assertion, now: Date): AssertionResult["waiver"] {
  if (waiver === null) return null;
  const end = lastMoment(waiver.until);
  return { ...waiver, expired: end === null || now.getTime() >= end };
}

function messageOf(failure: string | null, waiver: AssertionResult["waiver"]): string | null {
  if (failure === null) return waiver === null ? null : "it passes, so its waiver can be removed";
  return waiver?.expired === true ? `${failure}; its waiver ended on ${waiver.until}` : failure;
}

/** Decides one request on both sides, in both views. */
type DecideSample = (sample: SampleRequest) => Readonly<Record<View, OutcomePair>>;

/** One case of one assertion. Plain data. */
interface CaseResult {
  /** Id of the assertion. */
  readonly assertion: string;
  readonly sample: SampleRequest;
  /** The violation; `null`: none. */
  readonly message: string | null;
}

/** Every case with its decision on head. */
export function judgeCases(
  assertions: readonly Assertion[],
  decide: DecideSample,
): readonly CaseResult[] {
  return assertions.flatMap((assertion) => {
    if (assertion.kind !== "cases") return [];
    const views = assertion.view === "both" ? VIEWS : [assertion.view];
    return assertion.cases.map(({ name, sample, expect }) => {
      const decided = decide(sample);
      const messages = views.flatMap((view) => {
        const violation = caseViolation(decided[view].head, expect);
        return violation === null ? [] : [`${name}: ${VIEW_TITLES[view]}, ${violation}`];
      });
      return { assertion: assertion.id, sample, message: messages[0] ?? null };
    });
  });
}

function caseViolation(outcome: Outcome, expect: CaseExpectation): string | null {
  const wrong = outcomeViolation(outcome, expect);
  if (wrong !== null) return wrong;
  const plan = outcome.plan.map(({ endpoint }) => endpoint);
  const decided =
    outcome.denial === null
      ? `the plan is ${plan.join(", ")}`
      : `denied by ${formatDenial(outcome.denial)}`;
  const { plan: expected, primary, contains = [], lacks = [] } = expect;
  const same =
    expected?.length === plan.length &&
    expected.every((endpoint, index) => endpoint === plan[index]);
  if (expected !== undefined && !same)
    return `${decided}, expected ${expected.join(", ") || "none"}`;
  if (primary !== undefined && plan[0] !== primary) return `${decided}, expected ${primary} first`;
  const missing = contains.find((endpoint) => !plan.includes(endpoint));
  if (missing !== undefined) return `${decided}, expected ${missing} in it`;
  const unwanted = lacks.find((endpoint) => plan.includes(endpoint));
  return unwanted === undefined ? null : `${decided}, expected no ${unwanted}`;
}
