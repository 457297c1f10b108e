import { basename, dirname, posix } from "node:path";
import type { Diagnostic, Source } from "../canon/diagnostic.ts";
import { directoryTree, UNREAD_SENTENCES, type FileTree, type UnreadText } from "./file-tree.ts";
import type { FurtherSources } from "./compile-table.ts";
import { Findings } from "./findings/findings.ts";
import { findFurther, treeOf } from "./includes.ts";
import { nodeAt, textAt } from "./authored/tree.ts";
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
}: Pick<ConfigurationFiles, "routes" | "parts" | "overlay">): readonly Source[] {
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
  const folder = posix.dirname(path);
  const shownFolder = posix.dirname(shown);
  const read = async (file: string, name: string, absent?: string): Promise<Source> => {
    const text = await tree.readText(file, folder);
    if (typeof text === "string") return { path: name, text };
    reportUnread(findings, name, text, absent);
    return { path: name, text: "" };
  };
  const routes = await read(path, shown, FIRST_RUN_FIX);
  if (findings.failed) return { routes, policies: [], unreadable: findings.list() };
  const further = await findFurther(tree, path, routes.text, environment, findings);
  const beside = (name: string) => read(posix.join(folder, name), posix.join(shownFolder, name));
  const parts: Source[] = [];
  for (const name of further.parts) parts.push(await beside(name));
  const overlay = further.overlay === null ? null : await beside(further.overlay);
  const keySets: Source[] = [];
  for (const name of keySetFiles(tableSources({ routes, parts, overlay })))
    keySets.push(await beside(name));
  const prices = await readPrices(tree, folder, shownFolder, findings);
  const { directory, declared } = policyDirectory(routes.text);
  const outside = await folderOutside(tree, folder, directory);
  if (outside !== null)
    reportUnread(findings, posix.join(shownFolder, outside), { unread: "outside" });
  const names = outside === null ? await regoFiles(tree, posix.join(folder, directory)) : [];
  // Only the default folder may be absent: a misspelt one would switch every policy off.
  if (names === null && declared)
    reportUnreadable(
      findings,
      shown,
      "the folder that `policies.dir` names cannot be read",
      "check the path and its permissions",
    );
  const policies = await Promise.all(
    (names ?? []).map((name) => beside(posix.join(directory, name))),
  );
  return { routes, parts, overlay, policies, keySets, prices, unreadable: findings.list() };
}

/** The price list beside routes.yaml, or the one of this release. */
async function readPrices(
  tree: FileTree,
  folder: string,
  shownFolder: string,
  findings: Findings,
): Promise<PriceList> {
  const text = await tree.readText(posix.join(folder, PRICE_FILE), folder);
  const shown = posix.join(shownFolder, PRICE_FILE);
  if (typeof text === "string") {
    const list = parsePriceList(text);
    if (typeof list !== "string") return list;
    reportUnreadable(findings, shown, list, "replace it: signalbox prices --update FILE");
  } else if (text.unread !== "absent") reportUnread(findings, shown, text);
  return PRICE_LIST;
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
  const findings = new Findings(shown);
  reportUnread(findings, shown, text);
  return { source: null, unreadable: findings.list() };
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
export async function regoFiles(tree: FileTree, folder: string): Promise<readonly string[] | null> {
  const policies = await tree.namesIn(folder);
  if (policies === null) return null;
  const shared = (await tree.namesIn(posix.join(folder, LIBRARIES))) ?? [];
  return [
    ...policies.filter(isPolicy),
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
function reportUnread(findings: Findings, file: string, { unread }: UnreadText, absent?: string) {
  const { what, fix } = UNREAD_SENTENCES[unread];
  reportUnreadable(findings, file, what, unread === "absent" ? (absent ?? fix) : fix);
}

function reportUnreadable(findings: Findings, file: string, message: string, fix: string) {
  findings.add("SOURCE_UNREADABLE", { file, line: 1, column: 1 }, message, fix);
}

/**
 * The files that `jwks_file` names in the files of a table, sorted, by path from the folder of
 * routes.yaml. A text that cannot be read names none: the compiler reports it.
 */
function keySetFiles(sources: readonly Source[]): readonly string[] {
  const found = sources
    // Most configurations name none, and parsing takes time.
    .filter(({ text }) => text.includes("jwks_file"))
    .flatMap(({ text }) => {
      const issuers = nodeAt(treeOf(text), ["workload_identity", "issuers"]);
      if (issuers?.kind !== "map") return [];
      return [...issuers.members.values()].flatMap(({ node }) => textAt(node, "jwks_file") ?? []);
    });
  return [...new Set(found.map((file) => posix.normalize(file)))].toSorted();
}

/**
 * The policy folder of a routes.yaml, relative to it, as far as the text can be followed: policies
 * are compiled even where the table has errors. The compiler reports what cannot be followed.
 */
export function policyDirectory(text: string): {
  readonly directory: string;
  readonly declared: boolean;
} {
  const directory = textAt(treeOf(text), "policies", "dir");
  // The schema refuses other paths, but this runs before it: a path that leads out of the folder
  // must not be read.
  return directory !== null && new RegExp(POLICY_DIRECTORY, "u").test(directory)
    ? { directory, declared: true }
    : { directory: DEFAULT_POLICY_DIRECTORY, declared: false };
}
