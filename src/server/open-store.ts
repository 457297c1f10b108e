import { isPostgresUrl } from "../store/postgres/settings.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";
import type { EvidenceLimits } from "../store/evidence-queue.ts";
import type { Store } from "../store/port.ts";

/**
 * Opens a store for a server.
 *
 * @param database path of an SQLite file, or a URL of PostgreSQL
 * @param evidence other bounds than the usual ones
 *
 * @throws {StoreUnavailableError}
 */
export async function openStore(
  database: string,
  evidence: Partial<EvidenceLimits> = {},
): Promise<Store> {
  if (!isPostgresUrl(database))
    return await openSqliteStore({ path: database, refuseCutEnd: true, evidence });
  // Most servers never need it.
  const { openPostgresStore } = await import("../store/postgres/open.ts");
  return await openPostgresStore({ url: database, evidence });
}
