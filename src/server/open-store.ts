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
export async function openStore(database: string): Promise<Store> {
  if (!isPostgresUrl(database)) return await openSqliteStore({ path: database, refuseCutEnd: true });
  // Most servers never need it.
  const { openPostgresStore } = await import("../store/postgres/open.ts");
  return await openPostgresStore({ url: database });
}
