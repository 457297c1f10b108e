import type { LogRow } from "../../evidence/evidence-store.ts";
import type { ScannedRow } from "../prune-scan.ts";
import { FrameCursor } from "./frames.ts";
import type { StoredBatch } from "./stored-batch.ts";

/**
 * The rows of a batch after a position.
 *
 * @param highWater the largest request id of a decision before the batch, as far as is known
 */
export function* logRows(batch: StoredBatch, after: number, highWater: string): Generator<LogRow, void> {
  const cursor = new FrameCursor(batch.records);
  let position = batch.first;
  for (; cursor.next(); position += 1) {
    if (position <= after) continue;
    const { kind, requestId, at, record, workspaceNumber: workspacePlace } = cursor;
    const { lowest, highest } = kind === "decision" ? batch.decided : batch.ended;
    const isFound = requestId >= lowest && requestId <= highest && batch.highWater >= highWater;
    yield {
      position,
      kind,
      record,
      // Of the last row the column, to which the next batch is chained.
      hash: position === batch.last ? batch.hash : cursor.hash,
      columns: {
        requestId,
        at,
        workspace: batch.workspaces[workspacePlace - 1] ?? null,
        isFound: isFound && (kind === "outcome" || requestId <= batch.highWater),
      },
    };
  }
  // Records are missing in it: verifying must not take the next batch, or the end of the log, for what follows.
  if (position <= batch.last && batch.last > after) {
    const columns = { requestId: "", at: 0, workspace: null, isFound: false };
    yield { position, kind: "outcome", record: "", hash: batch.hash, columns };
  }
}

/** What pruning looks at. A batch is deleted whole. */
export function scannedRows({ first, last, records }: StoredBatch): readonly ScannedRow[] {
  const cursor = new FrameCursor(records);
  const rows: ScannedRow[] = [];
  for (let position = first; cursor.next(); position += 1) {
    const { at, kind, requestId } = cursor;
    rows.push({ position, at, kind, requestId, isEnd: position === last });
  }
  return rows;
}
