import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import type { Store } from "../../store/port.ts";
import { isPostgresUrl } from "../../store/postgres/settings.ts";
import { openSqliteStore } from "../../store/sqlite/open.ts";
import { CommandError, UsageError, type CommandIo } from "./command-io.ts";

/**
 * Milliseconds; longer than a server's, because a command can wait.
 */
const BUSY_TIMEOUT = 10_000;

/**
 * The location of the database: the path of an SQLite file, or a URL of PostgreSQL, which holds a
 * password and must not be printed. `--database`, else SIGNALBOX_DATABASE_URL, else
 * SIGNALBOX_DATABASE, else a folder of the working directory.
 *
 * @throws {UsageError} when two of them name different databases. @throws {CommandError} for one of
 * the working directory that was not made here.
 */
export function databasePath(flag: string | undefined, io: CommandIo): string {
  const url = io.environment.SIGNALBOX_DATABASE_URL ?? "";
  const file = io.environment.SIGNALBOX_DATABASE ?? "";
  if (url !== "" && !isPostgresUrl(url)) {
    throw new UsageError(
      "SIGNALBOX_DATABASE_URL: must begin with postgres:// or postgresql://; a file is for --database",
    );
  }
  if (url !== "" && flag !== undefined && flag !== url) {
    throw new UsageError(
      "--database: SIGNALBOX_DATABASE_URL names another database; unset it, or leave --database out",
    );
  }
  if (url !== "" && file !== "") {
    throw new UsageError(
      "SIGNALBOX_DATABASE: SIGNALBOX_DATABASE_URL is set too; unset one of the two",
    );
  }
  const location = flag ?? (url === "" ? file : url);
  if (isPostgresUrl(location)) return location;
  return location === ""
    ? localDatabase(join(io.cwd, ".signalbox", "signalbox.db"))
    : resolve(io.cwd, location);
}

const OPEN_TO_OTHERS = 0o077;

/**
 * The database of the working directory. Its keys and policy log control the server, so one that
 * came with a checkout is refused: version control makes files readable by others, Signalbox never
 * does.
 *
 * @throws {CommandError}
 */
function localDatabase(path: string): string {
  const mode =
    process.platform === "win32" ? 0 : (statSync(path, { throwIfNoEntry: false })?.mode ?? 0);
  if ((mode & OPEN_TO_OTHERS) === 0) return path;
  throw new CommandError(
    `${path} can be read by other users: it may come from a checkout, with keys and policies of another user. If it is yours, name it with --database, or run chmod 600 on it`,
  );
}

/**
 * Runs `action` with the store open, and closes it.
 *
 * @param flag value of `--database`; see {@link databasePath} for its default.
 * @param use whether a missing database is made (`true`), must be there (`false`), or is only read
 */
export async function withStore<Result>(
  flag: string | undefined,
  io: CommandIo,
  use: boolean | "read",
  action: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openForCommand(databasePath(flag, io), use);
  try {
    return await action(store);
  } finally {
    await store.close();
  }
}

async function openForCommand(database: string, use: boolean | "read"): Promise<Store> {
  if (isPostgresUrl(database)) {
    const { openPostgresStore } = await import("../../store/postgres/open.ts");
    return await openPostgresStore({ url: database, create: use === true });
  }
  if (use !== true && !existsSync(database)) {
    throw new CommandError(`there is no database at ${database}; give its path with --database`);
  }
  return await openSqliteStore({
    path: database,
    busyTimeout: BUSY_TIMEOUT,
    readOnly: use === "read",
  });
}
