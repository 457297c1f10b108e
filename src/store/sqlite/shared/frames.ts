import { timingSafeEqual } from "node:crypto";
import { deserialize, serialize } from "node:v8";

/**
 * The protocol of two processes over a socket: first a secret, then messages. A message is the
 * length in four bytes, little-endian, of the structured clone of a value, and the clone.
 */
const HEAD = 4;

/** Length of a secret in bytes. */
export const SECRET = 32;

/** Where the workers of a server reach the store's thread. */
export interface Door {
  /** Of a Unix socket. */
  readonly address: string;
  /** The first bytes of a worker. */
  readonly workerSecret: Uint8Array;
  /** The thread's answer: a process that takes the address after its end does not know it. */
  readonly threadSecret: Uint8Array;
  /** The folder to remove afterwards; `null` where the address is no file. */
  readonly folder: string | null;
}

/** Longer than any message; a length beyond it is not one. */
const LONGEST = 2 ** 28;

/** The bytes are not what the other process sends. The message names no bytes. */
export class DamagedLinkError extends Error {}

/** The bytes of one message. @param value of plain members and byte arrays */
export function encodeMessage(value: unknown): Uint8Array {
  const clone = serialize(value);
  const head = Buffer.alloc(HEAD);
  head.writeUInt32LE(clone.length);
  return Buffer.concat([head, clone]);
}

/**
 * Reads one direction of a socket; interprets nothing before the right secret.
 *
 * @param isMessage whether a message is of the expected kind
 */
export function messageReader<Message>(
  secret: Uint8Array,
  isMessage: (value: unknown) => value is Message,
) {
  let chunks: Buffer[] = [];
  let buffered = 0;
  let isTrusted = false;
  /** Of the clone that comes next. */
  let next: number | null = null;
  const expected = Buffer.from(secret);

  function take(length: number): Buffer | null {
    if (buffered < length) return null;
    const [first = Buffer.alloc(0)] = chunks;
    const bytes = chunks.length === 1 ? first : Buffer.concat(chunks);
    buffered -= length;
    chunks = buffered === 0 ? [] : [bytes.subarray(length)];
    return bytes.subarray(0, length);
  }

  return {
    /** The secret has come, and was right. */
    get trusted(): boolean {
      return isTrusted;
    },
    /** Nothing of a message is missing. */
    get complete(): boolean {
      return isTrusted && buffered === 0 && next === null;
    },
    /** The messages that are whole now. @throws {DamagedLinkError} and reads no further */
    *read(chunk: Buffer): Generator<Message, void> {
      chunks.push(chunk);
      buffered += chunk.length;
      if (!isTrusted) {
        const received = take(SECRET);
        if (received === null) return;
        if (!timingSafeEqual(received, expected))
          throw new DamagedLinkError("the other side does not know the secret");
        isTrusted = true;
      }
      for (;;) {
        next ??= take(HEAD)?.readUInt32LE() ?? null;
        if (next === null) return;
        if (next > LONGEST) throw new DamagedLinkError("the length of a message is impossible");
        const body = take(next);
        if (body === null) return;
        next = null;
        const message = readBody(body);
        if (!isMessage(message)) throw new DamagedLinkError("a message is of another kind");
        yield message;
      }
    },
  };
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
