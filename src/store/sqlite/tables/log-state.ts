import type { DatabaseSync, StatementSync } from "node:sqlite";

import { GENESIS, type ChainLink } from "../../../evidence/chain.ts";
import { FrameCursor } from "../../batch/frames.ts";
import { OpenDecision, OpenDecisions } from "../batch/open-decision.ts";
import type { KnownLog, LogStep, SealedBatch } from "../batch/seal.ts";
import { RecentIds } from "../../batch/recent-ids.ts";
import type { StoredBatch } from "../../batch/stored-batch.ts";
import { readNumber, readText, readTextOrNull } from "../../rows/row.ts";
import type { BatchTable } from "./batch-table.ts";

/** Called for each batch when it is part of the log, in order. */
export interface BatchCounter {
  /** @param written by this process just now; otherwise read from the log */
  add(bytes: Buffer, steps: readonly LogStep[], written: boolean): void;
  /** Forgets what has been added: it is read again from the checkpoint on. */
  reset(): void;
}

/** For who only reads. */
export const NO_COUNTS: BatchCounter = { add: () => {}, reset: () => {} };

/**
 * What follows from the log: its head, the running requests, the newest request ids. It is kept in memory, and written at
 * checkpoints; what comes after the newest checkpoint is read from the log again.
 */
export class LogState implements KnownLog {
  readonly #batches: BatchTable;
  readonly #counter: BatchCounter;
  readonly #checkpoint: StatementSync;
  readonly #move: StatementSync;
  readonly #stored: StatementSync;
  readonly #insertOpen: StatementSync;
  readonly #deleteOpen: StatementSync;
  #open = new OpenDecisions();
  /** Positions that the newest checkpoint has as open, and that have ended. */
  #ended: number[] = [];
  readonly #recent = new RecentIds();
  #head = GENESIS;
  #highWater = "";
  /** Position of the newest checkpoint; `null` while nothing has been read. */
  #base: number | null = null;

  constructor(database: DatabaseSync, batches: BatchTable, counter: BatchCounter) {
    this.#batches = batches;
    this.#counter = counter;
    this.#checkpoint = database.prepare("SELECT position FROM evidence_checkpoint");
    this.#move = database.prepare("UPDATE evidence_checkpoint SET position = ?");
    this.#stored = database.prepare(
      "SELECT position, process, request_id, workspace FROM evidence_open ORDER BY position",
    );
    this.#insertOpen = database.prepare(
      "INSERT INTO evidence_open (position, process, request_id, workspace) VALUES (?, ?, ?, ?)",
    );
    this.#deleteOpen = database.prepare("DELETE FROM evidence_open WHERE position = ?");
  }

  get head(): ChainLink {
    return this.#head;
  }

  get highWater(): string {
    return this.#highWater;
  }

  /** The largest request id of a decision after a batch with these. */
  highWaterWith({ decided }: SealedBatch): string {
    return decided.highest > this.#highWater ? decided.highest : this.#highWater;
  }

  knows(requestId: string): boolean {
    return this.#recent.has(requestId) || this.#open.get(requestId) !== undefined;
  }

  get open(): OpenDecisions {
    return this.#open;
  }

  get oldestOpen(): number | null {
    for (const { position } of this.#open.values()) return position;
    return null;
  }

  /** Takes in what other processes have written. Call it in a transaction, so that it reads one state. */
  catchUp(): void {
    const { head, highWater } = this.#batches.newest();
    if (this.#base === null || head.position < this.#head.position) return this.#load();
    if (head.position === this.#head.position) {
      // Another log than before: a file that was exchanged.
      if (head.hash !== this.#head.hash) this.#load();
      return;
    }
    for (const batch of this.#batches.after(this.#head.position)) this.#absorb(batch);
    this.#highWater = highWater;
  }

  /** Takes in a batch that is on disk now. */
  apply(batch: SealedBatch): void {
    this.#highWater = this.highWaterWith(batch);
    this.#head = batch.head;
    this.#step(batch.steps);
    this.#counter.add(batch.bytes, batch.steps, true);
  }

  /** Whether the newest checkpoint covers everything up to `position` or the end of the log, as far as this process knows. */
  isCheckpointed(position: number): boolean {
    return this.#base !== null && this.#base >= Math.min(position, this.#head.position);
  }

  /**
   * Catches up, also with the checkpoints of other processes. Afterwards the counter has counted exactly what follows the
   * newest checkpoint. Call it in a write transaction, which then writes a checkpoint.
   */
  catchUpToCheckpoint(): void {
    if (this.#base === readNumber(this.#checkpoint.get() ?? {}, "position")) this.catchUp();
    else this.#load();
  }

  /** Writes a checkpoint; {@link checkpointed} follows once it is on disk. */
  writeCheckpoint(): void {
    for (const position of this.#ended) this.#deleteOpen.run(position);
    for (const { position, process, requestId, workspace, isKept } of this.#open.values()) {
      if (!isKept) this.#insertOpen.run(position, process, requestId, workspace);
    }
    this.#move.run(this.#head.position);
  }

  checkpointed(): void {
    this.#base = this.#head.position;
    for (const decision of this.#open.values()) decision.isKept = true;
    this.#ended = [];
  }

  /** Reads everything again with the next look: what is in memory is not what is on disk. */
  forget(): void {
    this.#base = null;
  }

  /** Begins at the newest checkpoint. */
  #load(): void {
    this.#counter.reset();
    this.#open = new OpenDecisions();
    this.#ended = [];
    const base = readNumber(this.#checkpoint.get() ?? {}, "position");
    for (const row of this.#stored.iterate()) {
      const requestId = readText(row, "request_id");
      const [position, process] = [readNumber(row, "position"), readNumber(row, "process")];
      const decision = new OpenDecision(requestId, position, process, readTextOrNull(row, "workspace"));
      decision.isKept = true;
      this.#open.add(decision);
    }
    for (const batch of this.#batches.after(base)) this.#absorb(batch);
    const { head, highWater } = this.#batches.newest();
    this.#head = head;
    this.#highWater = highWater;
    this.#base = base;
  }

  #absorb({ first, last, hash, process, workspaces, records }: StoredBatch): void {
    const cursor = new FrameCursor(records);
    const steps: LogStep[] = [];
    const opened = new OpenDecisions();
    for (let position = first; cursor.next(); position += 1) {
      const { requestId } = cursor;
      const ends = cursor.kind === "outcome";
      const workspace = workspaces[cursor.workspaceNumber - 1] ?? null;
      const decision = ends
        ? (opened.get(requestId) ?? this.#open.get(requestId))
        : new OpenDecision(requestId, position, process, workspace);
      // In a log that somebody changed; verifying finds it.
      if (decision === undefined) continue;
      if (!ends) opened.add(decision);
      steps.push({ decision, ends, from: cursor.recordStart, to: cursor.end });
    }
    this.#step(steps);
    this.#head = { position: last, hash };
    this.#counter.add(cursor.bytes, steps, false);
  }

  #step(steps: readonly LogStep[]): void {
    for (const { decision, ends } of steps) {
      if (!ends) {
        this.#open.add(decision);
        this.#recent.add(decision.requestId, decision.idNumber);
      } else {
        this.#open.delete(decision);
        if (decision.isKept) this.#ended.push(decision.position);
      }
    }
  }
}
