import type { DatabaseSync, StatementSync } from "node:sqlite";

import { Increments } from "../../../governance/increments.ts";
import { decisionFacts, rollUpDecision, rollUpOutcome, type DecisionFacts } from "../../../governance/roll-up.ts";
import type { RowFields } from "../roll-up-pages.ts";
import { OpenDecisions } from "../open-decisions.ts";
import { readDecision, readOutcome } from "../../stored-evidence.ts";
import type { RollUpPage } from "../protocol.ts";
import { readNumber, readText, type Row } from "../../rows/row.ts";
import type { Transaction } from "./transaction.ts";

/** How often what was added goes into the cells, milliseconds. */
const FOLD_INTERVAL = 2_000;

/** Batches that are added to the cells in one transaction: some milliseconds, in which no evidence is written. */
const FOLD_BATCHES = 100;

/** Record texts that have just been written, in the order of writing. */
export interface WrittenRecords {
  readonly decisions: readonly string[];
  readonly outcomes: readonly string[];
}

/** The statements over `roll_ups` and `roll_up_increments`; runs in the worker. */
export class RollUpTable {
  readonly #transaction: Transaction;
  readonly #decisionOf: (requestId: string) => string | null;
  readonly #open = new OpenDecisions();
  readonly #append: StatementSync;
  readonly #appended: StatementSync;
  readonly #remove: StatementSync;
  readonly #get: StatementSync;
  readonly #put: StatementSync;
  readonly #page: StatementSync;
  readonly #nextWorkspace: StatementSync;
  readonly #withoutWorkspace: StatementSync;
  #foldedAt = 0;

  /** @param decisionOf the text of a decision that is stored, by its request id. */
  constructor(database: DatabaseSync, transaction: Transaction, decisionOf: (requestId: string) => string | null) {
    this.#transaction = transaction;
    this.#decisionOf = decisionOf;
    this.#append = database.prepare("INSERT INTO roll_up_increments (increments) VALUES (?)");
    this.#appended = database.prepare("SELECT id, increments FROM roll_up_increments ORDER BY id LIMIT ?");
    this.#remove = database.prepare("DELETE FROM roll_up_increments WHERE id <= ?");
    this.#get = database.prepare(
      "SELECT cell FROM roll_ups WHERE workspace = ? AND facet = ? AND hour = ? AND labels = ?",
    );
    this.#put = database.prepare(
      "INSERT INTO roll_ups (workspace, facet, hour, labels, cell) VALUES (?, ?, ?, ?, ?) ON CONFLICT (workspace, facet, hour, labels) DO UPDATE SET cell = excluded.cell",
    );
    this.#page = database.prepare(
      "SELECT hour, labels, cell FROM roll_ups WHERE workspace = ? AND facet = ? AND (hour, labels) > (?, ?) AND hour < ? ORDER BY hour, labels LIMIT ?",
    );
    this.#nextWorkspace = database.prepare(
      "SELECT workspace FROM roll_ups WHERE workspace > ? ORDER BY workspace LIMIT 1",
    );
    this.#withoutWorkspace = database.prepare("SELECT 1 FROM roll_ups WHERE workspace = '' LIMIT 1");
  }

  /**
   * Counts records. Call it in the transaction that writes them, with those that were written and no others. A record that
   * this version does not know is not counted: evidence must not fail for its counts.
   */
  add({ decisions, outcomes }: WrittenRecords): void {
    if (decisions.length + outcomes.length === 0) return;
    const increments = new Increments();
    for (const text of decisions) {
      const decision = readDecision(text);
      if (decision === null) continue;
      rollUpDecision(increments, decision);
      this.#open.add(decision);
    }
    for (const text of outcomes) {
      const outcome = readOutcome(text);
      const facts = outcome === null ? null : this.#factsOf(outcome.requestId);
      if (outcome !== null && facts !== null) rollUpOutcome(increments, facts, outcome);
    }
    if (increments.size > 0) this.#append.run(increments.encode());
  }

  /** Adds what has gathered to the cells, now and then. */
  foldWhenDue(now: number): void {
    if (now - this.#foldedAt < FOLD_INTERVAL) return;
    // Where more is left than one transaction takes, the next poll goes on.
    this.#foldedAt = this.#foldSome() ? 0 : now;
  }

  /** Adds all that has gathered to the cells: what is read afterwards has counted every record that was written before. */
  fold(): void {
    while (this.#foldSome());
  }

  /** Cells after a place in the order of hour and labels; at most `limit`. */
  read({ workspace, facet, until, after, limit }: RollUpPage): readonly RowFields[] {
    const rows = this.#page.all(workspace ?? "", facet, after.hour, after.labels, until, limit);
    return rows.map((row) => ({
      hour: readNumber(row, "hour"),
      labels: readText(row, "labels"),
      cell: readBytes(row, "cell"),
    }));
  }

  /** Sorted; `null` first. */
  workspaces(): readonly (string | null)[] {
    const found: (string | null)[] = this.#withoutWorkspace.get() === undefined ? [] : [null];
    for (let last = ""; ;) {
      const row = this.#nextWorkspace.get(last);
      if (row === undefined) return found;
      last = readText(row, "workspace");
      found.push(last);
    }
  }

  #factsOf(requestId: string): DecisionFacts | null {
    const known = this.#open.take(requestId);
    if (known !== null) return known;
    const text = this.#decisionOf(requestId);
    const decision = text === null ? null : readDecision(text);
    return decision === null ? null : decisionFacts(decision);
  }

  /** Whether there may be more. */
  #foldSome(): boolean {
    if (this.#appended.get(1) === undefined) return false;
    return this.#transaction.run(() => {
      const increments = new Increments();
      const rows = this.#appended.all(FOLD_BATCHES);
      for (const row of rows) increments.addEncoded(readBytes(row, "increments"));
      for (const { workspace, facet, hour, labels, cell } of increments.entries()) {
        const stored = this.#get.get(workspace ?? "", facet, hour, labels);
        if (stored !== undefined) cell.addEncoded(readBytes(stored, "cell"));
        this.#put.run(workspace ?? "", facet, hour, labels, cell.encode());
      }
      const last = rows.at(-1);
      if (last !== undefined) this.#remove.run(readNumber(last, "id"));
      return rows.length === FOLD_BATCHES;
    });
  }
}

function readBytes(row: Row, column: string): Uint8Array {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} holds no bytes`);
  return value;
}
