import type { AnswerBytes } from "../dialects/unary/answer-bytes.ts";
import type { ServerResponse } from "node:http";
import type { ClientAnswer, RelayOutcome } from "../dispatch/attempt.ts";

/** Bytes that gather in one turn of the event loop before they are written. */
const MOST_PENDING = 64 * 1024;

/** Answers that wait for the end of the turn at most. */
const MOST_WAITING = 16;

/** Answers up to this size are written as a string; larger ones are not copied. Bytes. */
const SHORT = 16 * 1024;

const EMPTY = new Uint8Array(0);

/**
 * The client's side over a node response. Bytes go to the socket without a web stream between
 * (docs/architecture.md#performance).
 */
export class NodeAnswer implements ClientAnswer {
  readonly #response: ServerResponse;
  /** Headers that every answer carries; names and values by turns. */
  readonly #common: readonly string[];
  readonly #writeTime: number;
  #sentBytes = 0;
  /** The answer has no length: its bytes go in chunks (RFC 9112 §7.1), which are framed here. */
  #isChunked = false;
  /** The head has been handed over with the first bytes. */
  #isHeadSent = false;
  /** Bytes of this turn that go to the socket in one write when it ends. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;

  /** Few answers ever fill a buffer: the response is listened to only while one is full. */
  #awaitsDrain = false;
  #onDrain: (() => void) | null = null;

  /**
   * @param writeTime longest time that the client may take to read the rest once the answer has
   * been handed over, milliseconds.
   */
  constructor(response: ServerResponse, common: readonly string[], writeTime: number) {
    this.#response = response;
    this.#writeTime = writeTime;
    this.#common = common;
    // A client that goes away in the middle of a write makes an error event; without a listener it
    // would end the process.
    response.on("error", ignore);
  }

  get closed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded;
  }

  /** Bytes handed over so far. */
  get sent(): number {
    return this.#sentBytes;
  }

  start(status: number, headers: readonly string[]): void {
    if (this.closed) return;
    const response = this.#response;
    response.writeHead(status, this.#common.concat(headers));
    // Node frames each write in four pieces; one piece costs a fifth less.
    this.#isChunked = response.chunkedEncoding;
    response.chunkedEncoding = false;
  }

  write(bytes: Uint8Array): boolean {
    if (this.closed || bytes.length === 0) return true;
    this.#sentBytes += bytes.length;
    this.#hold(bytes);
    if (this.#pendingBytes >= MOST_PENDING) this.flush();
    else if (this.#pendingBytes === bytes.length) flushSoon(this);
    if (!this.#response.writableNeedDrain) return true;
    if (!this.#awaitsDrain) this.#awaitDrain();
    return false;
  }

  end(bytes: Uint8Array = EMPTY): void {
    if (this.closed) return;
    const response = this.#response;
    this.#sentBytes += bytes.length;
    // As a string a short answer goes to the socket in one piece with its head; as bytes it would
    // be a second one.
    if (this.#isChunked || this.#pendingBytes > 0) {
      this.#hold(bytes);
      response.end(this.#frame(true));
    } else if (bytes.length <= SHORT) {
      response.end(asBuffer(bytes).toString("latin1"), "latin1");
    } else {
      response.end(bytes);
    }
    boundWriting(response, this.#writeTime);
  }

  /** Sends an answer of known length in pieces, without copying them together. */
  endWith(answer: AnswerBytes): void {
    const { pieces } = answer;
    const response = this.#response;
    if (this.closed || pieces.length < 2 || this.#isChunked || this.#pendingBytes > 0)
      return this.end(answer.whole);
    response.cork();
    for (const piece of pieces) {
      this.#sentBytes += piece.length;
      response.write(piece);
    }
    response.end();
    response.uncork();
    boundWriting(response, this.#writeTime);
  }

  #awaitDrain() {
    this.#awaitsDrain = true;
    this.#response.once("drain", () => {
      this.#awaitsDrain = false;
      this.#onDrain?.();
    });
  }

  #hold(bytes: Uint8Array) {
    // A list that grows from nothing has room for seventeen.
    if (this.#pendingBytes === 0) this.#pending = [bytes];
    else this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  /** Hands over the gathered bytes. */
  flush(): void {
    if (this.#pendingBytes === 0 || this.closed) return;
    const frame = this.#frame(false);
    const { socket } = this.#response;
    // The response would hold the connection back for the rest of its tick. Where bytes are unread
    // it gets these too, because it counts them.
    if (this.#isHeadSent && socket?.writable === true && socket.writableLength === 0) {
      socket.write(frame);
    } else {
      this.#isHeadSent = true;
      this.#response.write(frame);
    }
  }

  /** The pending bytes, as one chunk where the answer goes in chunks. */
  #frame(isLast: boolean): Uint8Array {
    const parts = this.#pending;
    const size = this.#pendingBytes;
    this.#pending = [];
    this.#pendingBytes = 0;
    return this.#isChunked ? chunkOf(parts, size, isLast) : Buffer.concat(parts, size);
  }

  /** The kernel has the whole answer: its bytes are not read again. */
  get isDelivered(): boolean {
    const response = this.#response;
    return (
      response.writableFinished ||
      (!response.destroyed && response.writableEnded && response.writableLength === 0)
    );
  }

  /**
   * Whether an answer that has ended got out of this process, to its last byte: at once where the
   * kernel has taken it, else when it has, or when the client has gone.
   */
  delivered(): boolean | Promise<boolean> {
    const response = this.#response;
    if (this.isDelivered) return true;
    if (response.destroyed) return false;
    return new Promise((resolve) => {
      // One of them comes: the time to read is bounded.
      response.once("finish", () => resolve(true));
      response.once("close", () => resolve(response.writableFinished));
    });
  }

  onClose(listener: () => void): void {
    this.#response.on("close", () => {
      if (!this.#response.writableFinished) listener();
    });
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }
}

/** Answers with bytes that wait for the end of the turn. */
let waiting: NodeAnswer[] = [];

/**
 * Writes once the sockets that have something to read have been read. The clients of many streams
 * then get their bytes one after the other, and a client that is awake for the first write need not
 * be woken for each of the others, which is half the cost of a write. Only a few gather, so that
 * none waits for all others.
 */
function flushSoon(answer: NodeAnswer) {
  if (waiting.push(answer) === 1) setImmediate(flushWaiting);
  else if (waiting.length >= MOST_WAITING) flushWaiting();
}

function flushWaiting() {
  const answers = waiting;
  waiting = [];
  for (const answer of answers) answer.flush();
}

const LAST_CHUNK = "0\r\n\r\n";
const HEXADECIMAL = "0123456789abcdef";
const CR = 13;
const LF = 10;

/**
 * Bytes as one chunk (RFC 9112 §7.1). Its few bytes of framing are put in one by one: a call of the
 * engine for each costs more than the copy.
 */
function chunkOf(parts: readonly Uint8Array[], size: number, isLast: boolean): Uint8Array {
  if (size === 0) return Buffer.from(isLast ? LAST_CHUNK : "", "latin1");
  const digits = (35 - Math.clz32(size)) >>> 2;
  const chunk = Buffer.allocUnsafe(digits + size + 4 + (isLast ? LAST_CHUNK.length : 0));
  for (let at = digits - 1, rest = size; at >= 0; at -= 1, rest >>>= 4)
    chunk[at] = HEXADECIMAL.charCodeAt(rest & 15);
  chunk[digits] = CR;
  chunk[digits + 1] = LF;
  let at = digits + 2;
  for (const part of parts) {
    chunk.set(part, at);
    at += part.length;
  }
  chunk[at] = CR;
  chunk[at + 1] = LF;
  if (isLast) chunk.write(LAST_CHUNK, at + 2, "latin1");
  return chunk;
}

function asBuffer(bytes: Uint8Array) {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/**
 * Drops an answer that a client does not read: megabytes would otherwise stay in memory as long as
 * the socket.
 */
export function boundWriting(response: ServerResponse, writeTime: number): void {
  if (response.writableFinished || response.destroyed || response.writableLength === 0) return;
  const timer = setTimeout(() => response.destroy(), writeTime);
  response.once("close", () => clearTimeout(timer));
}

/**
 * The outcome once the client has the answer: one that is handed over, and that the client leaves
 * unread, has not been completed. Until then the request holds its share of memory.
 */
export async function untilDelivered(
  outcome: RelayOutcome,
  client: NodeAnswer,
): Promise<RelayOutcome> {
  const { terminal } = outcome;
  if (outcome.error !== null || terminal === "client_closed") return outcome;
  const isWhole = await client.delivered();
  return isWhole || terminal === "failed" ? outcome : { ...outcome, terminal: "client_closed" };
}

function ignore() {}
