import type { KeyPage } from "../../../canon/credentials/service-key.ts";
import type { DatabaseSync } from "node:sqlite";
import { holderText } from "../../../canon/identity.ts";
import type {
  IssuerRecord,
  KeyGrants,
  KeyRecord,
  KeyUse,
  SessionRecord,
} from "../../../keys/key-store.ts";
import { holderColumns, readIssuer, readKeyRecord, readNumber, readSession } from "../../rows.ts";
import { KeyRefusal, isUniqueViolation } from "../sqlite-failure.ts";
import { prepareAll, type Statements, type Transaction } from "./transaction.ts";

const COLUMNS = `id, digest, workspace, scopes, owner, environment, workload, labels, expires_at, created_at, created_by,
  last_used_at, rotated_from, replaced_by, status, revoked_at, exchange, limits, lineage, name`;

/**
 * Every change takes the next number, inside its write transaction; so numbers rise in the order of
 * the commits.
 */
const NEXT_VERSION = "(SELECT coalesce(max(version), 0) + 1 FROM keys)";

const KEY_SQL = {
  insert: `INSERT INTO keys (${COLUMNS}, version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ${NEXT_VERSION})`,
  get: `SELECT ${COLUMNS} FROM keys WHERE id = ?`,
  listAll: `SELECT ${COLUMNS} FROM keys ORDER BY created_at DESC, id`,
  listWorkspace: `SELECT ${COLUMNS} FROM keys WHERE workspace = ? ORDER BY created_at DESC, id`,
  page: `SELECT ${COLUMNS} FROM keys WHERE workspace = ? AND created_at <= ? AND (created_at < ? OR id > ?) ORDER BY created_at DESC, id LIMIT ?`,
  expiring: `SELECT ${COLUMNS} FROM keys WHERE workspace = ? AND status = 'active' AND replaced_by IS NULL AND expires_at > ? AND expires_at < ?
        AND expires_at >= ? AND (expires_at > ? OR id > ?) ORDER BY expires_at, id LIMIT ?`,
  countActive:
    "SELECT count(*) AS count FROM (SELECT 1 FROM keys WHERE workspace = ? AND status = 'active' AND expires_at > ? LIMIT ?)",
  revoke: `UPDATE keys SET status = 'revoked', revoked_at = ?, version = ${NEXT_VERSION} WHERE id = ? AND status = 'active'`,
  change: `UPDATE keys SET scopes = ?, owner = ?, workload = ?, labels = ?, limits = ?, version = ${NEXT_VERSION} WHERE id = ? AND status = 'active'`,
  replace: `UPDATE keys SET replaced_by = ?, expires_at = min(expires_at, ?), version = ${NEXT_VERSION} WHERE id = ?`,
  touch:
    "UPDATE keys SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)",
  changedSince: `SELECT ${COLUMNS}, version FROM keys WHERE version > ? ORDER BY version`,
};

/** The statements over the `keys` table; runs in the worker. */
export class KeyTable {
  readonly #sql: Statements<typeof KEY_SQL>;
  readonly #transaction: Transaction;
  readonly #changed: () => void;

  /** @param changed called after each change of a key, before the call returns. */
  constructor(database: DatabaseSync, transaction: Transaction, changed: () => void) {
    this.#sql = prepareAll(database, KEY_SQL);
    this.#transaction = transaction;
    this.#changed = changed;
  }

  /** @throws {KeyRefusal} where the id exists */
  create(record: KeyRecord): void {
    this.#transaction.run(() => this.#add(record));
    this.#changed();
  }

  get(id: string): KeyRecord | null {
    const row = this.#sql.get.get(id);
    return row === undefined ? null : readKeyRecord(row);
  }

  list({ workspace }: { readonly workspace?: string } = {}): readonly KeyRecord[] {
    const rows =
      workspace === undefined ? this.#sql.listAll.all() : this.#sql.listWorkspace.all(workspace);
    return rows.map(readKeyRecord);
  }

  page({ workspace, expiring, after, limit }: KeyPage): readonly KeyRecord[] {
    if (expiring !== null) {
      const { expiresAt, id } = after ?? { expiresAt: 0, id: "" };
      return this.#sql.expiring
        .all(workspace, expiring.after, expiring.before, expiresAt, expiresAt, id, limit)
        .map(readKeyRecord);
    }
    const { createdAt, id } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
    return this.#sql.page.all(workspace, createdAt, createdAt, id, limit).map(readKeyRecord);
  }

  countActive(workspace: string, now: number, most: number): number {
    return readNumber(this.#sql.countActive.get(workspace, now, most), "count");
  }

  revoke(id: string, at: number): KeyRecord | null {
    this.#transaction.run(() => this.#sql.revoke.run(at, id));
    this.#changed();
    return this.get(id);
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
    const { changes } = this.#transaction.run(() => this.#sql.change.run(...values, id));
    const record = this.get(id);
    if (record !== null && changes === 0) throw new KeyRefusal("not_active", id);
    this.#changed();
    return record;
  }

  /** The replaced key; `null`: no such key. @throws {KeyRefusal} */
  rotate(id: string, replacement: KeyRecord, expiresAt: number): KeyRecord | null {
    const rotated = this.#transaction.run(() => {
      const previous = this.get(id);
      if (previous === null) return null;
      if (previous.status !== "active") throw new KeyRefusal("not_active", id);
      // The write transaction makes rotations of one key wait for each other, whichever process
      // calls.
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
    this.#transaction.run(() => {
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

  #add(record: KeyRecord): void {
    try {
      this.#sql.insert.run(
        record.id,
        record.digest,
        record.workspace,
        JSON.stringify(record.scopes),
        record.owner,
        record.environment,
        record.workload,
        JSON.stringify(record.labels),
        record.expiresAt,
        record.createdAt,
        record.createdBy,
        record.lastUsedAt,
        record.rotatedFrom,
        record.replacedBy,
        record.status,
        record.revokedAt,
        jsonOrNull(record.exchange),
        jsonOrNull(record.limits),
        record.lineage,
        record.name,
      );
    } catch (error) {
      throw isUniqueViolation(error) ? new KeyRefusal("duplicate", record.id) : error;
    }
  }
}

function jsonOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}

const SESSION_SQL = {
  insert:
    "INSERT INTO sessions (digest, holder, key_id, person, created_at, seen_at, ends_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
  find: "SELECT digest, key_id, person, created_at, seen_at, ends_at FROM sessions WHERE digest = ?",
  touch: "UPDATE sessions SET seen_at = max(seen_at, ?) WHERE digest = ?",
  end: "DELETE FROM sessions WHERE digest = ?",
  prune: "DELETE FROM sessions WHERE ends_at <= ? OR seen_at <= ?",
};

/** The statements over `sessions`; runs in the worker. Each is a transaction of its own. */
export class SessionTable {
  readonly #sql: Statements<typeof SESSION_SQL>;

  constructor(database: DatabaseSync) {
    this.#sql = prepareAll(database, SESSION_SQL);
  }

  create(record: SessionRecord): void {
    const { digest, holder, createdAt, seenAt, endsAt } = record;
    this.#sql.insert.run(
      digest,
      holderText(holder),
      ...holderColumns(record),
      createdAt,
      seenAt,
      endsAt,
    );
  }

  find(digest: string): SessionRecord | null {
    const row = this.#sql.find.get(digest);
    return row === undefined ? null : readSession(row);
  }

  touch(digest: string, at: number): void {
    this.#sql.touch.run(at, digest);
  }

  endSession(digest: string): void {
    this.#sql.end.run(digest);
  }

  prune(now: number, idleSince: number): number {
    return Number(this.#sql.prune.run(now, idleSince).changes);
  }
}

const ISSUER_SQL = {
  insert:
    "INSERT INTO issuers (kid, public_key, expires_at) VALUES (?, ?, ?) ON CONFLICT (kid) DO NOTHING",
  list: "SELECT kid, public_key, expires_at FROM issuers WHERE expires_at > ? ORDER BY kid",
  prune: "DELETE FROM issuers WHERE expires_at <= ?",
};

/**
 * The statements over `issuers`; runs in the worker. Each is one row's, so each is a transaction of
 * its own.
 */
export class IssuerTable {
  readonly #sql: Statements<typeof ISSUER_SQL>;

  constructor(database: DatabaseSync) {
    this.#sql = prepareAll(database, ISSUER_SQL);
  }

  publish({ kid, publicKey, expiresAt }: IssuerRecord): void {
    this.#sql.insert.run(kid, publicKey, expiresAt);
  }

  list(now: number): readonly IssuerRecord[] {
    return this.#sql.list.all(now).map(readIssuer);
  }

  prune(before: number): number {
    return Number(this.#sql.prune.run(before).changes);
  }
}
