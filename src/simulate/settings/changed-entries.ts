import { canonicalJson } from "../../canon/json.ts";
import { plainValue, type ConfigNode, type Member } from "../../compile/authored/tree.ts";
import { membersOf, type EntryPath } from "../causes/config-tree.ts";
import { hasRows } from "./setting-effect.ts";

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
  const [was, is] = [base, head].map((member) => (member === null ? null : membersOf(member.node, path)));
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

function valueText(member: Member | null): string {
  return member === null ? "" : canonicalJson(plainValue(member.node));
}
