import type { JsonValue } from "../../canon/json.ts";
import { plainValue, type ConfigNode, type MapNode, type Member } from "../../compile/authored/tree.ts";

/** Names from the root of routes.yaml. An item of `endpoints` goes by its id, so that a moved row is the same row. */
export type EntryPath = readonly string[];

/** Lists whose items are rows with an `id`. */
const KEYED_LISTS = new Set(["endpoints"]);

/** The members of a map, or the rows of a list by id; `null` for everything else. @param path of the node. */
export function membersOf(node: ConfigNode, path: EntryPath): ReadonlyMap<string, Member> | null {
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

/** A copy of a tree with the member at a path put instead of its own, or taken out. The copy shares nothing with either tree. */
export function withMember(root: ConfigNode, path: EntryPath, member: Member | null): ConfigNode {
  return replaced(copied(root), path, [], member === null ? null : { ...member, node: copied(member.node) });
}

function replaced(node: ConfigNode, path: EntryPath, above: EntryPath, member: Member | null): ConfigNode {
  const [name, ...rest] = path;
  if (name === undefined) return member?.node ?? node;
  const own = membersOf(node, above)?.get(name);
  const value =
    rest.length === 0 ? (member?.node ?? null) : replaced(own?.node ?? emptyMap(node), rest, [...above, name], member);
  if (node.kind === "map") {
    if (value === null) node.members.delete(name);
    else node.members.set(name, { keyAt: own?.keyAt ?? member?.keyAt ?? node.at, node: value });
  } else if (node.kind === "list") {
    const index = own === undefined ? -1 : node.items.indexOf(own.node);
    if (index === -1) {
      if (value !== null) node.items.push(value);
    } else node.items.splice(index, 1, ...(value === null ? [] : [value]));
  }
  return node;
}

function emptyMap({ at }: ConfigNode): MapNode {
  return { kind: "map", at, members: new Map(), lost: new Set() };
}

function copied(node: ConfigNode): ConfigNode {
  if (node.kind === "scalar") return node;
  if (node.kind === "list") return { ...node, items: node.items.map(copied) };
  const members = [...node.members].map(([name, { keyAt, node: value }]): [string, Member] => [
    name,
    { keyAt, node: copied(value) },
  ]);
  return { ...node, members: new Map(members) };
}

/** A value as YAML has it in one line: `[gpt-5-eu, gpt-5-us]`. Two values that differ have texts that differ. */
export function flowText(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "string") return isPlain(value) ? value : JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value);
  if (isList(value)) return `[${value.map(flowText).join(", ")}]`;
  const members = Object.entries(value).map(([name, member]) => `${name}: ${flowText(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** Whether YAML reads a word without quotes as the same text. */
function isPlain(text: string): boolean {
  if (/^(?:true|false|null|yes|no|on|off)$/i.test(text) || !Number.isNaN(Number(text))) return false;
  return /^[\w/.@%+][\w./:@%+ -]*$/.test(text) && !/:(?: |$)| $/.test(text);
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}

export function valueOf(member: Member | null): JsonValue | undefined {
  return member === null ? undefined : plainValue(member.node);
}
