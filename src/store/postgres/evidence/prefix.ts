/** What pruning needs to know of a row. */
export interface PrefixRow {
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Where the row's request has ended: an outcome's own position, a decision's outcome's; `null` while it runs. */
  readonly endsAt: number | null;
}

/**
 * Finds the longest beginning of the log that is older than a time and parts no decision from its outcome. It is fed
 * the rows in order.
 */
export class PrefixSearch {
  readonly #before: number;
  #reach = 0;
  #end: number | null = null;

  constructor(before: number) {
    this.#before = before;
  }

  /** The last position of the longest such beginning so far; `null` where there is none. */
  get end(): number | null {
    return this.#end;
  }

  /** `false`: no later row can belong to it. */
  feed({ position, at, endsAt }: PrefixRow): boolean {
    if (endsAt === null || at >= this.#before) return false;
    this.#reach = Math.max(this.#reach, endsAt);
    if (this.#reach <= position) this.#end = position;
    return true;
  }
}
