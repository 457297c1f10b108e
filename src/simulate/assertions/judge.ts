import type { RoutingTable } from "../../canon/table.ts";
import { destinationsOf, type Destinations } from "../compare/change-kinds.ts";
import type {
  OfSides,
  Outcome,
  OutcomeDenial,
  OutcomePair,
  PlannedEndpoint,
} from "../sample-request.ts";
import type { Demand } from "./assertion.ts";
import type { DenialSelector, EndpointSelector } from "./schema-selectors.ts";
import type { DecisionCondition, DecisionDemand } from "./schema.ts";
import { endpointTest } from "./select.ts";

/** The result of an assertion for one view of one class. */
interface Judgement {
  /** `false`: the assertion is not about such a decision. */
  readonly met: boolean;
  /** The violation, as text that follows "as declared, "; `null`: none. */
  readonly violation: string | null;
}

export type Judge = (pair: OutcomePair) => Judgement;

export type ClassDemand = Exclude<Demand, { readonly kind: "cases" }>;

const HOLDS: Judgement = { met: true, violation: null };
const NOT_MEANT: Judgement = { met: false, violation: null };
const violated = (violation: string): Judgement => ({ met: true, violation });

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
        return endpoint === undefined
          ? HOLDS
          : violated(`the plan contains ${formatEndpoint(endpoint)}`);
      };
    }
    case "always_routable":
      return (pair) => alwaysRoutable(pair.head, demand.min_places);
    case "implies": {
      const applies = conditionTest(demand.if, head);
      const demanded = demandTest(demand.then, head);
      return (pair) => {
        if (!applies(pair.head)) return NOT_MEANT;
        const violation = demanded(pair.head);
        return violation === null ? HOLDS : violated(violation);
      };
    }
    case "equivalent":
      return (pair) => {
        const kinds = pair.kinds.filter((kind) => !demand.ignoring.includes(kind));
        return kinds.length === 0 ? HOLDS : violated(`the outcome changes: ${kinds.join(", ")}`);
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
): Judgement {
  const hostOf = ({ endpoint }: PlannedEndpoint, side: keyof OfSides<Destinations>): string =>
    destinations[side].get(endpoint)?.host ?? "";
  const before = pair.base.plan.map((one) => ({ ...one, host: hostOf(one, "base") }));
  for (const added of pair.head.plan) {
    if (!means(added)) continue;
    const known = before.filter(
      ({ provider, region }) => provider === added.provider && region === added.region,
    );
    if (known.length === 0)
      return violated(`${formatEndpoint(added)} is reached in head and not in base`);
    const host = hostOf(added, "head");
    if (known.every((one) => one.host !== host)) {
      const hosts = [...new Set(known.map((one) => one.host))].join(", ");
      return violated(
        `${formatEndpoint(added)} is reached at ${host} in head and at ${hosts} in base`,
      );
    }
  }
  return HOLDS;
}

function alwaysRoutable(outcome: Outcome, least: number): Judgement {
  if (outcome.denial !== null)
    return violated(`the request is denied by ${formatDenial(outcome.denial)}`);
  // A caller without fallbacks is sent to one endpoint, however many share the tier.
  const endpoints = Math.min(outcome.plan.length, outcome.maxCandidates ?? Infinity);
  return endpoints >= least
    ? HOLDS
    : violated(`the request can go to ${endpoints} of the ${least} endpoints required`);
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

function outcomeKind({ denial }: Outcome): "route" | "deny" {
  return denial === null ? "route" : "deny";
}

function isDeniedBy(denial: OutcomeDenial | null, by: DenialSelector): boolean {
  return (
    denial !== null &&
    (["policy", "constraint", "reason"] as const).every(
      (member) => by[member] === undefined || denial[member] === by[member],
    )
  );
}

function formatEndpoint({ endpoint, provider, region }: PlannedEndpoint): string {
  return `${endpoint} (${provider}, ${region})`;
}

export function formatDenial({ policy, constraint, reason }: OutcomeDenial): string {
  return `${policy}/${constraint} (${reason})`;
}
