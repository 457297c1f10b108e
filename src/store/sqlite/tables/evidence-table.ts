import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { ChainLink } from "../../../evidence/chain.ts";
import { DECISION_FIELDS, OUTCOME_FIELDS, type DecisionFields, type OutcomeFields } from "../../evidence-batch.ts";
import type { EvidencePage, EvidenceRow } from "../protocol.ts";
import type { LogWriter } from "./log-writer.ts";
import { LEASE, type ProcessLease } from "./process-lease.ts";
import { readNumber, readNumberOrNull, readText, readTextOrNull, type Row } from "../../rows/row.ts";
import type { Transaction } from "./transaction.ts";

const SELECT = `
SELECT decisions.position, decisions.record AS decision, outcomes.record AS outcome, processes.seen_at, processes.ended_at
FROM evidence_log AS decisions
JOIN processes ON processes.id = decisions.process
LEFT JOIN evidence_log AS outcomes ON outcomes.request_id = decisions.request_id AND outcomes.kind = 'outcome'
WHERE decisions.kind = 'decision' AND decisions.position > ? AND decisions.position < ?`;
const NEWEST = "ORDER BY decisions.position DESC LIMIT ?";

export interface AppendResult {
  /** Positions in the batch of the decisions whose request id is recorded already. */
  readonly duplicates: readonly number[];
  /** Outcomes without a decision, or with an outcome there already. */
  readonly lost: number;
  /** The newest row after the batch. */
  readonly head: ChainLink;
}

/** Appends batches of records and reads entries, a decision with its outcome each; runs in the worker. */
export class EvidenceTable {
  readonly #transaction: Transaction;
  readonly #lease: ProcessLease;
  readonly #writer: LogWriter;
  readonly #readAll: StatementSync;
  readonly #readWorkspace: StatementSync;
  readonly #readRequest: StatementSync;

  constructor(database: DatabaseSync, transaction: Transaction, lease: ProcessLease, writer: LogWriter) {
    this.#transaction = transaction;
    this.#lease = lease;
    this.#writer = writer;
    this.#readAll = database.prepare(`${SELECT} ${NEWEST}`);
    this.#readWorkspace = database.prepare(`${SELECT} AND decisions.workspace = ? ${NEWEST}`);
    this.#readRequest = database.prepare(
      `${SELECT} AND decisions.request_id = ? AND (? IS NULL OR decisions.workspace = ?) ${NEWEST}`,
    );
  }

  append(decisions: DecisionFields, outcomes: OutcomeFields, now: number): AppendResult {
    if (decisions.length + outcomes.length === 0) return { duplicates: [], lost: 0, head: this.#writer.readHead() };
    const duplicates: number[] = [];
    let lost = 0;
    const process = this.#transaction.run(() => {
      const id = this.#lease.take(now);
      this.#writer.begin();
      for (let index = 0; index < decisions.length; index += DECISION_FIELDS) {
        const decision = {
          at: numberAt(decisions, index),
          requestId: textAt(decisions, index + 1),
          workspace: decisions[index + 2] === null ? null : textAt(decisions, index + 2),
          record: textAt(decisions, index + 3),
        };
        if (!this.#writer.decide(decision, id)) duplicates.push(index / DECISION_FIELDS);
      }
      for (let index = 0; index < outcomes.length; index += OUTCOME_FIELDS) {
        const outcome = {
          at: numberAt(outcomes, index),
          requestId: textAt(outcomes, index + 1),
          record: textAt(outcomes, index + 2),
        };
        if (!this.#writer.settle(outcome)) lost += 1;
      }
      this.#writer.end();
      return id;
    });
    this.#lease.confirm(process, now);
    return { duplicates, lost, head: this.#writer.head };
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
    sequence: readNumber(row, "position"),
    decision: readText(row, "decision"),
    outcome: readTextOrNull(row, "outcome"),
    diedAt: ended ? seenAt : null,
  };
}

function textAt(fields: DecisionFields, index: number): string {
  const value = fields[index];
  if (typeof value !== "string") throw new TypeError("evidence: a field of a batch is no text");
  return value;
}

function numberAt(fields: DecisionFields, index: number): number {
  const value = fields[index];
  if (typeof value !== "number") throw new TypeError("evidence: a field of a batch is no number");
  return value;
}
