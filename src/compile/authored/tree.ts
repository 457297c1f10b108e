import type { JsonValue } from "../../canon/json.ts";

/** Line and column, both from 1; columns count UTF-16 code units. */
export interface Position {
  readonly line: number;
  readonly column: number;
  /** The file, where it is not the one that is compiled but one that it includes, or an overlay. */
  readonly file?: string;
}

/** Names and indices from the root of the file. */
export type Path = readonly (string | number)[];

interface ScalarNode {
  readonly kind: "scalar";
  readonly at: Position;
  readonly value: null | boolean | number | string;
}

export interface ListNode {
  readonly kind: "list";
  readonly at: Position;
  readonly items: ConfigNode[];
}

export interface MapNode {
  readonly kind: "map";
  readonly at: Position;
  readonly members: Map<string, Member>;
  /**
   * Keys whose values could not be read, which has been reported: their absence is no second
   * mistake.
   */
  readonly unread: ReadonlySet<string>;
}

export interface Member {
  readonly keyAt: Position;
  readonly node: ConfigNode;
  /** The key as the file has it, where it is a former name. */
  readonly formerKey?: string;
}

/** Values of the file with their positions, before any check. */
export type ConfigNode = ScalarNode | ListNode | MapNode;

/** The member at one step; `null` if absent. */
function step(node: ConfigNode, name: string | number): Member | null {
  if (node.kind === "map") return node.members.get(String(name)) ?? null;
  const item = node.kind === "list" ? node.items[Number(name)] : undefined;
  return item === undefined ? null : { node: item, keyAt: item.at };
}

/** Follows a path as far as the file has it. */
function follow(root: ConfigNode, path: Path) {
  let last: Member = { node: root, keyAt: root.at };
  for (const name of path) {
    const next = step(last.node, name);
    if (next === null) return { ...last, isWhole: false };
    last = next;
  }
  return { ...last, isWhole: true };
}

/** The node at a path; `null` where the file has none. */
export function nodeAt(root: ConfigNode | null, path: Path): ConfigNode | null {
  const end = root === null ? null : follow(root, path);
  return end?.isWhole === true ? end.node : null;
}

/** The text of a scalar; `null` for anything else. */
export function textOf(node: ConfigNode | null): string | null {
  return node?.kind === "scalar" && typeof node.value === "string" ? node.value : null;
}

/** The text at a path; `null` if absent. */
export function textAt(root: ConfigNode | null, ...path: Path): string | null {
  return textOf(nodeAt(root, path));
}

/** A mapping that is not in the file. */
export function emptyMap(at: Position): MapNode {
  return { kind: "map", at, members: new Map(), unread: new Set() };
}

/** Where the value at a path stands, or the nearest value around it that exists. */
export function valuePosition(root: ConfigNode, path: Path): Position {
  return follow(root, path).node.at;
}

/**
 * Where the key of the last step stands; the value's position in a list and where nothing has a
 * key.
 */
export function keyPosition(root: ConfigNode, path: Path): Position {
  return follow(root, path).keyAt;
}

/** A path with the keys as the file has them. */
export function writtenPath(root: ConfigNode, path: Path): Path {
  return path.map((name, index) => follow(root, path.slice(0, index + 1)).formerKey ?? name);
}

/** Takes the node at a path out of the tree, if there is one. */
export function removeNode(root: ConfigNode, path: Path): void {
  const name = path.at(-1);
  const parent = nodeAt(root, path.slice(0, -1));
  if (parent?.kind === "map") parent.members.delete(String(name));
  if (parent?.kind === "list") parent.items.splice(Number(name), 1);
}

/**
 * The value without its positions. `fromEntries` defines members, so that no name can reach a
 * prototype.
 */
export function plainValue(node: ConfigNode): JsonValue {
  if (node.kind === "scalar") return node.value;
  if (node.kind === "list") return node.items.map(plainValue);
  return Object.fromEntries(
    [...node.members].map(([name, member]) => [name, plainValue(member.node)]),
  );
}

/** Every scalar of the tree with its path, in the order of the file. */
export function* scalars(
  node: ConfigNode,
  path: Path = [],
): Generator<{ readonly path: Path; readonly node: ScalarNode }> {
  if (node.kind === "scalar") yield { path, node };
  else if (node.kind === "list")
    for (const [index, item] of node.items.entries()) yield* scalars(item, [...path, index]);
  else for (const [name, member] of node.members) yield* scalars(member.node, [...path, name]);
}
