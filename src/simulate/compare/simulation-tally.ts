import type { AssertionTally } from "../assertions/run.ts";
import { emptyComparison, mergeComparison } from "./comparison-tally.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { Member, Outcome } from "../sample-request.ts";
import { routeOf } from "../table-rows.ts";

/**
 * Everything that decided jobs have shown. Plain data: it crosses threads, and is merged in any
 * order with the same result.
 */
export type SimulationTally = ReturnType<typeof emptyTally>;

export function emptyTally() {
  return {
    classes: 0,
    shapes: 0n,
    /** `needs tools`, `features sampling`: by which requests reach different states. */
    matters: new Set<string>(),
    /** Jobs of which the policies of head evaluate some request. */
    live: new Set<number>(),
    /** Policy → how often it was evaluated. */
    evaluations: new Map<string, number>(),
    declared: emptyComparison(),
    promoted: emptyComparison(),
    usage: { base: emptyUsage(), head: emptyUsage() },
    /** Job → counts of its assertions: their examples are the first in the order of jobs. */
    assertions: new Map<number, AssertionTally>(),
    /** Whether memory has ended deciding. */
    isFull: false,
  };
}

export function mergeTally(into: SimulationTally, from: SimulationTally): void {
  into.classes += from.classes;
  into.shapes += from.shapes;
  for (const name of from.matters) into.matters.add(name);
  for (const job of from.live) into.live.add(job);
  for (const [policy, count] of from.evaluations)
    into.evaluations.set(policy, (into.evaluations.get(policy) ?? 0) + count);
  mergeComparison(into.declared, from.declared);
  mergeComparison(into.promoted, from.promoted);
  mergeUsage(into.usage.base, from.usage.base);
  mergeUsage(into.usage.head, from.usage.head);
  for (const [job, tally] of from.assertions) into.assertions.set(job, tally);
  into.isFull ||= from.isFull;
}

/**
 * Rules and rows that some request of one side has met. Plain data, merged in any order with the
 * same result.
 */
export type UsageTally = Readonly<ReturnType<typeof emptyUsage>>;

export function emptyUsage() {
  return {
    /** `policy/constraint`. */
    passed: new Set<string>(),
    failed: new Set<string>(),
    indeterminate: new Set<string>(),
    /** `policy/constraint/reason`. */
    reasons: new Set<string>(),
    /** Policies that have denied, narrowed, or changed something, or would have. */
    effective: new Set<string>(),
    /** Routes that took a request somewhere. */
    routes: new Set<string>(),
    /** Endpoints of any plan. */
    endpoints: new Set<string>(),
    /** `route → endpoint`, of endpoints that came after another one in a plan of the route. */
    fallbacks: new Set<string>(),
  };
}

function mergeUsage(into: UsageTally, from: UsageTally) {
  const found = new Map(Object.entries(from));
  for (const [name, ids] of Object.entries(into))
    for (const id of found.get(name) ?? []) ids.add(id);
}

/** Endpoint ids of the plans of one job, on one side. */
export function jobCandidates() {
  const plannedIds = new Set<string>();
  const behind = new Set<string>();
  return {
    add({ plan }: Outcome): void {
      for (const [rank, { endpoint }] of plan.entries()) {
        plannedIds.add(endpoint);
        if (rank > 0) behind.add(endpoint);
      }
    },
    /**
     * The endpoints of the first member represent those at the same positions of the others'
     * routes.
     */
    writeTo(tally: UsageTally, table: RoutingTable, members: readonly Member[]): void {
      if (plannedIds.size === 0) return;
      const routes = members.flatMap((member) => routeOf(table, member) ?? []);
      const [first] = routes;
      if (first === undefined) return;
      const represented = routeCandidates(table, first);
      for (const route of routes) {
        tally.routes.add(route.id);
        for (const [rank, { endpoint }] of routeCandidates(table, route).entries()) {
          const same = represented[rank]?.endpoint.id ?? "";
          if (plannedIds.has(same)) tally.endpoints.add(endpoint.id);
          if (behind.has(same)) tally.fallbacks.add(`${route.id} → ${endpoint.id}`);
        }
      }
    },
  };
}
