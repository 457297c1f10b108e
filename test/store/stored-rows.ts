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

/** The rows after a position, from the bytes of `evidence_batches` as `batch/frames.ts` describes them. */
export function* storedRows(database: DatabaseSync, after = 0): Generator<StoredRow, void> {
  const batches = database.prepare("SELECT first, records FROM evidence_batches WHERE last > ? ORDER BY last");
  for (const { first, records } of batches.iterate(after)) {
    const bytes = framesOf(records as Uint8Array);
    let position = Number(first);
    for (let start = 0; start < bytes.length; position += 1) {
      const idStart = start + 52;
      const recordStart = idStart + bytes.readUInt16LE(start + 4);
      const end = recordStart + bytes.readUInt32LE(start);
      if (position > after) {
        yield {
          position,
          kind: bytes.readUInt16LE(start + 6) === 0 ? "decision" : "outcome",
          requestId: bytes.toString("utf8", idStart, recordStart),
          record: bytes.toString("utf8", recordStart, end),
          hash: bytes.toString("hex", start + 20, idStart),
        };
      }
      start = end;
    }
  }
}

/** Of a batch as the file has it: compressed, or as it is. */
function framesOf(records: Uint8Array): Buffer {
  const isCompressed = Buffer.from(records).readUInt32LE(0) === 0xfd_2f_b5_28;
  return isCompressed ? zstdDecompressSync(records) : Buffer.from(records);
}

/** Changes the record at a position, as somebody does who owns the file; its length in bytes must stay. */
export function changeRecord(database: DatabaseSync, position: number, change: (record: string) => string): void {
  const row = database
    .prepare("SELECT last, records FROM evidence_batches WHERE last >= ? ORDER BY last LIMIT 1")
    .get(position);
  const bytes = framesOf(row?.["records"] as Uint8Array);
  const { record } = [...storedRows(database, position - 1)][0] ?? { record: "" };
  const changed = Buffer.from(change(record));
  if (changed.length !== Buffer.byteLength(record)) throw new Error("the length of a record is noted elsewhere");
  bytes.set(changed, bytes.indexOf(record));
  database.prepare("UPDATE evidence_batches SET records = ? WHERE last = ?").run(bytes, row?.["last"] ?? 0);
}
