import type { IssuerRecord, IssuerStore, KeyRecord } from "../keys/key-store.ts";

/** How often issuers are read, milliseconds; the port promises one second. */
const POLL = 400;

/**
 * `watch` for an engine that only lists. There are about as many issuers as processes, so polling
 * is as cheap as notifications and misses nothing.
 */
export async function watchIssuers(
  list: IssuerStore["list"],
  listener: (records: readonly IssuerRecord[]) => void,
): Promise<() => void> {
  let known = "";
  const look = async (): Promise<void> => {
    const records = await list(Date.now());
    const kids = records.map(({ kid }) => kid).join();
    if (kids === known) return;
    known = kids;
    listener(records);
  };
  const first = await list(Date.now());
  known = first.map(({ kid }) => kid).join();
  listener(first);
  const timer = setInterval(() => void look().catch(() => undefined), POLL);
  timer.unref();
  return () => clearInterval(timer);
}

export type KeyListener = (records: readonly KeyRecord[]) => void;

/**
 * Listeners to key changes. The records are kept here: the worker sends changes only, and a
 * listener that joins later needs all of them.
 */
export class KeyWatchers {
  readonly #listeners = new Set<KeyListener>();
  readonly #records = new Map<string, KeyRecord>();
  #started: Promise<void> | null = null;

  get size(): number {
    return this.#listeners.size;
  }

  /**
   * @param start requests all records and later changes from the worker; called for the first
   * listener only
   */
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
