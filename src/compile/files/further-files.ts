import { posix } from "node:path";
import type { FileTree } from "../file-tree.ts";
import type { Findings } from "../findings/findings.ts";
import { quote } from "../authored/literal-secrets.ts";
import { suggest } from "../findings/suggest.ts";
import { environmentsOf, expandInclude, includeEntries, isMainOrOverlay, overlayName } from "./includes.ts";

/** Files beside routes.yaml, by their paths from its folder. */
interface FurtherFiles {
  readonly parts: readonly string[];
  readonly overlay: string | null;
}

/**
 * Which files routes.yaml includes and which overlay belongs to an environment. A file that two entries find is read once.
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
      findings.add("INCLUDE_SELF", at, `${quote(pattern)} is this file or an overlay of it`, "remove the entry");
    } else if (found.length === 0) {
      const what = pattern.includes("*") ? "no file matches" : "there is no file";
      const names = (await tree.namesIn(posix.join(folder, posix.dirname(pattern)))) ?? [];
      const hint = suggest(posix.basename(pattern), names.filter((name) => /\.ya?ml$/.test(name)).toSorted());
      findings.add("INCLUDE_NOT_FOUND", at, `${what} ${quote(pattern)} beside this file`, hint);
    }
    for (const name of others) {
      if (await leadsOut(tree, folder, name)) {
        findings.add(
          "INCLUDE_OUTSIDE",
          at,
          `${quote(name)} is a link that points out of the folder`,
          "put the file itself there",
        );
      } else parts.add(name);
    }
  }
  const overlay = environment === null ? null : await findOverlay(tree, path, environment, findings);
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
    findings.add(
      "ENVIRONMENT_UNKNOWN",
      start,
      `${quote(environment)} is not an environment of this file: there is no overlay for it`,
      names,
    );
    return null;
  }
  const name = overlayName(posix.basename(path), environment);
  if (!(await leadsOut(tree, folder, name))) return name;
  findings.add(
    "INCLUDE_OUTSIDE",
    start,
    `${quote(name)} is a link that points out of the folder`,
    "put the file itself there",
  );
  return null;
}

async function leadsOut(tree: FileTree, folder: string, name: string): Promise<boolean> {
  return (await tree.leadsOut?.(folder, posix.join(folder, name))) ?? false;
}
