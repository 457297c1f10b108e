import { ByteReader, ByteWriter } from "../../governance/cell.ts";
import type { RollUpQuery, RollUpRow } from "../../governance/increments.ts";
import type { RowFields } from "../rows/roll-up-rows.ts";

/**
 * A page of cells in one piece: a thousand pieces take longer to hand from thread to thread than to
 * add up.
 */
interface PackedRows {
  readonly count: number;
  readonly bytes: Uint8Array;
}

export function packRows(rows: readonly RowFields[]): PackedRows {
  const writer = new ByteWriter();
  for (const { hour, labels, cell } of rows) {
    writer.number(hour);
    writer.text(labels);
    writer.bytes(cell);
  }
  return { count: rows.length, bytes: writer.finish() };
}

/** What was packed, of the workspace and facet that were requested. */
export function unpackRows(
  { bytes }: PackedRows,
  { workspace, facet }: RollUpQuery,
): readonly RollUpRow[] {
  const reader = new ByteReader(bytes);
  const rows: RollUpRow[] = [];
  while (!reader.done)
    rows.push({
      workspace,
      facet,
      hour: reader.number(),
      labels: reader.text(),
      cell: reader.bytes(),
    });
  return rows;
}
