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
import { type Assertion, type ClassAssertion, comparesSides, type Demand } from "./assertion.ts";
import { endpointTest, requestTest } from "./select.ts";
import { type Destinations, destinationsOf } from "../compare/change-kinds.ts";
import type {
  DecisionCondition,
  DecisionDemand,
  DenialSelector,
  EndpointSelector,
} from "./schema.ts";

/** The count of one assertion so far. */
export interface AssertionCount {
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
    visit: (comparison: ClassComparison): void => {
      for (const running of all) {
        if (running.means(comparison.sample) && !isOwnDoing(running.assertion, comparison.sample))
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
export function isOwnDoing(
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
export const VIEW_TITLES: Readonly<Record<View, string>> = {
  declared: "as declared",
  promoted: "as if promoted",
};

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
      return (pair) => alwaysRoutable(pair.head, demand.min_places);
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
    test(demand.every_place),
    test(demand.some_place),
    test(demand.primary),
  ];
  return (outcome) => {
    const wrong = outcomeViolation(outcome, demand);
    if (wrong !== null) return wrong;
    const other = every === null ? undefined : outcome.plan.find((endpoint) => !every(endpoint));
    if (other !== undefined)
      return `the plan contains ${formatEndpoint(other)}, which \`every_place\` does not select`;
    if (some !== null && !outcome.plan.some(some))
      return "no endpoint of the plan is one that `some_place` selects";
    const [first] = outcome.plan;
    if (primary !== null && (first === undefined || !primary(first)))
      return `${first === undefined ? "no endpoint" : formatEndpoint(first)} comes first, which \`primary\` does not select`;
    return null;
  };
}

/** The violation in the outcome or its denial; `null`: none. */
export function outcomeViolation(
  outcome: Outcome,
  expected: { readonly outcome?: "route" | "deny"; readonly denied_by?: DenialSelector },
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

export function formatDenial({ policy, constraint, reason }: OutcomeDenial): string {
  return `${policy}/${constraint} (${reason})`;
}
