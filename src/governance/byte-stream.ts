/**
 * Writes whole numbers, texts and bytes one after the other, each with what is needed to read it
 * back.
 */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(512);
  #length = 0;

  /** @param value a whole number from 0 to 2^53 - 1; seven bits a byte, the lowest first. */
  number(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  bytes(value: Uint8Array): void {
    this.number(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  text(value: string): void {
    const length = Buffer.byteLength(value, "utf8");
    this.number(length);
    this.#reserve(length);
    this.#length += this.#bytes.write(value, this.#length, "utf8");
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes.subarray(0, this.#length));
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Bytes that {@link ByteWriter.number} takes. */
export function numberLength(value: number): number {
  let length = 1;
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1;
  return length;
}

/**
 * Reads what {@link ByteWriter} wrote. Bytes that it did not write make it throw a `RangeError`, or
 * read wrong numbers, never past the end.
 */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get done(): boolean {
    return this.#position >= this.#bytes.length;
  }

  number(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      const byte = this.#bytes[this.#position++];
      if (byte === undefined) throw new RangeError("the bytes end in the middle of a number");
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  /** A view, not a copy. */
  bytes(): Uint8Array {
    const length = this.number();
    const end = this.#position + length;
    if (end > this.#bytes.length) throw new RangeError("the bytes end before their length");
    const value = this.#bytes.subarray(this.#position, end);
    this.#position = end;
    return value;
  }

  text(): string {
    const bytes = this.bytes();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8");
  }
}
