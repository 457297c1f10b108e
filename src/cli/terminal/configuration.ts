import { join, resolve } from "node:path";
import type { RoutingTable } from "../../canon/table.ts";
import { userCacheFolder } from "./process.ts";
import { CommandError, UsageError, type CommandIo } from "./command-io.ts";
import { readEnvironment, shownPath } from "./command-line.ts";
import { compileTable } from "../../compile/compile-table.ts";
import { furtherSources, loadConfiguration } from "../../compile/load.ts";
import type { ExpandedPresets } from "../../compile/prices.ts";
import { openCompileCache, type CompileCache } from "../../policy/toolchain/compile-cache.ts";

/** The default of `--cache` in help texts. */
export const DEFAULT_CACHE_TEXT = "the user's cache folder";

/**
 * Where compiled policies are kept: in the folder of `--cache`, else in the user's cache folder.
 * The secret that authenticates them is in the user's cache folder always, because a path of
 * `--cache` may come with a checkout. `null` where the user has no such folder.
 *
 * @param flag value of `--cache`; `undefined` without the flag.
 * @throws {UsageError} for an empty path.
 */
export function compileCacheAt(
  flag: string | undefined,
  cwd: string,
  environment: CommandIo["environment"],
): CompileCache | null {
  if (flag === "") throw new UsageError("--cache: needs a path");
  const folder = userCacheFolder(environment);
  if (folder === null) return null;
  return {
    directory: flag === undefined ? join(folder, "compiled") : resolve(cwd, flag),
    secretDirectory: folder,
  };
}

/** Checks the cache before it is used; prints one line on stderr if there is none. */
export async function usableCache(
  cache: CompileCache | null,
  { stderr }: Pick<CommandIo, "stderr">,
): Promise<CompileCache | null> {
  const opened = cache === null ? NO_FOLDER : await openCompileCache(cache);
  if (opened.ok) return cache;
  stderr(`no compile cache is used, so policies are compiled at every run: ${opened.reason}\n`);
  return null;
}

/**
 * {@link compileCacheAt}, checked by {@link usableCache}. @throws {UsageError} for an empty path.
 */
export async function openCache(
  flag: string | undefined,
  io: CommandIo,
): Promise<CompileCache | null> {
  return await usableCache(compileCacheAt(flag, io.cwd, io.environment), io);
}

const NO_FOLDER = {
  ok: false,
  reason:
    "this user has no home folder; set XDG_CACHE_HOME (LOCALAPPDATA on Windows) to a folder of its own",
} as const;

/**
 * The routing table of a configuration, without its policies. @throws {CommandError} where it
 * cannot be read or has errors
 */
export async function loadTable(
  io: CommandIo,
  config: string,
  environment: string | undefined,
): Promise<{
  readonly table: RoutingTable;
  readonly expanded: ExpandedPresets;
  readonly file: string;
}> {
  const path = resolve(io.cwd, config);
  const files = await loadConfiguration(
    path,
    shownPath(io.cwd, path),
    readEnvironment(environment, io),
  );
  const [unread] = files.unreadable ?? [];
  if (unread !== undefined)
    throw new CommandError(`${unread.file}: ${unread.message}; ${unread.hint}`);
  const { table, expanded } = compileTable(files.routes, furtherSources(files));
  if (table === null)
    throw new CommandError(`${files.routes.path} has errors; list them with: signalbox check`);
  return { table, expanded, file: files.routes.path };
}
