import {
  DuplicateKeyError,
  KeyNotActiveError,
  type KeyRecord,
  KeyRotatedError,
  type KeyStore,
} from "../../keys/key-store.ts";
import { type KeyListener, KeyWatchers } from "../watchers.ts";
import { KEY_COLUMNS, keyReads } from "../common-tables.ts";
import { readKeyRecord, readNumber } from "../rows.ts";
import { StatementFailure, UNIQUE_VIOLATION } from "./failure.ts";
import { oneAtATime, type PostgresLink } from "./link.ts";
import type { Pool, Row } from "./pool.ts";

const CREATE = `SELECT ${KEY_COLUMNS} FROM signalbox.add_key($1::text::jsonb)`;
const REVOKE = `UPDATE signalbox.keys SET status = 'revoked', revoked_at = $2 WHERE id = $1 AND status = 'active' RETURNING ${KEY_COLUMNS}`;
const CHANGE = `
UPDATE signalbox.keys SET scopes = $2::text::jsonb, owner = $3, workload = $4, labels = $5::text::jsonb, limits = $6
WHERE id = $1 AND status = 'active' RETURNING ${KEY_COLUMNS}`;
const ROTATE = `SELECT ${KEY_COLUMNS} FROM signalbox.rotate_key($1, $2::text::jsonb, $3)`;
const TOUCH = `
UPDATE signalbox.keys SET last_used_at = used.at
FROM (SELECT id, max(at) AS at FROM json_to_recordset($1::text::json) AS item (id text, at bigint) GROUP BY id) AS used
WHERE keys.id = used.id AND (keys.last_used_at IS NULL OR keys.last_used_at < used.at)`;

/** Keys; each change is one statement. Its rows are published before the change resolves. */
export function postgresKeys(link: PostgresLink, feed: KeyFeed): KeyStore {
  const reads = keyReads(link.runCommon);
  return {
    ...reads,
    async create(record) {
      feed.publish(
        await refusingDuplicate(record.id, link.query(CREATE, [JSON.stringify(record)])),
      );
    },
    async revoke(id, at) {
      const rows = await link.query(REVOKE, [id, at]);
      feed.publish(rows);
      return rows[0] === undefined ? await reads.get(id) : readKeyRecord(rows[0]);
    },
    async change(id, { scopes, owner, workload, labels, limits }) {
      const values = [JSON.stringify(scopes), owner, workload, JSON.stringify(labels)];
      const rows = await link.query(CHANGE, [
        id,
        ...values,
        limits === null ? null : JSON.stringify(limits),
      ]);
      feed.publish(rows);
      if (rows[0] !== undefined) return readKeyRecord(rows[0]);
      if ((await reads.get(id)) === null) return null;
      throw new KeyNotActiveError(id);
    },
    async rotate(id, replacement, expiresAt) {
      const change = link.query(ROTATE, [id, JSON.stringify(replacement), expiresAt]);
      const rows = await refusingDuplicate(replacement.id, change);
      if (rows[0] !== undefined && rows.length === 1) {
        const { status, replacedBy } = readKeyRecord(rows[0]);
        throw status === "active" && replacedBy !== null
          ? new KeyRotatedError(id)
          : new KeyNotActiveError(id);
      }
      feed.publish(rows);
      return rows[0] === undefined ? null : readKeyRecord(rows[0]);
    },
    async touch(uses) {
      if (uses.length > 0) await link.query(TOUCH, [JSON.stringify(uses)]);
    },
    watch: (listener) => feed.watch(listener),
  };
}

async function refusingDuplicate(
  id: string,
  change: Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  try {
    return await change;
  } catch (error) {
    if (error instanceof StatementFailure && error.code === UNIQUE_VIOLATION)
      throw new DuplicateKeyError(id);
    throw error;
  }
}

/** A key with the number of its newest change. */
function readKey(row: Row): { readonly record: KeyRecord; readonly version: number } {
  return { record: readKeyRecord(row), version: readNumber(row, "version") };
}

/** How often changes are read without a notification, milliseconds; the port has a second. */
const POLL = 500;

/** Keys read at a time. */
const FEED_PAGE = 2_000;

const CHANGED = `SELECT ${KEY_COLUMNS} FROM signalbox.keys WHERE version > $1 ORDER BY version LIMIT ${FEED_PAGE}`;

/** Key changes of all replicas: read when notified, and by a poll in case that is lost. */
export class KeyFeed {
  readonly #link: PostgresLink;
  readonly #watchers = new KeyWatchers();
  /** Newest published change by key: our own changes come twice, by statement and by reading. */
  readonly #published = new Map<string, number>();
  #seen = 0;
  readonly #read = oneAtATime(() => this.#readChanges());
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

  async #start() {
    this.#timer ??= setInterval(() => this.#poll(), POLL);
    await this.#read();
    this.#listen();
  }

  #poll() {
    if (!this.#link.available) return;
    this.#listen();
    // The next poll retries; callers notice an outage by their own calls.
    this.#read().catch(() => undefined);
  }

  async #readChanges() {
    for (;;) {
      const rows = await this.#link.query(CHANGED, [this.#seen]);
      if (this.#closed) return;
      this.publish(rows);
      const last = rows.at(-1);
      if (last !== undefined) this.#seen = readNumber(last, "version");
      if (rows.length < FEED_PAGE) return;
    }
  }

  #listen() {
    if (this.#listening !== null || this.#closed) return;
    this.#listening = "starting";
    let ended = false;
    const end = () => {
      ended = true;
      if (this.#listening === "starting") return;
      const lost = this.#listening;
      this.#listening = null;
      if (lost !== null) void lost.destroy();
    };
    this.#link
      .listen("signalbox_keys", () => void this.#read().catch(() => undefined), end)
      .then(
        async (pool) => {
          this.#listening = ended || this.#closed ? null : pool;
          if (this.#listening === null) await pool.destroy();
        },
        () => (this.#listening = null),
      );
  }
}
