import { DatabaseSync } from "node:sqlite";
import type { DecisionRecord, OutcomeRecord } from "../../src/evidence/record.ts";
import { encodeBatch } from "../../src/store/batch/frames.ts";
import { OpenDecisions } from "../../src/store/sqlite/batch/open-decision.ts";
import { sealBatch } from "../../src/store/sqlite/batch/seal.ts";
import { BatchTable } from "../../src/store/sqlite/tables/batch-table.ts";

interface Recorded {
  readonly decision: DecisionRecord;
  readonly outcome: OutcomeRecord;
}

/** Decisions of one commit of a busy server; their outcomes stand in the next batch. */
const TOGETHER = 20;
/** Batches of one transaction. */
const COMMITTED = 5_000;

/**
 * Appends requests to the log of a closed database as its own batches, chained, but without counting them: through a store ten million records take
 * an hour on a busy machine.
 */
export function fillLog(path: string, count: number, make: (index: number) => Recorded): void {
  const database = new DatabaseSync(path);
  const table = new BatchTable(database);
  const process = Number(database.prepare("SELECT max(id) AS id FROM processes").get()?.["id"]);
  let open = new OpenDecisions();
  let ended: readonly OutcomeRecord[] = [];
  let { head, highWater } = table.newest();
  for (let made = 0, batches = 0; made < count || ended.length > 0; batches += 1) {
    if (batches % COMMITTED === 0) database.exec(batches === 0 ? "BEGIN" : "COMMIT; BEGIN");
    const requests = Array.from({ length: Math.min(TOGETHER, count - made) }, (_, index) => make(made + index));
    made += requests.length;
    const bytes = encodeBatch(
      requests.flatMap(({ decision }) => [
        decision.at,
        decision.requestId,
        decision.workspace,
        JSON.stringify(decision),
      ]),
      ended.flatMap((outcome) => [outcome.at, outcome.requestId, JSON.stringify(outcome)]),
    );
    const known = { head, highWater, knows: () => false, open };
    const sealed = sealBatch(bytes, process, known);
    open = new OpenDecisions(sealed.steps.filter(({ ends }) => !ends).map(({ decision }) => decision));
    if (sealed.decided.highest > highWater) highWater = sealed.decided.highest;
    table.insert(sealed, highWater);
    ({ head } = sealed);
    ended = requests.map(({ outcome }) => outcome);
  }
  database.prepare("UPDATE evidence_checkpoint SET position = ?").run(head.position);
  database.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}
