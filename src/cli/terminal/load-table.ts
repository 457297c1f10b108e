import { resolve } from "node:path";
import type { RoutingTable } from "../../canon/table.ts";
import { compileTable } from "../../compile/compile-table.ts";
import { furtherSources, loadConfiguration } from "../../compile/load.ts";
import { CommandError, type CommandIo } from "./command-io.ts";
import { readEnvironment } from "./arguments.ts";
import { shownPath } from "./as-typed.ts";

/**
 * The routing table of a configuration, without its policies. @throws {CommandError} where it
 * cannot be read or has errors
 */
export async function loadTable(
  io: CommandIo,
  config: string,
  environment: string | undefined,
): Promise<{ readonly table: RoutingTable; readonly file: string }> {
  const path = resolve(io.cwd, config);
  const files = await loadConfiguration(
    path,
    shownPath(io.cwd, path),
    readEnvironment(environment, io),
  );
  const [unread] = files.unreadable ?? [];
  if (unread !== undefined)
    throw new CommandError(`${unread.file}: ${unread.message}; ${unread.hint}`);
  const { table } = compileTable(files.routes, furtherSources(files));
  if (table === null)
    throw new CommandError(`${files.routes.path} has errors; list them with: signalbox check`);
  return { table, file: files.routes.path };
}
