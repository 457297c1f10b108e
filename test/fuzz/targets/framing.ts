import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import {
  FrameReader,
  readHeaders,
} from "../../../src/dialects/bedrock-converse/event-stream-frames.ts";
import { parseSseEvent, SseFramer } from "../../../src/dialects/sse.ts";
import { encodeFrame } from "../../dialects/bedrock-converse/wire.ts";
import { cuts, mutated, pieces } from "../mutations.ts";
import { work, type FuzzTarget } from "../target.ts";

const SSE = [
  'data: {"a":1}\n\n',
  "event: message\ndata: x\n\n: keep-alive\n\n",
  "data: a\r\ndata: b\r\n\r\nid: 1\r\nretry: 5\r\n\r\n",
  "data: a\r\rdata: b\r\r",
  "\n\n\n\ndata\n\ndata:\n\n",
  "event: é😀\ndata: é😀\n\ndata: [DONE]\n\n",
];

const FRAMES = [
  Buffer.concat([
    encodeFrame({ ":message-type": "event", ":event-type": "messageStart" }, { role: "assistant" }),
    encodeFrame(
      { ":message-type": "event", ":event-type": "contentBlockDelta" },
      { delta: { text: "é" } },
    ),
  ]),
  encodeFrame(
    { ":message-type": "exception", ":exception-type": "throttlingException" },
    { message: "m" },
  ),
];

/**
 * What the events say, and what is left. Where lines end with CR alone, a LF behind it may begin
 * the next event; it says nothing there.
 */
function framed(parts: readonly Uint8Array[]): {
  readonly bytes: string;
  readonly reported: unknown;
  readonly rest: string;
} {
  const framer = new SseFramer();
  const events = parts.flatMap((part) => [...framer.push(part)]);
  const reported = events
    .map((event) => parseSseEvent(event))
    .filter(({ event, data }) => event !== null || data !== null);
  const rest = Buffer.from(framer.lastEvent()).toString("latin1");
  return {
    bytes: Buffer.concat(events).toString("latin1") + rest,
    reported,
    rest: rest.replace(/^\n/, ""),
  };
}

function unframed(parts: readonly Uint8Array[]): {
  readonly frames: readonly unknown[];
  readonly fault: string | null;
} {
  const reader = new FrameReader(4_096);
  const frames = parts.flatMap((part) => [...reader.push(part)]);
  return {
    frames: frames.map(({ headers, payload }) => [[...headers], hex(payload)]),
    fault: reader.fault,
  };
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Pieces of one size, which are what a socket gives. */
function fed(bytes: Uint8Array, size: number, push: (piece: Uint8Array) => unknown): void {
  for (let start = 0; start < bytes.length; start += size)
    push(bytes.subarray(start, start + size));
}

/** Twice the bytes are at most about twice the work, whatever is repeated in them. */
function linear(
  once: Uint8Array,
  times: number,
  size: number,
  machine: () => (piece: Uint8Array) => unknown,
): void {
  const repeated = (count: number): Uint8Array =>
    Uint8Array.from(Buffer.concat(Array.from({ length: count }, () => once)));
  const measure = (count: number): number => {
    const bytes = repeated(count);
    const push = machine();
    return work(() => fed(bytes, size, push));
  };
  const [half, whole] = [measure(times), measure(times * 2)];
  ok(whole <= 3 * half + 40_000, `twice the bytes were ${half} and ${whole} steps`);
}

export const FRAMING: readonly FuzzTarget[] = [
  {
    name: "SSE: what comes out is what went in, however it is cut",
    property: fc.property(mutated(SSE), cuts, (bytes, positions) => {
      const whole = framed([bytes]);
      strictEqual(whole.bytes, Buffer.from(bytes).toString("latin1"));
      deepStrictEqual(framed(pieces(bytes, positions)), whole);
    }),
  },
  {
    name: "SSE: work grows with the bytes",
    property: fc.property(mutated(SSE), fc.integer({ min: 1, max: 1_400 }), (once, size) => {
      linear(once.subarray(0, 400), 40, size, () => {
        const framer = new SseFramer();
        return (piece) => framer.push(piece);
      });
    }),
  },
  {
    name: "AWS event stream: the same frames and the same fault, however it is cut",
    property: fc.property(mutated(FRAMES), cuts, (bytes, positions) => {
      const whole = unframed([bytes]);
      deepStrictEqual(unframed(pieces(bytes, positions)), whole);
      ok(whole.fault === null || whole.fault === "malformed" || whole.fault === "too_large");
    }),
  },
  {
    name: "AWS event stream: work grows with the bytes",
    property: fc.property(mutated(FRAMES), fc.integer({ min: 1, max: 1_400 }), (once, size) => {
      linear(once.subarray(0, 400), 40, size, () => {
        const reader = new FrameReader(100_000);
        return (piece) => reader.push(piece);
      });
    }),
  },
  {
    name: "AWS event stream: headers of any bytes",
    property: fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const headers = readHeaders(bytes);
      ok(headers === null || headers instanceof Map);
    }),
  },
];
