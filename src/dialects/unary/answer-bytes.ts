/** Bytes that are joined in shared memory; a longer answer gets memory of its own. */
const SCRATCH_BYTES = 4 * 1_048_576;

const encoder = new TextEncoder();
let scratch: Uint8Array | null = null;

/**
 * A whole answer, in the received pieces, which are sent on: a copy of each answer of a megabyte
 * would make the garbage collector run twice as often.
 */
export class AnswerBytes {
  readonly pieces: readonly Uint8Array[];
  readonly length: number;
  readonly #isOwned: boolean;
  #isFreed = false;
  #whole: Uint8Array | null = null;

  /**
   * @param isOwned nothing else uses the memory of the pieces, not even beside them: {@link free}
   * may give it back.
   */
  constructor(pieces: readonly Uint8Array[], isOwned = false) {
    this.pieces = pieces;
    this.#isOwned = isOwned;
    let length = 0;
    for (const piece of pieces) length += piece.length;
    this.length = length;
  }

  static of(text: string): AnswerBytes {
    return new AnswerBytes([encoder.encode(text)]);
  }

  /** In one piece, to keep. */
  get whole(): Uint8Array {
    if (this.#isFreed) throw new Error("answer: its memory has been given back");
    this.#whole ??=
      (this.pieces.length === 1 ? this.pieces[0] : undefined) ?? Buffer.concat(this.pieces);
    return this.#whole;
  }

  /** In one piece, valid until another answer is read: do not keep it. */
  look(): Uint8Array {
    if (
      this.#isFreed ||
      this.#whole !== null ||
      this.pieces.length < 2 ||
      this.length > SCRATCH_BYTES
    )
      return this.whole;
    scratch ??= new Uint8Array(SCRATCH_BYTES);
    let at = 0;
    for (const piece of this.pieces) {
      scratch.set(piece, at);
      at += piece.length;
    }
    return scratch.subarray(0, at);
  }

  /**
   * Frees the memory now, if allowed; the answer must not be read afterwards. Left to the garbage
   * collector, every 64 MB of answers would make it mark the whole heap.
   */
  free(): void {
    if (!this.#isOwned) return;
    this.#isFreed = true;
    for (const { buffer } of this.pieces) {
      // Several pieces may have come in one read.
      if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer(0);
    }
  }
}
