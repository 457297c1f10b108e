import { holderText } from "../../canon/identity.ts";
import type { SessionStore } from "../../keys/key-store.ts";
import { holderColumns, readNumber, readSession } from "../rows.ts";
import type { PostgresLink } from "./link.ts";

const CREATE = `
INSERT INTO signalbox.sessions (digest, holder, key_id, person, created_at, seen_at, ends_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)`;
const FIND =
  "SELECT digest, key_id, person, created_at, seen_at, ends_at FROM signalbox.sessions WHERE digest = $1";
const TOUCH = "UPDATE signalbox.sessions SET seen_at = greatest(seen_at, $2) WHERE digest = $1";
const END = "DELETE FROM signalbox.sessions WHERE digest = $1";
const PRUNE = `
WITH gone AS (DELETE FROM signalbox.sessions WHERE ends_at <= $1 OR seen_at <= $2 RETURNING digest)
SELECT count(*) AS count FROM gone`;

/** Sessions, each change one statement. */
export function postgresSessions(link: PostgresLink): SessionStore {
  return {
    async create(record) {
      const { digest, holder, createdAt, seenAt, endsAt } = record;
      await link.query(CREATE, [
        digest,
        holderText(holder),
        ...holderColumns(record),
        createdAt,
        seenAt,
        endsAt,
      ]);
    },
    async find(digest) {
      const [row] = await link.query(FIND, [digest]);
      return row === undefined ? null : readSession(row);
    },
    async touch(digest, at) {
      await link.query(TOUCH, [digest, Math.trunc(at)]);
    },
    async endSession(digest) {
      await link.query(END, [digest]);
    },
    async prune(now, idleSince) {
      return readNumber(
        (await link.query(PRUNE, [Math.trunc(now), Math.trunc(idleSince)]))[0],
        "count",
      );
    },
  };
}
