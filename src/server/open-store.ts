import { openPostgresStore } from "../store/postgres/open.ts";
import { isPostgresUrl } from "../store/postgres/settings.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";
import type { Store } from "../store/port.ts";

/**
 * Opens a store for a server.
 *
 * @param database path of an SQLite file, or a URL of PostgreSQL
 *
 * @throws {StoreUnavailableError}
 */
export function openStore(database: string): Promise<Store> {
  return isPostgresUrl(database)
    ? openPostgresStore({ url: database })
    : openSqliteStore({ path: database, refuseCutEnd: true });
}
