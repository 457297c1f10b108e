/** Why bytes are no module that can be metered. Names the construct by its number, never bytes of a policy. */
export class MeteringError extends Error {
  override readonly name = "MeteringError";
}

/** Reads the binary format of WebAssembly (Core Specification 2.0, §5). */
export class ByteReader {
  readonly bytes: Uint8Array;
  /** Offset of the next byte. */
  at: number;
  readonly #end: number;

  constructor(bytes: Uint8Array, from = 0, end = bytes.length) {
    this.bytes = bytes;
    this.at = from;
    this.#end = end;
  }

  get isDone(): boolean {
    return this.at >= this.#end;
  }

  /** @throws {MeteringError} at the end of the bytes. */
  byte(): number {
    const value = this.at < this.#end ? this.bytes[this.at] : undefined;
    if (value === undefined) throw new MeteringError("the module is cut off");
    this.at += 1;
    return value;
  }

  /** An unsigned LEB128 of at most 32 bits. @throws {MeteringError} */
  unsigned(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new MeteringError("the module contains a number that is too long");
  }

  /** Passes over a LEB128 of at most 64 bits, signed or not. @throws {MeteringError} */
  skipNumber(): void {
    for (let length = 0; length < 10; length += 1) if (this.byte() < 0x80) return;
    throw new MeteringError("the module contains a number that is too long");
  }

  /** @throws {MeteringError} where fewer are left. */
  skip(count: number): void {
    if (count > this.#end - this.at) throw new MeteringError("the module is cut off");
    this.at += count;
  }

  /** The next bytes, without a copy. @throws {MeteringError} where fewer are left. */
  take(count: number): Uint8Array {
    const from = this.at;
    this.skip(count);
    return this.bytes.subarray(from, this.at);
  }
}

/** An unsigned LEB128. */
export function unsignedBytes(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return [...bytes, rest];
}

/** A signed LEB128 of a number that is not negative: bit 6 of the last byte is the sign. */
export function positiveBytes(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x3f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return [...bytes, rest];
}
