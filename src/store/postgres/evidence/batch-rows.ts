import { FrameCursor, HASH_BYTES } from "../../batch/frames.ts";
import type { StoredBatch } from "../../batch/stored-batch.ts";
import { readBytes, readNumber, readText, readTexts } from "../../rows/row.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";

/** Bytes of records that are read at a time, so that no statement is long; one batch at least. */
const PAGE = 512 * 1024;

/** Batches that are looked at for it. */
const MOST = 200;

const COLUMNS = `batch.first, batch.last, batch.hash, batch.process, batch.high_water,
  batch.decided_lowest, batch.decided_highest, batch.ended_lowest, batch.ended_highest,
  array_to_json(batch.workspaces)::text AS workspaces, batch.hashes, batch.records, holder.seen_at,
  signalbox.is_gone(holder) AS gone`;
const HOLDER = "JOIN signalbox.evidence_processes AS holder ON holder.id = batch.process";

/** A page of the batches for which `condition` holds, by their sizes; those that are left out are not read. */
const page = (condition: string, order: "ASC" | "DESC", more = ""): string => `
SELECT ${COLUMNS}${more} FROM (
  SELECT one.*, sum(octet_length(one.records)) OVER (ORDER BY one.last ${order}) - octet_length(one.records) AS before
  FROM signalbox.evidence_batches AS one WHERE ${condition} ORDER BY one.last ${order} LIMIT ${MOST}) AS batch
${HOLDER} WHERE batch.before < ${PAGE} ORDER BY batch.last ${order}`;

const AFTER = page("one.last > $1", "ASC");
// In one statement: a request that ends between two of them would neither run nor have an end.
const SCAN = page(
  "one.last > $1",
  "ASC",
  ", (SELECT min(running.position) FROM signalbox.evidence_open AS running) AS oldest_open",
);
const BEFORE = page("one.last < $1 AND one.last > $2", "DESC");
const BEFORE_OF = page("one.last < $1 AND one.last > $2 AND $3 = ANY (one.workspaces)", "DESC");

/** The next batch in whose range the id is; its text is there, though perhaps as a part of another one. */
const DECIDED = `
SELECT ${COLUMNS} FROM signalbox.evidence_batches AS batch ${HOLDER}
WHERE batch.last > $2 AND batch.last >= (
    SELECT following.last FROM signalbox.evidence_batches AS following WHERE following.high_water >= $1
    ORDER BY following.high_water, following.last LIMIT 1)
  AND batch.decided_lowest <= $1 AND batch.decided_highest >= $1 AND position(convert_to($1, 'UTF8') IN batch.records) > 0
ORDER BY batch.last LIMIT 1`;
const ENDED = `
SELECT ${COLUMNS} FROM signalbox.evidence_batches AS batch ${HOLDER}
WHERE batch.last > $2 AND batch.ended_lowest <= $1 AND batch.ended_highest >= $1
  AND position(convert_to($1, 'UTF8') IN batch.records) > 0
  AND NOT EXISTS (SELECT FROM signalbox.evidence_open AS running WHERE running.request_id = $1)
ORDER BY batch.last LIMIT 1`;

const NEWEST = "SELECT coalesce(max(last), 0) AS last FROM signalbox.evidence_batches";
const POSITION = "SELECT last FROM signalbox.evidence_batches WHERE high_water >= $1 ORDER BY high_water, last LIMIT 1";

/** Batches after a position, in order. @throws {StoreUnavailableError} */
export async function batchesAfter(link: PostgresLink, position: number): Promise<readonly StoredBatch[]> {
  return (await link.query(AFTER, [position])).map(readBatch);
}

interface ScanPage {
  readonly batches: readonly StoredBatch[];
  /** Position of the oldest decision without an outcome. */
  readonly oldestOpen: number | null;
}

/** The same, and which request runs for longest. @throws {StoreUnavailableError} */
export async function scanBatches(link: PostgresLink, position: number): Promise<ScanPage> {
  const rows = await link.query(SCAN, [position]);
  const oldest = rows[0]?.["oldest_open"];
  return { batches: rows.map(readBatch), oldestOpen: typeof oldest === "number" ? oldest : null };
}

/**
 * Batches between two positions, the newest first, of a workspace where one is given.
 *
 * @throws {StoreUnavailableError}
 */
export async function batchesBefore(
  link: PostgresLink,
  before: number,
  after: number,
  workspace: string | undefined,
): Promise<readonly StoredBatch[]> {
  const rows =
    workspace === undefined
      ? await link.query(BEFORE, [before, after])
      : await link.query(BEFORE_OF, [before, after, workspace]);
  return rows.map(readBatch);
}

/** Position of the newest row; 0 where there is none. @throws {StoreUnavailableError} */
export async function newestPosition(link: PostgresLink): Promise<number> {
  return readNumber((await link.query(NEWEST, []))[0] ?? { last: 0 }, "last");
}

/**
 * Last position of the first batch whose decisions may have this id or a larger one; the newest where none has.
 *
 * @throws {StoreUnavailableError}
 */
export async function positionOf(link: PostgresLink, requestId: string): Promise<number> {
  const row = (await link.query(POSITION, [requestId]))[0];
  return row === undefined ? newestPosition(link) : readNumber(row, "last");
}

/** The batch with the decision of a request; `null` where there is none. @throws {StoreUnavailableError} */
export function findDecided(link: PostgresLink, requestId: string): Promise<StoredBatch | null> {
  return find(link, DECIDED, "decision", requestId, 0);
}

/**
 * The batches with the records of a request: of its decision, then of its outcome.
 *
 * @throws {StoreUnavailableError}
 */
export async function findBatches(link: PostgresLink, requestId: string): Promise<readonly StoredBatch[]> {
  const decided = await findDecided(link, requestId);
  if (decided === null) return [];
  const ended = await find(link, ENDED, "outcome", requestId, decided.first);
  return ended === null || ended.last === decided.last ? [decided] : [decided, ended];
}

async function find(
  link: PostgresLink,
  statement: string,
  kind: "decision" | "outcome",
  requestId: string,
  after: number,
): Promise<StoredBatch | null> {
  for (let last = after === 0 ? 0 : after - 1; ;) {
    const row = (await link.query(statement, [requestId, last]))[0];
    if (row === undefined) return null;
    const batch = readBatch(row);
    const cursor = new FrameCursor(batch.records);
    while (cursor.next()) if (cursor.kind === kind && cursor.requestId === requestId) return batch;
    last = batch.last;
  }
}

function readBatch(row: Row): StoredBatch {
  const records = readBytes(row, "records");
  const hashes = readBytes(row, "hashes");
  const cursor = new FrameCursor(records);
  for (let offset = 0; cursor.next(); offset += HASH_BYTES) {
    cursor.hashBytes.set(hashes.subarray(offset, offset + HASH_BYTES));
  }
  return {
    first: readNumber(row, "first"),
    last: readNumber(row, "last"),
    hash: readText(row, "hash"),
    process: readNumber(row, "process"),
    diedAt: row["gone"] === true ? readNumber(row, "seen_at") : null,
    decided: { lowest: readText(row, "decided_lowest"), highest: readText(row, "decided_highest") },
    ended: { lowest: readText(row, "ended_lowest"), highest: readText(row, "ended_highest") },
    highWater: readText(row, "high_water"),
    workspaces: readTexts(row, "workspaces"),
    records,
  };
}
