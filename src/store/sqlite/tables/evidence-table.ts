import type { DatabaseSync, StatementSync } from "node:sqlite";

import { LEASE, type ProcessLease } from "./process-lease.ts";
import { DECISION_FIELDS, OUTCOME_FIELDS, type DecisionFields, type OutcomeFields } from "../../evidence-batch.ts";
import type { EvidencePage, EvidenceRow } from "../protocol.ts";
import { readNumber, readNumberOrNull, readText, readTextOrNull, type Row } from "./row.ts";
import type { Transaction } from "./transaction.ts";

const SELECT = `
SELECT decisions.sequence, decisions.record AS decision, outcomes.record AS outcome, processes.seen_at, processes.ended_at
FROM decisions
JOIN processes ON processes.id = decisions.process
LEFT JOIN outcomes ON outcomes.decision = decisions.sequence
WHERE decisions.sequence > ? AND decisions.sequence < ?`;
const NEWEST = "ORDER BY decisions.sequence DESC LIMIT ?";

export interface AppendResult {
  /** Positions of the decisions whose request id is recorded already. */
  readonly duplicates: readonly number[];
  /** Outcomes without a decision, or with an outcome there already. */
  readonly lost: number;
}

/** The statements over `decisions` and `outcomes`; runs in the worker. */
export class EvidenceTable {
  readonly #transaction: Transaction;
  readonly #lease: ProcessLease;
  readonly #insertDecision: StatementSync;
  readonly #insertOutcome: StatementSync;
  readonly #readAll: StatementSync;
  readonly #readWorkspace: StatementSync;
  readonly #readRequest: StatementSync;

  constructor(database: DatabaseSync, transaction: Transaction, lease: ProcessLease) {
    this.#transaction = transaction;
    this.#lease = lease;
    // One repeated request id must not fail the other decisions of its batch.
    this.#insertDecision = database.prepare(
      "INSERT INTO decisions (process, at, request_id, workspace, record) VALUES (?, ?, ?, ?, ?) ON CONFLICT (request_id) DO NOTHING",
    );
    this.#insertOutcome = database.prepare(
      "INSERT INTO outcomes (decision, record) SELECT sequence, ? FROM decisions WHERE request_id = ? ON CONFLICT (decision) DO NOTHING",
    );
    this.#readAll = database.prepare(`${SELECT} ${NEWEST}`);
    this.#readWorkspace = database.prepare(`${SELECT} AND decisions.workspace = ? ${NEWEST}`);
    this.#readRequest = database.prepare(
      `${SELECT} AND decisions.request_id = ? AND (? IS NULL OR decisions.workspace = ?) ${NEWEST}`,
    );
  }

  append(decisions: DecisionFields, outcomes: OutcomeFields, now: number): AppendResult {
    const duplicates: number[] = [];
    let lost = 0;
    const process = this.#transaction.run(() => {
      const id = this.#lease.take(now);
      for (let index = 0; index < decisions.length; index += DECISION_FIELDS) {
        const { changes } = this.#insertDecision.run(
          id,
          decisions[index] ?? null,
          decisions[index + 1] ?? null,
          decisions[index + 2] ?? null,
          decisions[index + 3] ?? null,
        );
        if (changes === 0) duplicates.push(index / DECISION_FIELDS);
      }
      for (let index = 0; index < outcomes.length; index += OUTCOME_FIELDS) {
        const { changes } = this.#insertOutcome.run(outcomes[index + 1] ?? null, outcomes[index] ?? null);
        if (changes === 0) lost += 1;
      }
      return id;
    });
    this.#lease.confirm(process, now);
    return { duplicates, lost };
  }

  /** Newest first. */
  read(page: EvidencePage, now: number): readonly EvidenceRow[] {
    const { after, before, limit } = page;
    const workspace = page.workspace ?? null;
    let rows: Row[];
    if (page.requestId !== undefined) {
      rows = this.#readRequest.all(after, before, page.requestId, workspace, workspace, limit);
    } else if (workspace !== null) {
      rows = this.#readWorkspace.all(after, before, workspace, limit);
    } else {
      rows = this.#readAll.all(after, before, limit);
    }
    return rows.map((row) => readRow(row, now));
  }
}

function readRow(row: Row, now: number): EvidenceRow {
  const seenAt = readNumber(row, "seen_at");
  const ended = readNumberOrNull(row, "ended_at") !== null || now - seenAt > LEASE;
  return {
    sequence: readNumber(row, "sequence"),
    decision: readText(row, "decision"),
    outcome: readTextOrNull(row, "outcome"),
    diedAt: ended ? seenAt : null,
  };
}
