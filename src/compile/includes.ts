import { posix } from "node:path";
import { normaliseText, readDocument } from "./authored/document.ts";
import { describeSafely, quote, suggest } from "./authored/literal-secrets.ts";
import {
  emptyMap,
  nodeAt,
  textAt,
  textOf,
  type ConfigNode,
  type ListNode,
  type MapNode,
  type Member,
  type Path,
  type Position,
} from "./authored/tree.ts";
import type { FileTree } from "./file-tree.ts";
import { Findings } from "./findings/findings.ts";

/** Sections of rows by policy, one level down: files may set different policies. */
const DEEPER: ReadonlySet<string> = new Set(["policies.initial_mode", "policies.promotion"]);

/**
 * Puts an included file's sections into the tree of the file that includes it. What both define is
 * an error at the second location that names the first: which of the two was meant is unknown.
 *
 * @param main gets the members; its own stay where they are.
 * @param mainFile the path of the file that includes, for messages.
 */
export function mergePart(
  main: MapNode,
  part: ConfigNode,
  mainFile: string,
  findings: Findings,
): void {
  const reportTwice = (path: Path, first: Position, second: Position) => {
    const where = describeSafely(path);
    // Two rows of one file are that file's own mistake, which has a code of its own.
    if (first.file === second.file)
      return findings.add(
        "DUPLICATE_ID",
        second,
        `${where} is defined twice in this file`,
        "keep one of them",
      );
    const location = `${first.file ?? mainFile}:${first.line}:${first.column}`;
    findings.add(
      "INCLUDE_DUPLICATE",
      second,
      `${where} is defined at ${location} too`,
      "keep one of the two",
    );
  };
  const mergeRows = (into: ListNode, rows: readonly ConfigNode[]) => {
    const positions = new Map(into.items.map((item) => [textAt(item, "id"), item.at]));
    for (const item of rows) {
      const id = textAt(item, "id");
      const first = positions.get(id);
      if (id === null || first === undefined) into.items.push(item);
      else reportTwice(["endpoints", id], first, item.at);
    }
  };
  const merge = (into: MapNode, name: string, member: Member, path: Path) => {
    if (!isMergeable(path, member, findings)) return;
    const present = into.members.get(name);
    const { node } = member;
    const isSection = path.length === 1;
    const mergesMembers = isSection || DEEPER.has(path.join("."));
    if (
      mergesMembers &&
      node.kind === "map" &&
      (present === undefined || present.node.kind === "map")
    ) {
      // A mapping of its own: a merge changes no tree but the one that is merged into.
      const target = present?.node.kind === "map" ? present.node : emptyMap(node.at);
      if (present === undefined) into.members.set(name, { keyAt: member.keyAt, node: target });
      for (const [key, inner] of node.members) merge(target, key, inner, [...path, key]);
    } else if (present === undefined) into.members.set(name, member);
    else if (isSection && present.node.kind === "list" && node.kind === "list")
      mergeRows(present.node, node.items);
    else if (isSection && present.node.kind !== node.kind) {
      const kind = present.node.kind === "list" ? "a list" : "a mapping";
      findings.add(
        "WRONG_TYPE",
        node.at,
        `${describeSafely(path)} must be ${kind}, as it is in ${mainFile}`,
        "",
      );
    } else reportTwice(path, present.keyAt, member.keyAt);
  };
  for (const [name, member] of sectionsOf(part, "an included file", findings))
    merge(main, name, member, [name]);
}

/**
 * The sections of an included file or an overlay. `version` is allowed there for readers; it has to
 * be the same.
 *
 * @param kind of file, for messages.
 */
function sectionsOf(
  file: ConfigNode,
  kind: string,
  findings: Findings,
): readonly (readonly [string, Member])[] {
  if (file.kind !== "map") {
    findings.add(
      "WRONG_TYPE",
      file.at,
      `${kind} must be a mapping of sections`,
      "begin it with `providers:`, `routes:` or another section",
    );
    return [];
  }
  return [...file.members].filter(([name, { keyAt, node }]) => {
    if (name === "version" && (node.kind !== "scalar" || node.value !== 1)) {
      findings.add(
        "VERSION_UNSUPPORTED",
        node.at,
        "`version` must be 1",
        "write `version: 1`, or leave it out here",
      );
    } else if (name === "include") {
      findings.add(
        "INCLUDE_NESTED",
        keyAt,
        `${kind} cannot include files`,
        "name them all in routes.yaml",
      );
    }
    return name !== "version" && name !== "include";
  });
}

/** `policies.dir` is read before anything is merged. */
function isMergeable(path: Path, member: Member, findings: Findings): boolean {
  if (path.join(".") !== "policies.dir") return true;
  findings.add(
    "SECTION_MISPLACED",
    member.keyAt,
    "policies.dir is allowed in routes.yaml only",
    "move it there",
  );
  return false;
}

/**
 * Merges an overlay over the tree. Mappings merge key by key; any other value replaces the one that
 * is there; `null` removes a key, which has to be there. `endpoints` is a mapping by id in an
 * overlay, since one row of a list could not be named.
 *
 * @param main is changed.
 */
export function mergeOverlay(main: MapNode, overlay: ConfigNode, findings: Findings): void {
  for (const [name, member] of sectionsOf(overlay, "an overlay", findings)) {
    const section = main.members.get(name)?.node;
    if (name === "endpoints" && section?.kind === "list")
      overlayEndpoints(section, member, findings);
    else overlayMember(main, name, member, [name], findings);
  }
}

function overlayMember(
  into: MapNode,
  name: string,
  member: Member,
  path: Path,
  findings: Findings,
) {
  if (!isMergeable(path, member, findings)) return;
  const present = into.members.get(name);
  const { node } = member;
  if (isNull(node)) {
    if (present === undefined) reportNothing(path, member, [...into.members.keys()], findings);
    else into.members.delete(name);
  } else if (present?.node.kind === "map" && node.kind === "map") {
    for (const [key, inner] of node.members)
      overlayMember(present.node, key, inner, [...path, key], findings);
  } else into.members.set(name, member);
}

function overlayEndpoints(list: ListNode, { node }: Member, findings: Findings) {
  if (node.kind !== "map") {
    findings.add(
      "WRONG_TYPE",
      node.at,
      "endpoints must be a mapping by id in an overlay",
      "write `endpoints: { ID: { price: … } }`",
    );
    return;
  }
  for (const [id, member] of node.members) {
    const index = list.items.findIndex((item) => textAt(item, "id") === id);
    const item = list.items[index];
    if (isNull(member.node)) {
      if (item !== undefined) list.items.splice(index, 1);
      else {
        const ids = list.items.flatMap((one) => textAt(one, "id") ?? []);
        reportNothing(["endpoints", id], member, ids, findings);
      }
    } else if (member.node.kind !== "map") {
      findings.add(
        "WRONG_TYPE",
        member.node.at,
        `${describeSafely(["endpoints", id])} must be a mapping, or null`,
        "",
      );
    } else if (item?.kind === "map") {
      for (const [key, inner] of member.node.members)
        overlayMember(item, key, inner, ["endpoints", id, key], findings);
    } else {
      const idNode: ConfigNode = { kind: "scalar", at: member.keyAt, value: id };
      const members = new Map([
        ...member.node.members,
        ["id", { keyAt: member.keyAt, node: idNode }] as const,
      ]);
      list.items.push({ ...member.node, members });
    }
  }
}

function reportNothing(
  path: Path,
  { keyAt }: Member,
  names: readonly string[],
  findings: Findings,
) {
  findings.add(
    "OVERLAY_REMOVES_NOTHING",
    keyAt,
    `${describeSafely(path)} does not exist, so null removes nothing`,
    suggest(String(path.at(-1)), names),
  );
}

function isNull(node: ConfigNode) {
  return node.kind === "scalar" && node.value === null;
}

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
 * The tree of a text whose faults another reading reports; `null` where it cannot be read.
 */
export function treeOf(text: string): ConfigNode | null {
  return readDocument(normaliseText(text), new Findings(""));
}

/** The entries of `include` that can be followed; the schema reports the others. */
export function includeEntries(text: string): readonly IncludeEntry[] {
  const list = nodeAt(treeOf(text), ["include"]);
  if (list?.kind !== "list") return [];
  const form = new RegExp(INCLUDE, "u");
  return list.items.flatMap((item) => {
    const pattern = textOf(item);
    return pattern !== null && form.test(pattern) ? [{ pattern, at: item.at }] : [];
  });
}

/** Files that match a pattern: sorted paths relative to the folder. */
export async function expandInclude(
  tree: FileTree,
  folder: string,
  pattern: string,
): Promise<readonly string[]> {
  let found: readonly string[] = [""];
  for (const step of pattern.split("/")) {
    // Hidden files are found by no pattern.
    const source = step.replaceAll(".", "\\.").replaceAll("*", "[^/]*");
    const form = new RegExp(`^(?!\\.)${source}$`, "u");
    const next: string[] = [];
    for (const below of found) {
      const names = (await tree.namesIn(posix.join(folder, below))) ?? [];
      next.push(...names.filter((name) => form.test(name)).map((name) => posix.join(below, name)));
    }
    found = next;
  }
  return found.toSorted();
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
    .filter((one) => one.startsWith(`${name}.`) && one.endsWith(ext))
    .map((one) => one.slice(name.length + 1, one.length - ext.length))
    .filter((environment) => ENVIRONMENT.test(environment))
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
    for (const name of others)
      if (await staysInside(tree, folder, name, at, findings)) parts.add(name);
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
  const environments = environmentsOf(posix.basename(path), (await tree.namesIn(folder)) ?? []);
  if (!environments.includes(environment)) {
    const names =
      environments.length === 0
        ? `there are no overlays; write ${overlayName(path, "NAME")}`
        : `known here: ${environments.join(", ")}`;
    findings.add(
      "ENVIRONMENT_UNKNOWN",
      start,
      `${quote(environment)} is not an environment of this file: there is no overlay for it`,
      names,
    );
    return null;
  }
  const name = overlayName(posix.basename(path), environment);
  return (await staysInside(tree, folder, name, start, findings)) ? name : null;
}

/** Reports a link that points out of the folder. */
async function staysInside(
  tree: FileTree,
  folder: string,
  name: string,
  at: Position,
  findings: Findings,
): Promise<boolean> {
  if ((await tree.leadsOut?.(folder, posix.join(folder, name))) !== true) return true;
  findings.add(
    "INCLUDE_OUTSIDE",
    at,
    `${quote(name)} is a link that points out of the folder`,
    "put the file itself there",
  );
  return false;
}
