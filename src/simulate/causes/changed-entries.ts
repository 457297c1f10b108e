import { type JsonValue, canonicalJson } from "../../canon/json.ts";
import type { ConfigNode, Member, Position } from "../../compile/authored/tree.ts";
import { readTree } from "../../compile/files/read-tree.ts";
import { Findings } from "../../compile/findings/findings.ts";
import { furtherSources, type ConfigurationFiles } from "../../compile/load.ts";
import type { SideLocation } from "../report/location.ts";
import type { ChangedEntry } from "../report/cause-report.ts";
import { flowText, memberAt, membersOf, valueOf, type EntryPath } from "./config-tree.ts";

/** Both routes.yaml with their parts and overlays, before anything is resolved; `null` where the text is not known. */
export interface SideTrees {
  readonly base: ConfigNode | null;
  readonly head: ConfigNode | null;
}

/** An entry of routes.yaml that differs, with its values. */
export interface TreeEntry {
  readonly entry: ChangedEntry;
  readonly path: EntryPath;
  readonly before: JsonValue | undefined;
  readonly after: JsonValue | undefined;
}

export function treeOf(files: ConfigurationFiles): ConfigNode | null {
  if (files.routes.text === "") return null;
  return readTree(files.routes, furtherSources(files), new Findings(files.routes.path));
}

/** Sections whose members are rows: one that came or went is one entry, whatever it holds. */
const KINDS: Readonly<Record<string, ChangedEntry["kind"]>> = {
  regions: "region_group",
  providers: "provider",
  models: "model",
  endpoints: "endpoint",
  routes: "route",
  workspaces: "workspace",
  policies: "policy_setting",
  vocabulary: "vocabulary",
};

/** Every entry that differs, in the order of head's file; those that base alone has last. */
export function treeEntries({ base, head }: SideTrees, files: Record<"base" | "head", string>): readonly TreeEntry[] {
  if (base === null || head === null) return [];
  return [...differences(base, head, [])].map((path) => entryOf(path, { base, head }, files));
}

/** Maps that are read as one value: `price: { input: 1.25, output: 10 }`. */
const WHOLE = new Set(["price", "batch", "reasoning", "weights"]);

function* differences(base: ConfigNode, head: ConfigNode, path: EntryPath): Generator<EntryPath> {
  const isWhole = path.length === 3 && WHOLE.has(path[2] ?? "");
  const [was, is] = isWhole ? [null, null] : [membersOf(base, path), membersOf(head, path)];
  if (was === null || is === null) {
    if (textOf(base) !== textOf(head)) yield path;
    return;
  }
  for (const [name, member] of is) {
    const before = was.get(name);
    if (before === undefined) yield [...path, name];
    else yield* differences(before.node, member.node, [...path, name]);
  }
  for (const name of was.keys()) if (!is.has(name)) yield [...path, name];
}

function textOf(node: ConfigNode): string {
  return canonicalJson(valueOf({ keyAt: node.at, node }));
}

function entryOf(
  path: EntryPath,
  { base, head }: { readonly base: ConfigNode; readonly head: ConfigNode },
  files: Record<"base" | "head", string>,
): TreeEntry {
  const [was, is] = [memberAt(base, path), memberAt(head, path)];
  const [before, after] = [valueOf(was), valueOf(is)];
  const location = is === null ? null : at(changedPosition(was, is), files.head, "head");
  const [section = "", subject = ""] = path;
  // A row that came or went is shown by its name; its members are in the file.
  const isRow = path.length === 2 && section !== "regions" && (was === null || is === null);
  return {
    path,
    before,
    after,
    entry: {
      path: path.join("."),
      kind: Object.hasOwn(KINDS, section) ? (KINDS[section] ?? "setting") : "setting",
      subject,
      change: was === null ? "added" : is === null ? "removed" : "changed",
      before: was === null || isRow ? null : short(flowText(before)),
      after: is === null || isRow ? null : short(flowText(after)),
      place: location ?? (was === null ? null : at(was.keyAt, files.base, "base")),
    },
  };
}

/** The first item that a list gains, where one item a line would make the key's line another than the changed one. */
function changedPosition(was: Member | null, is: Member): Position {
  if (was === null || was.node.kind !== "list" || is.node.kind !== "list") return is.keyAt;
  const known = new Set(was.node.items.map(textOf));
  return is.node.items.find((item) => !known.has(textOf(item)))?.at ?? is.keyAt;
}

function at({ line, column, file }: Position, own: string, side: SideLocation["side"]): SideLocation {
  return { file: file ?? own, line, column, side };
}

/** Characters of a value: a longer one is read in the file. */
const LONGEST_VALUE = 160;

export function short(text: string): string {
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1)}…`;
}
