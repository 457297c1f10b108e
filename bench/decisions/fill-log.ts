import { DatabaseSync } from "node:sqlite";
import type { DecisionRecord, OutcomeRecord } from "../../src/evidence/record.ts";
import { sealBatch } from "../../src/store/batch/batch-lines.ts";
import { decisionOf, outcomeOf } from "../../src/store/stored-evidence.ts";
import { batchTable } from "../../src/store/sqlite/evidence-table.ts";
import { storeConnection } from "../../src/store/sqlite/connection.ts";

interface Recorded {
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord;
}

/** Decisions of one commit of a busy server; their outcomes stand in the next batch. */
const TOGETHER = 20;
/** Batches of one transaction. */
const COMMITTED = 5_000;

/**
 * Appends requests to the log of a closed database as its own batches, chained, but without
 * counting them: through a store ten million records take an hour on a busy machine.
 */
export function fillLog(path: string, count: number, make: (index: number) => Recorded): void {
  const database = new DatabaseSync(path);
  const table = batchTable(storeConnection(database));
  let ended: readonly Recorded[] = [];
  for (let made = 0, batches = 0; made < count || ended.length > 0; batches += 1) {
    if (batches % COMMITTED === 0) database.exec(batches === 0 ? "BEGIN" : "COMMIT; BEGIN");
    const requests = Array.from({ length: Math.min(TOGETHER, count - made) }, (_, index) =>
      make(made + index),
    );
    made += requests.length;
    const records = [
      ...requests.map(({ decision }) => decisionOf(decision)),
      ...ended.map(({ outcome }) => outcomeOf(outcome)),
    ];
    const workspaces = [...requests, ...ended].map(({ decision }) => decision.workspace ?? "");
    table.insert(sealBatch(table.head(), records, workspaces));
    ended = requests;
  }
  database.prepare("UPDATE evidence_checkpoint SET position = ?").run(table.head().position);
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}
