/**
 * A turn of the event loop that takes longer has done something for other requests. Milliseconds.
 */
const LONG_TURN = 0.1;

/**
 * When a batch that gathers is sent: as soon as the event loop has nothing else to do, or later.
 */
export class CommitTimer {
  readonly #gathering: number;
  readonly #send: () => void;
  readonly #isUrgent: () => boolean;
  #soon: ReturnType<typeof setImmediate> | null = null;
  #later: ReturnType<typeof setTimeout> | null = null;
  #laterDelay = 0;
  #since = 0;
  #turnBegan = 0;

  /**
   * @param gathering longest time to wait for an idle event loop, milliseconds
   * @param isUrgent whether the batch is sent at the end of the turn even so
   */
  constructor(gathering: number, isUrgent: () => boolean, send: () => void) {
    this.#gathering = gathering;
    this.#isUrgent = isUrgent;
    this.#send = send;
  }

  /** All that comes before the event loop is idle shares the commit. */
  sendSoon(): void {
    if (this.#soon !== null) return;
    this.#since = performance.now();
    this.#turnBegan = this.#since;
    this.#soon = setImmediate(this.#endTurn);
  }

  /** Unless it is sent earlier; the shortest delay counts. @param delay milliseconds */
  sendLater(delay: number): void {
    if (this.#later !== null && this.#laterDelay <= delay) return;
    if (this.#later !== null) clearTimeout(this.#later);
    this.#later = setTimeout(this.#send, delay);
    this.#laterDelay = delay;
  }

  /** Sends nothing any more until the next call. */
  clear(): void {
    if (this.#soon !== null) clearImmediate(this.#soon);
    if (this.#later !== null) clearTimeout(this.#later);
    this.#soon = null;
    this.#later = null;
  }

  readonly #endTurn = (): void => {
    const now = performance.now();
    const isBusy = now - this.#turnBegan > LONG_TURN && now - this.#since < this.#gathering;
    this.#turnBegan = now;
    if (isBusy && !this.#isUrgent()) this.#soon = setImmediate(this.#endTurn);
    else this.#send();
  };
}
