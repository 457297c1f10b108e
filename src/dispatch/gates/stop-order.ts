/**
 * The end of a server as its requests hear of it: whatever still runs when the order is given has had its time. It ends with what can be said of it, at
 * once.
 */
export class StopOrder {
  readonly #listeners = new Set<() => void>();
  #given = false;

  get given(): boolean {
    return this.#given;
  }

  /** Safe to call twice. */
  give(): void {
    this.#given = true;
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  /**
   * Calls back when the order is given, at most once; at once where it has been given.
   *
   * @returns its end; call it when the request has ended.
   */
  onGiven(listener: () => void): () => void {
    if (this.#given) {
      listener();
      return () => {};
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
