import { Increments, KEPT_MINUTES } from "../../../governance/increments.ts";
import { BatchCounter, type CountedRecord } from "../../batch/batch-counter.ts";
import { type NewRecord, readLines } from "../../batch/batch-lines.ts";
import { readBytes, readNumber } from "../../rows.ts";
import type { BatchTable } from "./evidence-table.ts";
import type { Connection, Statements } from "./connection.ts";

const SQL = {
  checkpoint: "SELECT position FROM evidence_checkpoint",
  move: "UPDATE evidence_checkpoint SET position = ?",
  get: "SELECT cell FROM roll_ups WHERE workspace = ? AND facet = ? AND hour = ? AND labels = ?",
  put: "INSERT INTO roll_ups (workspace, facet, hour, labels, cell) VALUES (?, ?, ?, ?, ?) ON CONFLICT (workspace, facet, hour, labels) DO UPDATE SET cell = excluded.cell",
  prune: "DELETE FROM roll_ups WHERE workspace = ? AND facet = 'minute' AND hour < ?",
};

/** Hourly counts: cells up to the checkpoint, and in memory what is to be added to them. */
export class RollUpTable {
  readonly #sql: Statements<typeof SQL>;
  readonly #connection: Connection;
  readonly #batches: BatchTable;
  #counter = new BatchCounter();
  #increments = new Increments();
  /** Position of the checkpoint that the increments follow; `null` where nothing is counted. */
  #base: number | null = null;
  /** Position up to which the increments count. */
  #end = 0;
  /** Up to which minutes were pruned. */
  #newestMinute = 0;
  /** Written and not counted, with the position of the last of each commit. */
  #appended: { readonly last: number; readonly records: readonly NewRecord[] }[] = [];

  constructor(connection: Connection, batches: BatchTable) {
    this.#sql = connection.prepare(SQL);
    this.#connection = connection;
    this.#batches = batches;
  }

  /** Keeps records for {@link count}: reading them back takes the thread 8 µs a request. */
  appended(records: readonly NewRecord[], last: number): void {
    this.#appended.push({ last, records });
  }

  /** Counts appended records, or a page of what the log has. Call it after a reply. */
  count(): void {
    try {
      if (!this.#countAppended()) this.#countPage();
    } catch {
      // Unreadable just now. Everything after the checkpoint is counted again.
      this.#reset();
    }
  }

  /** Adds to the cells what they lack. @param least position that is enough; absent: the end */
  write(least = Number.POSITIVE_INFINITY): void {
    const newest = this.#batches.head().position;
    if (readNumber(this.#sql.checkpoint.get(), "position") >= Math.min(least, newest)) return;
    try {
      this.#countAppended();
      while (this.#countPage());
      const isWritten = this.#connection.transaction(() => this.#writeCells());
      if (isWritten) {
        this.#base = this.#end;
        this.#increments = new Increments();
        return;
      }
    } catch (error) {
      this.#reset();
      throw error;
    }
    // Another process has written the same counts.
    this.#reset();
    this.write(least);
  }

  /** False where the log may have records that were not appended through this table. */
  #countAppended(): boolean {
    let isComplete = false;
    this.#begin();
    for (const { last, records } of this.#appended.splice(0)) {
      isComplete = last - records.length === this.#end;
      if (!isComplete) continue;
      this.#countRecords(records);
      this.#end = last;
    }
    return isComplete;
  }

  #begin() {
    this.#base ??= this.#end = readNumber(this.#sql.checkpoint.get(), "position");
  }

  /** Whether there was anything to count. */
  #countPage(): boolean {
    this.#begin();
    const batches = this.#batches.after(this.#end);
    const end = batches.at(-1)?.last;
    if (end === undefined) return false;
    for (const batch of batches) this.#countRecords(readLines(batch));
    this.#end = end;
    return true;
  }

  #countRecords(records: Iterable<CountedRecord>) {
    const earlier = this.#counter.count(records, this.#increments);
    for (const requestId of earlier.keys()) {
      for (const batch of this.#batches.find(requestId, ["decision"])) {
        this.#counter.countEarlier(batch, earlier, this.#increments);
      }
    }
  }

  /** Whether the checkpoint is still the one that the increments follow. */
  #writeCells(): boolean {
    if (readNumber(this.#sql.checkpoint.get(), "position") !== this.#base) return false;
    for (const { workspace, facet, hour, labels, cell } of this.#increments.entries()) {
      const stored = this.#sql.get.get(workspace ?? "", facet, hour, labels);
      if (stored !== undefined) cell.addEncoded(readBytes(stored, "cell"));
      this.#sql.put.run(workspace ?? "", facet, hour, labels, cell.encode());
    }
    this.#pruneMinutes();
    this.#sql.move.run(this.#end);
    return true;
  }

  #pruneMinutes() {
    const newest = this.#increments.newestMinute();
    if (newest <= this.#newestMinute) return;
    this.#newestMinute = newest;
    const written = new Set(this.#increments.entries().map(({ workspace }) => workspace ?? ""));
    for (const workspace of written) this.#sql.prune.run(workspace, newest - KEPT_MINUTES);
  }

  #reset() {
    this.#counter = new BatchCounter();
    this.#increments = new Increments();
    this.#base = null;
  }
}
