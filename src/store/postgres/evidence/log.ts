import type { EvidenceAnchor, EvidenceHead, EvidenceLog, LogRow } from "../../evidence-log.ts";
import { refuseRange } from "../../evidence-range.ts";
import type { PostgresLink } from "../link.ts";
import type { Row } from "../pool.ts";
import { readNumber, readNumberOrNull, readText } from "../row.ts";
import { PrefixSearch } from "./prefix.ts";

/** Rows read at a time, so that no statement is long. */
const PAGE = 2_000;

/** Rows deleted at a time; each step ends at an anchor. */
const STEP = 5_000;

const HEAD = "SELECT position, hash FROM signalbox.evidence_head";
const LOG = `
SELECT position, kind, record, hash FROM signalbox.evidence_log WHERE position > $1 ORDER BY position LIMIT $2`;
const ANCHORS = "SELECT position, hash, at FROM signalbox.evidence_anchors ORDER BY position";
const ANCHOR = "SELECT position, hash, at FROM signalbox.anchor_evidence($1)";
const PREFIX = `
SELECT entry.position, entry.at, CASE entry.kind WHEN 'outcome' THEN entry.position ELSE (
    SELECT outcome.position FROM signalbox.evidence_log AS outcome
    WHERE outcome.request_id = entry.request_id AND outcome.kind = 'outcome') END AS ends_at
FROM signalbox.evidence_log AS entry WHERE entry.position > $1 ORDER BY entry.position LIMIT ${PAGE}`;
const FIRST = "SELECT min(position) AS position FROM signalbox.evidence_log";
const PRUNE = "SELECT hash, at, removed FROM signalbox.prune_evidence($1, $2)";

/** Reading, anchoring and pruning the chained log. */
export function postgresLog(link: PostgresLink): Omit<EvidenceLog, "health"> {
  return {
    async head() {
      return readHead((await link.query(HEAD))[0] ?? {});
    },
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
    async anchors() {
      return (await link.query(ANCHORS)).map(readAnchor);
    },
    async anchor(now) {
      const row = (await link.query(ANCHOR, [Math.trunc(now)]))[0];
      return row === undefined ? null : readAnchor(row);
    },
    async prune(before, now) {
      const last = await findPrefix(link, before);
      let anchor: EvidenceAnchor | null = null;
      let rows = 0;
      if (last === null) return { anchor, rows };
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

/** The last position of what can be pruned; `null` for nothing. */
async function findPrefix(link: PostgresLink, before: number): Promise<number | null> {
  const search = new PrefixSearch(before);
  for (let position = 0; ;) {
    const rows = await link.query(PREFIX, [position]);
    for (const row of rows) {
      position = readNumber(row, "position");
      const goesOn = search.feed({ position, at: readNumber(row, "at"), endsAt: readNumberOrNull(row, "ends_at") });
      if (!goesOn) return search.end;
    }
    if (rows.length < PAGE) return search.end;
  }
}

function readHead(row: Row): EvidenceHead {
  return { position: readNumber(row, "position"), hash: readText(row, "hash") };
}

function readAnchor(row: Row): EvidenceAnchor {
  return { ...readHead(row), at: readNumber(row, "at") };
}

function readLogRow(row: Row): LogRow {
  const kind = readText(row, "kind") === "decision" ? "decision" : "outcome";
  return { ...readHead(row), kind, record: readText(row, "record") };
}
