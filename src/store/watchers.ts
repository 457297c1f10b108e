import type { KeyRecord } from "../keys/key-store.ts";

export type KeyListener = (records: readonly KeyRecord[]) => void;

/** Listeners to key changes. Later ones need all records, and the engine sends changes only. */
export class KeyWatchers {
  readonly #listeners = new Set<KeyListener>();
  readonly #records = new Map<string, KeyRecord>();
  #started: Promise<void> | null = null;

  get size(): number {
    return this.#listeners.size;
  }

  /** @param start requests all records and later changes; called for the first listener only */
  async add(listener: KeyListener, start: () => Promise<void>): Promise<() => void> {
    this.#started ??= start();
    try {
      await this.#started;
    } catch (error) {
      this.#started = null;
      throw error;
    }
    // No await between these two lines: a change in between would be lost.
    listener([...this.#records.values()]);
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  publish(records: readonly KeyRecord[]): void {
    for (const record of records) this.#records.set(record.id, record);
    if (records.length > 0) for (const listener of this.#listeners) listener(records);
  }
}
