/**
 * Run as a process by `crash.test.ts` over a file or the URL of a PostgreSQL: decides without end
 * and prints which decisions were acknowledged.
 */
import { writeSync } from "node:fs";

import { openPostgresStore } from "../../src/store/postgres/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/open.ts";
import { decisionRecord, outcomeRecord, recordDecision } from "./records.ts";

const [, , database = "", round = ""] = process.argv;
const store = await (database.startsWith("postgres:")
  ? openPostgresStore({ url: database })
  : openSqliteStore({ path: database }));

async function writeWithoutEnd(lane: number): Promise<void> {
  for (let number = 0; ; number += 1) {
    const requestId = `${round}-${lane}-${number}`;
    await recordDecision(store.evidence, decisionRecord(requestId));
    // Synchronous: an acknowledgement that is printed later than it was given could die with the
    // process.
    writeSync(1, `${requestId}\n`);
    store.evidence.settle(outcomeRecord(requestId));
  }
}

await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(writeWithoutEnd));
