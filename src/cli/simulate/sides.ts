import { stat } from "node:fs/promises";
import { posix, resolve, sep } from "node:path";
import type { Diagnostic, Source } from "../../canon/diagnostic.ts";
import { compileConfiguration } from "../../compile/compile.ts";
import { directoryTree, UNREAD_SENTENCES, type FileTree } from "../../compile/file-tree.ts";
import { environmentsOf } from "../../compile/includes.ts";
import { loadFromTree, policyDirectory, type ConfigurationFiles } from "../../compile/load.ts";
import type { Promotion, Side } from "../../simulate/request.ts";
import type { CompiledSide } from "../../simulate/side-contents.ts";
import { CommandError, type CommandIo } from "../terminal/command-io.ts";
import { printable } from "../terminal/printing.ts";
import type { SimulateOptions, TreeOption } from "./options.ts";
import { openRepository } from "./repository.ts";
import type { OfSides } from "../../simulate/sample-request.ts";
import { parseAssertions } from "../../simulate/assertions/parse.ts";
import { renamesOf } from "../../simulate/renamed-table.ts";
import type { ChangedEntry, SettingChange } from "../../simulate/report/report.ts";
import { changedAssertions } from "../../simulate/settings/changed-settings.ts";

/** A tree that exists and is not compiled yet. */
export interface SideTree {
  readonly flag: "--base" | "--head";
  readonly name: string;
  readonly commit: string | null;
  readonly files: FileTree;
  /** From the tree's root, of a path that is relative to the current folder. */
  readonly pathOf: (path: string, flag: string) => string;
}

/** A side with errors. */
export interface SideFailure {
  readonly name: string;
  readonly flag: SideTree["flag"];
  readonly files: ConfigurationFiles;
  readonly diagnostics: readonly Diagnostic[];
}

/** Opens both trees. @throws {CommandError} that names the flag and the fix. */
export async function openTrees(
  options: Pick<SimulateOptions, "base" | "head" | "mergeBase">,
  io: CommandIo,
): Promise<OfSides<SideTree>> {
  const head = await openTree(options.head, "--head", io);
  if (!options.mergeBase || options.base.kind === "directory") {
    return { base: await openTree(options.base, "--base", io), head };
  }
  const repository = await openRepository(io, "--base");
  const commit = await repository.mergeBase(
    await repository.commitOf(options.base.name),
    head.commit ?? (await headCommit(io)),
  );
  const files = repository.tree(commit);
  const name = `${options.base.name} (merge base)`;
  return { base: { flag: "--base", name, commit, files, pathOf: repository.pathFromRoot }, head };
}

async function headCommit(io: CommandIo) {
  return (await openRepository(io, "--merge-base")).commitOf("HEAD");
}

/** @throws {CommandError} that names the flag and the fix. */
export async function openTree(
  option: TreeOption,
  flag: SideTree["flag"],
  io: CommandIo,
): Promise<SideTree> {
  const { name } = option;
  if (option.kind === "directory") {
    const root = resolve(io.cwd, name);
    const found = await stat(root).catch(() => null);
    if (found?.isDirectory() !== true) {
      throw new CommandError(
        `${flag}: there is no such folder; give one that is there, or a git ref`,
      );
    }
    return { flag, name, commit: null, files: directoryTree(root), pathOf: (path) => path };
  }
  const repository = await openRepository(io, flag);
  const commit = await repository.commitOf(name);
  return { flag, name, commit, files: repository.tree(commit), pathOf: repository.pathFromRoot };
}

/**
 * Compiles a tree as a start would.
 *
 * @throws {CommandError} where the tree cannot be read, which is not the same as a file that is
 * missing in it.
 */
export async function compileSide(
  tree: SideTree,
  options: Pick<SimulateOptions, "config" | "cache" | "environment">,
): Promise<Side | SideFailure> {
  const { name, commit, flag } = tree;
  const shown = shownIn(options.config);
  const files = await loadFromTree(
    tree.files,
    tree.pathOf(shown, "--config"),
    shown,
    options.environment,
  );
  // A change must be able to correct a value that base has wrong.
  const acceptUnknownValues = flag !== "--head";
  const { table, policies, diagnostics } = await compileConfiguration(files, {
    ...options,
    acceptUnknownValues,
  });
  const failed = diagnostics.some(({ severity }) => severity === "error");
  if (failed || table === null || policies === null) return { name, flag, files, diagnostics };
  return {
    name,
    commit,
    table,
    policies,
    files,
    environment: options.environment,
    warnings: diagnostics,
  };
}

/** Environment → file of its overlay, from the tree's root. */
export async function overlaysOf(
  tree: SideTree,
  config: string,
): Promise<ReadonlyMap<string, string>> {
  const { dir, base, name, ext } = posix.parse(tree.pathOf(shownIn(config), "--config"));
  const names = environmentsOf(base, (await tree.files.namesIn(dir || ".")) ?? []);
  return new Map(
    names.map((environment) => [environment, posix.join(dir, `${name}.${environment}${ext}`)]),
  );
}

/**
 * The assertions of one side.
 *
 * @param requested the file that was named; `null`: the one beside the policies, which may be
 * absent.
 * @param absence whether a file that was named may be absent too: base need not have what head
 * begins with.
 * @throws {CommandError} where the file cannot be read.
 */
async function readAssertions(
  tree: SideTree,
  files: ConfigurationFiles,
  requested: string | null,
  absence: "is an error" | "may be absent" = "is an error",
): Promise<Source | null> {
  const beside = posix.join(
    posix.dirname(files.routes.path),
    policyDirectory(files.routes.text).directory,
  );
  const shown = requested === null ? posix.join(beside, "assertions.yaml") : shownIn(requested);
  const path = tree.pathOf(shown, "--assertions");
  if (requested === null || absence === "may be absent") {
    const names = await tree.files.namesIn(posix.dirname(path));
    if (names?.includes(posix.basename(path)) !== true) return null;
  }
  const within = posix.dirname(
    requested === null ? tree.pathOf(files.routes.path, "--assertions") : path,
  );
  const text = await tree.files.readText(path, within);
  if (typeof text === "string") return { path: shown, text };
  const { what, fix } = UNREAD_SENTENCES[text.unread];
  throw new CommandError(
    text.unread === "absent" || text.unread === "unreadable"
      ? "--assertions: head has no such file, or it is not UTF-8 text; check the path"
      : `--assertions: ${printable(shown)}: ${what}; ${fix}`,
  );
}

/**
 * Contents kept from base are enforced already; only head's own, its removals included, can be
 * promoted.
 *
 * @throws {CommandError} for a promotion of what head does not have.
 */
export function checkPromotions(head: CompiledSide, promotions: readonly Promotion[]): void {
  for (const { id, digestPrefix } of promotions) {
    const ofHead = head.contents.filter(({ contract, isKept }) => contract.id === id && !isKept);
    if (ofHead.length === 0) {
      throw new CommandError(
        "--promote: head has no policy with this id; give the id of one of its policies, or of a policy that base enforces and head removed",
      );
    }
    if (digestPrefix !== null && !ofHead.some(({ digest }) => digest.startsWith(digestPrefix))) {
      throw new CommandError(
        `--promote: head has another revision of ${id}; its digest begins with ${ofHead[0]?.digest.slice(0, 12)}`,
      );
    }
  }
}

/**
 * As messages print it: with `/`, and the same for both sides, so that a report does not depend on
 * where a side was read from.
 */
export function shownIn(path: string): string {
  return posix.normalize(path.split(sep).join("/"));
}

/**
 * The assertions that head is checked against: its own; base's where head has none any more, so
 * that a change cannot remove the assertion that would fail it. What head has changed of them is
 * listed. With errors in the file nothing is compared.
 *
 * @param requested `--assertions`.
 * @throws {CommandError} where a file cannot be read.
 */
export async function heldAssertions(
  trees: OfSides<SideTree>,
  base: Side,
  head: Side,
  requested: string | null,
) {
  const after = await readAssertions(trees.head, head.files, requested);
  const before = await readAssertions(trees.base, base.files, requested, "may be absent");
  const source = after ?? before;
  if (source === null) return { assertions: null, diagnostics: [], source };
  const { assertions, diagnostics } = parseAssertions(source, sidesOf(base, head));
  if (assertions === null) return { assertions, diagnostics, source };
  const changes = changedAssertions(
    // Base's after file may have errors; that it differs is known.
    before === null
      ? null
      : { source: before, assertions: parseAssertions(before, sidesOf(base, base)).assertions },
    after === null ? null : { source: after, assertions },
    renamesOf(base.table, head.table),
  );
  // Changes that follow a renamed row belong to the rename; a renamed assertion does not.
  const shown = changes.filter(({ effect, path }) => effect !== "renamed" || path.endsWith(".id"));
  return {
    assertions: { file: source.path, assertions, changes, entries: shown.map(entryOf) },
    diagnostics,
    source,
  };
}

/** Names in the file may be of either side: an assertion may keep out what base had. */
function sidesOf(base: Side, head: Side) {
  const side = ({ table, policies }: Side) => ({
    table,
    contracts: policies.policies.map(({ contract }) => contract),
  });
  return { base: side(base), head: side(head) };
}

function entryOf({ path, before, after, location }: SettingChange): ChangedEntry {
  const subject = path.split(".")[1] ?? path;
  const change = before === null ? "added" : after === null ? "removed" : "changed";
  return { path, kind: "assertion", subject, change, before, after, location };
}
