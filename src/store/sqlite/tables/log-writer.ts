import type { DatabaseSync, StatementSync } from "node:sqlite";

import { chainHash, GENESIS, type ChainKind, type ChainLink } from "../../../evidence/chain.ts";
import type { RollUpTable } from "./roll-up-table.ts";
import { readNumber, readText, readTextOrNull } from "../../rows/row.ts";

export interface NewDecision {
  /** Whole milliseconds since the epoch. */
  readonly at: number;
  readonly requestId: string;
  readonly workspace: string | null;
  readonly record: string;
}

export interface NewOutcome {
  /** Whole milliseconds since the epoch. */
  readonly at: number;
  readonly requestId: string;
  readonly record: string;
}

/** Adds rows at the end of the chain. Every call stands inside a write transaction, between {@link begin} and {@link end}. */
export class LogWriter {
  readonly #newest: StatementSync;
  readonly #start: StatementSync;
  readonly #insert: StatementSync;
  readonly #decision: StatementSync;
  readonly #open: StatementSync;
  readonly #close: StatementSync;
  readonly #record: StatementSync;
  readonly #rollUps: Pick<RollUpTable, "add">;
  #written: { readonly decisions: string[]; readonly outcomes: string[] } = { decisions: [], outcomes: [] };
  #head: ChainLink = GENESIS;

  /** @param rollUps told of what is written, in the same transaction. */
  constructor(database: DatabaseSync, rollUps: Pick<RollUpTable, "add">) {
    this.#rollUps = rollUps;
    this.#record = database.prepare("SELECT record FROM evidence_log WHERE request_id = ? AND kind = 'decision'");
    this.#newest = database.prepare("SELECT position, hash FROM evidence_log ORDER BY position DESC LIMIT 1");
    this.#start = database.prepare("SELECT position, hash FROM evidence_start");
    // One repeated request id must not fail the other rows of its batch.
    this.#insert = database.prepare(
      `INSERT INTO evidence_log (position, kind, at, request_id, workspace, process, record, hash)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (request_id, kind) DO NOTHING`,
    );
    this.#decision = database.prepare(
      "SELECT position, workspace, process FROM evidence_log WHERE request_id = ? AND kind = 'decision'",
    );
    this.#open = database.prepare("INSERT INTO evidence_open (position, process) VALUES (?, ?)");
    this.#close = database.prepare("DELETE FROM evidence_open WHERE position = ?");
  }

  /** The newest row, whoever wrote it; where all were pruned, what they ended at. */
  readHead(): ChainLink {
    const row = this.#newest.get() ?? this.#start.get();
    return row === undefined ? GENESIS : { position: readNumber(row, "position"), hash: readText(row, "hash") };
  }

  /** Reads the head anew: another process may have written since. */
  begin(): void {
    this.#head = this.readHead();
    this.#written = { decisions: [], outcomes: [] };
  }

  /** Counts what was written since {@link begin}; without it the roll-ups would not know of these rows. */
  end(): void {
    this.#rollUps.add(this.#written);
  }

  /** The text of a stored decision; `null` where there is none. */
  decisionOf(requestId: string): string | null {
    const row = this.#record.get(requestId);
    return row === undefined ? null : readText(row, "record");
  }

  /** What the chain ends at now. */
  get head(): ChainLink {
    return this.#head;
  }

  /** False when there is a decision with this request id. */
  decide({ at, requestId, workspace, record }: NewDecision, process: number): boolean {
    if (!this.#append("decision", at, requestId, workspace, process, record)) return false;
    this.#open.run(this.#head.position, process);
    this.#written.decisions.push(record);
    return true;
  }

  /** False when there is no decision with this request id, or it has its outcome. */
  settle({ at, requestId, record }: NewOutcome): boolean {
    const decision = this.#decision.get(requestId);
    if (decision === undefined) return false;
    const process = readNumber(decision, "process");
    if (!this.#append("outcome", at, requestId, readTextOrNull(decision, "workspace"), process, record)) return false;
    this.#close.run(readNumber(decision, "position"));
    this.#written.outcomes.push(record);
    return true;
  }

  #append(
    kind: ChainKind,
    at: number,
    requestId: string,
    workspace: string | null,
    process: number,
    record: string,
  ): boolean {
    const position = this.#head.position + 1;
    const hash = chainHash(this.#head.hash, position, kind, record);
    const { changes } = this.#insert.run(position, kind, at, requestId, workspace, process, record, hash);
    if (changes === 0) return false;
    this.#head = { position, hash };
    return true;
  }
}
