import type { KeyGrants, KeyRecord, KeyUse } from "../../../keys/key-store.ts";
import { COMMON_SQL, KEY_COLUMNS } from "../../common-tables.ts";
import { readKeyRecord, readNumber } from "../../rows.ts";
import { KeyRefusal, isUniqueViolation } from "../sqlite-failure.ts";
import type { Connection, Statements } from "./connection.ts";

/** Taken inside the write transaction, so that numbers rise in the order of commits. */
const NEXT_VERSION = "(SELECT coalesce(max(version), 0) + 1 FROM keys)";

const KEY_SQL = {
  insert: `INSERT INTO keys (${KEY_COLUMNS}) VALUES (:id, :digest, :workspace, :scopes, :owner, :environment, :workload,
    :labels, :expiresAt, :createdAt, :createdBy, :lastUsedAt, :rotatedFrom, :replacedBy, :status, :revokedAt, :exchange,
    :limits, :lineage, :name, ${NEXT_VERSION})`,
  get: COMMON_SQL["keys.get"],
  revoke: `UPDATE keys SET status = 'revoked', revoked_at = ?, version = ${NEXT_VERSION} WHERE id = ? AND status = 'active'`,
  change: `UPDATE keys SET scopes = ?, owner = ?, workload = ?, labels = ?, limits = ?, version = ${NEXT_VERSION} WHERE id = ? AND status = 'active'`,
  replace: `UPDATE keys SET replaced_by = ?, expires_at = min(expires_at, ?), version = ${NEXT_VERSION} WHERE id = ?`,
  touch:
    "UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
  changedSince: `SELECT ${KEY_COLUMNS} FROM keys WHERE version > ? ORDER BY version`,
};

/** The statements over the `keys` table; runs in the worker. */
export class KeyTable {
  readonly #sql: Statements<typeof KEY_SQL>;
  readonly #connection: Connection;
  readonly #changed: () => void;

  /** @param changed called after each change of a key, before the call returns. */
  constructor(connection: Connection, changed: () => void) {
    this.#sql = connection.prepare(KEY_SQL);
    this.#connection = connection;
    this.#changed = changed;
  }

  /** @throws {KeyRefusal} where the id exists */
  create(record: KeyRecord): void {
    this.#connection.transaction(() => this.#add(record));
    this.#changed();
  }

  revoke(id: string, at: number): KeyRecord | null {
    this.#connection.transaction(() => this.#sql.revoke.run(at, id));
    this.#changed();
    return this.#get(id);
  }

  /** `null`: no such key. @throws {KeyRefusal} */
  change(id: string, grants: KeyGrants): KeyRecord | null {
    const { scopes, owner, workload, labels, limits } = grants;
    const values = [
      JSON.stringify(scopes),
      owner,
      workload,
      JSON.stringify(labels),
      jsonOrNull(limits),
    ];
    const { changes } = this.#connection.transaction(() => this.#sql.change.run(...values, id));
    const record = this.#get(id);
    if (record !== null && changes === 0) throw new KeyRefusal("not_active", id);
    this.#changed();
    return record;
  }

  /** The replaced key; `null`: no such key. @throws {KeyRefusal} */
  rotate(id: string, replacement: KeyRecord, expiresAt: number): KeyRecord | null {
    const rotated = this.#connection.transaction(() => {
      const previous = this.#get(id);
      if (previous === null) return null;
      if (previous.status !== "active") throw new KeyRefusal("not_active", id);
      // The write transaction orders rotations of one key by all processes.
      if (previous.replacedBy !== null) throw new KeyRefusal("rotated", id);
      if (previous.expiresAt <= replacement.createdAt) throw new KeyRefusal("not_active", id);
      const { scopes, owner, workload, labels, limits } = previous;
      this.#add({ ...replacement, scopes, owner, workload, labels, limits });
      this.#sql.replace.run(replacement.id, expiresAt, id);
      return {
        ...previous,
        replacedBy: replacement.id,
        expiresAt: Math.min(previous.expiresAt, expiresAt),
      };
    });
    this.#changed();
    return rotated;
  }

  touch(uses: readonly KeyUse[]): void {
    if (uses.length === 0) return;
    this.#connection.transaction(() => {
      for (const use of uses) this.#sql.touch.run(use.at, use.id, use.at);
    });
  }

  /** Keys changed after `version`, with the version to read on from. */
  changedSince(version: number): {
    readonly records: readonly KeyRecord[];
    readonly version: number;
  } {
    const rows = this.#sql.changedSince.all(version);
    const last = rows.at(-1);
    return {
      records: rows.map(readKeyRecord),
      version: last === undefined ? version : readNumber(last, "version"),
    };
  }

  #get(id: string): KeyRecord | null {
    const row = this.#sql.get.get(id);
    return row === undefined ? null : readKeyRecord(row);
  }

  #add(record: KeyRecord) {
    const { scopes, labels, exchange, limits } = record;
    try {
      this.#sql.insert.run({
        ...record,
        scopes: JSON.stringify(scopes),
        labels: JSON.stringify(labels),
        exchange: jsonOrNull(exchange),
        limits: jsonOrNull(limits),
      });
    } catch (error) {
      throw isUniqueViolation(error) ? new KeyRefusal("duplicate", record.id) : error;
    }
  }
}

function jsonOrNull(value: object | null) {
  return value === null ? null : JSON.stringify(value);
}
