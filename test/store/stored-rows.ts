import type { DatabaseSync } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";

/** A row of the log as the file has it, read without the store's code. */
export interface StoredRow {
  readonly position: number;
  readonly kind: "decision" | "outcome";
  readonly requestId: string;
  readonly record: string;
  readonly hash: string;
}

const LINE =
  /^\{"position":([0-9]+),"kind":"(decision|outcome)",.*?"hash":"([0-9a-f]+)","record":(.*)\}$/;

/** The rows after a position, from the lines of `evidence_batches`. */
export function* storedRows(database: DatabaseSync, after = 0): Generator<StoredRow, void> {
  const batches = database.prepare(
    "SELECT records FROM evidence_batches WHERE last > ? ORDER BY last",
  );
  for (const { records } of batches.iterate(after)) {
    for (const line of linesOf(records as Uint8Array)) {
      const [, digits, kind, hash = "", record = ""] = LINE.exec(line) ?? [];
      const position = Number(digits);
      if (position <= after || (kind !== "decision" && kind !== "outcome")) continue;
      const { requestId } = JSON.parse(record) as { readonly requestId: string };
      yield { position, kind, requestId, record, hash };
    }
  }
}

/** Of a batch as the file has it: compressed, or as it is. */
function linesOf(records: Uint8Array): readonly string[] {
  const isCompressed = Buffer.from(records).readUInt32LE(0) === 0xfd_2f_b5_28;
  return (isCompressed ? zstdDecompressSync(records) : Buffer.from(records)).toString().split("\n");
}

/** Changes the record at a position, as somebody does who owns the file. */
export function changeRecord(
  database: DatabaseSync,
  position: number,
  change: (record: string) => string,
): void {
  const row = database
    .prepare("SELECT last, records FROM evidence_batches WHERE last >= ? ORDER BY last LIMIT 1")
    .get(position);
  const { record } = [...storedRows(database, position - 1)][0] ?? { record: "" };
  const lines = linesOf(row?.records as Uint8Array).join("\n");
  const changed = Buffer.from(lines.replace(record, change(record)));
  database
    .prepare("UPDATE evidence_batches SET records = ? WHERE last = ?")
    .run(changed, row?.last ?? 0);
}
