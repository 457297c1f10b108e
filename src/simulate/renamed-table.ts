import type { RoutingTable, TierRow, WorkspaceRow } from "../canon/table.ts";
import type { ProviderPreferences } from "../canon/request.ts";
import { canonicalJson } from "../canon/json.ts";
import { readsPath } from "../policy/policy-set.ts";
import type { CompiledSides } from "./side-contents.ts";
import { ambiguousNames, policyReader, type Reader } from "./space/readers.ts";

/**
 * Sections of routes.yaml whose rows other rows refer to by name, with the kind of a row; a section
 * comes before those that refer to it.
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
function renamedTable(
  table: RoutingTable,
  { kind, from, to }: RowRename,
  earlier: readonly RowRename[],
): RoutingTable {
  const name = <Own>(current: Own) => (current === from ? to : current);
  const names = (list: readonly string[]): readonly string[] => list.map(name);
  const withBoth = (list: readonly string[]): readonly string[] =>
    list.flatMap((current) => (current === from ? [from, to] : [current]));
  const renamedRows = <Row extends object>(rows: Rows<Row>) =>
    flatMapRows(rows, (row, id) => [id === from ? renamedRow(row, to) : [id, row]]);
  const copied = <Row extends object>(rows: Rows<Row>, change: (row: Row) => Row = (row) => row) =>
    flatMapRows(rows, (row, id) => [
      [id, row],
      ...(id === from ? [renamedRow(change(row), to)] : []),
    ]);
  switch (kind) {
    case "region_group":
      return { ...table, regionGroups: copied(table.regionGroups) };
    case "provider": {
      const renamed: TableWithFormerProviders = {
        ...withApproved(table, (approve) => ({
          ...approve,
          providers: names(approve.providers).toSorted(),
        })),
        providers: renamedRows(table.providers),
        endpoints: mapRows(table.endpoints, (row) => ({ ...row, provider: name(row.provider) })),
        formerProviders: { ...Object.fromEntries(formerProviders(table)), [from]: to },
      };
      return renamed;
    }
    case "model":
      return {
        ...table,
        models: renamedRows(table.models),
        endpoints: mapRows(table.endpoints, (row) => ({ ...row, model: name(row.model) })),
      };
    case "endpoint": {
      const tierOf = (tier: TierRow): TierRow => ({ ...tier, endpoints: names(tier.endpoints) });
      const routes = mapRows(table.routes, (row) => ({
        ...row,
        primary: name(row.primary),
        fallbacks: names(row.fallbacks),
        tiers: row.tiers.map(tierOf),
      }));
      return { ...table, endpoints: renamedRows(table.endpoints), routes };
    }
    case "route": {
      const approving = withApproved(table, (approve) => ({
        ...approve,
        routes: withBoth(approve.routes).toSorted(),
      }));
      return {
        ...approving,
        routes: copied(table.routes, (row) => ({ ...row, title: name(row.title) })),
        workspaces: mapRows(approving.workspaces, (row) => ({
          ...row,
          defaultModerationRoute: name(row.defaultModerationRoute),
        })),
        ...withRules(table, ({ routes, ...rule }) => ({
          ...rule,
          routes: routes && withBoth(routes),
        })),
      };
    }
    case "workspace": {
      const { policies, console } = table;
      const { managedBy } = policies;
      const routes = earlier.filter((rename) => rename.kind === "route");
      const former = routes.map((rename) => rename.from);
      const now = routes.map((rename) => rename.to);
      const workspaces = copied(table.workspaces, (row) => withoutRoutes(row, former));
      return {
        ...table,
        workspaces: mapRows(workspaces, (row) => (row.id === from ? withoutRoutes(row, now) : row)),
        policies:
          managedBy === undefined ? policies : { ...policies, managedBy: withBoth(managedBy) },
        ...(console !== undefined && {
          console: {
            ...console,
            roles: console.roles.map((role) => ({
              ...role,
              workspaces: role.workspaces && withBoth(role.workspaces),
            })),
          },
        }),
        ...withRules(table, (rule) => ({ ...rule, workspace: name(rule.workspace) })),
      };
    }
  }
}

type Rows<Row> = Readonly<Record<string, Row>>;
type Entry<Row> = readonly [id: string, row: Row];

/** Each row as other rows, the way the compiler makes them: without a prototype, by id. */
function flatMapRows<Row, Changed>(
  rows: Rows<Row>,
  change: (row: Row, id: string) => readonly Entry<Changed>[],
): Rows<Changed> {
  const entries = Object.entries(rows).flatMap(([id, row]) => change(row, id));
  const changed: Record<string, Changed> = Object.create(null);
  for (const [id, row] of entries.toSorted(([left], [right]) => (left < right ? -1 : 1)))
    changed[id] = row;
  return changed;
}

function mapRows<Row, Changed>(rows: Rows<Row>, change: (row: Row) => Changed) {
  return flatMapRows(rows, (row, id) => [[id, change(row)]]);
}

/** A row under another name; only some kinds of rows have their name in them. */
function renamedRow<Row extends object>(row: Row, id: string): Entry<Row> {
  return [id, "id" in row ? { ...row, id } : row];
}

/** A workspace that does not approve some routes. */
function withoutRoutes({ approve, ...row }: WorkspaceRow, routes: readonly string[]): WorkspaceRow {
  const dropped = approve.routes.filter((id) => !routes.includes(id));
  return { ...row, approve: { ...approve, routes: dropped } };
}

function withApproved(
  table: RoutingTable,
  change: (approve: WorkspaceRow["approve"]) => WorkspaceRow["approve"],
): RoutingTable {
  return {
    ...table,
    workspaces: mapRows(table.workspaces, (row) => ({ ...row, approve: change(row.approve) })),
  };
}

type Workloads = NonNullable<RoutingTable["workloadIdentity"]>;

function withRules(
  { workloadIdentity }: RoutingTable,
  change: (rule: Workloads["rules"][string]) => Workloads["rules"][string],
): Pick<RoutingTable, "workloadIdentity"> {
  if (workloadIdentity === undefined) return {};
  return {
    workloadIdentity: { ...workloadIdentity, rules: mapRows(workloadIdentity.rules, change) },
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

/** Former name and name of each; none in a table that the compiler made. */
function formerProviders(table: RoutingTable): readonly (readonly [string, string])[] {
  return hasFormerProviders(table) ? Object.entries(table.formerProviders) : [];
}

export function hasFormerProviders(table: RoutingTable): table is TableWithFormerProviders {
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

/** Preferences with the names that the table's rows have. */
export function namedProviders(
  table: RoutingTable,
  preferences: ProviderPreferences | null,
): ProviderPreferences | null {
  const names = new Map(formerProviders(table));
  if (preferences === null || names.size === 0) return preferences;
  const lists = LISTS.flatMap((member) => {
    const list = preferences[member];
    return list === undefined ? [] : [[member, list.map((name) => names.get(name) ?? name)]];
  });
  return { ...preferences, ...Object.fromEntries(lists) };
}

/**
 * A rename, and the policies that can distinguish the two names: for them it is a change like any
 * other.
 */
export interface FoundRename extends RowRename {
  /** Ids, sorted; empty where requests are decided alike under both names. */
  readonly distinguished_by: readonly string[];
}

/**
 * Rows of base that have another name and the same content in head. Content is the whole compiled
 * row, once the rows that it refers to are renamed. A row that changes in any other way too is a
 * removed row and an added one.
 */
export function renamesOf(base: RoutingTable, head: RoutingTable): readonly RowRename[] {
  const found: RowRename[] = [];
  let table = base;
  for (const kind of RENAMED_KINDS) {
    const former = found.flatMap((rename) => (rename.kind === "route" ? [rename.from] : []));
    const [before, after] = [contents(table, kind, former), contents(head, kind)];
    const added = new Set([...after.keys()].filter((id) => !before.has(id)));
    for (const [from, content] of before) {
      if (after.has(from)) continue;
      const to = [...added].find((id) => after.get(id) === content);
      if (to === undefined) continue;
      added.delete(to);
      const rename = { kind, from, to };
      table = renamedTable(table, rename, found);
      found.push(rename);
    }
  }
  return found;
}

/**
 * A table of base's names with those of head. A rename whose row the table does not have, or has
 * already, is passed over.
 */
export function withRenames(table: RoutingTable, renames: readonly FoundRename[]): RoutingTable {
  return renames.reduce((all, rename) => {
    const rows = contents(all, rename.kind);
    const isApplicable =
      rows.has(rename.from) && !rows.has(rename.to) && rename.distinguished_by.length === 0;
    return isApplicable ? renamedTable(all, rename, renames) : all;
  }, table);
}

/** Both sides, with base's rows under the names that head has for them. */
export function renamedSides(sides: CompiledSides): {
  readonly sides: CompiledSides;
  readonly renames: readonly FoundRename[];
} {
  const { base, head } = sides;
  const renames = renamesOf(base.table, head.table).map((rename) => ({
    ...rename,
    distinguished_by: distinguishing(rename, sides),
  }));
  if (renames.length === 0) return { sides, renames };
  return { sides: { base: { ...base, table: withRenames(base.table, renames) }, head }, renames };
}

/** Paths at which policies read a name of each kind. */
const PATHS: Readonly<Record<RenamedKind, readonly string[]>> = {
  region_group: ["data.regions"],
  provider: ["input.candidates", "data.approved.providers"],
  model: ["input.candidates"],
  endpoint: ["input.candidates"],
  route: ["input.request.route"],
  workspace: ["input.workspace.id"],
};

/**
 * Policies of either side that may answer otherwise for the new name than for the former one. A
 * policy that has neither name in its text, does not look into names and cannot confuse them with
 * names of another kind gives the renamed answer.
 */
function distinguishing(
  { kind, from, to }: RowRename,
  { base, head }: CompiledSides,
): readonly string[] {
  const ambiguous = [base, head].map(({ table }) => ambiguousNames(table));
  /** Where base has a row under both names, and a policy could count them. */
  const countedPaths: Readonly<Partial<Record<RenamedKind, readonly string[]>>> = {
    // A region group is read by its name.
    region_group: [from, to].map((name) => `data.regions.${name}`),
    route: ["data.approved.routes"],
    workspace: ["data.approved"],
  };
  const canDistinguish = (reader: Reader): boolean => {
    if (countedPaths[kind]?.some((path) => readsPath(reader, path)) === true) return true;
    if (!PATHS[kind].some((path) => readsPath(reader, path))) return false;
    const mentions = (name: string) =>
      reader.names(name) || ambiguous.some((names) => names.of(reader).has(name));
    return reader.inspects.length > 0 || mentions(from) || mentions(to);
  };
  const found = [...base.contents, ...head.contents].flatMap(({ rules, contract }) =>
    rules !== null && canDistinguish(policyReader(rules)) ? [contract.id] : [],
  );
  return [...new Set(found)].toSorted();
}

/**
 * The rows of a kind as text, without their own names.
 *
 * @param former routes that workspaces list beside their new names.
 */
function contents(
  table: RoutingTable,
  kind: RenamedKind,
  former: readonly string[] = [],
): ReadonlyMap<string, string> {
  const { regionGroups, providers, models, endpoints, routes, workspaces } = table;
  const rows: Readonly<Record<RenamedKind, Readonly<Record<string, object>>>> = {
    region_group: regionGroups,
    provider: providers,
    model: models,
    endpoint: endpoints,
    // A route without a title has its name for one.
    route: mapRows(routes, (row) => ({ ...row, title: row.title === row.id ? null : row.title })),
    workspace: mapRows(workspaces, (row) => withoutRoutes(row, former)),
  };
  return new Map(
    Object.entries(rows[kind]).map(([id, row]) => [id, canonicalJson({ ...row, id: undefined })]),
  );
}
