import { canonicalJson, isJsonObject, type JsonValue } from "../../canon/json.ts";
import type { ConfigNode } from "../../compile/authored/tree.ts";
import { ROW_KINDS } from "../renamed-table.ts";
import type { ChangedEntry } from "../report/report.ts";
import type { OfSides } from "../sample-request.ts";
import { effectOf } from "../settings/setting-effect.ts";
import { rowOf } from "../table-rows.ts";
import {
  changedMembers,
  flowText,
  locationOf,
  valueOf,
  type ChangedMember,
  type EntryPath,
} from "./config-tree.ts";

export type SideTrees = OfSides<ConfigNode | null>;

/** An entry of routes.yaml that differs, with its values. */
export interface TreeEntry {
  readonly entry: ChangedEntry;
  readonly path: EntryPath;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

const KINDS: Readonly<Record<string, ChangedEntry["kind"]>> = {
  ...ROW_KINDS,
  policies: "policy_setting",
  vocabulary: "vocabulary",
};

/** Maps that are read as one value: `price: { input: 1.25, output: 10 }`. */
const WHOLE = new Set(["price", "batch", "reasoning", "weights"]);

/**
 * Every entry that differs, in the order of head's file. A row or map that only one side has is one
 * entry, however many members it has.
 */
export function treeEntries(
  { base, head }: SideTrees,
  files: OfSides<string>,
): readonly TreeEntry[] {
  if (base === null || head === null) return [];
  const isWholeEntry = (path: EntryPath, isOnOneSide: boolean) =>
    isOnOneSide || (path.length === 3 && WHOLE.has(path[2] ?? ""));
  return changedMembers(base, head, isWholeEntry).map((member) => entryOf(member, files));
}

function entryOf(member: ChangedMember, files: OfSides<string>): TreeEntry {
  const { path, base: was, head: is } = member;
  const [before, after] = [valueOf(was), valueOf(is)];
  const [section = "", subject = ""] = path;
  const textOf = (value: JsonValue | undefined): string | null => {
    // A row that came or went is shown by its name; its members are in the file.
    const isWholeRow = path.length === 2 && section !== "regions" && (was === null || is === null);
    if (value === undefined || !isWholeRow)
      return value === undefined ? null : short(flowText(value));
    if (section !== "workspaces" || !isJsonObject(value)) return null;
    return flowText({ tier: value.tier ?? null, labels: value.labels ?? [] });
  };
  return {
    path,
    before,
    after,
    entry: {
      path: path.join("."),
      kind: rowOf(KINDS, section) ?? "setting",
      subject,
      change: was === null ? "added" : is === null ? "removed" : "changed",
      ...onlyOf(path, before, after),
      before: textOf(before),
      after: textOf(after),
      location: locationOf(member, files),
    },
  };
}

function onlyOf(
  path: EntryPath,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): Pick<ChangedEntry, "only"> {
  const effect = effectOf(path);
  if (effect === "description" || effect === "layout") return { only: "text" };
  const textOf = (items: readonly JsonValue[]) => items.map(canonicalJson).toSorted().join("\n");
  const isReordering =
    // In these sections lists are sets, or every class of requests shows their order.
    Object.hasOwn(KINDS, path[0] ?? "") &&
    Array.isArray(before) &&
    Array.isArray(after) &&
    textOf(before) === textOf(after);
  return isReordering ? { only: "order" } : {};
}

/** Characters of a value: a longer one is read in the file. */
const LONGEST_VALUE = 160;

export function short(text: string): string {
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1)}…`;
}
