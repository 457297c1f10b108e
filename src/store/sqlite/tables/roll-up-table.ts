import type { DatabaseSync, StatementSync } from "node:sqlite";

import type { OutcomeRecord } from "../../../evidence/record.ts";
import { Increments } from "../../../governance/increments.ts";
import { decisionFacts, rollUpDecision, rollUpOutcome, type DecisionFacts } from "../../../governance/roll-up.ts";
import { AlikeOutcomes } from "../../batch/alike-outcomes.ts";
import { DecisionReader, writtenOutcomes, type CountedDecision } from "../../batch/decision-reader.ts";
import { FrameCursor } from "../../batch/frames.ts";
import type { OpenDecision } from "../batch/open-decision.ts";
import type { LogStep } from "../batch/seal.ts";
import { readDecision, readOutcome } from "../../stored-evidence.ts";
import type { RollUpPage } from "../protocol.ts";
import { readRollUp, type RowFields } from "../../rows/roll-up-rows.ts";
import { readBytes, readText } from "../../rows/row.ts";
import type { BatchTable } from "./batch-table.ts";
import type { BatchCounter } from "./log-state.ts";

/** Kinds of decisions that are kept apart before they are counted. */
const MOST_ALIKE = 1_000;

interface Uncounted {
  readonly bytes: Buffer;
  readonly steps: readonly LogStep[];
  readonly written: boolean;
}

/**
 * The hourly counts: the cells of `roll_ups` up to the newest checkpoint, and in memory what is to be added to them. Runs
 * in the worker.
 */
export class RollUpTable implements BatchCounter {
  readonly #batches: BatchTable;
  readonly #get: StatementSync;
  readonly #put: StatementSync;
  readonly #page: StatementSync;
  readonly #nextWorkspace: StatementSync;
  readonly #withoutWorkspace: StatementSync;
  #uncounted: Uncounted[] = [];
  #increments = new Increments();
  readonly #decisions = new DecisionReader();
  /** Decisions that are alike, and how many; with the outcomes that are alike they are added to the increments at the checkpoint. */
  #alike = new Map<CountedDecision, number>();
  readonly #alikeOutcomes = new AlikeOutcomes();

  constructor(database: DatabaseSync, batches: BatchTable) {
    this.#batches = batches;
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

  /** What this process wrote is counted later, so that no request waits for it; what was read is counted at once. */
  add(bytes: Buffer, steps: readonly LogStep[], written: boolean): void {
    this.#uncounted.push({ bytes, steps, written });
    if (!written) this.count();
  }

  reset(): void {
    this.#uncounted = [];
    this.#increments = new Increments();
    this.#alike = new Map();
    this.#alikeOutcomes.forget();
  }

  /** Counts what has been added. */
  count(): void {
    const uncounted = this.#uncounted;
    if (uncounted.length === 0) return;
    this.#uncounted = [];
    for (const { bytes, steps, written } of uncounted) {
      const ended: OpenDecision[] = [];
      const texts: string[] = [];
      for (const { decision, ends, from, to } of steps) {
        const { requestId, facts } = decision;
        if (!ends) this.#countDecision(decision, this.#decisions.read(bytes, from, to, requestId, written));
        else if (!written || facts === null || !this.#alikeOutcomes.take(facts, requestId, bytes, from, to)) {
          ended.push(decision);
          texts.push(bytes.toString("utf8", from, to));
        }
      }
      const outcomes = written ? writtenOutcomes(texts) : texts.map(readOutcome);
      for (const [index, decision] of ended.entries()) this.#countOutcome(decision, outcomes[index] ?? null);
    }
  }

  /** Adds what has been counted to the cells. Call it in a write transaction, and {@link checkpointed} once that is on disk. */
  writeCells(): void {
    this.count();
    this.#addDecisions();
    this.#alikeOutcomes.moveTo(this.#increments);
    for (const { workspace, facet, hour, labels, cell } of this.#increments.entries()) {
      const stored = this.#get.get(workspace ?? "", facet, hour, labels);
      if (stored !== undefined) cell.addEncoded(readBytes(stored, "cell"));
      this.#put.run(workspace ?? "", facet, hour, labels, cell.encode());
    }
  }

  checkpointed(): void {
    this.#increments = new Increments();
  }

  /** Cells after a position in the order of hour and labels; at most `limit`. */
  read({ workspace, facet, until, after, limit }: RollUpPage): readonly RowFields[] {
    return this.#page.all(workspace ?? "", facet, after.hour, after.labels, until, limit).map(readRollUp);
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

  /** A record that this version does not know is not counted: evidence must not fail for its counts. */
  #countDecision(open: OpenDecision, counted: CountedDecision | null): void {
    if (counted === null) return;
    this.#alike.set(counted, (this.#alike.get(counted) ?? 0) + 1);
    open.facts = counted.facts;
    if (this.#alike.size >= MOST_ALIKE) this.#addDecisions();
  }

  #addDecisions(): void {
    for (const [{ decision, facts }, times] of this.#alike) rollUpDecision(this.#increments, decision, facts, times);
    this.#alike = new Map();
  }

  #countOutcome(open: OpenDecision, outcome: OutcomeRecord | null): void {
    const facts = open.facts ?? this.#storedFacts(open.position);
    if (outcome !== null && facts !== null) rollUpOutcome(this.#increments, facts, outcome);
  }

  /** Of a decision before the newest checkpoint of another process, or of one before this. */
  #storedFacts(position: number): DecisionFacts | null {
    const batch = this.#batches.at(position);
    if (batch === null) return null;
    const cursor = new FrameCursor(batch.records);
    for (let at = batch.first; cursor.next(); at += 1) {
      if (at < position) continue;
      const decision = readDecision(cursor.record);
      return decision === null ? null : decisionFacts(decision);
    }
    return null;
  }
}
