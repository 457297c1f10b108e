import { posix } from "node:path";
import { readDocument, normaliseText } from "./authored/document.ts";
import { type ConfigNode, nodeAt, type Position, textOf } from "./authored/tree.ts";
import type { FileTree } from "./file-tree.ts";
import { Findings } from "./findings/findings.ts";
import { quote } from "./authored/literal-secrets.ts";
import { suggest } from "./findings/suggest.ts";

/**
 * An entry of `include`: names that do not begin with a dot, so that none leads up; `*` stands for
 * any part of a name, and `**` for nothing.
 */
export const INCLUDE =
  "^(?!.*\\*\\*)(?:[A-Za-z0-9_*][A-Za-z0-9._*-]*/)*[A-Za-z0-9_*][A-Za-z0-9._*-]*\\.ya?ml$";

/** The environment of an overlay, as it stands in its file's name. */
const ENVIRONMENT = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** One entry of `include`, with its location. */
interface IncludeEntry {
  readonly pattern: string;
  readonly at: Position;
}

/**
 * The tree of a text of which some other reading reports what is wrong; `null` where it has no
 * meaning to go on with.
 */
export function treeOf(text: string): ConfigNode | null {
  return readDocument(normaliseText(text), new Findings(""));
}

/** The entries of `include` that can be followed; the schema reports the others. */
export function includeEntries(text: string): readonly IncludeEntry[] {
  const tree = treeOf(text);
  const list = tree === null ? null : nodeAt(tree, ["include"]);
  if (list?.kind !== "list") return [];
  const form = new RegExp(INCLUDE, "u");
  return list.items.flatMap((item) => {
    const pattern = textOf(item);
    return pattern !== null && form.test(pattern) ? [{ pattern, at: item.at }] : [];
  });
}

/** Paths from the folder, sorted, of what a pattern finds; nothing where it finds nothing. */
export async function expandInclude(
  tree: FileTree,
  folder: string,
  pattern: string,
): Promise<readonly string[]> {
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
    .filter(
      (one) =>
        one.startsWith(`${name}.`) &&
        one.endsWith(ext) &&
        one.length > name.length + ext.length + 1,
    )
    .map((one) => one.slice(name.length + 1, one.length - ext.length))
    .filter((one) => ENVIRONMENT.test(one))
    .toSorted();
}

/**
 * Whether a path from the folder of routes.yaml is routes.yaml or an overlay of it: no part of it.
 */
function isMainOrOverlay(main: string, path: string): boolean {
  const base = posix.basename(main);
  return path === base || environmentsOf(base, [path]).length > 0;
}

/** Files beside routes.yaml, by their paths from its folder. */
interface FurtherFiles {
  readonly parts: readonly string[];
  readonly overlay: string | null;
}

/**
 * Which files routes.yaml includes and which overlay belongs to an environment. A file that two
 * entries find is read once.
 *
 * @param path of routes.yaml, from the tree's root.
 * @param text of routes.yaml.
 */
export async function findFurther(
  tree: FileTree,
  path: string,
  text: string,
  environment: string | null,
  findings: Findings,
): Promise<FurtherFiles> {
  const folder = posix.dirname(path);
  const parts = new Set<string>();
  for (const { pattern, at } of includeEntries(text)) {
    const found = await expandInclude(tree, folder, pattern);
    const others = found.filter((name) => !isMainOrOverlay(path, name));
    // A pattern skips them; a file that is named must be used.
    if (found.length > 0 && others.length === 0) {
      findings.add(
        "INCLUDE_SELF",
        at,
        `${quote(pattern)} is this file or an overlay of it`,
        "remove the entry",
      );
    } else if (found.length === 0) {
      const what = pattern.includes("*") ? "no file matches" : "there is no file";
      const names = (await tree.namesIn(posix.join(folder, posix.dirname(pattern)))) ?? [];
      const hint = suggest(
        posix.basename(pattern),
        names.filter((name) => /\.ya?ml$/.test(name)).toSorted(),
      );
      findings.add("INCLUDE_NOT_FOUND", at, `${what} ${quote(pattern)} beside this file`, hint);
    }
    for (const name of others) {
      if (await leadsOut(tree, folder, name)) {
        const message = `${quote(name)} is a link that points out of the folder`;
        findings.add("INCLUDE_OUTSIDE", at, message, "put the file itself there");
      } else parts.add(name);
    }
  }
  const overlay =
    environment === null ? null : await findOverlay(tree, path, environment, findings);
  return { parts: [...parts].toSorted(), overlay };
}

async function findOverlay(
  tree: FileTree,
  path: string,
  environment: string,
  findings: Findings,
): Promise<string | null> {
  const start = { line: 1, column: 1 };
  const folder = posix.dirname(path);
  const known = environmentsOf(posix.basename(path), (await tree.namesIn(folder)) ?? []);
  if (!known.includes(environment)) {
    const names =
      known.length === 0
        ? `there are no overlays; write ${overlayName(path, "NAME")}`
        : `known here: ${known.join(", ")}`;
    const message = `${quote(environment)} is not an environment of this file: there is no overlay for it`;
    findings.add("ENVIRONMENT_UNKNOWN", start, message, names);
    return null;
  }
  const name = overlayName(posix.basename(path), environment);
  if (!(await leadsOut(tree, folder, name))) return name;
  const message = `${quote(name)} is a link that points out of the folder`;
  findings.add("INCLUDE_OUTSIDE", start, message, "put the file itself there");
  return null;
}

async function leadsOut(tree: FileTree, folder: string, name: string): Promise<boolean> {
  return (await tree.leadsOut?.(folder, posix.join(folder, name))) ?? false;
}
