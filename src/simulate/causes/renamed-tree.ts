import type { ConfigNode, Member } from "../../compile/authored/tree.ts";
import type { RenamedKind, RowRename } from "../renames/renamed-table.ts";

/** A copy of routes.yaml with other names for some rows, wherever it refers to them. */
export function renamedTree(root: ConfigNode, renames: readonly RowRename[]): ConfigNode {
  return renames.length === 0
    ? root
    : renamed(root, [], new Map(renames.map(({ kind, from, to }) => [`${kind} ${from}`, to])));
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

/** Sections whose keys are names of rows. */
const ROWS: Readonly<Record<string, RenamedKind>> = {
  regions: "region_group",
  providers: "provider",
  models: "model",
  routes: "route",
  workspaces: "workspace",
};

const ORDERS = new Set(["primary", "peers", "weights", "fallbacks"]);
const APPROVED: Readonly<Record<string, RenamedKind>> = {
  routes: "route",
  providers: "provider",
  regions: "region_group",
};

/** What the names at a path are names of: a provider may be called like its region. `*` stands for the keys of a map. */
function kindsAt(path: readonly string[]): readonly RenamedKind[] {
  const [section = "", row, member = "", list = ""] = path;
  if (path.length === 2 && row === "*" && Object.hasOwn(ROWS, section)) return kindsOf(ROWS[section]);
  if (section === "endpoints") {
    return member === "id" ? ["endpoint"] : member === "model" || member === "provider" ? [member] : [];
  }
  if (section === "routes") return ORDERS.has(member) ? ["endpoint", "route"] : [];
  if (section === "workspaces") {
    if (member === "default_moderation_route") return ["route"];
    return member === "approve" && Object.hasOwn(APPROVED, list) ? kindsOf(APPROVED[list]) : [];
  }
  if (section === "policies") return row === "managed_by" ? ["workspace"] : [];
  if (section !== "workload_identity" && section !== "console") return [];
  const last = path.at(-1);
  return last === "routes" ? ["route"] : last === "workspace" || last === "workspaces" ? ["workspace"] : [];
}

function kindsOf(kind: RenamedKind | undefined): readonly RenamedKind[] {
  return kind === undefined ? [] : [kind];
}
