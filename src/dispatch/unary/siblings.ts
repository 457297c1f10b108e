/** What the parts of one request share: their calls under way, and the bytes that they may collect together. */
export class Siblings {
  /** Provider id → calls of this request under way. */
  readonly #calls = new Map<string, number>();
  #bytesLeft: number;
  #waiting: (() => void)[] = [];

  /** @param maxBytes of all answers together. */
  constructor(maxBytes: number) {
    this.#bytesLeft = maxBytes;
  }

  callBegins(provider: string): void {
    this.#calls.set(provider, this.callsTo(provider) + 1);
  }

  callEnds(provider: string): void {
    this.#calls.set(provider, this.callsTo(provider) - 1);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  callsTo(provider: string): number {
    return this.#calls.get(provider) ?? 0;
  }

  /** Resolves when any call of the request has ended; never where none is under way. */
  nextEnd(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  /** False where the answers would be larger than allowed. */
  takeBytes(count: number): boolean {
    if (count > this.#bytesLeft) return false;
    this.#bytesLeft -= count;
    return true;
  }

  /** Of an answer that is not kept. */
  giveBytesBack(count: number): void {
    this.#bytesLeft += count;
  }
}
