import { readRows, type StoredBatch } from "./batch/lines.ts";

/** A row of the log as far as pruning looks at it. */
export interface ScannedRow {
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly kind: "decision" | "outcome";
  readonly requestId: string;
  /**
   * Whether the log can be cut after it; a store that keeps several rows together deletes them
   * together.
   */
  readonly isEnd: boolean;
}

/**
 * Requests last minutes. Where they have overlapped for so long without a pause there is no moment
 * to cut at, and waiting for one would keep everything for ever. Milliseconds.
 */
const LONGEST_OVERLAP = 86_400_000;

/**
 * Finds where the prefix of a log ends that a prune may delete; fed from the beginning, row by row.
 */
export class PruneScan {
  readonly #before: number;
  readonly #running = new Set<string>();
  #firstAt: number | null = null;
  #newestAt = 0;
  #end = 0;
  #cut = 0;
  #quiet = 0;
  #over = false;

  /** @param before rows younger than this are kept, milliseconds since the epoch */
  constructor(before: number) {
    this.#before = before;
  }

  /** How far it has come: the next rows are those after this position. */
  get end(): number {
    return this.#end;
  }

  /**
   * Takes the next rows, in order; false when no more are wanted.
   *
   * @param open request ids of the decisions without an outcome
   */
  take(rows: Iterable<ScannedRow>, open: ReadonlySet<string>): boolean {
    for (const { position, at, kind, requestId, isEnd } of rows) {
      if (at >= this.#before || open.has(requestId)) this.#over = true;
      if (this.#over) return false;
      this.#firstAt ??= at;
      this.#end = position;
      if (kind === "decision") this.#running.add(requestId);
      else this.#running.delete(requestId);
      if (!isEnd) continue;
      this.#cut = position;
      this.#newestAt = at;
      if (this.#running.size === 0) this.#quiet = position;
    }
    return true;
  }

  /** The same with a batch, which is deleted whole. */
  takeBatch(batch: StoredBatch, open: ReadonlySet<string>): boolean {
    return this.take(
      readRows(batch).map((row) => ({ ...row, isEnd: row.position === batch.last })),
      open,
    );
  }

  /** The last position to delete; 0 for none. */
  get through(): number {
    if (this.#quiet > 0 || this.#firstAt === null) return this.#quiet;
    return this.#newestAt - this.#firstAt > LONGEST_OVERLAP ? this.#cut : 0;
  }
}
