import type { ConfigNode, Member } from "../../compile/authored/tree.ts";
import { type RenamedKind, type RowRename, newNames, ROW_KINDS } from "../renames/renamed-table.ts";
import { rowOf } from "../table-rows.ts";

/** A copy of routes.yaml with other names for some rows, wherever it refers to them. */
export function renamedTree(root: ConfigNode, renames: readonly RowRename[]): ConfigNode {
  return renames.length === 0 ? root : renamed(root, [], newNames(renames));
}

type Names = ReadonlyMap<string, string>;

function renamed(node: ConfigNode, path: readonly string[], names: Names): ConfigNode {
  if (node.kind === "scalar") {
    return typeof node.value === "string" ? { ...node, value: nameOf(node.value, path, names) } : node;
  }
  // Rows of `endpoints` go by their id, as everywhere in paths.
  const itemPath = path.length === 1 && path[0] === "endpoints" ? [...path, "*"] : path;
  if (node.kind === "list") return { ...node, items: node.items.map((item) => renamed(item, itemPath, names)) };
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

/** What the names at a path are names of: a provider may be called like its region. `*` stands for the keys of a map. */
function kindsAt(path: readonly string[]): readonly RenamedKind[] {
  const [section = "", row, member = "", list = ""] = path;
  if (path.length === 2 && row === "*" && section !== "endpoints") return kindOf(section);
  if (section === "endpoints") {
    return member === "id" ? ["endpoint"] : member === "model" || member === "provider" ? [member] : [];
  }
  if (section === "routes") return ORDERS.has(member) ? ["endpoint", "route"] : [];
  if (section === "workspaces") {
    if (member === "default_moderation_route") return ["route"];
    return member === "approve" ? kindOf(list) : [];
  }
  if (section === "policies") return row === "managed_by" ? ["workspace"] : [];
  if (section !== "workload_identity" && section !== "console") return [];
  const last = path.at(-1);
  return last === "routes" ? ["route"] : last === "workspace" || last === "workspaces" ? ["workspace"] : [];
}

/** What the names of a section are names of, which workspaces approve by the same lists. */
function kindOf(section: string): readonly RenamedKind[] {
  const kind = rowOf<RenamedKind>(ROW_KINDS, section);
  return kind === undefined ? [] : [kind];
}
