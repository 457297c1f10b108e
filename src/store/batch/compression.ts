import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/**
 * Smaller batches stay as they are: they take one page of the database either way, and compressing
 * costs about 17 µs. Bytes.
 */
const LEAST = 4_096;

/**
 * Larger batches stay as they are: so a compressed one never stands for more, whichever program
 * wrote it. Bytes.
 */
export const MOST_DECOMPRESSED = 4 * 1024 * 1024;

/** First four bytes of a Zstandard frame (RFC 8878, section 3.1.1). No text begins with them. */
const MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Level 1: on records, levels 3 to 9 take 1.2 to 3 times as long and save nothing more. */
const COMPRESSING = { [constants.ZSTD_c_compressionLevel]: 1 };

/**
 * The window is memory that a frame can demand before it decodes to anything; no batch of ours
 * needs more than its length.
 */
const DECOMPRESSING = {
  chunkSize: 256 * 1024,
  maxOutputLength: MOST_DECOMPRESSED,
  params: { [constants.ZSTD_d_windowLogMax]: Math.log2(MOST_DECOMPRESSED) },
};

/** The records of a batch (`lines.ts`) as they are stored: compressed where that is smaller. */
export function compressedRecords(records: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (records.length < LEAST || records.length > MOST_DECOMPRESSED) return records;
  // A buffer of about the compressed length: those of the usual 16 kB add up until they are
  // collected.
  const compressed = zstdCompressSync(records, {
    params: COMPRESSING,
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
    // A copy: the buffer is part of a larger one, all of which a message to another thread would
    // take along.
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
