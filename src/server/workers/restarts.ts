/** Milliseconds before a worker that has died is started again: the first time, and at most. */
const FIRST = 100;
const LONGEST = 30_000;

/** A worker that has served so long has died of something else than its start, milliseconds. */
const SETTLED = 60_000;

/** How long to wait before a worker is started again: longer each time, until one has stayed. */
export class Restarts {
  #inARow = 0;
  #total = 0;

  /** Since the start. */
  get total(): number {
    return this.#total;
  }

  /** @param served how long the dead one had taken requests, milliseconds. @returns milliseconds to wait. */
  next(served: number): number {
    this.#inARow = served >= SETTLED ? 1 : this.#inARow + 1;
    this.#total += 1;
    return Math.min(LONGEST, FIRST * 2 ** Math.min(this.#inARow - 1, 20));
  }
}
