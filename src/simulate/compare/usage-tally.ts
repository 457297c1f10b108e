import type { Decision } from "../../canon/decision.ts";
import type { PolicySlot } from "../../canon/policy.ts";
import type { RouteRow, RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { Member, Outcome } from "../sample-request.ts";

/** What some request of one side has met. Plain data, merged in any order with the same result. */
export interface UsageTally {
  /** `policy/constraint`. */
  readonly passed: Set<string>;
  readonly failed: Set<string>;
  readonly indeterminate: Set<string>;
  /** `policy/constraint/reason`. */
  readonly reasons: Set<string>;
  /** Policies that have denied, narrowed, or changed something, or would have. */
  readonly effective: Set<string>;
  /** Routes that took a request somewhere. */
  readonly routes: Set<string>;
  /** Endpoints of any plan. */
  readonly endpoints: Set<string>;
  /** `route → endpoint`, of endpoints that came after another one in a plan of the route. */
  readonly fallbacks: Set<string>;
}

export function emptyUsage(): UsageTally {
  return {
    passed: new Set(),
    failed: new Set(),
    indeterminate: new Set(),
    reasons: new Set(),
    effective: new Set(),
    routes: new Set(),
    endpoints: new Set(),
    fallbacks: new Set(),
  };
}

export function mergeUsage(into: UsageTally, from: UsageTally): void {
  for (const name of [
    "passed",
    "failed",
    "indeterminate",
    "reasons",
    "effective",
    "routes",
    "endpoints",
    "fallbacks",
  ] as const) {
    for (const id of from[name]) into[name].add(id);
  }
}

const BY_TABLE = ["approvals", "preferences"];

/**
 * Counts the policies' verdicts in one decision. Where the table denies, they are about endpoints without traffic and do not count.
 *
 * @param isPassedOver contents of which nothing is noted.
 */
export function noteDecision(
  tally: UsageTally,
  decision: Decision,
  isPassedOver: (policy: string, slot: PolicySlot) => boolean,
): void {
  if (decision.outcome === "deny" && BY_TABLE.includes(decision.denial.policy)) return;
  for (const { policy, slot, constraint, verdict, reason, effect } of decision.trace) {
    if (BY_TABLE.includes(policy) || isPassedOver(policy, slot)) continue;
    const name = `${policy}/${constraint}`;
    if (verdict === "pass") tally.passed.add(name);
    else if (verdict === "fail") tally.failed.add(name);
    else tally.indeterminate.add(name);
    if (verdict === "fail" && reason !== null) tally.reasons.add(`${name}/${reason}`);
    if (effect !== "none") tally.effective.add(policy);
  }
  for (const { policy, slot, effect } of decision.obligations) {
    if (effect !== "none" && !isPassedOver(policy, slot)) tally.effective.add(policy);
  }
}

/** Endpoint ids of the plans of one job, on one side. */
export class JobCandidates {
  readonly #planned = new Set<string>();
  readonly #behind = new Set<string>();

  add({ plan }: Outcome): void {
    for (const [rank, { endpoint }] of plan.entries()) {
      this.#planned.add(endpoint);
      if (rank > 0) this.#behind.add(endpoint);
    }
  }

  /** The endpoints of the first member represent those at the same positions of the others' routes. */
  writeTo(tally: UsageTally, table: RoutingTable, members: readonly Member[]): void {
    if (this.#planned.size === 0) return;
    const routes = members.map((member) => routeOf(table, member));
    const candidates = routes.map((route) => (route === null ? [] : routeCandidates(table, route)));
    for (const [index, route] of routes.entries()) {
      if (route === null) continue;
      tally.routes.add(route.id);
      for (const [rank, { endpoint }] of (candidates[index] ?? []).entries()) {
        const same = candidates[0]?.[rank]?.endpoint.id ?? "";
        if (this.#planned.has(same)) tally.endpoints.add(endpoint.id);
        if (this.#behind.has(same)) tally.fallbacks.add(`${route.id} → ${endpoint.id}`);
      }
    }
  }
}

/** The route that requests of a member take; `null` where the table has none. */
export function routeOf(table: RoutingTable, { workspace, model }: Member): RouteRow | null {
  const row = Object.hasOwn(table.workspaces, workspace) ? table.workspaces[workspace] : undefined;
  const name = model === "" ? (row?.defaultModerationRoute ?? "") : model;
  return Object.hasOwn(table.routes, name) ? (table.routes[name] ?? null) : null;
}
