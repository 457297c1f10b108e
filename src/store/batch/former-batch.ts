import type { ChainKind } from "../../evidence/chain.ts";
import { formatRow } from "../../evidence/export-line.ts";
import { readNumber, readText, readTexts, type Row } from "../rows.ts";
import { type StoredBatch, compressedRecords } from "./batch-lines.ts";

/**
 * Records as commit a0f1d9ef stored them: frames, each with a fixed part, the request id and the
 * record's text, both UTF-8. The fixed part has, little-endian, the lengths of the record (4 bytes)
 * and of the id (2), 0 for a decision and 1 for an outcome (2), milliseconds since the epoch (8),
 * the workspace's number in the batch's list from 1 (4), and the hash of the chain (32).
 */
const FIXED = 52;
const WORKSPACE = 16;
const HASH = 20;

/** A batch as commit a0f1d9ef stored it. */
interface FormerBatch {
  readonly first: number;
  readonly last: number;
  readonly hash: string;
  readonly workspaces: readonly string[];
  /** Decompressed. */
  readonly frames: Uint8Array<ArrayBuffer>;
}

interface FormerRow {
  readonly kind: ChainKind;
  readonly requestId: string;
  /** Empty where no key was accepted. */
  readonly workspace: string;
  readonly hash: string;
  readonly record: string;
}

export function readFormer(row: Row, frames: Uint8Array<ArrayBuffer>): FormerBatch {
  const [first, last] = [readNumber(row, "first"), readNumber(row, "last")];
  const [hash, workspaces] = [readText(row, "hash"), readTexts(row, "workspaces")];
  return { first, last, hash, workspaces, frames };
}

/** The records of a batch, up to the first that somebody damaged. */
export function* formerRows({ frames, workspaces }: FormerBatch): Generator<FormerRow, void> {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  for (let start = 0; start + FIXED <= bytes.length;) {
    const idEnd = start + FIXED + bytes.readUInt16LE(start + 4);
    const end = idEnd + bytes.readUInt32LE(start);
    if (end > bytes.length) return;
    yield {
      kind: bytes.readUInt16LE(start + 6) === 0 ? "decision" : "outcome",
      requestId: bytes.toString("utf8", start + FIXED, idEnd),
      workspace: workspaces[bytes.readUInt32LE(start + WORKSPACE) - 1] ?? "",
      hash: bytes.toString("hex", start + HASH, start + FIXED),
      record: bytes.toString("utf8", idEnd, end),
    };
    start = end;
  }
}

/** The frames with the hashes that were stored apart from them, as in PostgreSQL. */
export function withHashes(
  frames: Uint8Array<ArrayBuffer>,
  hashes: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(frames);
  for (let [start, from] = [0, 0]; start + FIXED <= bytes.length; from += FIXED - HASH) {
    bytes.set(hashes.subarray(from, from + FIXED - HASH), start + HASH);
    start += FIXED + bytes.readUInt16LE(start + 4) + bytes.readUInt32LE(start);
  }
  return bytes;
}

/** The batch in today's form; positions and hashes stay. @param before hash of the row before */
export function convertedBatch(batch: FormerBatch, before: string): StoredBatch {
  const { first, last, hash: end } = batch;
  const rows = [...formerRows(batch)];
  const ids = rows.map(({ requestId }) => requestId).toSorted();
  let previous = before;
  const lines = rows.map(({ kind, hash, record }, index) => {
    const line = formatRow({ previous, position: first + index, kind, hash, record });
    previous = hash;
    return line;
  });
  return {
    first,
    last,
    hash: end,
    lowest: ids[0] ?? "",
    highest: ids.at(-1) ?? "",
    workspaces: [...new Set(rows.map(({ workspace }) => workspace))],
    records: compressedRecords(Uint8Array.from(Buffer.from(lines.join("\n")))),
  };
}
