/** Into so many pieces the window is cut: it slides by a tenth of itself, and its memory does not depend on the traffic. */
const BUCKETS = 10;

/** Calls and failures of the last while. */
export class FailureWindow {
  /** Milliseconds. */
  readonly span: number;
  readonly #width: number;
  readonly #callsIn = new Uint32Array(BUCKETS);
  readonly #failuresIn = new Uint32Array(BUCKETS);
  #calls = 0;
  #failures = 0;
  /** Number of the newest bucket, counted from the clock's zero. */
  #newest = 0;

  /** @param span milliseconds that are remembered; the oldest tenth of them goes at once. */
  constructor(span: number) {
    this.span = span;
    this.#width = Math.max(span, 1) / BUCKETS;
  }

  add(isFailure: boolean, now: number): void {
    this.#slide(now);
    const slot = this.#newest % BUCKETS;
    this.#callsIn[slot] = (this.#callsIn[slot] ?? 0) + 1;
    this.#calls += 1;
    if (!isFailure) return;
    this.#failuresIn[slot] = (this.#failuresIn[slot] ?? 0) + 1;
    this.#failures += 1;
  }

  totals(now: number): { readonly calls: number; readonly failures: number } {
    this.#slide(now);
    return { calls: this.#calls, failures: this.#failures };
  }

  #slide(now: number): void {
    const current = Math.floor(now / this.#width);
    // A bucket is forgotten once, however long no call came; a clock that stands still or steps back forgets nothing.
    const from = Math.max(this.#newest + 1, current - BUCKETS + 1);
    for (let bucket = from; bucket <= current; bucket += 1) {
      const slot = bucket % BUCKETS;
      this.#calls -= this.#callsIn[slot] ?? 0;
      this.#failures -= this.#failuresIn[slot] ?? 0;
      this.#callsIn[slot] = 0;
      this.#failuresIn[slot] = 0;
    }
    this.#newest = Math.max(this.#newest, current);
  }
}
