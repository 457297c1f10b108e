import { hash } from "node:crypto";
import { canonicalJson, deepFreeze } from "../canon/json.ts";
import type { RoutingTable } from "../canon/table.ts";
import type { WorkloadIdentity } from "../canon/workload-identity.ts";
import type { NormalisedRoutes } from "./normalised/normalise.ts";
import type { ResolvedEndpoint } from "./resolve/endpoints.ts";
import type { ResolvedRoute } from "./resolve/routes.ts";

/**
 * The third stage: one frozen value, its members always in this order, its rows sorted by id, its
 * maps without a prototype. The same rows give the same bytes and the same revision, whatever the
 * file's order, comments or path.
 */
export function buildTable(
  normalised: NormalisedRoutes,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
  routes: ReadonlyMap<string, ResolvedRoute>,
  workloadIdentity: WorkloadIdentity | undefined,
): RoutingTable {
  const { dir, initialMode, promotion, managedBy } = normalised.policies;
  const content = withoutPrototypes({
    version: 1 as const,
    regionGroups: Object.fromEntries(normalised.regionGroups),
    providers: Object.fromEntries(normalised.providers),
    models: Object.fromEntries(normalised.models),
    endpoints: Object.fromEntries([...endpoints].map(([id, { row }]) => [id, row])),
    routes: Object.fromEntries([...routes].map(([id, { row }]) => [id, row])),
    workspaces: Object.fromEntries(normalised.workspaces),
    // Sections are left out where the file has none, so that the revision of such a file is what it
    // was before there were any.
    policies: {
      dir,
      initialMode,
      ...(promotion !== undefined && { promotion }),
      ...(managedBy !== undefined && { managedBy }),
    },
    vocabulary: normalised.vocabulary,
    ...(normalised.console !== undefined && { console: normalised.console }),
    ...(workloadIdentity !== undefined && { workloadIdentity }),
  });
  const { version, ...rows } = content;
  return deepFreeze({ version, revision: hash("sha256", canonicalJson(content), "hex"), ...rows });
}

/**
 * A table that came from another thread, which has neither frozen objects nor maps without a
 * prototype.
 */
export function restoreTable(table: RoutingTable): RoutingTable {
  return deepFreeze(withoutPrototypes(table));
}

/**
 * The same with rows by id that have no prototype, sorted: nothing but an id can be found in them.
 */
function withoutPrototypes<Table extends Omit<RoutingTable, "revision">>(table: Table): Table {
  const { promotion } = table.policies;
  const { workloadIdentity } = table;
  return {
    ...table,
    regionGroups: byId(table.regionGroups),
    providers: byId(table.providers),
    models: byId(table.models),
    endpoints: byId(table.endpoints),
    routes: byId(table.routes),
    workspaces: byId(table.workspaces),
    policies: {
      ...table.policies,
      initialMode: byId(table.policies.initialMode),
      ...(promotion !== undefined && { promotion: byId(promotion) }),
    },
    ...(workloadIdentity !== undefined && {
      workloadIdentity: {
        issuers: byId(workloadIdentity.issuers),
        rules: byId(workloadIdentity.rules),
      },
    }),
  };
}

function byId<Row>(rows: Readonly<Record<string, Row>>): Readonly<Record<string, Row>> {
  const sorted: Record<string, Row> = Object.create(null);
  for (const id of Object.keys(rows).toSorted()) {
    const row = rows[id];
    if (row !== undefined) sorted[id] = row;
  }
  return sorted;
}
