import { canonicalJson } from "../canon/json.ts";
import type { RoutingTable } from "../canon/table.ts";
import { readsPath } from "../policy/policy-set.ts";
import type { CompiledSides } from "./side-contents.ts";
import { AmbiguousNames, policyReader, type Reader } from "./space/readers.ts";
import {
  RENAMED_KINDS,
  mapRows,
  renamedTable,
  withoutRoutes,
  type RenamedKind,
  type RowRename,
} from "./renamed-table.ts";

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
    const isOpen =
      rows.has(rename.from) && !rows.has(rename.to) && rename.distinguished_by.length === 0;
    return isOpen ? renamedTable(all, rename, renames) : all;
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

/** Where base has a row under both names, and a policy could count them. */
const COUNTED: Readonly<Partial<Record<RenamedKind, string>>> = {
  region_group: "data.regions",
  route: "data.approved.routes",
  workspace: "data.approved",
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
  const ambiguous = [base, head].map(({ table }) => new AmbiguousNames(table));
  const canDistinguish = (reader: Reader): boolean => {
    const counted = COUNTED[kind];
    if (counted !== undefined && readsPath(reader, counted)) {
      // A region group is read by its name.
      if (
        kind !== "region_group" ||
        [from, to].some((name) => readsPath(reader, `${counted}.${name}`))
      )
        return true;
    }
    if (!PATHS[kind].some((path) => readsPath(reader, path))) return false;
    const isKnown = (name: string): boolean =>
      reader.names(name) || ambiguous.some((names) => names.of(reader).has(name));
    return reader.inspects.length > 0 || isKnown(from) || isKnown(to);
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
