import {
  LOST_IS_LISTED,
  type EvidenceHead,
  type EvidenceLog,
} from "../../../evidence/evidence-store.ts";
import type { PostgresLink } from "../link.ts";
import { readAnchor, readLink, readNumber } from "../../rows.ts";
import type { EvidenceSealer } from "./sealer.ts";

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
const ENDS = "SELECT last FROM signalbox.evidence_batches WHERE last <= $1 ORDER BY last";
const PRUNE = "SELECT removed FROM signalbox.prune_evidence($1, $2)";

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

/**
 * Deletes batches up to the last position of one, in steps that each end at an anchor.
 *
 * @returns how many rows @throws {StoreUnavailableError}
 */
export async function deleteThrough(
  link: PostgresLink,
  through: number,
  now: number,
): Promise<number> {
  const ends = (await link.query(ENDS, [through])).map((row) => readNumber(row, "last"));
  let rows = 0;
  for (const end of stepEnds(ends))
    rows += readNumber((await link.query(PRUNE, [end, Math.trunc(now)]))[0], "removed");
  return rows;
}

/** The newest row of the log. @throws {StoreUnavailableError} */
export async function readLogHead(link: PostgresLink): Promise<EvidenceHead> {
  return readLink((await link.query(HEAD))[0] ?? {});
}

/** Ends of batches, so that about {@link STEP} rows are between two. */
function stepEnds(ends: readonly number[]): readonly number[] {
  const steps: number[] = [];
  for (const [index, end] of ends.entries()) {
    const next = ends[index + 1];
    if (next === undefined || next - (steps.at(-1) ?? ends[0] ?? 0) > STEP) steps.push(end);
  }
  return steps;
}
