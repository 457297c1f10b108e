import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import {
  type ChainKind,
  type ChainLink,
  type ChainRow,
  type RecordFacts,
  chainHash,
  readFacts,
} from "../../evidence/chain.ts";
import type { LogRow } from "../../evidence/evidence-store.ts";
import { formatRow, readRow } from "../../evidence/export-line.ts";

/** A batch of the log as stored. */
export interface StoredBatch {
  /** Position of its first record. */
  readonly first: number;
  readonly last: number;
  /** Hash of the chain up to and with its last record. */
  readonly hash: string;
  /** Smallest and largest request id of its records. */
  readonly lowest: string;
  readonly highest: string;
  /** Workspaces of its records; an empty text where no key was accepted. */
  readonly workspaces: readonly string[];
  /** The lines of an export (`evidence/export-line.ts`), compressed where that is smaller. */
  readonly records: Uint8Array<ArrayBuffer>;
}

/** A record that is to be added to the log. */
export interface NewRecord {
  readonly kind: ChainKind;
  readonly requestId: string;
  /** Of a decision; empty for an outcome, and where no key was accepted. */
  readonly workspace: string;
  /** JSON text. */
  readonly record: string;
}

/** Chains records, one at least, to the log's newest row. @param workspaces may repeat */
export function sealBatch(
  head: ChainLink,
  records: readonly Pick<NewRecord, "kind" | "requestId" | "record">[],
  workspaces: Iterable<string>,
): StoredBatch {
  let { position, hash } = head;
  let [lowest, highest] = [records[0]?.requestId ?? "", ""];
  const lines: string[] = [];
  for (const { kind, requestId, record } of records) {
    const previous = hash;
    position += 1;
    hash = chainHash(previous, position, kind, record);
    lines.push(formatRow({ previous, position, kind, hash, record }));
    if (requestId < lowest) lowest = requestId;
    if (requestId > highest) highest = requestId;
  }
  return {
    first: head.position + 1,
    last: position,
    hash,
    lowest,
    highest,
    workspaces: [...new Set(workspaces)],
    records: compressedRecords(new TextEncoder().encode(lines.join("\n"))),
  };
}

/** A record of a batch, and what every reader needs of it. */
export interface BatchRow extends ChainRow, RecordFacts {}

/** The records of a batch, up to the first that somebody damaged. */
export function* readLines(batch: StoredBatch): Generator<ChainRow, void> {
  let position = batch.first;
  for (const line of Buffer.from(decompressedRecords(batch.records)).toString().split("\n")) {
    const row = readRow(line);
    if (row?.position !== position) return;
    yield row;
    position += 1;
  }
}

/** The same, up to the first that is no record. */
export function* readRows(batch: StoredBatch): Generator<BatchRow, void> {
  for (const row of readLines(batch)) {
    const facts = readFacts(row.record);
    if (facts === null) return;
    yield { ...facts, ...row };
  }
}

/** Whether a batch has records of a request of these kinds; removes those it has from `kinds`. */
export function takeKinds(batch: StoredBatch, requestId: string, kinds: Set<ChainKind>): boolean {
  const { size } = kinds;
  for (const row of readRows(batch)) if (row.requestId === requestId) kinds.delete(row.kind);
  return kinds.size < size;
}

/** The rows of a batch after a position. */
export function* logRows(batch: StoredBatch, after: number): Generator<LogRow, void> {
  const { first, last, hash, lowest, highest, workspaces } = batch;
  const columns = { lowest, highest, workspaces };
  let next = first;
  for (const row of readLines(batch)) {
    next = row.position + 1;
    // Of the last row the column, to which the next batch is chained.
    if (row.position > after) {
      const { position, kind, record } = row;
      yield { position, kind, record, hash: position === last ? hash : row.hash, columns };
    }
  }
  // Records are missing: the next batch, or the end of the log, must not pass for what follows.
  if (next <= last && last > after)
    yield { position: next, kind: "outcome", record: "", hash, columns };
}

/** Running requests of dead processes, by id: when the process was last known to run. */
export type Abandoned = ReadonlyMap<string, number>;

/** In bytes. A smaller batch takes one page either way; compressing it costs about 17 µs. */
const LEAST = 4_096;

/** Larger batches are not compressed, so that no compressed one expands beyond this. Bytes. */
export const MOST_DECOMPRESSED = 4 * 1024 * 1024;

/** First four bytes of a Zstandard frame (RFC 8878, section 3.1.1). No text begins with them. */
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Level 1: on records, levels 3 to 9 take 1.2 to 3 times as long and save nothing more. */
const COMPRESSING = { [constants.ZSTD_c_compressionLevel]: 1 };

/** A frame can demand its window as memory before it decodes to anything. */
const DECOMPRESSING = {
  chunkSize: 256 * 1024,
  maxOutputLength: MOST_DECOMPRESSED,
  params: { [constants.ZSTD_d_windowLogMax]: Math.log2(MOST_DECOMPRESSED) },
};

/** The lines of a batch as they are stored: compressed where that is smaller. */
export function compressedRecords(records: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (records.length < LEAST || records.length > MOST_DECOMPRESSED) return records;
  // About the compressed length: buffers of the usual 16 kB add up until they are collected.
  const compressed = zstdCompressSync(records, {
    params: COMPRESSING,
    // Tables of this size are made, not those of the largest input: 10 µs of 30.
    pledgedSrcSize: records.length,
    chunkSize: records.length >> 2,
  });
  // A copy, as below.
  return compressed.length < records.length ? new Uint8Array(compressed) : records;
}

/**
 * The records of a stored batch. None, where the bytes cannot be decompressed or stand for more
 * than {@link MOST_DECOMPRESSED}: somebody changed them, and verifying names the batch by its first
 * position.
 *
 * @throws {Error} where memory is lacking
 */
export function decompressedRecords(stored: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (!MAGIC.equals(stored.subarray(0, MAGIC.length))) return stored;
  try {
    // A copy: a message to another thread would take the whole buffer along.
    return new Uint8Array(zstdDecompressSync(stored, DECOMPRESSING));
  } catch (error) {
    if (isDamage(error)) return new Uint8Array();
    throw error;
  }
}

function isDamage(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ZSTD_error_memory_allocation") return false;
  // "Z_BUF_ERROR": the bytes end too early.
  return (
    code.startsWith("ZSTD_error_") || code === "Z_BUF_ERROR" || code === "ERR_BUFFER_TOO_LARGE"
  );
}
