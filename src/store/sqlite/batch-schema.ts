import type { DatabaseSync } from "node:sqlite";

import { decompressedRecords } from "../batch/batch-lines.ts";
import { convertedBatch, formerRows } from "../batch/former-batch.ts";
import { readBytes, readNumber, readText, readTexts } from "../rows.ts";
import { BATCHES, BatchTable } from "./tables/evidence-table.ts";

const REPLACE = `
DROP TRIGGER evidence_never_changes;
DROP TRIGGER evidence_is_kept;
DROP TRIGGER evidence_is_counted;
DROP TRIGGER evidence_has_no_gaps;
DROP TRIGGER evidence_anchors_are_true;
ALTER TABLE evidence_batches RENAME TO former_batches;
${BATCHES}
INSERT INTO evidence_requests (position, request_id, process, workspace)
  SELECT position, request_id, process, coalesce(workspace, '') FROM evidence_open;
`;

/** Brings batches of version 15 into the form of version 16; positions and hashes stay. */
export function convertBatches(database: DatabaseSync): void {
  database.exec(REPLACE);
  const batches = new BatchTable(database);
  const end = database.prepare("DELETE FROM evidence_requests WHERE request_id = ?");
  const begin = database.prepare(
    "INSERT INTO evidence_requests (position, request_id, process, workspace) VALUES (?, ?, ?, ?)",
  );
  const checkpoint = readNumber(
    database.prepare("SELECT position FROM evidence_checkpoint").get(),
    "position",
  );
  let { hash: previous } = batches.head();
  for (const row of database.prepare("SELECT * FROM former_batches ORDER BY last").iterate()) {
    const [first, last, hash] = [
      readNumber(row, "first"),
      readNumber(row, "last"),
      readText(row, "hash"),
    ];
    const frames = decompressedRecords(readBytes(row, "records"));
    const former = { first, last, hash, workspaces: readTexts(row, "workspaces"), frames };
    batches.insert(convertedBatch(former, previous));
    previous = hash;
    // Running requests were written at the checkpoint.
    if (last <= checkpoint) continue;
    let position = first;
    for (const { kind, requestId, workspace } of formerRows(former)) {
      if (kind === "outcome") end.run(requestId);
      else begin.run(position, requestId, readNumber(row, "process"), workspace);
      position += 1;
    }
  }
  database.exec("DROP TABLE former_batches; DROP TABLE evidence_open");
}
