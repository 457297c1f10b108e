import { timingSafeEqual } from "node:crypto";
import type { Writable } from "node:stream";
import { DefaultDeserializer, DefaultSerializer } from "node:v8";
import { crc32 } from "node:zlib";

/**
 * What two processes send each other over a socket: first a secret, then messages. A message is a head of three numbers,
 * the structured clone of a value without the bytes that it has, and these bytes, of one array after the other. Numbers
 * are little-endian:
 *
 * | at | bytes | |
 * |---|---|---|
 * | 0 | 4 | CRC-32 of all that follows |
 * | 4 | 4 | length of the clone |
 * | 8 | 4 | length of the bytes |
 */
const HEAD = 12;
const SUM_END = 4;
const NO_HEAD = Buffer.alloc(HEAD);

/** Length of a secret in bytes. */
export const SECRET = 32;

/** Longer than any message; a length beyond it is not one. */
const LONGEST = 2 ** 28;

/** The bytes are not what the other process sends. The message names no bytes. */
export class DamagedLinkError extends Error {}

/** A value whose byte arrays are sent after it: V8 would copy them, and that copy once more for each doubling of its length. */
class MessageSerializer extends DefaultSerializer {
  readonly arrays: Uint8Array[] = [];
  length = 0;

  /** Called by V8 for every view of bytes. */
  _writeHostObject(view: unknown): void {
    if (!(view instanceof Uint8Array)) throw new TypeError("a message has bytes as Uint8Array only");
    this.writeUint32(view.length);
    this.arrays.push(view);
    this.length += view.length;
  }
}

class MessageDeserializer extends DefaultDeserializer {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(clone: Uint8Array, bytes: Uint8Array) {
    super(clone);
    this.#bytes = bytes;
  }

  /** Called by V8 for what {@link MessageSerializer} has written. */
  _readHostObject(): Uint8Array {
    const from = this.#at;
    this.#at += this.readUint32();
    if (this.#at > this.#bytes.length) throw new DamagedLinkError("a message has too few bytes");
    return new Uint8Array(this.#bytes.buffer, this.#bytes.byteOffset + from, this.#at - from);
  }
}

/** The bytes of one message, in pieces; byte arrays of the value are among them, not copied. @param value of plain members and byte arrays */
export function encodeMessage(value: unknown): readonly Uint8Array[] {
  const serializer = new MessageSerializer();
  serializer.writeRawBytes(NO_HEAD);
  serializer.writeHeader();
  serializer.writeValue(value);
  const { arrays, length } = serializer;
  const head = serializer.releaseBuffer();
  head.writeUInt32LE(head.length - HEAD, SUM_END);
  head.writeUInt32LE(length, SUM_END + 4);
  let sum = crc32(head.subarray(SUM_END));
  for (const array of arrays) sum = crc32(array, sum);
  head.writeUInt32LE(sum, 0);
  return [head, ...arrays];
}

/**
 * Sends a message in one system call.
 *
 * @param written called when nothing of the message is needed any more
 */
export function writeMessage(socket: Writable, message: readonly Uint8Array[], written?: () => void): void {
  socket.cork();
  for (const piece of message.slice(0, -1)) socket.write(piece);
  socket.write(message.at(-1), written);
  socket.uncork();
}

/** Reads one direction of a socket. Nothing of it is interpreted before the secret was found right. */
export class MessageReader<Message> {
  readonly #secret: Buffer;
  readonly #isMessage: (value: unknown) => value is Message;
  #chunks: Buffer[] = [];
  #length = 0;
  #trusted = false;
  /** Of the message whose payload comes next. */
  #head: Head | null = null;

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
      const body = this.#take(this.#head.cloneLength + this.#head.length);
      if (body === null) return;
      const { cloneLength, sum, begun } = this.#head;
      if (crc32(body, begun) !== sum) throw new DamagedLinkError("the checksum of a message is wrong");
      this.#head = null;
      const message = readBody(body, cloneLength);
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
  readonly cloneLength: number;
  /** Of the bytes after the clone. */
  readonly length: number;
  readonly sum: number;
  /** The checksum of the head alone. */
  readonly begun: number;
}

function readHead(bytes: Buffer | null): Head | null {
  if (bytes === null) return null;
  const [cloneLength, length] = [bytes.readUInt32LE(SUM_END), bytes.readUInt32LE(SUM_END + 4)];
  if (cloneLength + length > LONGEST) throw new DamagedLinkError("the length of a message is impossible");
  return { cloneLength, length, sum: bytes.readUInt32LE(0), begun: crc32(bytes.subarray(SUM_END)) };
}

function readBody(body: Buffer, cloneLength: number): unknown {
  try {
    const deserializer = new MessageDeserializer(body.subarray(0, cloneLength), body.subarray(cloneLength));
    deserializer.readHeader();
    return deserializer.readValue();
  } catch {
    // V8's error says nothing of use.
    throw new DamagedLinkError("a message cannot be read");
  }
}
