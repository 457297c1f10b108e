import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Store } from "../../store/port.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import { CommandError, type CommandIo } from "./command-io.ts";

/** A command can wait for a busy server longer than a server may wait for a command. Milliseconds. */
const BUSY_TIMEOUT = 10_000;

/** Where the database stands: `--database`, else SIGNALBOX_DATABASE, else a folder of the working directory. */
export function databasePath(flag: string | undefined, io: CommandIo): string {
  const named = flag ?? io.environment["SIGNALBOX_DATABASE"];
  return named === undefined || named === "" ? join(io.cwd, ".signalbox", "signalbox.db") : resolve(io.cwd, named);
}

/**
 * Runs `action` with the store open, and closes it.
 *
 * @param create whether a missing database is made; a command that only reads must not leave an empty one behind
 */
export async function withStore<Result>(
  path: string,
  create: boolean,
  action: (store: Store) => Promise<Result>,
): Promise<Result> {
  if (!create && !existsSync(path)) {
    throw new CommandError(`there is no database at ${path}; give its path with --database`);
  }
  const store = await openSqliteStore({ path, busyTimeout: BUSY_TIMEOUT });
  try {
    return await action(store);
  } finally {
    await store.close();
  }
}
