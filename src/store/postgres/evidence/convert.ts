import { GENESIS } from "../../../evidence/chain.ts";
import { convertedBatch, withHashes } from "../../batch/former-batch.ts";
import { readBytes, readNumber, readText, readTexts } from "../../rows.ts";
import { textArray } from "../pool.ts";
import type { Query } from "../pool.ts";
import { EVIDENCE } from "./schema.ts";

const FORMER_TABLES = ["batches", "head", "open", "processes", "anchors"];

/** Creates the new tables beside the old ones. */
const REPLACE = `
DROP FUNCTION signalbox.append_evidence, signalbox.anchor_evidence, signalbox.prune_evidence, signalbox.check_pruning,
  signalbox.check_head_change, signalbox.check_counted, signalbox.is_gone, signalbox.now_ms CASCADE;
CREATE SCHEMA signalbox_former;
${FORMER_TABLES.map((name) => `ALTER TABLE signalbox.evidence_${name} SET SCHEMA signalbox_former;`).join("\n")}
${EVIDENCE}
INSERT INTO signalbox.evidence_processes (id, token, started_at, seen_at, ended_at) OVERRIDING SYSTEM VALUE
  SELECT id, 'former', started_at, seen_at, ended_at FROM signalbox_former.evidence_processes;
SELECT setval(pg_get_serial_sequence('signalbox.evidence_processes', 'id'), max(id)) FROM signalbox.evidence_processes;
INSERT INTO signalbox.evidence_requests (request_id, process, workspace)
  SELECT request_id, process, coalesce(workspace, '') FROM signalbox_former.evidence_open;
INSERT INTO signalbox.evidence_anchors SELECT * FROM signalbox_former.evidence_anchors;
UPDATE signalbox.evidence_head AS head SET position = former.position, hash = former.hash
  FROM signalbox_former.evidence_head AS former WHERE former.position > 0;
`;

/** Where the log begins. */
const START = `
SELECT hash FROM signalbox.evidence_anchors
WHERE position < (SELECT min(first) FROM signalbox_former.evidence_batches) ORDER BY position DESC LIMIT 1`;

const PAGE = `
SELECT first, last, hash, array_to_json(workspaces)::text AS workspaces, hashes, records
FROM signalbox_former.evidence_batches WHERE last > $1 ORDER BY last LIMIT 50`;

const INSERT = `
INSERT INTO signalbox.evidence_batches (last, first, hash, lowest, highest, workspaces, records)
VALUES ($1, $2, $3, $4, $5, $6::text::text[], $7)`;

/** Brings evidence of version 14 into the form of version 15; positions and hashes stay. */
export async function convertEvidence(query: Query): Promise<void> {
  await query(REPLACE);
  const [start] = await query(START);
  let previous = start === undefined ? GENESIS.hash : readText(start, "hash");
  for (let end = 0; ;) {
    const rows = await query(PAGE, [end]);
    for (const row of rows) {
      const [first, last, hash] = [
        readNumber(row, "first"),
        readNumber(row, "last"),
        readText(row, "hash"),
      ];
      const frames = withHashes(readBytes(row, "records"), readBytes(row, "hashes"));
      const columns = { first, last, hash, workspaces: readTexts(row, "workspaces") };
      const { lowest, highest, workspaces, records } = convertedBatch(
        { ...columns, frames },
        previous,
      );
      await query(INSERT, [last, first, hash, lowest, highest, textArray(workspaces), records]);
      [previous, end] = [hash, last];
    }
    if (rows.length === 0) break;
  }
  await query("DROP SCHEMA signalbox_former CASCADE");
}
