import { basename, dirname, posix } from "node:path";
import { compareDiagnostics, type Diagnostic, type Source } from "../canon/diagnostic.ts";
import { directoryTree, UNREAD_SENTENCES, type FileTree, type UnreadText } from "./file-tree.ts";
import type { FurtherSources } from "./compile-table.ts";
import { Findings } from "./findings/findings.ts";
import { findFurther, treeOf } from "./includes.ts";
import { nodeAt, textOf } from "./authored/tree.ts";
import { POLICY_DIRECTORY } from "./authored/schema-use.ts";
import { DEFAULT_POLICY_DIRECTORY } from "./normalised/defaults.ts";
import { parsePriceList, PRICE_FILE, PRICE_LIST, type PriceList } from "./prices.ts";

/** Files of one compilation. */
export interface ConfigurationFiles {
  readonly routes: Source;
  /** Files that routes.yaml includes, sorted by path; none unless set. */
  readonly parts?: readonly Source[];
  /** The overlay of the environment that was requested; none unless set. */
  readonly overlay?: Source | null;
  /** The policy folder's `*.rego` and those of its `lib`, tests included, sorted by path. */
  readonly policies: readonly Source[];
  /** Files with keys of issuers of workloads, sorted by path; none unless set. */
  readonly keySets?: readonly Source[];
  /** From the file beside routes.yaml; that of this release unless set. */
  readonly prices?: PriceList;
  /** Files that could not be read; with one of these nothing is compiled. */
  readonly unreadable?: readonly Diagnostic[];
}

/** The files of the table, in the order in which they are read. */
function tableSources({
  routes,
  parts = [],
  overlay = null,
}: ConfigurationFiles): readonly Source[] {
  return [routes, ...parts, ...(overlay === null ? [] : [overlay])];
}

/** Inputs of the table's compiler besides routes.yaml. */
export function furtherSources(files: ConfigurationFiles): Required<FurtherSources> {
  const { routes, parts = [], overlay = null, keySets = [], prices = PRICE_LIST } = files;
  const folder = posix.dirname(routes.path);
  return {
    parts,
    overlay,
    keySets: new Map(keySets.map(({ path, text }) => [posix.relative(folder, path), text])),
    prices,
  };
}

/** Every file, for messages that show lines of them. */
export function allSources(files: ConfigurationFiles): readonly Source[] {
  return [...tableSources(files), ...files.policies];
}

/**
 * Reads routes.yaml, its included files, the overlay, the price list and the policies from disk.
 * Never rejects.
 *
 * @param path of routes.yaml.
 * @param shown the same path as messages print it; the other files' paths begin with its folder.
 * @param environment whose overlay is merged over it; `null` for none.
 */
export function loadConfiguration(
  path: string,
  shown: string = path,
  environment: string | null = null,
): Promise<ConfigurationFiles> {
  return loadFromTree(directoryTree(dirname(path)), basename(path), shown, environment);
}

/**
 * The same from any tree: the only part of the compiler that touches files. Rejects only where the
 * tree does.
 *
 * @param path of routes.yaml, from the tree's root.
 * @param shown and the others as for {@link loadConfiguration}.
 */
export async function loadFromTree(
  tree: FileTree,
  path: string,
  shown: string,
  environment: string | null = null,
): Promise<ConfigurationFiles> {
  const findings = new Findings(shown);
  const unreadable: Diagnostic[] = [];
  const read = async (file: string, name: string, absent?: string): Promise<Source> => {
    const text = await tree.readText(file, posix.dirname(path));
    if (typeof text === "string") return { path: name, text };
    unreadable.push(unreadFile(name, text, absent));
    return { path: name, text: "" };
  };
  const routes = await read(path, shown, FIRST_RUN_FIX);
  if (unreadable.length > 0) return { routes, policies: [], unreadable };
  const further = await findFurther(tree, path, routes.text, environment, findings);
  const beside = (name: string) =>
    read(posix.join(posix.dirname(path), name), posix.join(posix.dirname(shown), name));
  const parts: Source[] = [];
  for (const name of further.parts) parts.push(await beside(name));
  const overlay = further.overlay === null ? null : await beside(further.overlay);
  const keySets: Source[] = [];
  const named = keySetFiles(
    [routes, ...parts, ...(overlay === null ? [] : [overlay])].map(({ text }) => text),
  );
  for (const name of named) keySets.push(await beside(name));
  const prices = await readPrices(tree, posix.dirname(path), posix.dirname(shown), unreadable);
  const { directory, declared } = policyDirectory(routes.text);
  const folder = posix.join(posix.dirname(path), directory);
  const outside = await folderOutside(tree, posix.dirname(path), directory);
  if (outside !== null)
    unreadable.push(unreadFile(posix.join(posix.dirname(shown), outside), { unread: "outside" }));
  const names = outside === null ? await regoFiles(tree, folder) : [];
  // Only the default folder may be absent: a misspelt one would switch every policy off.
  if (names === null && declared) {
    unreadable.push(unreadableFile(shown, "the folder that `policies.dir` names cannot be read"));
  }
  const policies = await Promise.all(
    (names ?? []).map((name) => beside(posix.join(directory, name))),
  );
  return {
    routes,
    ...(parts.length > 0 && { parts }),
    ...(overlay !== null && { overlay }),
    policies,
    ...(keySets.length > 0 && { keySets }),
    ...(prices !== null && { prices }),
    // Files that are read together fail in any order.
    unreadable: [...findings.list(), ...unreadable].toSorted(compareDiagnostics),
  };
}

/** The price list beside routes.yaml; `null` where there is none. @param unreadable gets its fault. */
async function readPrices(
  tree: FileTree,
  folder: string,
  shownFolder: string,
  unreadable: Diagnostic[],
): Promise<PriceList | null> {
  const text = await tree.readText(posix.join(folder, PRICE_FILE), folder);
  const shown = posix.join(shownFolder, PRICE_FILE);
  if (typeof text === "string") {
    const list = parsePriceList(text);
    if (typeof list !== "string") return list;
    unreadable.push(unreadableFile(shown, list, "replace it: signalbox prices --update FILE"));
  } else if (text.unread !== "absent") unreadable.push(unreadFile(shown, text));
  return null;
}

/** Name of the assertions' file beside the policies. */
const ASSERTIONS_FILE = "assertions.yaml";

/**
 * Reads the assertions beside the policies. No start needs them, so they are no part of
 * {@link ConfigurationFiles}: a start must not fail over them. Never rejects.
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
  if (typeof text === "string") return { source: { path: shown, text }, unreadable: [] };
  return { source: null, unreadable: [unreadFile(shown, text)] };
}

/**
 * Where the assertions of a routes.yaml stand, seen from where its own path is seen; there need be
 * none.
 */
export function assertionsPath({ path, text }: Source): string {
  return posix.join(posix.dirname(path), policyDirectory(text).directory, ASSERTIONS_FILE);
}

/**
 * The policy folder, or its library folder, where it is a link that leads out: its names are not
 * read.
 */
async function folderOutside(
  tree: FileTree,
  within: string,
  directory: string,
): Promise<string | null> {
  for (const name of [directory, posix.join(directory, LIBRARIES)]) {
    if ((await tree.leadsOut?.(within, posix.join(within, name))) === true) return name;
  }
  return null;
}

/** Folder of the libraries, below that of the policies. */
const LIBRARIES = "lib";

/** Paths below the folder; `null` where there is no folder to read. */
async function regoFiles(tree: FileTree, folder: string): Promise<readonly string[] | null> {
  const own = await tree.namesIn(folder);
  if (own === null) return null;
  const shared = (await tree.namesIn(posix.join(folder, LIBRARIES))) ?? [];
  return [
    ...own.filter(isPolicy),
    ...shared.filter(isPolicy).map((name) => `${LIBRARIES}/${name}`),
  ].toSorted();
}

function isPolicy(name: string) {
  return name.endsWith(".rego") && !name.startsWith(".");
}

/** The fix for a routes.yaml that does not exist: a new user has none yet. */
const FIRST_RUN_FIX =
  "name another file with --config, or write a first routes.yaml: signalbox init";

/** @param absent the fix where there is no such file. */
function unreadFile(file: string, { unread }: UnreadText, absent?: string): Diagnostic {
  const { what, fix } = UNREAD_SENTENCES[unread];
  return unreadableFile(file, what, unread === "absent" && absent !== undefined ? absent : fix);
}

function unreadableFile(
  file: string,
  message: string,
  fix: string = "check the path and its permissions",
): Diagnostic {
  const findings = new Findings(file);
  findings.add("SOURCE_UNREADABLE", { line: 1, column: 1 }, message, fix);
  const [diagnostic] = findings.list();
  if (diagnostic === undefined)
    throw new Error("unreadableFile: a finding was added and is not there");
  return diagnostic;
}

/**
 * The files that `jwks_file` names in the texts of a configuration, sorted, by path from the folder
 * of routes.yaml. A text that cannot be read names none: the compiler reports it.
 */
function keySetFiles(texts: readonly string[]): readonly string[] {
  const found = texts
    // Most configurations name none, and parsing takes time.
    .filter((text) => text.includes("jwks_file"))
    .flatMap((text) => {
      const tree = treeOf(text);
      const issuers = tree === null ? null : nodeAt(tree, ["workload_identity", "issuers"]);
      if (issuers?.kind !== "map") return [];
      return [...issuers.members.values()].flatMap(({ node }) => {
        const file = textOf(nodeAt(node, ["jwks_file"]));
        return file === null ? [] : [posix.normalize(file)];
      });
    });
  return [...new Set(found)].toSorted();
}

/**
 * The policy folder of a routes.yaml, relative to it, as far as the text can be followed: policies
 * are compiled even where the table has errors. The compiler reports what cannot be followed.
 */
export function policyDirectory(text: string): {
  readonly directory: string;
  readonly declared: boolean;
} {
  const tree = treeOf(text);
  const value = tree === null ? null : textOf(nodeAt(tree, ["policies", "dir"]));
  // The schema refuses other paths, but this runs before it: a path that leads out of the folder
  // must not be read.
  if (value === null || !new RegExp(POLICY_DIRECTORY, "u").test(value)) {
    return { directory: DEFAULT_POLICY_DIRECTORY, declared: false };
  }
  return { directory: value, declared: true };
}
