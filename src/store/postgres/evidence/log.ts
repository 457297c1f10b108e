import type { EvidenceAnchor, EvidenceHead, EvidenceLog, LogRow } from "../../../evidence/evidence-log.ts";
import { refuseRange } from "../../evidence-range.ts";
import { PruneScan, type ScannedRow } from "../../prune-scan.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber, readNumberOrNull, readText, readTextOrNull } from "../../rows/row.ts";

/** Rows read at a time, so that no statement is long. */
const PAGE = 2_000;

/** Rows deleted at a time; each step ends at an anchor. */
const STEP = 5_000;

const HEAD = "SELECT position, hash FROM signalbox.evidence_head";
const LOG = `
SELECT position, kind, at, request_id, workspace, record, hash FROM signalbox.evidence_log WHERE position > $1 ORDER BY position LIMIT $2`;
const OPEN = "SELECT position FROM signalbox.evidence_open ORDER BY position";
const ANCHORS = "SELECT position, hash, at FROM signalbox.evidence_anchors ORDER BY position";
const ANCHOR = "SELECT position, hash, at FROM signalbox.anchor_evidence($1)";
// In one statement: a request that ends between two of them would neither run nor have an end.
const SCAN = `
SELECT entry.position, entry.at, entry.kind, entry.request_id,
  (SELECT min(running.position) FROM signalbox.evidence_open AS running) AS oldest_open
FROM signalbox.evidence_log AS entry WHERE entry.position > $1 ORDER BY entry.position LIMIT ${PAGE}`;
const FIRST = "SELECT min(position) AS position FROM signalbox.evidence_log";
const PRUNE = "SELECT hash, at, removed FROM signalbox.prune_evidence($1, $2)";

/** What is done before rows are deleted. */
export interface PruneSteps {
  /** Ends the requests of processes that are gone. */
  readonly endAbandoned: () => Promise<void>;
  /** Counts every row up to a position: the counts outlive the rows. */
  readonly countTo: (position: number) => Promise<void>;
}

/** Reading, anchoring and pruning the chained log. */
export function postgresLog(link: PostgresLink, steps: PruneSteps): EvidenceLog {
  return {
    head: () => readLogHead(link),
    notedHead: () => Promise.resolve(null),
    async log(query) {
      refuseRange(query);
      const found: LogRow[] = [];
      for (;;) {
        const limit = Math.min(PAGE, query.limit - found.length);
        const rows = await link.query(LOG, [found.at(-1)?.position ?? query.after, limit]);
        found.push(...rows.map(readLogRow));
        if (rows.length < limit || found.length >= query.limit) return found;
      }
    },
    async openDecisions() {
      return (await link.query(OPEN)).map((row) => readNumber(row, "position"));
    },
    async anchors() {
      return (await link.query(ANCHORS)).map(readAnchor);
    },
    async anchor(now) {
      const row = (await link.query(ANCHOR, [Math.trunc(now)]))[0];
      return row === undefined ? null : readAnchor(row);
    },
    async prune(before, now) {
      // Requests of dead processes have ended too, but nobody may have said so yet.
      await steps.endAbandoned();
      const last = await findEnd(link, before);
      let anchor: EvidenceAnchor | null = null;
      let rows = 0;
      if (last === 0) return { anchor, rows };
      await steps.countTo(last);
      const first = readNumberOrNull((await link.query(FIRST))[0] ?? {}, "position") ?? last;
      for (let end = Math.min(first + STEP - 1, last); ; end = Math.min(end + STEP, last)) {
        const row = (await link.query(PRUNE, [end, Math.trunc(now)]))[0] ?? {};
        const removed = readNumber(row, "removed");
        rows += removed;
        if (removed > 0) anchor = { position: end, hash: readText(row, "hash"), at: readNumber(row, "at") };
        if (end === last) return { anchor, rows };
      }
    },
  };
}

/** The newest row of the log. @throws {StoreUnavailableError} */
export async function readLogHead(link: PostgresLink): Promise<EvidenceHead> {
  return readHead((await link.query(HEAD))[0] ?? {});
}

/** The last position that can go, once requests of processes that are gone have been ended; 0 for none. */
async function findEnd(link: PostgresLink, before: number): Promise<number> {
  const scan = new PruneScan(before);
  for (let more = true; more;) {
    const rows = await link.query(SCAN, [scan.end]);
    more = scan.take(rows.map(readScanned), readNumberOrNull(rows[0] ?? { oldest_open: null }, "oldest_open"));
  }
  return scan.through;
}

function readScanned(row: Row): ScannedRow {
  return {
    position: readNumber(row, "position"),
    at: readNumber(row, "at"),
    kind: readText(row, "kind") === "decision" ? "decision" : "outcome",
    requestId: readText(row, "request_id"),
    isEnd: true,
  };
}

function readHead(row: Row): EvidenceHead {
  return { position: readNumber(row, "position"), hash: readText(row, "hash") };
}

function readAnchor(row: Row): EvidenceAnchor {
  return { ...readHead(row), at: readNumber(row, "at") };
}

function readLogRow(row: Row): LogRow {
  const kind = readText(row, "kind") === "decision" ? "decision" : "outcome";
  const columns = {
    requestId: readText(row, "request_id"),
    at: readNumber(row, "at"),
    workspace: readTextOrNull(row, "workspace"),
  };
  return { ...readHead(row), kind, record: readText(row, "record"), columns };
}
