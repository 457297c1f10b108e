import type { RoutingTable, TierRow, WorkspaceRow } from "../canon/table.ts";
import type { ProviderPreferences } from "../canon/request.ts";

/**
 * Sections of routes.yaml whose rows other rows refer to by name, with what a row is; those first
 * that others are made of.
 */
export const ROW_KINDS = {
  regions: "region_group",
  providers: "provider",
  models: "model",
  endpoints: "endpoint",
  routes: "route",
  workspaces: "workspace",
} as const;
export type RenamedKind = (typeof ROW_KINDS)[keyof typeof ROW_KINDS];
export const RENAMED_KINDS: readonly RenamedKind[] = Object.values(ROW_KINDS);

/** A row whose name changed and whose content did not. */
export interface RowRename {
  readonly kind: RenamedKind;
  readonly from: string;
  readonly to: string;
}

/** `kind name` → the other name. */
export function newNames(renames: readonly RowRename[]): ReadonlyMap<string, string> {
  return new Map(renames.map(({ kind, from, to }) => [`${kind} ${from}`, to]));
}

/**
 * A table whose row has another name, and everything that refers to it too. Callers may still write
 * the former name: a region group, route or workspace is there under both names, and of a provider
 * the table knows the former name.
 *
 * @param earlier renames that the table has already: a workspace has the routes under their former
 * names only if it has its own.
 */
export function renamedTable(
  table: RoutingTable,
  { kind, from, to }: RowRename,
  earlier: readonly RowRename[] = [],
): RoutingTable {
  const name = (own: string): string => (own === from ? to : own);
  const names = (list: readonly string[]): readonly string[] => list.map(name);
  const both = (list: readonly string[]): readonly string[] =>
    list.flatMap((own) => (own === from ? [from, to] : [own]));
  switch (kind) {
    case "region_group":
      return { ...table, regionGroups: copied(table.regionGroups, from, to, (regions) => regions) };
    case "provider": {
      const endpoints = mapped(table.endpoints, (row) => ({
        ...row,
        provider: name(row.provider),
      }));
      const providers = moved(table.providers, from, to);
      const approving = withApproved(table, (approve) => ({
        ...approve,
        providers: names(approve.providers).toSorted(),
      }));
      return withFormerProvider({ ...approving, providers, endpoints }, from, to);
    }
    case "model":
      return {
        ...table,
        models: moved(table.models, from, to),
        endpoints: mapped(table.endpoints, (row) => ({ ...row, model: name(row.model) })),
      };
    case "endpoint": {
      const tierOf = (tier: TierRow): TierRow => ({ ...tier, endpoints: names(tier.endpoints) });
      const routes = mapped(table.routes, (row) => ({
        ...row,
        primary: name(row.primary),
        fallbacks: names(row.fallbacks),
        tiers: row.tiers.map(tierOf),
      }));
      return { ...table, endpoints: moved(table.endpoints, from, to), routes };
    }
    case "route": {
      const approving = withApproved(table, (approve) => ({
        ...approve,
        routes: both(approve.routes).toSorted(),
      }));
      return {
        ...approving,
        routes: copied(table.routes, from, to, (row) => ({
          ...row,
          title: row.title === from ? to : row.title,
        })),
        workspaces: mapped(approving.workspaces, (row) => ({
          ...row,
          defaultModerationRoute:
            row.defaultModerationRoute === null ? null : name(row.defaultModerationRoute),
        })),
        ...withRules(table, ({ routes, ...rule }) => ({
          ...rule,
          routes: routes === null ? null : both(routes),
        })),
      };
    }
    case "workspace": {
      const { policies, console } = table;
      const { managedBy } = policies;
      const roles = console?.roles.map(({ workspaces, ...role }) => {
        return { ...role, workspaces: workspaces === null ? null : both(workspaces) };
      });
      const routes = earlier.filter((rename) => rename.kind === "route");
      const without = (row: WorkspaceRow, left: readonly string[]): WorkspaceRow => {
        return {
          ...row,
          approve: {
            ...row.approve,
            routes: row.approve.routes.filter((id) => !left.includes(id)),
          },
        };
      };
      const [former, now] = [
        routes.map((rename) => rename.from),
        routes.map((rename) => rename.to),
      ];
      const workspaces = copied(table.workspaces, from, to, (row) => without(row, former));
      return {
        ...table,
        workspaces: mapped(workspaces, (row) => (row.id === from ? without(row, now) : row)),
        policies: managedBy === undefined ? policies : { ...policies, managedBy: both(managedBy) },
        ...(console !== undefined && { console: { ...console, roles: roles ?? [] } }),
        ...withRules(table, (rule) => ({ ...rule, workspace: name(rule.workspace) })),
      };
    }
  }
}

type Rows<Row> = Readonly<Record<string, Row>>;

function mapped<Row>(rows: Rows<Row>, change: (row: Row) => Row): Rows<Row> {
  return sorted(Object.entries(rows).map(([id, row]) => [id, change(row)]));
}

function moved<Row extends { readonly id: string }>(
  rows: Rows<Row>,
  from: string,
  to: string,
): Rows<Row> {
  return sorted(
    Object.entries(rows).map(([id, row]) => (id === from ? [to, { ...row, id: to }] : [id, row])),
  );
}

/** With the row under both names. */
function copied<Row extends object>(
  rows: Rows<Row>,
  from: string,
  to: string,
  change: (row: Row) => Row,
): Rows<Row> {
  return sorted(
    Object.entries(rows).flatMap(([id, row]): (readonly [string, Row])[] => {
      if (id !== from) return [[id, row]];
      const copy = change(row);
      return [
        [id, row],
        [to, "id" in copy ? { ...copy, id: to } : copy],
      ];
    }),
  );
}

/** As the compiler makes them: without a prototype, by id. */
function sorted<Row>(entries: readonly (readonly [string, Row])[]): Rows<Row> {
  const rows: Record<string, Row> = Object.create(null);
  for (const [id, row] of entries.toSorted(([left], [right]) => (left < right ? -1 : 1)))
    rows[id] = row;
  return rows;
}

function withApproved(
  table: RoutingTable,
  change: (approve: WorkspaceRow["approve"]) => WorkspaceRow["approve"],
): RoutingTable {
  return {
    ...table,
    workspaces: mapped(table.workspaces, (row) => ({ ...row, approve: change(row.approve) })),
  };
}

type Workloads = NonNullable<RoutingTable["workloadIdentity"]>;

function withRules(
  { workloadIdentity }: RoutingTable,
  change: (rule: Workloads["rules"][string]) => Workloads["rules"][string],
): Pick<RoutingTable, "workloadIdentity"> {
  if (workloadIdentity === undefined) return {};
  return {
    workloadIdentity: { ...workloadIdentity, rules: mapped(workloadIdentity.rules, change) },
  };
}

/**
 * A table in which callers may still write the former names of providers. Plain data: it crosses
 * threads.
 */
interface TableWithFormerProviders extends RoutingTable {
  /** Former name → name. */
  readonly formerProviders: Readonly<Record<string, string>>;
}

function withFormerProvider(
  table: RoutingTable,
  former: string,
  name: string,
): TableWithFormerProviders {
  return {
    ...table,
    formerProviders: { ...Object.fromEntries(formerProviders(table)), [former]: name },
  };
}

/** Former name and name of each; none in a table that the compiler made. */
export function formerProviders(table: RoutingTable): readonly (readonly [string, string])[] {
  return hasFormerProviders(table) ? Object.entries(table.formerProviders) : [];
}

function hasFormerProviders(table: RoutingTable): table is TableWithFormerProviders {
  return "formerProviders" in table;
}

/** Names of providers, with those that callers may still write for them. */
export function withFormerNames(table: RoutingTable, names: readonly string[]): readonly string[] {
  return [
    ...names,
    ...formerProviders(table).flatMap(([former, name]) => (names.includes(name) ? [former] : [])),
  ];
}

const LISTS = ["order", "only", "ignore"] as const;

/**
 * Preferences with the names that the table's rows have; the same object where no former name is in
 * them.
 */
export function namedProviders(
  table: RoutingTable,
  preferences: ProviderPreferences | null,
): ProviderPreferences | null {
  const names = new Map(formerProviders(table));
  if (preferences === null || names.size === 0) return preferences;
  const changed = LISTS.filter(
    (member) => preferences[member]?.some((name) => names.has(name)) === true,
  );
  if (changed.length === 0) return preferences;
  const lists = changed.map((member) => [
    member,
    preferences[member]?.map((name) => names.get(name) ?? name),
  ]);
  return { ...preferences, ...Object.fromEntries(lists) };
}
