import { decodeUtf8 } from "../json.ts";

/** One message of an AWS event stream (`application/vnd.amazon.eventstream`). */
export interface Frame {
  /** Headers with text values, such as `:event-type`. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Uint8Array;
}

/** Length of the frame, length of its headers, checksum of the two. */
const PRELUDE = 12;
const CHECKSUM = 4;

/**
 * Cuts a byte stream into frames, wherever it is split. Every checksum is verified: that of a
 * prelude before its lengths are used, so that a damaged length is found at once. After a `fault`
 * there are no more frames, because the beginning of the next one is unknown.
 */
export class FrameReader {
  readonly #limit: number;
  readonly #prelude = new Uint8Array(PRELUDE);
  /** The current frame, with the length of its prelude; `null` before the prelude is whole. */
  #frame: Uint8Array | null = null;
  /** Bytes of the frame under way that have arrived. */
  #arrived = 0;
  /** Reason why there are no more frames; `null`: no fault. */
  fault: "malformed" | "too_large" | null = null;

  /** @param limit longest frame, bytes. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The frames that `chunk` completes, up to the first fault. They do not share memory with it. */
  push(chunk: Uint8Array): readonly Frame[] {
    const frames: Frame[] = [];
    let offset = 0;
    while (offset < chunk.length && this.fault === null) {
      const filling: Uint8Array = this.#frame ?? this.#prelude;
      const piece = chunk.subarray(offset, offset + filling.length - this.#arrived);
      filling.set(piece, this.#arrived);
      offset += piece.length;
      this.#arrived += piece.length;
      if (this.#arrived < filling.length) break;
      if (this.#frame === null) this.#begin();
      else frames.push(...this.#finish(this.#frame));
    }
    return frames;
  }

  /** Allocates the frame of a whole prelude. */
  #begin() {
    const view = new DataView(this.#prelude.buffer);
    const length = view.getUint32(0);
    const isValidPrelude =
      view.getUint32(8) === crc32(this.#prelude.subarray(0, 8)) &&
      PRELUDE + view.getUint32(4) + CHECKSUM <= length;
    if (!isValidPrelude) {
      this.fault = "malformed";
    } else if (length > this.#limit) {
      this.fault = "too_large";
    } else {
      this.#frame = new Uint8Array(length);
      this.#frame.set(this.#prelude);
    }
  }

  #finish(bytes: Uint8Array): readonly Frame[] {
    this.#frame = null;
    this.#arrived = 0;
    const view = new DataView(bytes.buffer);
    const end = bytes.length - CHECKSUM;
    const payload = PRELUDE + view.getUint32(4);
    const isWhole = view.getUint32(end) === crc32(bytes.subarray(0, end));
    const headers = isWhole ? readHeaders(bytes.subarray(PRELUDE, payload)) : null;
    if (headers === null) {
      this.fault = "malformed";
      return [];
    }
    return [{ headers, payload: bytes.subarray(payload, end) }];
  }
}

/** CRC-32 as in ISO 3309 and gzip, reflected: polynomial 0xEDB88320, all ones before and after. */
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit += 1)
    remainder = remainder & 1 ? (remainder >>> 1) ^ 0xed_b8_83_20 : remainder >>> 1;
  return remainder;
});

/** The checksum of the bytes, 0 to 2³² − 1. */
export function crc32(bytes: Uint8Array): number {
  let remainder = -1;
  // Counted, not iterated: every byte of every stream passes here.
  for (let index = 0; index < bytes.length; index += 1)
    remainder = (remainder >>> 8) ^ (TABLE[(remainder ^ (bytes[index] ?? 0)) & 0xff] ?? 0);
  return ~remainder >>> 0;
}

/** The type of header values that are text; the only one that this router looks at. */
const TEXT = 7;

/**
 * Bytes of a value by the number of its type (AWS event stream encoding, "Headers"); -1: two bytes
 * before the value have its length.
 */
const LENGTHS = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16];

/**
 * The headers of a frame whose values are text, by their names; `null` where the bytes are not
 * headers, or not UTF-8.
 */
export function readHeaders(bytes: Uint8Array): ReadonlyMap<string, string> | null {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headers = new Map<string, string>();
  let offset = 0;
  while (offset < bytes.length) {
    const nameEnd = offset + 1 + view.getUint8(offset);
    if (nameEnd >= bytes.length) return null;
    const type = view.getUint8(nameEnd);
    const fixed = LENGTHS[type];
    const hasLength = fixed === -1;
    if (fixed === undefined || (hasLength && nameEnd + 3 > bytes.length)) return null;
    const start = nameEnd + (hasLength ? 3 : 1);
    const end = start + (hasLength ? view.getUint16(nameEnd + 1) : fixed);
    if (end > bytes.length) return null;
    if (type === TEXT) {
      const name = decodeUtf8(bytes.subarray(offset + 1, nameEnd));
      const value = decodeUtf8(bytes.subarray(start, end));
      if (name === null || value === null) return null;
      headers.set(name, value);
    }
    offset = end;
  }
  return headers;
}
