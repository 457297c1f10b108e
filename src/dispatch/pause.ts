/** A wait that can be ended early. One at a time. */
export class Pause {
  #wake: (() => void) | null = null;

  /** Resolves after the time, in milliseconds, or when the wait is ended. */
  of(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.end(), milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
    });
  }

  /** Ends the wait that is under way; nothing where there is none. */
  end(): void {
    this.#wake?.();
  }
}
