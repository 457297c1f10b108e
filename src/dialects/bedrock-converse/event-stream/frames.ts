import { crc32 } from "./crc32.ts";
import { readHeaders } from "./headers.ts";

/** One message of an AWS event stream (`application/vnd.amazon.eventstream`). */
export interface Frame {
  /** Those whose values are text; names such as `:event-type`. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Uint8Array;
}

/** Length of the frame, length of its headers, checksum of the two. */
const PRELUDE = 12;
const CHECKSUM = 4;

/**
 * Cuts a byte stream into frames, wherever it is split. Every checksum is verified: that of a prelude before its lengths are believed, so that a
 * damaged length is found at once and not waited for. After a `fault` nothing is given any more, because where the next frame begins is
 * not known.
 */
export class FrameReader {
  readonly #limit: number;
  readonly #prelude = new Uint8Array(PRELUDE);
  /** The frame under way, as long as its prelude says; `null` before that is known. */
  #frame: Uint8Array | null = null;
  /** Bytes of the frame under way that have arrived. */
  #arrived = 0;
  #fault: "malformed" | "too_large" | null = null;

  /** @param limit bytes of the longest frame that is waited for. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Why there will be no more frames; `null` while all is well. */
  get fault(): "malformed" | "too_large" | null {
    return this.#fault;
  }

  /** The frames that `chunk` completes, up to the first fault. They do not share memory with it. */
  push(chunk: Uint8Array): readonly Frame[] {
    const frames: Frame[] = [];
    let offset = 0;
    while (offset < chunk.length && this.#fault === null) {
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

  /** Makes room for the frame that a whole prelude announces. */
  #begin(): void {
    const view = new DataView(this.#prelude.buffer);
    const length = view.getUint32(0);
    const isSound =
      view.getUint32(8) === crc32(this.#prelude.subarray(0, 8)) && PRELUDE + view.getUint32(4) + CHECKSUM <= length;
    if (!isSound) {
      this.#fault = "malformed";
    } else if (length > this.#limit) {
      this.#fault = "too_large";
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
      this.#fault = "malformed";
      return [];
    }
    return [{ headers, payload: bytes.subarray(payload, end) }];
  }
}
