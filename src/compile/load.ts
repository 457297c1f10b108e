import { basename, dirname, posix } from "node:path";
import type { Diagnostic, Source } from "../canon/diagnostic.ts";
import { directoryTree, type FileTree } from "./file-tree.ts";
import { Findings } from "./findings/findings.ts";
import { policyDirectory } from "./policy-directory.ts";

/** What one compilation reads. */
export interface ConfigurationFiles {
  readonly routes: Source;
  /** The policy folder's `*.rego` and those of its `lib`, tests included, sorted by path. */
  readonly policies: readonly Source[];
  /** Files that could not be read; with one of these nothing is compiled. */
  readonly unreadable?: readonly Diagnostic[];
}

/**
 * Reads routes.yaml and the policies beside it from disk. Never rejects.
 *
 * @param path of routes.yaml.
 * @param shown the same path as messages print it; the policies' paths begin with its folder.
 */
export function loadConfiguration(path: string, shown: string = path): Promise<ConfigurationFiles> {
  return loadFromTree(directoryTree(dirname(path)), basename(path), shown);
}

/**
 * The same from any tree: the only part of the compiler that touches files. Rejects only where the tree does.
 *
 * @param path of routes.yaml, from the tree's root.
 * @param shown as for {@link loadConfiguration}.
 */
export async function loadFromTree(tree: FileTree, path: string, shown: string): Promise<ConfigurationFiles> {
  const unreadable: Diagnostic[] = [];
  const read = async (file: string, name: string): Promise<Source> => {
    const text = await tree.readText(file);
    if (text === null) unreadable.push(unreadableFile(name, "the file cannot be read, or is not UTF-8 text"));
    return { path: name, text: text ?? "" };
  };
  const routes = await read(path, shown);
  if (unreadable.length > 0) return { routes, policies: [], unreadable };
  const { directory, declared } = policyDirectory(routes.text);
  const folder = posix.join(posix.dirname(path), directory);
  const names = await regoFiles(tree, folder);
  // Only a folder that nobody asked for may be absent: a misspelt one would switch every policy off.
  if (names === null && declared) {
    unreadable.push(unreadableFile(shown, "the folder that `policies.dir` names cannot be read"));
  }
  const policies: Source[] = [];
  for (const name of names ?? []) {
    policies.push(await read(posix.join(folder, name), posix.join(posix.dirname(shown), directory, name)));
  }
  return { routes, policies, unreadable };
}

/** Name of the file beside the policies that says what no change may do. */
const ASSERTIONS_FILE = "assertions.yaml";

/**
 * Reads the assertions beside the policies. No start needs them, so they are no part of {@link ConfigurationFiles}: a start must not fail over
 * them. Never rejects.
 *
 * @param routes routes.yaml, as it was read; its path is what messages print.
 * @param path of routes.yaml.
 * @returns no source where there is no such file.
 */
export async function loadAssertions(
  routes: Source,
  path: string,
): Promise<{ readonly source: Source | null; readonly unreadable: readonly Diagnostic[] }> {
  const { directory } = policyDirectory(routes.text);
  const tree = directoryTree(dirname(path));
  const present = (await tree.namesIn(directory)) ?? [];
  if (!present.includes(ASSERTIONS_FILE)) return { source: null, unreadable: [] };
  const shown = assertionsPath(routes);
  const text = await tree.readText(posix.join(directory, ASSERTIONS_FILE));
  if (text !== null) return { source: { path: shown, text }, unreadable: [] };
  return { source: null, unreadable: [unreadableFile(shown, "the file cannot be read, or is not UTF-8 text")] };
}

/** Where the assertions of a routes.yaml stand, seen from where its own path is seen; there need be none. */
export function assertionsPath({ path, text }: Source): string {
  return posix.join(posix.dirname(path), policyDirectory(text).directory, ASSERTIONS_FILE);
}

/** Paths below the folder; `null` where there is no folder to read. */
async function regoFiles(tree: FileTree, folder: string): Promise<readonly string[] | null> {
  const own = await tree.namesIn(folder);
  if (own === null) return null;
  const shared = (await tree.namesIn(posix.join(folder, "lib"))) ?? [];
  return [...own.filter(isPolicy), ...shared.filter(isPolicy).map((name) => `lib/${name}`)].toSorted();
}

function isPolicy(name: string): boolean {
  return name.endsWith(".rego") && !name.startsWith(".");
}

function unreadableFile(file: string, message: string): Diagnostic {
  const findings = new Findings(file);
  findings.add("SOURCE_UNREADABLE", { line: 1, column: 1 }, message, "check the path and its permissions");
  const [diagnostic] = findings.list();
  if (diagnostic === undefined) throw new Error("unreadableFile: a finding was added and is not there");
  return diagnostic;
}
