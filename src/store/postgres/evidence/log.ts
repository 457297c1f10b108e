import {
  type EvidenceHead,
  type EvidenceLog,
  LOST_IS_LISTED,
} from "../../../evidence/evidence-store.ts";
import type { PostgresLink } from "../link.ts";
import { readAnchor, readLink, readNumber } from "../../rows.ts";
import type { EvidenceSealer } from "./sealer.ts";
import { outcomeOf, unknownOutcome } from "../../stored-evidence.ts";
import { abandonedRequests } from "./batch-rows.ts";
import type { EvidenceWriter } from "./writer.ts";

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

/** Deletes batches up to the end of one, in steps that end at anchors. @returns how many rows */
export async function deleteThrough(
  link: PostgresLink,
  through: number,
  now: number,
): Promise<number> {
  let rows = 0;
  for (let step = 1; step > 0; rows += step)
    step = readNumber((await link.query(PRUNE, [through, Math.trunc(now)]))[0], "removed");
  return rows;
}

/** The newest row of the log. @throws {StoreUnavailableError} */
export async function readLogHead(link: PostgresLink): Promise<EvidenceHead> {
  return readLink((await link.query(HEAD))[0] ?? {});
}

/** Decisions ended at a time. */
const BATCH = 200;

/** Skips processes whose requests have all ended, so that the search is free while none dies. */
const SWEEP = `
UPDATE signalbox.evidence_processes AS process SET swept = true
WHERE NOT process.swept AND signalbox.is_gone(process) AND NOT EXISTS (
  SELECT FROM signalbox.evidence_requests AS request WHERE request.process = process.id AND request.ended_at IS NULL)`;

/**
 * Writes the outcome `unknown` for decisions of dead processes. Two replicas may do so at once, or
 * the process may come back: the first outcome stays.
 *
 * @throws {StoreUnavailableError}
 */
export async function reapAbandoned(link: PostgresLink, writer: EvidenceWriter): Promise<void> {
  const abandoned = await abandonedRequests(link);
  const outcomes = Array.from(abandoned, ([requestId, at]) =>
    outcomeOf(unknownOutcome(requestId, at)),
  );
  for (let start = 0; start < outcomes.length; start += BATCH)
    await writer.append(outcomes.slice(start, start + BATCH));
  await link.query(SWEEP);
}

/** How long a request id is kept after the request has ended, milliseconds. */
const KEPT = 60_000;

/** Only the oldest running process does it. */
const FORGET = `
DELETE FROM signalbox.evidence_requests WHERE ended_at < signalbox.now_ms() - ${KEPT} AND $1 = (
  SELECT min(holder.id) FROM signalbox.evidence_processes AS holder WHERE NOT signalbox.is_gone(holder))`;

/** Forgets requests that ended a minute ago. @throws {StoreUnavailableError} */
export async function forgetEnded(link: PostgresLink, process: number): Promise<void> {
  await link.query(FORGET, [process]);
}
