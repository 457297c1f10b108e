import type { ConfigNode } from "./tree.ts";

/** Every name that the file declares, rows that the schema refused included: a reference to a broken row is not a second mistake. */
export interface Declared {
  readonly providers: ReadonlySet<string>;
  readonly models: ReadonlySet<string>;
  readonly endpoints: ReadonlySet<string>;
  readonly routes: ReadonlySet<string>;
  readonly regions: ReadonlySet<string>;
  readonly regionGroups: ReadonlySet<string>;
  readonly workspaces: ReadonlySet<string>;
  readonly labels: ReadonlySet<string>;
}

/** Reads the names off the tree before anything has been taken out of it. */
export function declaredNames(tree: ConfigNode): Declared {
  const groups = member(tree, "regions");
  const regions = groups?.kind === "map" ? [...groups.members.values()].flatMap(({ node }) => texts(node)) : [];
  const endpoints = member(tree, "endpoints");
  const ids = endpoints?.kind === "list" ? endpoints.items.flatMap((item) => texts(member(item, "id"))) : [];
  const vocabulary = member(tree, "vocabulary");
  return {
    providers: keys(member(tree, "providers")),
    models: keys(member(tree, "models")),
    endpoints: new Set(ids),
    routes: keys(member(tree, "routes")),
    regions: new Set(regions),
    regionGroups: keys(groups),
    workspaces: keys(member(tree, "workspaces")),
    labels: new Set(vocabulary === null ? [] : texts(member(vocabulary, "labels"))),
  };
}

function member(node: ConfigNode, name: string): ConfigNode | null {
  return node.kind === "map" ? (node.members.get(name)?.node ?? null) : null;
}

function keys(node: ConfigNode | null): ReadonlySet<string> {
  return new Set(node?.kind === "map" ? node.members.keys() : []);
}

function texts(node: ConfigNode | null): readonly string[] {
  if (node?.kind === "list") return node.items.flatMap(texts);
  return node?.kind === "scalar" && typeof node.value === "string" ? [node.value] : [];
}
