import { canonicalJson, isJsonObject, type JsonValue } from "../../canon/json.ts";
import type { Rename } from "../report/cause-report.ts";
import type { TreeEntry } from "./changed-entries.ts";

/** A row that has another name and the same content, with the entries that only follow the name. */
export interface RenamedRow {
  readonly rename: Rename;
  readonly entries: readonly TreeEntry[];
}

const KINDS = new Set(["region_group", "provider", "model", "endpoint", "route", "workspace"]);

/** Rows of one section of which one went and one with the same content came. */
export function renamedRows(entries: readonly TreeEntry[]): readonly RenamedRow[] {
  const rows = entries.filter(({ path, entry }) => path.length === 2 && KINDS.has(entry.kind));
  const added = new Set(rows.filter(({ entry }) => entry.change === "added"));
  const pairs = rows.flatMap((gone) => {
    if (gone.entry.change !== "removed") return [];
    const came = [...added].find(
      ({ path, after }) => path[0] === gone.path[0] && contentOf(after) === contentOf(gone.before),
    );
    if (came === undefined) return [];
    added.delete(came);
    return [{ gone, came }];
  });
  const used = new Set(pairs.flatMap(({ gone, came }) => [gone, came]));
  const names = new Map(pairs.map(({ gone, came }) => [gone.entry.subject, came.entry.subject]));
  return pairs.map(({ gone, came }): RenamedRow => {
    const [from, to] = [gone.entry.subject, came.entry.subject];
    const followers = entries.filter((each) => {
      if (used.has(each) || !mentions(each.before, from) || !followsNames(each, names)) return false;
      used.add(each);
      return true;
    });
    return { rename: { kind: gone.entry.kind, from, to }, entries: [came, gone, ...followers] };
  });
}

function contentOf(value: JsonValue | undefined): string {
  return isJsonObject(value) ? canonicalJson({ ...value, id: undefined }) : canonicalJson(value ?? null);
}

function followsNames({ before, after }: TreeEntry, names: ReadonlyMap<string, string>): boolean {
  if (before === undefined || after === undefined) return false;
  return canonicalJson(renamed(before, names)) === canonicalJson(after);
}

function renamed(value: JsonValue, names: ReadonlyMap<string, string>): JsonValue {
  if (typeof value === "string") return names.get(value) ?? value;
  if (value === null || typeof value !== "object") return value;
  if (!isJsonObject(value)) return value.map((item) => renamed(item, names));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      member === undefined ? [] : [[names.get(name) ?? name, renamed(member, names)]],
    ),
  );
}

/** Whether a value holds a name as a whole string or as a member's name. */
export function mentions(value: JsonValue | undefined, name: string): boolean {
  if (value === undefined || value === null || typeof value !== "object") return value === name;
  if (!isJsonObject(value)) return value.some((item) => mentions(item, name));
  return Object.entries(value).some(([key, member]) => key === name || mentions(member, name));
}
