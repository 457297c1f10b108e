import { constants, createBrotliDecompress, createGunzip, createInflate } from "node:zlib";

/** Takes an answer's encoding off. Its owner gets plain bytes, one end, or one failure. */
export interface Decompressor {
  write(chunk: Uint8Array): void;
  /** The compressed bytes have ended. */
  end(): void;
  /** Nothing more is wanted. */
  destroy(): void;
}

interface Listener {
  data(chunk: Uint8Array): void;
  end(): void;
  /** `malformed`: the bytes are not what the header said; `too_large`: they say far more than was sent (a decompression bomb). */
  broken(kind: "malformed" | "too_large"): void;
}

// An event must come out as soon as it is in, and a cut answer is judged by its own protocol, not by its compression.
const GZIP = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };

/** Bytes that any answer may become. The largest event that is waited for has as many. */
const FREE_BYTES = 16 * 1024 * 1024;

/** Bytes that each compressed byte may become beyond that. Answers of models have ten at the most; a bomb has a thousand (gzip) or a million (Brotli). */
const MOST_EXPANSION = 100;

/**
 * For answers that come compressed although we requested none (RFC 9110 §8.4 lets a server do so).
 *
 * @returns `null` for no encoding at all, `undefined` for one that we cannot take off.
 */
export function decompressorFor(
  encoding: string | readonly string[] | undefined,
  listener: Listener,
): Decompressor | null | undefined {
  const name = String(encoding ?? "identity")
    .trim()
    .toLowerCase();
  if (name === "identity" || name === "") return null;
  const stream =
    name === "gzip" || name === "x-gzip"
      ? createGunzip(GZIP)
      : name === "deflate"
        ? createInflate(GZIP)
        : name === "br"
          ? createBrotliDecompress(BROTLI)
          : null;
  if (stream === null) return undefined;
  let [sent, become] = [0, 0];
  stream.on("data", (chunk: Buffer) => {
    become += chunk.length;
    if (become <= FREE_BYTES + MOST_EXPANSION * sent) return listener.data(chunk);
    stream.destroy();
    listener.broken("too_large");
  });
  stream.on("end", () => listener.end());
  stream.on("error", () => listener.broken("malformed"));
  return {
    write: (chunk) => {
      sent += chunk.length;
      stream.write(chunk);
    },
    end: () => void stream.end(),
    destroy: () => void stream.destroy(),
  };
}
