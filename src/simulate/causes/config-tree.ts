import { canonicalJson, isJsonObject, type JsonValue } from "../../canon/json.ts";
import {
  plainValue,
  type ConfigNode,
  type MapNode,
  type Member,
  type Position,
} from "../../compile/authored/tree.ts";
import { readTree } from "../../compile/compile-table.ts";
import { Findings } from "../../compile/findings/findings.ts";
import { furtherSources, type ConfigurationFiles } from "../../compile/load.ts";
import type { SideLocation } from "../report/report.ts";
import type { OfSides } from "../sample-request.ts";
import { type RenamedKind, type RowRename, newNames, ROW_KINDS } from "../renamed-table.ts";
import { rowOf } from "../table-rows.ts";

/**
 * Names from the root of routes.yaml. An item of `endpoints` goes by its id, so that a moved row is
 * the same row.
 */
export type EntryPath = readonly string[];

/** Lists whose items are rows with an `id`. */
const KEYED_LISTS = new Set(["endpoints"]);

/**
 * The members of a map, or the rows of a list by id; `null` for everything else. @param path of the
 * node.
 */
function membersOf(node: ConfigNode, path: EntryPath): ReadonlyMap<string, Member> | null {
  if (node.kind === "map") return node.members;
  if (node.kind !== "list" || path.length !== 1 || !KEYED_LISTS.has(path[0] ?? "")) return null;
  return new Map(
    node.items.map((item, index): [string, Member] => {
      const id = item.kind === "map" ? item.members.get("id") : undefined;
      const name = id?.node.kind === "scalar" ? String(id.node.value) : `[${index}]`;
      return [name, { keyAt: id?.node.at ?? item.at, node: item }];
    }),
  );
}

/** The member at a path; `null` where there is none. */
export function memberAt(root: ConfigNode, path: EntryPath): Member | null {
  let member: Member = { keyAt: root.at, node: root };
  for (const [index, name] of path.entries()) {
    const next = membersOf(member.node, path.slice(0, index))?.get(name);
    if (next === undefined) return null;
    member = next;
  }
  return member;
}

/**
 * routes.yaml with its parts and overlays, before anything is resolved; `null` where the text is
 * not known.
 */
export function treeOf(files: ConfigurationFiles): ConfigNode | null {
  if (files.routes.text === "") return null;
  const read = readTree(files.routes, furtherSources(files), new Findings(files.routes.path));
  return read?.tree ?? null;
}

/** An entry that differs between two trees; `null` on the side that does not have it. */
export interface ChangedMember extends OfSides<Member | null> {
  readonly path: EntryPath;
}

/**
 * Every entry that differs, in the order of head's file; those that base alone has come after those
 * that head has.
 *
 * @param isWholeEntry whether an entry is compared as one value.
 */
export function changedMembers(
  base: ConfigNode,
  head: ConfigNode,
  isWholeEntry: (path: EntryPath, isOnOneSide: boolean) => boolean,
): readonly ChangedMember[] {
  return [
    ...differences(
      { keyAt: base.at, node: base },
      { keyAt: head.at, node: head },
      [],
      isWholeEntry,
    ),
  ];
}

function* differences(
  base: Member | null,
  head: Member | null,
  path: EntryPath,
  isWholeEntry: Parameters<typeof changedMembers>[2],
): Generator<ChangedMember> {
  if (textOf(base) === textOf(head)) return;
  const [was, is] = [base, head].map((member) => member && membersOf(member.node, path));
  const isMap = (was !== null || base === null) && (is !== null || head === null);
  const isEmpty = (was?.size ?? 0) + (is?.size ?? 0) === 0;
  if (!isMap || isEmpty || isWholeEntry(path, base === null || head === null)) {
    yield { path, base, head };
    return;
  }
  for (const [name, member] of is ?? [])
    yield* differences(was?.get(name) ?? null, member, [...path, name], isWholeEntry);
  for (const [name, member] of was ?? []) {
    if (is?.has(name) !== true) yield* differences(member, null, [...path, name], isWholeEntry);
  }
}

function textOf(member: Member | null) {
  return member === null ? "" : canonicalJson(plainValue(member.node));
}

/**
 * The changed line: of a list the first item that it gains, which may stand on a line of its own.
 * In base's file for what head does not have.
 */
export function locationOf(
  { base, head }: OfSides<Member | null>,
  files: OfSides<string>,
): SideLocation | null {
  if (head === null)
    return base === null ? null : { file: files.base, ...base.keyAt, side: "base" };
  return { file: files.head, ...changedPosition(base, head), side: "head" };
}

function changedPosition(was: Member | null, is: Member): Position {
  if (was?.node.kind !== "list" || is.node.kind !== "list") return is.keyAt;
  const text = (node: ConfigNode) => canonicalJson(plainValue(node));
  const before = new Set(was.node.items.map(text));
  return is.node.items.find((item) => !before.has(text(item)))?.at ?? is.keyAt;
}

/** Puts a member at a path of a tree instead of its own, or takes that out. */
export function putMember(
  node: ConfigNode,
  [name = "", ...rest]: EntryPath,
  member: Member | null,
  above: EntryPath = [],
): void {
  const existing = membersOf(node, above)?.get(name);
  const setValue = (value: ConfigNode | null) => {
    if (node.kind === "map") {
      if (value === null) node.members.delete(name);
      else
        node.members.set(name, { keyAt: existing?.keyAt ?? member?.keyAt ?? node.at, node: value });
    } else if (node.kind === "list") {
      const index = existing === undefined ? node.items.length : node.items.indexOf(existing.node);
      node.items.splice(index, 1, ...(value === null ? [] : [value]));
    }
  };
  if (rest.length === 0) setValue(member?.node ?? null);
  else {
    const value = existing?.node ?? emptyMap(node);
    setValue(value);
    putMember(value, rest, member, [...above, name]);
  }
}

function emptyMap({ at }: ConfigNode): MapNode {
  return { kind: "map", at, members: new Map(), unread: new Set() };
}

/**
 * A value as YAML has it in one line: `[gpt-5-eu, gpt-5-us]`. Different values have
 * different texts.
 */
export function flowText(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return isPlain(value) ? value : JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value);
  if (!isJsonObject(value)) return `[${value.map(flowText).join(", ")}]`;
  const members = Object.entries(value).map(([name, member]) => `${name}: ${flowText(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** Whether YAML reads a word without quotes as the same text. */
function isPlain(text: string): boolean {
  if (/^(?:true|false|null|yes|no|on|off)$/i.test(text) || !Number.isNaN(Number(text)))
    return false;
  return /^[\w/.@%+][\w./:@%+ -]*$/.test(text) && !/:(?: |$)| $/.test(text);
}

export function valueOf(member: Member | null): JsonValue | undefined {
  return member === null ? undefined : plainValue(member.node);
}

/** A copy of routes.yaml with other names for some rows, wherever it refers to them. */
export function renamedTree(root: ConfigNode, renames: readonly RowRename[]): ConfigNode {
  return renames.length === 0 ? root : renamed(root, [], newNames(renames));
}

type Names = ReadonlyMap<string, string>;

function renamed(node: ConfigNode, path: readonly string[], names: Names): ConfigNode {
  if (node.kind === "scalar") {
    return typeof node.value === "string"
      ? { ...node, value: nameOf(node.value, path, names) }
      : node;
  }
  // Rows of `endpoints` go by their id, as everywhere in paths.
  const itemPath = path.length === 1 && path[0] === "endpoints" ? [...path, "*"] : path;
  if (node.kind === "list")
    return { ...node, items: node.items.map((item) => renamed(item, itemPath, names)) };
  const members = [...node.members].map(([name, { keyAt, node: value }]): [string, Member] => [
    nameOf(name, [...path, "*"], names),
    { keyAt, node: renamed(value, [...path, name], names) },
  ]);
  return { ...node, members: new Map(members) };
}

function nameOf(name: string, path: readonly string[], names: Names): string {
  const found = kindsAt(path).map((kind) => names.get(`${kind} ${name}`));
  return found.find((other) => other !== undefined) ?? name;
}

const ORDERS = new Set(["primary", "peers", "weights", "fallbacks"]);

/**
 * Kind of the names at a path: a provider may be called like its region. `*` stands for
 * the keys of a map.
 */
function kindsAt(path: readonly string[]): readonly RenamedKind[] {
  const [section = "", row, member = "", list = ""] = path;
  if (path.length === 2 && row === "*" && section !== "endpoints") return kindOf(section);
  if (section === "endpoints") {
    return member === "id"
      ? ["endpoint"]
      : member === "model" || member === "provider"
        ? [member]
        : [];
  }
  if (section === "routes") return ORDERS.has(member) ? ["endpoint", "route"] : [];
  if (section === "workspaces") {
    if (member === "default_moderation_route") return ["route"];
    return member === "approve" ? kindOf(list) : [];
  }
  if (section === "policies") return row === "managed_by" ? ["workspace"] : [];
  if (section !== "workload_identity" && section !== "console") return [];
  const last = path.at(-1);
  return last === "routes"
    ? ["route"]
    : last === "workspace" || last === "workspaces"
      ? ["workspace"]
      : [];
}

/** Kinds of the names in a section; workspaces approve them by the same lists. */
function kindOf(section: string): readonly RenamedKind[] {
  const kind = rowOf<RenamedKind>(ROW_KINDS, section);
  return kind === undefined ? [] : [kind];
}
