import type { ChainKind, ChainLink } from "../../../evidence/chain.ts";
import { readRows, type Abandoned, type StoredBatch } from "../../batch/batch-lines.ts";
import { readAbandoned, readBatch, readNumber, readText } from "../../rows.ts";
import type { ReadableLog } from "../../evidence-reading.ts";
import type { PostgresLink } from "../link.ts";

/** Bytes of stored records read at a time, for short statements; one batch at least. */
const PAGE = 24 * 1024;

/** Batches that one query considers for a page. */
const MOST = 200;

const COLUMNS = `batch.first, batch.last, batch.hash, batch.lowest, batch.highest,
  array_to_json(batch.workspaces)::text AS workspaces, batch.records`;

/** A page of batches by their sizes; those that are left out are not read. */
const page = (condition: string, order: "ASC" | "DESC"): string => `
SELECT ${COLUMNS} FROM (
  SELECT one.*, sum(octet_length(one.records)) OVER (ORDER BY one.last ${order}) - octet_length(one.records) AS before
  FROM signalbox.evidence_batches AS one WHERE ${condition} ORDER BY one.last ${order} LIMIT ${MOST}) AS batch
WHERE batch.before < ${PAGE} ORDER BY batch.last ${order}`;

const AFTER = page("one.last > $1", "ASC");
const BEFORE = page("one.last < $1 AND one.last > $2", "DESC");
const BEFORE_OF = page("one.last < $1 AND one.last > $2 AND $3 = ANY (one.workspaces)", "DESC");

/** The next batch in whose range the id is. */
const RANGE = `
SELECT ${COLUMNS} FROM signalbox.evidence_batches AS batch
WHERE batch.highest >= $1 AND batch.lowest <= $1 AND (batch.highest, batch.last) > ($2, $3)
ORDER BY batch.highest, batch.last LIMIT 1`;

const OPEN = "SELECT request_id FROM signalbox.evidence_requests WHERE ended_at IS NULL";
const ABANDONED = `
SELECT request.request_id, holder.seen_at FROM signalbox.evidence_processes AS holder
JOIN signalbox.evidence_requests AS request ON request.process = holder.id
WHERE signalbox.is_gone(holder) AND NOT holder.swept AND request.ended_at IS NULL`;

const NEWEST = "SELECT coalesce(max(last), 0) AS last FROM signalbox.evidence_batches";
const POSITION =
  "SELECT last FROM signalbox.evidence_batches WHERE highest >= $1 ORDER BY highest, last LIMIT 1";

/** The batches of the log, as they are read. @param seal moves everything written into the log */
export function postgresBatches(link: PostgresLink, seal: () => Promise<ChainLink>): ReadableLog {
  return {
    head: seal,
    after: (position) => batchesAfter(link, position),
    async before(before, after, workspace) {
      const rows =
        workspace === null
          ? await link.query(BEFORE, [before, after])
          : await link.query(BEFORE_OF, [before, after, workspace]);
      return rows.map(readBatch);
    },
    async find(requestId) {
      // Without an outcome, every newer batch would be searched.
      const isOpen = (await link.query(`${OPEN} AND request_id = $1`, [requestId])).length > 0;
      return find(link, requestId, isOpen ? ["decision"] : ["decision", "outcome"]);
    },
    async positionOf(requestId) {
      const row = (await link.query(POSITION, [requestId]))[0] ?? (await link.query(NEWEST))[0];
      return readNumber(row, "last");
    },
    async openRequests() {
      return (await link.query(OPEN)).map((row) => readText(row, "request_id"));
    },
    abandoned: () => abandonedRequests(link),
  };
}

/** Batches after a position, in order. @throws {StoreUnavailableError} */
export async function batchesAfter(
  link: PostgresLink,
  position: number,
): Promise<readonly StoredBatch[]> {
  return (await link.query(AFTER, [position])).map(readBatch);
}

/** The batch with a request's decision; `null`: none. @throws {StoreUnavailableError} */
export async function findDecided(
  link: PostgresLink,
  requestId: string,
): Promise<StoredBatch | null> {
  return (await find(link, requestId, ["decision"]))[0] ?? null;
}

async function find(
  link: PostgresLink,
  requestId: string,
  kinds: readonly ChainKind[],
): Promise<readonly StoredBatch[]> {
  const wanted = new Set(kinds);
  const found: StoredBatch[] = [];
  let [highest, last] = ["", 0];
  while (wanted.size > 0) {
    const row = (await link.query(RANGE, [requestId, highest, last]))[0];
    if (row === undefined) break;
    const batch = readBatch(row);
    ({ highest, last } = batch);
    const size = wanted.size;
    for (const one of readRows(batch)) if (one.requestId === requestId) wanted.delete(one.kind);
    if (wanted.size < size) found.push(batch);
  }
  return found.toSorted((left, right) => left.last - right.last);
}

/** Running requests of processes that are gone. @throws {StoreUnavailableError} */
export async function abandonedRequests(link: PostgresLink): Promise<Abandoned> {
  return readAbandoned(await link.query(ABANDONED));
}
