/** Request ids of decisions that are remembered at least, to refuse one that is sent again; at most twice as many. */
const REMEMBERED = 50_000;

/** The newest request ids of a log. */
export class RecentIds {
  #recent = new Set<string>();
  #older = new Set<string>();

  has(requestId: string): boolean {
    return this.#recent.has(requestId) || this.#older.has(requestId);
  }

  add(requestId: string): void {
    if (this.#recent.size >= REMEMBERED) {
      this.#older = this.#recent;
      this.#recent = new Set();
    }
    this.#recent.add(requestId);
  }
}
