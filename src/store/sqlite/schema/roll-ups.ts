import type { DatabaseSync } from "node:sqlite";

import { Increments } from "../../../governance/increments.ts";
import { decisionFacts, rollUpDecision, rollUpOutcome, type DecisionFacts } from "../../../governance/roll-up.ts";
import { readDecision, readOutcome } from "../../stored-evidence.ts";
import { readText } from "../../rows/row.ts";

/**
 * `roll_up_increments` has one row for each batch of records, written with it; now and then its rows are added to the cells
 * of `roll_ups`. Adding to the cells at once would write some fifty pages for each batch.
 */
const TABLES = `
CREATE TABLE roll_ups (
  workspace TEXT NOT NULL,
  facet TEXT NOT NULL,
  hour INTEGER NOT NULL,
  labels TEXT NOT NULL,
  cell BLOB NOT NULL,
  PRIMARY KEY (workspace, facet, hour, labels)
) STRICT, WITHOUT ROWID;
CREATE TABLE roll_up_increments (
  id INTEGER PRIMARY KEY,
  increments BLOB NOT NULL
) STRICT;
`;

/** Records counted at a time, so that memory does not grow with the log. */
const BATCH = 500;

/**
 * Makes the tables of the counts and counts what the log holds: otherwise outcomes would be counted whose decisions never
 * were. What was pruned before is not counted, neither decisions nor their outcomes.
 */
export function migrateToRollUps(database: DatabaseSync): void {
  database.exec(TABLES);
  const insert = database.prepare("INSERT INTO roll_up_increments (increments) VALUES (?)");
  const log = database.prepare("SELECT kind, record FROM evidence_log ORDER BY position");
  const running = new Map<string, DecisionFacts>();
  let increments = new Increments();
  let counted = 0;
  for (const row of log.iterate()) {
    if (readText(row, "kind") === "decision") {
      const decision = readDecision(readText(row, "record"));
      if (decision === null) continue;
      rollUpDecision(increments, decision);
      running.set(decision.requestId, decisionFacts(decision));
    } else {
      const outcome = readOutcome(readText(row, "record"));
      const facts = outcome === null ? undefined : running.get(outcome.requestId);
      if (outcome === null || facts === undefined) continue;
      rollUpOutcome(increments, facts, outcome);
      running.delete(outcome.requestId);
    }
    counted += 1;
    if (counted % BATCH > 0) continue;
    insert.run(increments.encode());
    increments = new Increments();
  }
  if (increments.size > 0) insert.run(increments.encode());
}
