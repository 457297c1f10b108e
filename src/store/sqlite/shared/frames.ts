import { timingSafeEqual } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";

/**
 * The protocol of two processes over a socket: first a secret, then messages. A message is a
 * head of two numbers of four bytes, little-endian, and the structured clone of a value. The
 * numbers are the CRC-32 of all that follows it, and the length of the clone.
 */
const HEAD = 8;
const SUM_END = 4;

/** Length of a secret in bytes. */
export const SECRET = 32;

/** Longer than any message; a length beyond it is not one. */
const LONGEST = 2 ** 28;

/** The bytes are not what the other process sends. The message names no bytes. */
export class DamagedLinkError extends Error {}

/** The bytes of one message. @param value of plain members and byte arrays */
export function encodeMessage(value: unknown): Uint8Array {
  const clone = serialize(value);
  const message = Buffer.alloc(HEAD + clone.length);
  message.writeUInt32LE(clone.length, SUM_END);
  message.set(clone, HEAD);
  message.writeUInt32LE(crc32(message.subarray(SUM_END)), 0);
  return message;
}

/**
 * Reads one direction of a socket. Nothing of it is interpreted before the secret was found right.
 */
export class MessageReader<Message> {
  readonly #secret: Buffer;
  readonly #isMessage: (value: unknown) => value is Message;
  #chunks: Buffer[] = [];
  #length = 0;
  #trusted = false;
  /** Of the message whose payload comes next. */
  #head: Head | null = null;

  /**
   * @param isMessage checks that a message is of the expected kind; the sender is of the same build
   */
  constructor(secret: Uint8Array, isMessage: (value: unknown) => value is Message) {
    this.#secret = Buffer.from(secret);
    this.#isMessage = isMessage;
  }

  /** The secret has come, and was right. */
  get trusted(): boolean {
    return this.#trusted;
  }

  /** Nothing of a message is missing. */
  get complete(): boolean {
    return this.#trusted && this.#length === 0 && this.#head === null;
  }

  /**
   * The messages that are whole with these bytes.
   *
   * @throws {DamagedLinkError} for a wrong secret, and for bytes that are not a message; the rest
   * cannot be read then
   */
  *read(chunk: Buffer): Generator<Message, void> {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (!this.#trusted) {
      const secret = this.#take(SECRET);
      if (secret === null) return;
      if (!timingSafeEqual(secret, this.#secret))
        throw new DamagedLinkError("the other side does not know the secret");
      this.#trusted = true;
    }
    for (;;) {
      this.#head ??= readHead(this.#take(HEAD));
      if (this.#head === null) return;
      const body = this.#take(this.#head.length);
      if (body === null) return;
      const { sum, begun } = this.#head;
      if (crc32(body, begun) !== sum)
        throw new DamagedLinkError("the checksum of a message is wrong");
      this.#head = null;
      const message = readBody(body);
      if (!this.#isMessage(message)) throw new DamagedLinkError("a message is of another kind");
      yield message;
    }
  }

  #take(length: number): Buffer | null {
    if (this.#length < length) return null;
    const [first = Buffer.alloc(0)] = this.#chunks;
    const bytes = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#length -= length;
    this.#chunks = this.#length === 0 ? [] : [bytes.subarray(length)];
    return bytes.subarray(0, length);
  }
}

interface Head {
  /** Of the clone. */
  readonly length: number;
  readonly sum: number;
  /** The checksum of the head alone. */
  readonly begun: number;
}

function readHead(bytes: Buffer | null): Head | null {
  if (bytes === null) return null;
  const length = bytes.readUInt32LE(SUM_END);
  if (length > LONGEST) throw new DamagedLinkError("the length of a message is impossible");
  return { length, sum: bytes.readUInt32LE(0), begun: crc32(bytes.subarray(SUM_END)) };
}

function readBody(body: Buffer): unknown {
  try {
    const message: unknown = deserialize(body);
    return message;
  } catch {
    // V8's error does not help.
    throw new DamagedLinkError("a message cannot be read");
  }
}
