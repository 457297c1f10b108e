/** A row of the log as far as pruning looks at it. */
export interface ScannedRow {
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Position of a decision's outcome; `null` for outcomes and for decisions without one. */
  readonly ended: number | null;
}

/**
 * Requests last minutes. Where they have overlapped for so long without a pause there is no moment to cut at, and
 * waiting for one would keep everything for ever. Milliseconds.
 */
const LONGEST_OVERLAP = 86_400_000;

/** Finds where the prefix of a log ends that a prune may delete; fed from the beginning, row by row. */
export class PruneScan {
  readonly #before: number;
  #firstAt: number | null = null;
  #newestAt = 0;
  #end = 0;
  #quiet = 0;
  #reach = 0;
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
   * @param oldestOpen position of the oldest decision without an outcome
   */
  take(rows: readonly ScannedRow[], oldestOpen: number | null): boolean {
    for (const { position, at, ended } of rows) {
      if (at >= this.#before || position === oldestOpen) this.#over = true;
      if (this.#over) return false;
      this.#firstAt ??= at;
      this.#newestAt = at;
      this.#end = position;
      this.#reach = Math.max(this.#reach, ended ?? 0);
      if (this.#reach <= position) this.#quiet = position;
    }
    return rows.length > 0;
  }

  /** The last position to delete; 0 for none. */
  get through(): number {
    if (this.#quiet > 0 || this.#firstAt === null) return this.#quiet;
    return this.#newestAt - this.#firstAt > LONGEST_OVERLAP ? this.#end : 0;
  }
}
