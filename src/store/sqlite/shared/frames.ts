import { timingSafeEqual } from "node:crypto";
import { deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";

/**
 * What two processes send each other over a socket: first a secret, then messages. A message is its length and its
 * CRC-32, each four bytes, little-endian, and then the structured clone of a value.
 */
const HEAD = 8;

/** Length of a secret in bytes. */
export const SECRET = 32;

/** Longer than any message; a length beyond it is not one. */
const LONGEST = 2 ** 28;

/** The bytes are not what the other process sends. The message names no bytes. */
export class DamagedLinkError extends Error {}

/** The bytes of one message. @param value of plain members and typed arrays */
export function encodeMessage(value: unknown): Buffer {
  const payload = serialize(value);
  const frame = Buffer.allocUnsafe(HEAD + payload.length);
  frame.writeUInt32LE(payload.length, 0);
  frame.writeUInt32LE(crc32(payload), 4);
  payload.copy(frame, HEAD);
  return frame;
}

/** Reads one direction of a socket. Nothing of it is interpreted before the secret was found right. */
export class MessageReader<Message> {
  readonly #secret: Buffer;
  readonly #isMessage: (value: unknown) => value is Message;
  #chunks: Buffer[] = [];
  #length = 0;
  #trusted = false;
  /** Of the message whose payload comes next. */
  #head: { readonly length: number; readonly sum: number } | null = null;

  /** @param isMessage checks that a message is of the expected kind; the sender is of the same build */
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
   * @throws {DamagedLinkError} for a wrong secret, and for bytes that are not a message; the rest cannot be read then
   */
  *read(chunk: Buffer): Generator<Message, void> {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    if (!this.#trusted) {
      const secret = this.#take(SECRET);
      if (secret === null) return;
      if (!timingSafeEqual(secret, this.#secret)) throw new DamagedLinkError("the other side does not know the secret");
      this.#trusted = true;
    }
    for (;;) {
      this.#head ??= readHead(this.#take(HEAD));
      if (this.#head === null) return;
      const payload = this.#take(this.#head.length);
      if (payload === null) return;
      if (crc32(payload) !== this.#head.sum) throw new DamagedLinkError("the checksum of a message is wrong");
      this.#head = null;
      const message = readPayload(payload);
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

function readHead(bytes: Buffer | null): { readonly length: number; readonly sum: number } | null {
  if (bytes === null) return null;
  const length = bytes.readUInt32LE(0);
  if (length > LONGEST) throw new DamagedLinkError("the length of a message is impossible");
  return { length, sum: bytes.readUInt32LE(4) };
}

function readPayload(bytes: Buffer): unknown {
  try {
    return deserialize(bytes);
  } catch {
    // V8's error says nothing of use.
    throw new DamagedLinkError("a message cannot be read");
  }
}
