import { type ConfigNode, nodeAt, textOf } from "./tree.ts";

/**
 * Every name that the file declares, rows that the schema refused included: a reference to a broken
 * row is not a second mistake.
 */
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
  const groups = nodeAt(tree, ["regions"]);
  const regions =
    groups?.kind === "map" ? [...groups.members.values()].flatMap(({ node }) => texts(node)) : [];
  const endpoints = nodeAt(tree, ["endpoints"]);
  const ids =
    endpoints?.kind === "list"
      ? endpoints.items.flatMap((item) => texts(nodeAt(item, ["id"])))
      : [];
  return {
    providers: keys(nodeAt(tree, ["providers"])),
    models: keys(nodeAt(tree, ["models"])),
    endpoints: new Set(ids),
    routes: keys(nodeAt(tree, ["routes"])),
    regions: new Set(regions),
    regionGroups: keys(groups),
    workspaces: keys(nodeAt(tree, ["workspaces"])),
    labels: new Set(texts(nodeAt(tree, ["vocabulary", "labels"]))),
  };
}

function keys(node: ConfigNode | null): ReadonlySet<string> {
  return new Set(node?.kind === "map" ? node.members.keys() : []);
}

function texts(node: ConfigNode | null): readonly string[] {
  if (node?.kind === "list") return node.items.flatMap(texts);
  const text = textOf(node);
  return text === null ? [] : [text];
}
