import type { RoutingTable } from "../../canon/table.ts";
import {
  type ClassComparison,
  isNarrowed,
  type OfSides,
  type Outcome,
  type OutcomeDenial,
  type OutcomePair,
  type PlannedEndpoint,
  type SampleRequest,
  type View,
  VIEWS,
} from "../sample-request.ts";
import {
  type Assertion,
  type ClassAssertion,
  comparesSides,
  COVERAGE_MEASURES,
  type CoverageDemand,
  type CoverageMeasure,
  type Demand,
  lastMoment,
  type CaseExpectation,
  type DecisionCondition,
  type DecisionDemand,
  type DenialSelector,
  type EndpointSelector,
} from "./schema.ts";
import { endpointTest, requestTest } from "./select.ts";
import { type Destinations, destinationsOf } from "../compare/change-kinds.ts";
import type { AssertionResult, AssertionsReport, CoverageResult } from "../report/report.ts";

/** The count of one assertion so far. */
interface AssertionCount {
  readonly id: string;
  /** Classes that it applies to. */
  readonly classes: number;
  readonly violations: number;
  /** The first violation in the order of the classes. */
  readonly first: { readonly sample: SampleRequest; readonly message: string } | null;
}

/** One for each assertion that is held against classes, in the order of the file. Plain data. */
export type AssertionTally = readonly AssertionCount[];

interface Running {
  readonly assertion: Assertion;
  readonly means: (sample: SampleRequest) => boolean;
  readonly judge: Judge;
  classes: number;
  violations: number;
  first: AssertionCount["first"];
}

/**
 * Checks every assertion against every class. `judgeCases` checks the cases.
 *
 * @param tables those that the classes are decided with.
 */
export function runAssertions(assertions: readonly Assertion[], tables: OfSides<RoutingTable>) {
  const all = assertions.flatMap((assertion): readonly Running[] => {
    if (assertion.kind === "cases") return [];
    const means = meaningOf(assertion, tables);
    const judge = judgeOf(assertion, tables);
    return [{ assertion, means, judge, classes: 0, violations: 0, first: null }];
  });
  return {
    visit: (comparison: ClassComparison) => {
      for (const running of all) {
        if (
          running.means(comparison.sample) &&
          !isCallerChoice(running.assertion, comparison.sample)
        )
          judgeClass(running, comparison);
      }
    },
    snapshot: (): AssertionTally =>
      all.map(({ assertion: { id }, classes, violations, first }) => {
        return { id, classes, violations, first };
      }),
  };
}

/** Whether an assertion means a request. */
export function meaningOf(
  assertion: ClassAssertion,
  tables: OfSides<RoutingTable>,
): (sample: SampleRequest) => boolean {
  return requestTest(
    assertion,
    tables,
    comparesSides(assertion.kind) ? ["base", "head"] : ["head"],
  );
}

/** A caller that excludes endpoints may have fewer left, or none. */
export function isCallerChoice(
  { kind }: Pick<Assertion, "kind">,
  { preferences }: SampleRequest,
): boolean {
  return kind === "always_routable" && isNarrowed(preferences);
}

/** A class counts once, whether one or both views violate the assertion. */
function judgeClass(running: Running, comparison: ClassComparison) {
  const { assertion, judge } = running;
  const { sample, reaching } = comparison;
  let met = false;
  let message: string | null = null;
  for (const view of VIEWS) {
    if (assertion.view !== "both" && assertion.view !== view) continue;
    const pair = comparison[view];
    let violation = judge(pair);
    if (violation === undefined) continue;
    met = true;
    // A name that base lacks, or the caller's own order, hides some destinations that base lets the
    // caller reach.
    if (violation !== null && reaching !== null && assertion.kind === "no_new_access")
      violation = judge(withReach(pair, reaching[view])) ?? null;
    if (violation !== null) message ??= `${VIEW_TITLES[view]}, ${violation}`;
  }
  if (met) running.classes += 1;
  if (message === null) return;
  running.violations += 1;
  running.first ??= { sample, message };
}

/**
 * With everything that base lets the caller reach: by the request itself, and by the one that it is
 * compared with.
 */
function withReach(pair: OutcomePair, { base }: OutcomePair): OutcomePair {
  return { ...pair, base: { ...pair.base, plan: [...pair.base.plan, ...base.plan] } };
}

/** The view, as messages name it. */
const VIEW_TITLES = {
  declared: "as declared",
  promoted: "as if promoted",
} as const;

/**
 * The tally of all classes, made of those of consecutive parts.
 *
 * @param tallies in the order of the parts, so that the first violation is the same however the
 * classes were shared out.
 */
export function mergeTallies(tallies: readonly AssertionTally[]): AssertionTally {
  const [first = [], ...others] = tallies;
  return first.map((count, index) =>
    others.reduce((sum, tally) => addCounts(sum, tally[index]), count),
  );
}

function addCounts(sum: AssertionCount, next: AssertionCount | undefined): AssertionCount {
  if (next?.id !== sum.id)
    throw new Error("mergeTallies: the tallies are not of the same assertions");
  return {
    id: sum.id,
    classes: sum.classes + next.classes,
    violations: sum.violations + next.violations,
    first: sum.first ?? next.first,
  };
}

/**
 * The violation of an assertion by one view of one class, as text that follows "as declared, ";
 * `null`: none; `undefined`: the assertion is not about such a decision.
 */
type Judge = (pair: OutcomePair) => string | null | undefined;

/** The demand of a {@link ClassAssertion}. */
export type ClassDemand = Exclude<Demand, { readonly kind: "cases" }>;

/**
 * Makes the test of one assertion. @param tables of the sides; plans are head's, and base's where
 * an assertion compares.
 */
export function judgeOf(demand: ClassDemand, tables: OfSides<RoutingTable>): Judge {
  const { head } = tables;
  switch (demand.kind) {
    case "no_new_access": {
      const means = endpointTest(demand.to, head);
      const destinations = { base: destinationsOf(tables.base), head: destinationsOf(head) };
      return (pair) => noNewAccess(pair, means, destinations);
    }
    case "access_not_granted": {
      const means = endpointTest(demand.to, head);
      return (pair) => {
        const endpoint = pair.head.plan.find(means);
        return endpoint === undefined ? null : `the plan contains ${formatEndpoint(endpoint)}`;
      };
    }
    case "always_routable":
      return (pair) => alwaysRoutable(pair.head, demand.min_endpoints);
    case "implies": {
      const applies = conditionTest(demand.if, head);
      const demanded = demandTest(demand.then, head);
      return ({ head: outcome }) => (applies(outcome) ? demanded(outcome) : undefined);
    }
    case "equivalent":
      return (pair) => {
        const kinds = pair.kinds.filter((kind) => !demand.ignoring.includes(kind));
        return kinds.length === 0 ? null : `the outcome changes: ${kinds.join(", ")}`;
      };
  }
}

/**
 * A provider that has another host on head is another destination: data goes to another party.
 */
function noNewAccess(
  pair: OutcomePair,
  means: (endpoint: PlannedEndpoint) => boolean,
  destinations: OfSides<Destinations>,
): string | null {
  const hostOf = ({ endpoint }: PlannedEndpoint, side: keyof OfSides<Destinations>) =>
    destinations[side].get(endpoint)?.host ?? "";
  const before = pair.base.plan.map((one) => ({ ...one, host: hostOf(one, "base") }));
  for (const added of pair.head.plan) {
    if (!means(added)) continue;
    const reached = before.filter(
      ({ provider, region }) => provider === added.provider && region === added.region,
    );
    if (reached.length === 0) return `${formatEndpoint(added)} is reached in head and not in base`;
    const host = hostOf(added, "head");
    if (reached.every((one) => one.host !== host)) {
      const hosts = [...new Set(reached.map((one) => one.host))].join(", ");
      return `${formatEndpoint(added)} is reached at ${host} in head and at ${hosts} in base`;
    }
  }
  return null;
}

function alwaysRoutable(outcome: Outcome, least: number): string | null {
  if (outcome.denial !== null) return `the request is denied by ${formatDenial(outcome.denial)}`;
  // A caller without fallbacks is sent to one endpoint, however many share the tier.
  const endpoints = Math.min(outcome.plan.length, outcome.maxCandidates ?? Infinity);
  return endpoints >= least
    ? null
    : `the request can go to ${endpoints} of the ${least} endpoints required`;
}

function conditionTest(
  condition: DecisionCondition,
  head: RoutingTable,
): (outcome: Outcome) => boolean {
  const reaches = condition.reaches === undefined ? null : endpointTest(condition.reaches, head);
  return (outcome) =>
    (condition.outcome === undefined || outcomeKind(outcome) === condition.outcome) &&
    (reaches === null || outcome.plan.some(reaches)) &&
    (condition.denied_by === undefined || isDeniedBy(outcome.denial, condition.denied_by));
}

function demandTest(
  demand: DecisionDemand,
  head: RoutingTable,
): (outcome: Outcome) => string | null {
  const test = (selector: EndpointSelector | undefined) =>
    selector === undefined ? null : endpointTest(selector, head);
  const [every, some, primary] = [
    test(demand.every_endpoint),
    test(demand.some_endpoint),
    test(demand.primary),
  ];
  return (outcome) => {
    const wrong = outcomeViolation(outcome, demand);
    if (wrong !== null) return wrong;
    const other = every === null ? undefined : outcome.plan.find((endpoint) => !every(endpoint));
    if (other !== undefined)
      return `the plan contains ${formatEndpoint(other)}, which \`every_endpoint\` does not select`;
    if (some !== null && !outcome.plan.some(some))
      return "no endpoint of the plan is one that `some_endpoint` selects";
    const [first] = outcome.plan;
    if (primary !== null && (first === undefined || !primary(first)))
      return `${first === undefined ? "no endpoint" : formatEndpoint(first)} comes first, which \`primary\` does not select`;
    return null;
  };
}

/** The violation in the outcome or its denial; `null`: none. */
function outcomeViolation(
  outcome: Outcome,
  expected: Pick<CaseExpectation, "outcome" | "denied_by">,
): string | null {
  const { denial } = outcome;
  const { denied_by: by } = expected;
  if (denial === null)
    return expected.outcome === "deny" || by !== undefined ? "the request is routed" : null;
  const denied = `the request is denied by ${formatDenial(denial)}`;
  if (expected.outcome === "route") return denied;
  return by === undefined || isDeniedBy(denial, by) ? null : `${denied} instead`;
}

function outcomeKind({ denial }: Outcome) {
  return denial === null ? "route" : "deny";
}

function isDeniedBy(denial: OutcomeDenial | null, by: DenialSelector) {
  return (
    denial !== null &&
    (["policy", "constraint", "reason"] as const).every(
      (member) => by[member] === undefined || denial[member] === by[member],
    )
  );
}

function formatEndpoint({ endpoint, provider, region }: PlannedEndpoint) {
  return `${endpoint} (${provider}, ${region})`;
}

function formatDenial({ policy, constraint, reason }: OutcomeDenial) {
  return `${policy}/${constraint} (${reason})`;
}

/**
 * The subjects of each measure: `eu-residency/processed_in_eu`,
 * `eu-residency/processed_in_eu/REGION_NOT_IN_EU`, `chat-large`, `chat-large → gpt-5-eu`. A
 * constraint is covered where some request fails it and some request passes it.
 */
export type CoverageFacts = Readonly<
  Record<CoverageMeasure, readonly { readonly id: string; readonly covered: boolean }[]>
>;

/** All four measures of head; those without a gate pass. */
export function coverageResults(
  { gates, except }: CoverageDemand,
  { base, head }: OfSides<CoverageFacts>,
): readonly CoverageResult[] {
  const left = new Set(except);
  return COVERAGE_MEASURES.map((what) => {
    const gate = gates.find((each) => each.what === what);
    const measured = (facts: CoverageFacts) => {
      const subjects = facts[what].filter(({ id }) => !left.has(id));
      const missing = subjects.filter(({ covered }) => !covered).map(({ id }) => id);
      const [covered, of] = [subjects.length - missing.length, subjects.length];
      // Compared without a division: 2 of 3 must pass a gate of exactly 200/3 per cent on every
      // machine.
      const passes = gate === undefined || covered * 100 >= gate.required * of;
      return { covered, of, missing: missing.toSorted(), passes };
    };
    const { passes, ...counts } = measured(head);
    return {
      what,
      ...counts,
      required: gate?.required ?? null,
      status: passes ? "PASS" : "FAIL",
      location: gate?.location ?? null,
      ...(!passes && !measured(base).passes && { fails_in_base: true }),
    };
  });
}

/** The command line that explains a request on head, without the program's name. */
export type ExplainArguments = (sample: SampleRequest) => readonly string[];

/**
 * The results of all assertions, in the order of the file.
 *
 * @param tally of all classes.
 * @param now decides whether a waiver still holds.
 */
export function assertionResults(
  assertions: readonly Assertion[],
  tally: AssertionTally,
  cases: readonly CaseResult[],
  now: Date,
  explain: ExplainArguments,
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
  explain: ExplainArguments,
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
    explain: first && explain(first.sample),
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
