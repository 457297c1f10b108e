import { type EvidenceLog, LOST_IS_LISTED } from "../../../evidence/evidence-store.ts";
import type { PostgresLink } from "../link.ts";
import {
  readAbandoned,
  readAnchor,
  readBatch,
  readLink,
  readNumber,
  readText,
} from "../../rows.ts";
import type { EvidenceSealer } from "./sealer.ts";
import { unknownRecord } from "../../stored-evidence.ts";
import type { EvidenceWriter } from "./writer.ts";
import type { ChainKind, ChainLink } from "../../../evidence/chain.ts";
import { type Abandoned, type StoredBatch, takeKinds } from "../../batch/batch-lines.ts";
import type { ReadableLog } from "../../evidence-reading.ts";

/** Rows deleted at a time; each step ends at an anchor. */
const STEP = 5_000;

const HEAD = "SELECT position, hash FROM signalbox.evidence_head";
const PROCESSES = `
SELECT started_at, seen_at, CASE WHEN signalbox.is_gone(process) THEN 1 ELSE 0 END AS gone
FROM signalbox.evidence_processes AS process
WHERE ended_at IS NULL AND seen_at > signalbox.now_ms() - ${LOST_IS_LISTED} ORDER BY id`;
const ANCHORS = "SELECT position, hash, at FROM signalbox.evidence_anchors ORDER BY position";
const ANCHOR = "SELECT position, hash, at FROM signalbox.anchor_evidence($1)";
/** Also those at the end: a process confirms its newest number every few seconds. */
const MISSING = `
SELECT process, first, last FROM signalbox.evidence_missing
WHERE position >= coalesce((SELECT min(first) FROM signalbox.evidence_batches), 1) - 1
UNION ALL
SELECT process.id, process.sealed + 1, process.number FROM signalbox.evidence_processes AS process
WHERE process.number > process.sealed AND NOT EXISTS (
  SELECT FROM signalbox.evidence_written AS written WHERE written.process = process.id AND written.number = process.number)
ORDER BY process, first`;
const PRUNE = `
SELECT removed FROM signalbox.prune_evidence((
  SELECT min(last) FROM signalbox.evidence_batches WHERE last <= $1 AND last >= least($1, ${STEP} + (
    SELECT first FROM signalbox.evidence_batches ORDER BY last LIMIT 1))), $2)`;

/** Anchors of the log and the processes that write it. */
export function postgresLog(
  link: PostgresLink,
  sealer: EvidenceSealer,
): Pick<EvidenceLog, "anchor" | "anchors" | "missing" | "notedHead" | "processes"> {
  return {
    async notedHead() {
      const head = await readLogHead(link);
      // The row exists before the first batch.
      return head.position === 0 ? null : { ...head, file: "signalbox.evidence_head" };
    },
    async missing() {
      await sealer.seal();
      return (await link.query(MISSING)).map((row) => ({
        process: readNumber(row, "process"),
        first: readNumber(row, "first"),
        last: readNumber(row, "last"),
      }));
    },
    async processes() {
      return (await link.query(PROCESSES)).map((row) => ({
        startedAt: readNumber(row, "started_at"),
        seenAt: readNumber(row, "seen_at"),
        state: readNumber(row, "gone") === 1 ? "lost" : "running",
      }));
    },
    async anchors() {
      return (await link.query(ANCHORS)).map(readAnchor);
    },
    async anchor(now) {
      await sealer.seal();
      const row = (await link.query(ANCHOR, [Math.trunc(now)]))[0];
      return row === undefined ? null : readAnchor(row);
    },
  };
}

/** Deletes some of the batches up to the end of one, up to an anchor. @returns how many rows */
export async function deleteSome(
  link: PostgresLink,
  through: number,
  now: number,
): Promise<number> {
  return readNumber((await link.query(PRUNE, [through, Math.trunc(now)]))[0], "removed");
}

/** The newest row of the log. @throws {StoreUnavailableError} */
export async function readLogHead(link: PostgresLink): Promise<ChainLink> {
  return readLink((await link.query(HEAD))[0] ?? {});
}

/** Decisions ended at a time. */
const BATCH = 200;

/** Skips processes whose requests have all ended, so that the search is free while none dies. */
const SWEEP = `
UPDATE signalbox.evidence_processes AS process SET swept = true
WHERE NOT process.swept AND signalbox.is_gone(process) AND NOT EXISTS (
  SELECT FROM signalbox.evidence_requests AS request WHERE request.process = process.id AND request.ended_at IS NULL)`;

/** Ends requests of dead processes as `unknown`; where replicas do so at once, one counts. */
export async function reapAbandoned(link: PostgresLink, writer: EvidenceWriter): Promise<void> {
  const outcomes = Array.from(await abandonedRequests(link), unknownRecord);
  for (let start = 0; start < outcomes.length; start += BATCH)
    await writer.append(outcomes.slice(start, start + BATCH));
  await link.query(SWEEP);
}

/** How long a request id is kept after the request has ended, milliseconds. */
const ID_RETENTION = 60_000;

/** Only the oldest running process does it. */
const FORGET = `
DELETE FROM signalbox.evidence_requests WHERE ended_at < signalbox.now_ms() - ${ID_RETENTION} AND $1 = (
  SELECT min(holder.id) FROM signalbox.evidence_processes AS holder WHERE NOT signalbox.is_gone(holder))`;

/** Forgets requests that ended a minute ago. @throws {StoreUnavailableError} */
export async function forgetEnded(link: PostgresLink, process: number): Promise<void> {
  await link.query(FORGET, [process]);
}

/** Bytes of stored records read at a time, for short statements; one batch at least. */
const PAGE = 24 * 1024;

/** Batches that one query considers for a page. */
const MOST = 200;

const COLUMNS = `batch.first, batch.last, batch.hash, batch.lowest, batch.highest,
  array_to_json(batch.workspaces)::text AS workspaces, batch.records`;

/** A page of batches by their sizes; those that are left out are not read. */
const page = (condition: string, order: "ASC" | "DESC") => `
SELECT ${COLUMNS} FROM (
  SELECT one.*, sum(octet_length(one.records)) OVER (ORDER BY one.last ${order}) - octet_length(one.records) AS before
  FROM signalbox.evidence_batches AS one WHERE ${condition} ORDER BY one.last ${order} LIMIT ${MOST}) AS batch
WHERE batch.before < ${PAGE} ORDER BY batch.last ${order}`;

const AFTER = page("one.last > $1", "ASC");
const BEFORE = page(
  "one.last < $1 AND one.last > $2 AND ($3::text IS NULL OR $3 = ANY (one.workspaces))",
  "DESC",
);

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
      return (await link.query(BEFORE, [before, after, workspace])).map(readBatch);
    },
    async find(requestId) {
      // Without an outcome, every newer batch would be searched.
      const isOpen = (await link.query(`${OPEN} AND request_id = $1`, [requestId])).length > 0;
      return findBatches(link, requestId, isOpen ? ["decision"] : ["decision", "outcome"]);
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

/** The batches with a request's records of these kinds. @throws {StoreUnavailableError} */
export async function findBatches(
  link: PostgresLink,
  requestId: string,
  kinds: readonly ChainKind[],
): Promise<readonly StoredBatch[]> {
  const remaining = new Set(kinds);
  const found: StoredBatch[] = [];
  let [highest, last] = ["", 0];
  while (remaining.size > 0) {
    const row = (await link.query(RANGE, [requestId, highest, last]))[0];
    if (row === undefined) break;
    const batch = readBatch(row);
    ({ highest, last } = batch);
    if (takeKinds(batch, requestId, remaining)) found.push(batch);
  }
  return found;
}

/** Running requests of processes that are gone. @throws {StoreUnavailableError} */
async function abandonedRequests(link: PostgresLink): Promise<Abandoned> {
  return readAbandoned(await link.query(ABANDONED));
}
