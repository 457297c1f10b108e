import { refuseRange } from "../../evidence-range.ts";
import type { EvidenceEntry, EvidenceQuery } from "../../../evidence/evidence-store.ts";
import { readEntry } from "../../stored-evidence.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber, readText, readTextOrNull } from "../../rows/row.ts";

/** Entries read at a time, so that no statement is long. */
const PAGE = 1_000;

/** The outcome by a query of its own: joined, it could be found by reading the whole log. */
const SELECT = `
SELECT decision.position, decision.record AS decision, holder.seen_at, signalbox.is_gone(holder) AS gone, (
    SELECT outcome.record FROM signalbox.evidence_log AS outcome
    WHERE outcome.request_id = decision.request_id AND outcome.kind = 'outcome') AS outcome
FROM signalbox.evidence_log AS decision
JOIN signalbox.evidence_processes AS holder ON holder.id = decision.process
WHERE decision.kind = 'decision' AND decision.position > $1 AND decision.position < $2`;
const NEWEST = "ORDER BY decision.position DESC LIMIT $3";
const READ_ALL = `${SELECT} ${NEWEST}`;
const READ_WORKSPACE = `${SELECT} AND decision.workspace = $4 ${NEWEST}`;
const READ_REQUEST = `${SELECT} AND decision.request_id = $4 ${NEWEST}`;
const READ_BOTH = `${SELECT} AND decision.request_id = $4 AND decision.workspace = $5 ${NEWEST}`;

/** Newest last. @throws {RangeError} {@link StoreUnavailableError} */
export async function readEvidence(link: PostgresLink, query: EvidenceQuery): Promise<readonly EvidenceEntry[]> {
  refuseRange(query);
  const newestFirst: EvidenceEntry[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (;;) {
    const limit = Math.min(PAGE, query.limit - newestFirst.length);
    const rows = await readPage(link, query, before, limit);
    newestFirst.push(...rows.map(toEntry));
    const oldest = newestFirst.at(-1);
    if (oldest === undefined || rows.length < limit || newestFirst.length >= query.limit) break;
    before = oldest.sequence;
  }
  return newestFirst.toReversed();
}

function readPage(link: PostgresLink, query: EvidenceQuery, before: number, limit: number): Promise<readonly Row[]> {
  const { after, requestId, workspace } = query;
  const bounds = [after, before, limit];
  if (requestId !== undefined && workspace !== undefined) {
    return link.query(READ_BOTH, [...bounds, requestId, workspace]);
  }
  if (requestId !== undefined) return link.query(READ_REQUEST, [...bounds, requestId]);
  if (workspace !== undefined) return link.query(READ_WORKSPACE, [...bounds, workspace]);
  return link.query(READ_ALL, bounds);
}

function toEntry(row: Row): EvidenceEntry {
  return readEntry(
    readNumber(row, "position"),
    readText(row, "decision"),
    readTextOrNull(row, "outcome"),
    row["gone"] === true ? readNumber(row, "seen_at") : null,
  );
}
