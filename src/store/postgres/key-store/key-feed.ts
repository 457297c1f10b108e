import { type KeyListener, KeyWatchers } from "../../key-watchers.ts";
import { KEY_COLUMNS, readKey } from "./key-row.ts";
import type { PostgresLink } from "../link.ts";
import type { Pool, Row } from "../pool.ts";

/**
 * How often changes are looked for where no notification came, milliseconds; the port promises one
 * second.
 */
const POLL = 500;

/** Keys read at a time. */
const PAGE = 2_000;

const CHANGED = `SELECT ${KEY_COLUMNS} FROM signalbox.keys WHERE version > $1 ORDER BY version LIMIT ${PAGE}`;

/**
 * Changes of keys, by whichever replica: a notification says at once that there is something to
 * read, and a poll sees it where the notification was lost.
 */
export class KeyFeed {
  readonly #link: PostgresLink;
  readonly #watchers = new KeyWatchers();
  /**
   * The newest change published of each key: a change of this process comes from its own statement
   * and by reading.
   */
  readonly #published = new Map<string, number>();
  #seen = 0;
  #reading: Promise<void> | null = null;
  #timer: ReturnType<typeof setInterval> | null = null;
  #listening: Pool | "starting" | null = null;
  #closed = false;

  constructor(link: PostgresLink) {
    this.#link = link;
  }

  watch(listener: KeyListener): Promise<() => void> {
    return this.#watchers.add(listener, () => this.#start());
  }

  /** Rows of keys as they now are. Nothing happens while there is no watcher. */
  publish(rows: readonly Row[]): void {
    if (this.#timer === null) return;
    const fresh = rows
      .map(readKey)
      .filter(({ record, version }) => version > (this.#published.get(record.id) ?? 0));
    for (const { record, version } of fresh) this.#published.set(record.id, version);
    this.#watchers.publish(fresh.map(({ record }) => record));
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    if (this.#listening !== null && this.#listening !== "starting") await this.#listening.destroy();
  }

  async #start(): Promise<void> {
    this.#timer ??= setInterval(() => this.#poll(), POLL);
    await this.#read();
    this.#listen();
  }

  #poll(): void {
    if (!this.#link.available) return;
    this.#listen();
    // The next poll makes a failure good; callers that wait for the store notice it by their own
    // calls.
    this.#read().catch(() => undefined);
  }

  /** One reading at a time; callers meanwhile wait for that one. */
  async #read(): Promise<void> {
    this.#reading ??= this.#readOn().finally(() => (this.#reading = null));
    await this.#reading;
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const rows = await this.#link.query(CHANGED, [this.#seen]);
      if (this.#closed) return;
      this.publish(rows);
      const last = rows.at(-1);
      if (last !== undefined) this.#seen = readKey(last).version;
      if (rows.length < PAGE) return;
    }
  }

  #listen(): void {
    if (this.#listening !== null || this.#closed) return;
    this.#listening = "starting";
    let ended = false;
    const end = (): void => {
      ended = true;
      if (this.#listening === "starting") return;
      const lost = this.#listening;
      this.#listening = null;
      if (lost !== null) void lost.destroy();
    };
    this.#link
      .listen("signalbox_keys", () => this.#noticed(), end)
      .then(
        async (pool) => {
          this.#listening = ended || this.#closed ? null : pool;
          if (this.#listening === null) await pool.destroy();
        },
        () => (this.#listening = null),
      );
  }

  #noticed(): void {
    // A reading under way may have looked before this change was there.
    const again = (): Promise<void> => this.#read();
    (this.#reading === null ? again() : this.#reading.then(again)).catch(() => undefined);
  }
}
