import { hash } from "node:crypto";
import { canonicalJson, deepFreeze } from "../canon/json.ts";
import type { RoutingTable } from "../canon/table.ts";
import type { WorkloadIdentity } from "../canon/workload-identity.ts";
import type { NormalisedRoutes } from "./normalised/normalise.ts";
import type { ResolvedEndpoint } from "./resolve/endpoints.ts";
import type { ResolvedRoute } from "./resolve/routes.ts";

/**
 * The third stage: one frozen value, its members always in this order, its rows sorted by id, its maps without a
 * prototype. The same rows give the same bytes and the same revision, whatever the file's order, comments or path.
 */
export function buildTable(
  normalised: NormalisedRoutes,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
  routes: ReadonlyMap<string, ResolvedRoute>,
  workloads: WorkloadIdentity | undefined,
): RoutingTable {
  const { dir, initialMode, promotion, managedBy } = normalised.policies;
  const content: Omit<RoutingTable, "revision"> = {
    version: 1,
    regionGroups: byId(normalised.regionGroups),
    providers: byId(normalised.providers),
    models: byId(normalised.models),
    endpoints: byId(new Map([...endpoints].map(([id, { row }]) => [id, row]))),
    routes: byId(new Map([...routes].map(([id, { row }]) => [id, row]))),
    workspaces: byId(normalised.workspaces),
    policies: {
      dir,
      initialMode: byId(new Map(Object.entries(initialMode))),
      // Left out where the file has none, so that the revision of such a file is what it was before there were any.
      ...(promotion !== undefined && { promotion: byId(new Map(Object.entries(promotion))) }),
      ...(managedBy !== undefined && { managedBy }),
    },
    vocabulary: normalised.vocabulary,
    ...(normalised.console !== undefined && { console: normalised.console }),
    ...(workloads !== undefined && { workloadIdentity: withRows(workloads) }),
  };
  const { version, ...rows } = content;
  return deepFreeze({ version, revision: hash("sha256", canonicalJson(content), "hex"), ...rows });
}

/** A table that came from another thread, which has neither frozen objects nor maps without a prototype. */
export function restoreTable(table: RoutingTable): RoutingTable {
  const { promotion } = table.policies;
  const { workloadIdentity } = table;
  return deepFreeze({
    ...table,
    regionGroups: withoutPrototype(table.regionGroups),
    providers: withoutPrototype(table.providers),
    models: withoutPrototype(table.models),
    endpoints: withoutPrototype(table.endpoints),
    routes: withoutPrototype(table.routes),
    workspaces: withoutPrototype(table.workspaces),
    policies: {
      ...table.policies,
      initialMode: withoutPrototype(table.policies.initialMode),
      ...(promotion !== undefined && { promotion: withoutPrototype(promotion) }),
    },
    ...(workloadIdentity !== undefined && { workloadIdentity: withRows(workloadIdentity) }),
  });
}

function withRows({ issuers, rules }: WorkloadIdentity): WorkloadIdentity {
  return { issuers: withoutPrototype(issuers), rules: withoutPrototype(rules) };
}

function withoutPrototype<Row>(rows: Readonly<Record<string, Row>>): Readonly<Record<string, Row>> {
  return byId(new Map(Object.entries(rows)));
}

function byId<Row>(rows: ReadonlyMap<string, Row>): Readonly<Record<string, Row>> {
  const sorted: Record<string, Row> = Object.create(null);
  for (const id of [...rows.keys()].toSorted()) {
    const row = rows.get(id);
    if (row !== undefined) sorted[id] = row;
  }
  return sorted;
}
