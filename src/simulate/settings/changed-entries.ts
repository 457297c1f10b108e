import { canonicalJson, type JsonValue } from "../../canon/json.ts";
import { plainValue, type ConfigNode, type MapNode, type Member } from "../../compile/authored/tree.ts";
import { hasRows } from "./setting-effect.ts";

/** Names from the root of routes.yaml. An endpoint goes by its id, so that a row that moves is the same row. */
export type EntryPath = readonly string[];

/** An entry of routes.yaml that differs; `null` on the side that does not have it. */
export interface ChangedEntry {
  readonly path: EntryPath;
  readonly base: Member | null;
  readonly head: Member | null;
}

/**
 * Every entry that differs, down to single values and lists; a row that comes or goes is one entry. In the order of head's file, those that base
 * alone has after those that head has.
 *
 * @param base and head: routes.yaml with its parts and overlay and with presets written out.
 */
export function changedEntries(base: ConfigNode, head: ConfigNode): readonly ChangedEntry[] {
  return [...entries({ keyAt: base.at, node: base }, { keyAt: head.at, node: head }, [])];
}

function* entries(base: Member | null, head: Member | null, path: EntryPath): Generator<ChangedEntry> {
  if (valueText(base) === valueText(head)) return;
  const [was, is] = [membersOf(base, path), membersOf(head, path)];
  const isRow = path.length === 2 && hasRows(path[0] ?? "") && (base === null || head === null);
  const isEmpty = (was?.size ?? 0) + (is?.size ?? 0) === 0;
  const isMap = (was !== null || base === null) && (is !== null || head === null);
  if (isRow || !isMap || isEmpty) {
    yield { path, base, head };
    return;
  }
  for (const [name, member] of is ?? []) yield* entries(was?.get(name) ?? null, member, [...path, name]);
  for (const [name, member] of was ?? []) if (is?.has(name) !== true) yield* entries(member, null, [...path, name]);
}

/** The members of a map, or the rows of the list of endpoints by id; `null` for everything else. */
function membersOf(member: Member | null, path: EntryPath): MapNode["members"] | null {
  if (member === null) return null;
  const { node } = member;
  if (node.kind === "map") return node.members;
  if (node.kind !== "list" || path.join() !== "endpoints") return null;
  return new Map(
    node.items.map((item, index): [string, Member] => {
      const id = item.kind === "map" ? item.members.get("id") : undefined;
      const name = id?.node.kind === "scalar" ? String(id.node.value) : `[${index}]`;
      return [name, { keyAt: id?.node.at ?? item.at, node: item }];
    }),
  );
}

function valueText(member: Member | null): string {
  return member === null ? "" : canonicalJson(plainValue(member.node));
}

/** A value as YAML has it in one line: `[gpt-5-eu, gpt-5-us]`. Two values that differ have texts that differ. */
export function flowText(value: JsonValue | undefined): string {
  if (typeof value === "string") return isPlain(value) ? value : JSON.stringify(value);
  if (value === undefined || value === null || typeof value !== "object") return String(value ?? null);
  if (isList(value)) return `[${value.map(flowText).join(", ")}]`;
  const members = Object.entries(value).map(([name, member]) => `${flowText(name)}: ${flowText(member)}`);
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
