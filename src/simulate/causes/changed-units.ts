import type { ChangedEntry, Rename } from "../report/report.ts";
import type { RowRename } from "../renamed-table.ts";
import type { TreeEntry } from "./changed-entries.ts";
import { mentions, type RenamedRow } from "./renamed-entries.ts";

/**
 * Entries that are undone together: one entry, a renamed row with its mentions, or a policy with
 * its mode.
 */
export interface ChangedUnit {
  readonly entries: readonly ChangedEntry[];
  readonly rows: readonly TreeEntry[];
  /** The policy whose contents are undone with it. */
  readonly policy: string | null;
  readonly rename: Rename | null;
  /** The renamed row. */
  readonly row: RowRename | null;
}

export function changedUnits(
  rows: readonly TreeEntry[],
  policies: readonly ChangedEntry[],
  renames: readonly RenamedRow[],
): readonly ChangedUnit[] {
  const modes = new Map(
    rows.flatMap((row) => (isInitialMode(row) ? [[row.path[2] ?? "", row] as const] : [])),
  );
  const ids = new Set(policies.map(({ subject }) => subject));
  const used = new Set([
    ...renames.flatMap(({ entries }) => entries),
    ...[...modes].flatMap(([id, row]) => (ids.has(id) ? [row] : [])),
  ]);
  return [
    ...renames.map((row) => ({ ...unitOf(row.entries, null, row.rename), row })),
    ...policies.map((entry) => {
      const mode = modes.get(entry.subject);
      const modeRows = mode === undefined ? [] : [mode];
      const entries = [entry, ...modeRows.map((row) => row.entry)];
      return { entries, rows: modeRows, policy: entry.subject, rename: null, row: null };
    }),
    ...together(rows.filter((row) => !used.has(row))).map((set) => unitOf(set, modeOf(set), null)),
  ];
}

/**
 * Members of a route that name its endpoints: an endpoint that moves from one to the other cannot
 * be put back in one alone.
 */
const ORDER_OF_ROUTE = new Set(["primary", "peers", "balance", "weights", "fallbacks"]);

/** Approvals without which a route that a workspace approves reaches nothing. */
const REACH = new Set(["routes", "regions", "providers"]);

function together(rows: readonly TreeEntry[]): readonly (readonly TreeEntry[])[] {
  const units = Map.groupBy(rows, ({ path, entry }) => {
    const [, , member = "", list = ""] = path;
    const isJoint =
      (entry.kind === "route" && ORDER_OF_ROUTE.has(member)) ||
      (entry.kind === "workspace" && member === "approve" && REACH.has(list));
    // Another order of a list takes no part in the effects of other entries.
    return (isJoint && entry.only === undefined ? path.slice(0, 2) : path).join("\n");
  });
  return [...units.values()];
}

/** The policy whose mode an entry sets. */
function modeOf([row]: readonly TreeEntry[]) {
  return row !== undefined && isInitialMode(row) ? (row.path[2] ?? null) : null;
}

function unitOf(
  rows: readonly TreeEntry[],
  policy: string | null,
  rename: Rename | null,
): ChangedUnit {
  return { entries: rows.map(({ entry }) => entry), rows, policy, rename, row: null };
}

function isInitialMode({ path }: TreeEntry) {
  return path[0] === "policies" && path[1] === "initial_mode" && path.length === 3;
}

/**
 * Whether a unit names a row that the other one adds or removes: without that row it does not
 * compile. A renamed row can be named either way.
 */
export function needs(unit: ChangedUnit, other: ChangedUnit): boolean {
  if (other.row !== null) return false;
  return other.entries.some(
    ({ change, subject, kind }) =>
      change !== "changed" &&
      kind !== "policy" &&
      unit.rows.some(
        (row) =>
          row.entry.subject !== subject &&
          [row.before, row.after].some((value) => mentions(value, subject)),
      ),
  );
}
