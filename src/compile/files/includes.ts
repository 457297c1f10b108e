import { posix } from "node:path";
import { readDocument } from "../authored/document.ts";
import { normaliseText } from "../authored/text.ts";
import { type ConfigNode, nodeAt, type Position } from "../authored/tree.ts";
import type { FileTree } from "../file-tree.ts";
import { Findings } from "../findings/findings.ts";

/** An entry of `include`: names that do not begin with a dot, so that none leads up; `*` stands for any part of a name, and `**` for nothing. */
export const INCLUDE = "^(?!.*\\*\\*)(?:[A-Za-z0-9_*][A-Za-z0-9._*-]*/)*[A-Za-z0-9_*][A-Za-z0-9._*-]*\\.ya?ml$";

/** The environment of an overlay, as it stands in its file's name. */
const ENVIRONMENT = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** One entry of `include`, with its location. */
interface IncludeEntry {
  readonly pattern: string;
  readonly at: Position;
}

/** The entries of `include` that can be followed; the schema reports the others. */
export function includeEntries(text: string): readonly IncludeEntry[] {
  const tree = readDocument(normaliseText(text), new Findings(""));
  const list: ConfigNode | null = tree === null ? null : nodeAt(tree, ["include"]);
  if (list?.kind !== "list") return [];
  const form = new RegExp(INCLUDE, "u");
  return list.items.flatMap((item) =>
    item.kind === "scalar" && typeof item.value === "string" && form.test(item.value)
      ? [{ pattern: item.value, at: item.at }]
      : [],
  );
}

/** Paths from the folder, sorted, of what a pattern finds; nothing where it finds nothing. */
export async function expandInclude(tree: FileTree, folder: string, pattern: string): Promise<readonly string[]> {
  let found: readonly string[] = [""];
  for (const step of pattern.split("/")) {
    const next: string[] = [];
    for (const below of found) {
      const names = (await tree.namesIn(posix.join(folder, below))) ?? [];
      const fits = nameTest(step);
      next.push(...names.filter(fits).map((name) => posix.join(below, name)));
    }
    found = next;
  }
  return found.toSorted();
}

/** Hidden files are found by no pattern. */
function nameTest(step: string): (name: string) => boolean {
  const form = new RegExp(`^(?!\\.)${step.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}$`, "u");
  return (name) => form.test(name);
}

/** `routes.production.yaml` for routes.yaml and `production`. */
export function overlayName(path: string, environment: string): string {
  const { name, ext } = posix.parse(path);
  return `${name}.${environment}${ext}`;
}

/** The environments that a folder has overlays for, sorted. */
export function environmentsOf(path: string, names: readonly string[]): readonly string[] {
  const { name, ext } = posix.parse(path);
  return names
    .filter((one) => one.startsWith(`${name}.`) && one.endsWith(ext) && one.length > name.length + ext.length + 1)
    .map((one) => one.slice(name.length + 1, one.length - ext.length))
    .filter((one) => ENVIRONMENT.test(one))
    .toSorted();
}

/** Whether a path from the folder of routes.yaml is routes.yaml or an overlay of it: no part of it. */
export function isMainOrOverlay(main: string, path: string): boolean {
  const base = posix.basename(main);
  return path === base || environmentsOf(base, [path]).length > 0;
}
