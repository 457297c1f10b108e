import { canonicalJson, isJsonObject, type JsonValue } from "../../canon/json.ts";
import type { ConfigNode } from "../../compile/authored/tree.ts";
import { RENAMED_KINDS, type RowRename, type FoundRename } from "../renamed-table.ts";
import type { Rename } from "../report/report.ts";
import { short, type TreeEntry } from "./changed-entries.ts";
import { flowText, memberAt, valueOf, renamedTree } from "./config-tree.ts";

/** A row that has another name, with the entries that only follow the name. */
export interface RenamedRow extends RowRename {
  /** `null`: its content changed too. */
  readonly rename: Rename | null;
  readonly entries: readonly TreeEntry[];
}

/**
 * Of each rename the row that came, the row that went, and what differs by the name alone; then
 * rows that replace others wherever those were named.
 */
export function renamedRows(
  entries: readonly TreeEntry[],
  base: ConfigNode | null,
  renames: readonly FoundRename[],
): readonly RenamedRow[] {
  if (base === null) return [];
  const used = new Set<TreeEntry>();
  const markUsed = (marked: readonly TreeEntry[]): readonly TreeEntry[] => {
    for (const entry of marked) used.add(entry);
    return marked;
  };
  const same = renames.map(({ distinguished_by: policies, ...row }): RenamedRow => {
    const rename = { ...row, ...(policies.length > 0 && { distinguished_by: policies }) };
    return {
      ...row,
      rename,
      entries: markUsed([...rowsOf(entries, row), ...followers(entries, base, renames, row, used)]),
    };
  });
  const replaced = RENAMED_KINDS.flatMap((kind) => {
    const rows = entries.filter(
      (each) => each.path.length === 2 && each.entry.kind === kind && !used.has(each),
    );
    return rows.flatMap((gone): readonly RenamedRow[] => {
      if (gone.entry.change !== "removed") return [];
      for (const came of rows) {
        if (came.entry.change !== "added" || used.has(came)) continue;
        const row = { kind, from: gone.entry.subject, to: came.entry.subject };
        const following = followers(entries, base, [...renames, row], row, used);
        if (following.length === 0) continue;
        markUsed([came, gone, ...following]);
        return [{ ...row, rename: null, entries: [replacing(came, gone), gone, ...following] }];
      }
      return [];
    });
  });
  return [...same, ...replaced];
}

/** The row under both names, the new one first. */
function rowsOf(
  entries: readonly TreeEntry[],
  { kind, from, to }: RowRename,
): readonly TreeEntry[] {
  const rowsNamed = (name: string) =>
    entries.filter(
      ({ path, entry }) => path.length === 2 && entry.kind === kind && entry.subject === name,
    );
  return [...rowsNamed(to), ...rowsNamed(from)];
}

function followers(
  entries: readonly TreeEntry[],
  base: ConfigNode,
  renames: readonly RowRename[],
  { from }: RowRename,
  used: ReadonlySet<TreeEntry>,
): readonly TreeEntry[] {
  const tree = renamedTree(base, renames);
  return entries.filter((each) => {
    const { path, before, after } = each;
    if (used.has(each) || after === undefined || !mentions(before, from)) return false;
    const following = valueOf(memberAt(tree, path));
    return following !== undefined && canonicalJson(following) === canonicalJson(after);
  });
}

/** The row that came, with the members in which it differs from the one that went. */
function replacing(came: TreeEntry, { before }: TreeEntry): TreeEntry {
  const { after, entry } = came;
  if (!isJsonObject(before) || !isJsonObject(after)) return came;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => name !== "id",
  );
  const differing = names.filter(
    (name) => canonicalJson(before[name] ?? null) !== canonicalJson(after[name] ?? null),
  );
  const shown = (row: typeof before) =>
    flowText(
      Object.fromEntries(
        differing.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])),
      ),
    );
  return { ...came, entry: { ...entry, before: short(shown(before)), after: short(shown(after)) } };
}

/** Whether a value holds a name as a whole string or as a member's name. */
export function mentions(value: JsonValue | undefined, name: string): boolean {
  if (value === undefined || value === null || typeof value !== "object") return value === name;
  if (!isJsonObject(value)) return value.some((item) => mentions(item, name));
  return Object.entries(value).some(([key, member]) => key === name || mentions(member, name));
}
