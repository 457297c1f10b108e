import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { undeclaredValue, type DeclaredValues } from "../canon/credentials/service-key.ts";
import { didYouMean } from "./terminal/arguments.ts";
import { CommandError, UsageError, type CommandIo } from "./terminal/command-io.ts";
import { loadTable } from "./terminal/load-table.ts";
import { databasePath } from "./terminal/open-store.ts";
import { keyUsage } from "./key-grant-flags.ts";

/** Flags of `keys create` that say where the key is made, and for which configuration. */
interface NewKeyFlags {
  readonly database?: string | undefined;
  readonly create?: boolean | undefined;
  readonly config?: string | undefined;
  readonly environment?: string | undefined;
}

/**
 * @throws {CommandError} where a database would be made in a folder that has none, unasked: no
 * server would know its key
 */
export function databaseForNewKey(flags: NewKeyFlags, io: CommandIo): string {
  const path = databasePath(flags.database, io);
  if (flags.create === true || !isOwn(flags, io) || existsSync(path)) return path;
  throw new CommandError(
    `there is no database at ${path}; start "signalbox serve" in this folder first, name another database with --database, or give --create to create this one`,
  );
}

/**
 * Compares workspace, environment, workload, labels and routes with routes.yaml: the file of
 * `--config`, or the one beside the folder's own database.
 *
 * @throws {UsageError} {@link CommandError}
 */
export async function refuseUndeclaredNames(
  flags: NewKeyFlags,
  key: DeclaredValues & { readonly workspace: string },
  io: CommandIo,
): Promise<void> {
  const config = flags.config ?? "routes.yaml";
  if (flags.config === undefined && !(isOwn(flags, io) && existsSync(resolve(io.cwd, config)))) {
    // It was the environment of the key once: dropped in silence, a key of production would be
    // made.
    if (flags.environment === undefined) return;
    throw new UsageError(
      "--environment: has an effect only with --config; the environment of the key is set with --key-environment",
    );
  }
  const { table, file } = await loadTable(io, config, flags.environment);
  const known = Object.keys(table.workspaces);
  if (!known.includes(key.workspace)) {
    throw new UsageError(
      `--workspace: ${file} has no workspace of that name${didYouMean(key.workspace, known)}`,
    );
  }
  const undeclared = undeclaredValue(key, table);
  if (undeclared !== null) throw keyUsage(undeclared);
}

/** Whether the database is that of the working folder, which no flag named. */
function isOwn({ database }: NewKeyFlags, { environment }: CommandIo): boolean {
  const named = [
    database,
    environment["SIGNALBOX_DATABASE_URL"],
    environment["SIGNALBOX_DATABASE"],
  ];
  return named.every((value) => value === undefined || value === "");
}
