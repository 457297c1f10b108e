import {
  DuplicateKeyError,
  KeyNotActiveError,
  KeyRotatedError,
  type KeyRecord,
  type KeyStore,
} from "../../../keys/key-store.ts";
import { StatementFailure, UNIQUE_VIOLATION } from "../failure.ts";
import type { KeyFeed } from "./key-feed.ts";
import { KEY_COLUMNS, readKey } from "./key-row.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber } from "../../rows/row.ts";

const GET = `SELECT ${KEY_COLUMNS} FROM signalbox.keys WHERE id = $1`;
const LIST = `SELECT ${KEY_COLUMNS} FROM signalbox.keys ORDER BY created_at DESC, id`;
const LIST_WORKSPACE = `SELECT ${KEY_COLUMNS} FROM signalbox.keys WHERE workspace = $1 ORDER BY created_at DESC, id`;
const PAGE = `
SELECT ${KEY_COLUMNS} FROM signalbox.keys
WHERE workspace = $1 AND created_at <= $2 AND (created_at < $2 OR id > $3) ORDER BY created_at DESC, id LIMIT $4`;
const PAGE_EXPIRING = `
SELECT ${KEY_COLUMNS} FROM signalbox.keys
WHERE workspace = $1 AND status = 'active' AND replaced_by IS NULL AND expires_at > $2 AND expires_at < $3
  AND expires_at >= $4 AND (expires_at > $4 OR id > $5) ORDER BY expires_at, id LIMIT $6`;
const COUNT_ACTIVE = `
SELECT count(*) AS count FROM (
  SELECT 1 FROM signalbox.keys WHERE workspace = $1 AND status = 'active' AND expires_at > $2 LIMIT $3) AS active`;
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

/** Keys, each change one statement. What it gives back is published before the change resolves. */
export function postgresKeys(link: PostgresLink, feed: KeyFeed): KeyStore {
  const get = async (id: string): Promise<KeyRecord | null> => {
    const row = (await link.query(GET, [id]))[0];
    return row === undefined ? null : readKey(row).record;
  };
  return {
    async create(record) {
      feed.publish(
        await refusingDuplicate(record.id, link.query(CREATE, [JSON.stringify(record)])),
      );
    },
    get,
    async list(filter) {
      const rows = await (filter?.workspace === undefined
        ? link.query(LIST)
        : link.query(LIST_WORKSPACE, [filter.workspace]));
      return rows.map((row) => readKey(row).record);
    },
    async page({ workspace, expiring, after, limit }) {
      if (expiring !== null) {
        const { expiresAt, id } = after ?? { expiresAt: 0, id: "" };
        const parameters = [workspace, expiring.after, expiring.before, expiresAt, id, limit];
        return (await link.query(PAGE_EXPIRING, parameters)).map((row) => readKey(row).record);
      }
      const { createdAt, id } = after ?? { createdAt: Number.MAX_SAFE_INTEGER, id: "" };
      return (await link.query(PAGE, [workspace, createdAt, id, limit])).map(
        (row) => readKey(row).record,
      );
    },
    async countActive(workspace, now, most) {
      return readNumber((await link.query(COUNT_ACTIVE, [workspace, now, most]))[0] ?? {}, "count");
    },
    async revoke(id, at) {
      const rows = await link.query(REVOKE, [id, at]);
      feed.publish(rows);
      return rows[0] === undefined ? await get(id) : readKey(rows[0]).record;
    },
    async change(id, { scopes, owner, workload, labels, limits }) {
      const values = [JSON.stringify(scopes), owner, workload, JSON.stringify(labels)];
      const rows = await link.query(CHANGE, [
        id,
        ...values,
        limits === null ? null : JSON.stringify(limits),
      ]);
      feed.publish(rows);
      if (rows[0] !== undefined) return readKey(rows[0]).record;
      if ((await get(id)) === null) return null;
      throw new KeyNotActiveError(id);
    },
    async rotate(id, replacement, expiresAt) {
      const change = link.query(ROTATE, [id, JSON.stringify(replacement), expiresAt]);
      const rows = await refusingDuplicate(replacement.id, change);
      if (rows[0] !== undefined && rows.length === 1) {
        const { status, replacedBy } = readKey(rows[0]).record;
        throw status === "active" && replacedBy !== null
          ? new KeyRotatedError(id)
          : new KeyNotActiveError(id);
      }
      feed.publish(rows);
      return rows[0] === undefined ? null : readKey(rows[0]).record;
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
