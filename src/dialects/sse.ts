import type { FailureKind } from "../canon/failure.ts";
import type { InferenceEvent } from "../canon/generate/event.ts";
import type { EventParser } from "./dialect.ts";
import { decodeUtf8 } from "./json.ts";

/** Longest event; an upstream that sends more without an end of event is broken. Bytes. */
export const MAXIMUM_EVENT_BYTES = 16 * 1024 * 1024;

/**
 * Cuts a byte stream into server-sent events (WHATWG HTML §9.2.6) without changing a byte: what
 * comes out, joined, is what went in. An event ends with an empty line; lines end with LF, CRLF or
 * CR. Splits may fall anywhere, inside a CRLF or a UTF-8 sequence too.
 */
export class SseFramer {
  /**
   * Bytes of the event that has not ended; only the first `#length` count. It grows by doubling: an
   * event may come in thousands of pieces.
   */
  #buffer: Uint8Array = EMPTY;
  #length = 0;
  /** Where the search for the end of the pending event continues, so that no byte is read twice. */
  #searched = 0;

  /** Bytes of an event that has not ended yet. */
  get pendingBytes(): number {
    return this.#length;
  }

  /**
   * The events that `chunk` completes, each with its blank line; views into the given bytes where
   * possible.
   */
  push(chunk: Uint8Array): readonly Uint8Array[] {
    // The most common piece of a stream: one event with its data, or its name and its data.
    if (this.#length === 0 && isSingleEvent(chunk)) return [chunk];
    const bytes = this.#length === 0 ? chunk : this.#appended(chunk);
    const events: Uint8Array[] = [];
    let start = 0;
    const ends = new LineEnds(bytes, this.#searched);
    let end = endOfEvent(bytes, this.#searched, ends);
    while (end !== -1) {
      events.push(bytes.subarray(start, end));
      start = end;
      end = endOfEvent(bytes, start, ends);
    }
    if (start === 0 && this.#length > 0) {
      this.#length = bytes.length;
    } else {
      // Bytes that were returned are never overwritten.
      this.#buffer = bytes.subarray(start);
      this.#length = this.#buffer.length;
    }
    // The last three bytes may be the beginning of a blank line (CR LF CR LF).
    this.#searched = Math.max(this.#length - 3, 0);
    return events;
  }

  /** The last event, where its blank line is missing; else empty. */
  lastEvent(): Uint8Array {
    const rest = this.#buffer.subarray(0, this.#length);
    this.#buffer = EMPTY;
    this.#length = 0;
    this.#searched = 0;
    return rest;
  }

  #appended(chunk: Uint8Array): Uint8Array {
    const length = this.#length + chunk.length;
    if (length > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(length, this.#buffer.length * 2));
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(chunk, this.#length);
    return this.#buffer.subarray(0, length);
  }
}

/**
 * One event. `data` is `null` where the event has no data line: a comment, a keep-alive. Events of
 * blank data are not dispatched (§9.2.6).
 */
interface SseEvent {
  /** The event's name; `null` where it has none. */
  readonly event: string | null;
  readonly data: string | null;
}

const EMPTY = new Uint8Array(0);
const LF = 10;
const CR = 13;
const encoder = new TextEncoder();

/**
 * Reads the fields of one whole event. Unknown fields and comments are ignored, as the standard
 * requires. An event that is not UTF-8 has one replacement character as data, which is malformed in
 * every protocol: inside other text it would pass for the provider's.
 */
export function parseSseEvent(bytes: Uint8Array): SseEvent {
  const text = decodeUtf8(bytes);
  if (text === null) return { event: null, data: "\ufffd" };
  // The overwhelmingly common event: one data line.
  if (
    text.startsWith("data: ") &&
    text.endsWith("\n\n") &&
    text.indexOf("\n") === text.length - 2
  ) {
    const data = text.slice(6, -2);
    return { event: null, data: data.endsWith("\r") ? data.slice(0, -1) : data };
  }
  const namedEvent = parseNamedEvent(text);
  if (namedEvent !== null) return namedEvent;
  let event: string | null = null;
  let data: string | null = null;
  for (const line of text.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const raw = colon === -1 ? "" : line.slice(colon + 1);
    const value = raw.startsWith(" ") ? raw.slice(1) : raw;
    if (field === "event") event = value;
    else if (field === "data") data = data === null ? value : `${data}\n${value}`;
  }
  return { event, data };
}

/**
 * The common event of protocols whose events have names: its name, one data line, LF only. `null`
 * for any other.
 */
function parseNamedEvent(text: string): SseEvent | null {
  if (!text.startsWith("event: ") || text.includes("\r")) return null;
  const end = text.indexOf("\n");
  if (!text.startsWith("data: ", end + 1) || text.indexOf("\n", end + 1) !== text.length - 2)
    return null;
  return text.endsWith("\n\n")
    ? { event: text.slice(7, end), data: text.slice(end + 7, -2) }
    : null;
}

/**
 * One event for a client: LF only, one data line (docs/protocols.md#server-sent-events).
 *
 * @param data without line breaks.
 */
export function formatSseEvent(data: string, event: string | null = null): Uint8Array {
  return encoder.encode(eventText(data, event));
}

/** The event that ends a stream of OpenAI's protocols. */
export const DONE_EVENT: Uint8Array = formatSseEvent("[DONE]");

/** One event, and `[DONE]`. */
export function formatLastSseEvent(data: string, event: string | null = null): Uint8Array {
  return encoder.encode(eventText(data, event) + eventText("[DONE]", null));
}

function eventText(data: string, event: string | null) {
  return event === null ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}

/** One or two lines that end with LF, and their blank line: nothing else is in the chunk. */
function isSingleEvent(chunk: Uint8Array): boolean {
  const end = chunk.length - 2;
  if (end <= 0 || chunk[end + 1] !== LF || chunk.includes(CR)) return false;
  const first = chunk.indexOf(LF);
  return first === end || (first > 0 && first + 1 !== end && chunk.indexOf(LF, first + 1) === end);
}

/**
 * Finds line ends. The next one of each kind is remembered, so that a chunk of many events is not
 * searched to its end for each of them.
 */
class LineEnds {
  readonly #bytes: Uint8Array;
  #feed: number;
  #carriage: number;

  constructor(bytes: Uint8Array, from: number) {
    this.#bytes = bytes;
    this.#feed = bytes.indexOf(LF, from);
    this.#carriage = bytes.indexOf(CR, from);
  }

  /** Index of the first LF or CR at or after `from`, or -1. `from` never goes back. */
  next(from: number): number {
    if (this.#feed !== -1 && this.#feed < from) this.#feed = this.#bytes.indexOf(LF, from);
    if (this.#carriage !== -1 && this.#carriage < from)
      this.#carriage = this.#bytes.indexOf(CR, from);
    if (this.#feed === -1 || this.#carriage === -1) return Math.max(this.#feed, this.#carriage);
    return Math.min(this.#feed, this.#carriage);
  }
}

/** Index after the blank line that ends the first event at or after `from`, or -1. */
function endOfEvent(bytes: Uint8Array, from: number, ends: LineEnds): number {
  let lineEnd = ends.next(from);
  while (lineEnd !== -1) {
    const next = afterLineEnd(bytes, lineEnd);
    if (next >= bytes.length) return -1;
    const second = bytes[next];
    if (second === LF || second === CR) {
      const end = afterLineEnd(bytes, next);
      // A CR in the last position may be half of a CRLF; the rest decides. Where lines end with CR
      // alone, the reader must not wait for a LF that never comes.
      return second === CR &&
        end === bytes.length &&
        bytes[end - 1] === CR &&
        bytes[next - 1] === LF
        ? -1
        : end;
    }
    lineEnd = ends.next(next);
  }
  return -1;
}

function afterLineEnd(bytes: Uint8Array, index: number) {
  return bytes[index] === CR && bytes[index + 1] === LF ? index + 2 : index + 1;
}

/** Reader of one answer; emits one terminal event. */
interface AnswerReader {
  /** The terminal event has been made; nothing more is read. */
  readonly over: boolean;
  /** Ends the answer as failed; without effect where it is over. */
  fail(kind: FailureKind): void;
  /** The events made since the last call. */
  drain(): readonly InferenceEvent[];
  /** Reads one event that has data. @param name `null` where it has none. */
  readEvent(data: string, name: string | null): void;
  /** The bytes have ended. */
  endBytes(): void;
}

/** Reads server-sent events as one dialect's answer. */
export class SseEventParser implements EventParser {
  readonly #framer = new SseFramer();
  readonly #reader: AnswerReader;

  constructor(reader: AnswerReader) {
    this.#reader = reader;
  }

  push(chunk: Uint8Array): readonly InferenceEvent[] {
    const reader = this.#reader;
    if (reader.over) return [];
    for (const event of this.#framer.push(chunk)) this.#read(event);
    if (this.#framer.pendingBytes > MAXIMUM_EVENT_BYTES) reader.fail("too_large");
    return reader.drain();
  }

  endAnswer(): readonly InferenceEvent[] {
    const reader = this.#reader;
    if (reader.over) return [];
    // A provider may omit the last blank line.
    this.#read(this.#framer.lastEvent());
    reader.endBytes();
    return reader.drain();
  }

  #read(bytes: Uint8Array) {
    if (this.#reader.over) return;
    const { event, data } = parseSseEvent(bytes);
    if (data !== null && data.trim() !== "") this.#reader.readEvent(data, event);
  }
}
