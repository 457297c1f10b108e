import { Roster } from "./roster.ts";

/**
 * The end of a server as its requests hear of it: whatever still runs when the order is given has had its time. It ends with what can be said of it, at
 * once.
 */
export class StopOrder {
  readonly #listeners = new Roster<() => void>();
  #given = false;

  get given(): boolean {
    return this.#given;
  }

  /** Safe to call twice. */
  give(): void {
    if (this.#given) return;
    this.#given = true;
    this.#listeners.each((listener) => listener());
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
    return this.#listeners.enter(listener);
  }
}
