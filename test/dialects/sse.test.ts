import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatSseEvent, parseSseEvent, SseFramer } from "../../src/dialects/sse.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function cut(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const ordered = [
    0,
    ...positions.map((position) => position % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return ordered.slice(1).map((end, index) => bytes.subarray(ordered[index], end));
}

function frame(chunks: readonly Uint8Array[]): {
  readonly events: Uint8Array[];
  readonly rest: Uint8Array;
} {
  const framer = new SseFramer();
  const events = chunks.flatMap((chunk) => [...framer.push(chunk)]);
  return { events, rest: framer.lastEvent() };
}

const line = fc.constantFrom(
  'data: {"a":1}',
  "data:no space",
  "event: x",
  ": comment",
  "data: é€😀",
  "id: 7",
  "data",
);
const ending = fc.constantFrom("\n", "\r\n");
const event = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 3 }), ending)
  .map(([lines, eol]) => lines.join(eol) + eol + eol);

describe("framing", () => {
  it("splits a chunk of a million small events in linear time", () => {
    for (const [text, size] of [
      ["data: x\n\n", 9],
      ["data: x\r\r", 9],
      ["data: x\r\n\r\n", 11],
    ] as const) {
      const events = new SseFramer().push(encoder.encode(text.repeat(300_000)));
      expect(events.length).toBeGreaterThanOrEqual(299_999);
      expect(events[0]).toHaveLength(size);
    }
  });

  it("joins one event of thousands of pieces, each read and copied about once", () => {
    // Eight megabytes in network-sized pieces: joining all that is pending with each of them would
    // take a quarter of a minute.
    const framer = new SseFramer();
    const piece = new Uint8Array(1_400).fill(120);
    for (let count = 0; count < 6_000; count += 1) expect(framer.push(piece)).toEqual([]);
    const [whole] = framer.push(encoder.encode("\n\n"));
    expect(whole).toHaveLength(1_400 * 6_000 + 2);
  });

  it("gives the same unchanged events for every cut of the bytes", () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 40 }),
        (texts, positions) => {
          const bytes = encoder.encode(texts.join(""));
          const { events, rest } = frame(cut(bytes, positions));
          expect(events.map((one) => decoder.decode(one))).toEqual(texts);
          expect(rest).toHaveLength(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("gives the same events for a chunk as for its bytes one by one, for every text of few lines", () => {
    for (let length = 1; length <= 9; length += 1) {
      for (let bits = 0; bits < 2 ** length; bits += 1) {
        const text = Array.from({ length }, (_, index) => ((bits >> index) & 1 ? "\n" : "a")).join(
          "",
        );
        const bytes = encoder.encode(text);
        const singly = frame(Array.from(bytes, (_, index) => bytes.subarray(index, index + 1)));
        expect(frame([bytes]), JSON.stringify(text)).toEqual(singly);
      }
    }
  });

  it("waits after a CR for a possible LF", () => {
    const framer = new SseFramer();
    expect(framer.push(encoder.encode("data: 1\n\r"))).toEqual([]);
    expect(framer.push(encoder.encode("\n")).map((one) => decoder.decode(one))).toEqual([
      "data: 1\n\r\n",
    ]);
    expect(framer.lastEvent()).toHaveLength(0);
  });

  it("gives the same events for a cut at every byte", () => {
    const text = "data: a\r\n\r\n: keep-alive\n\nevent: e\ndata: ü\ndata: 2\n\n";
    const whole = frame([encoder.encode(text)]).events.map(parseSseEvent);
    const bytes = encoder.encode(text);
    expect(frame([...bytes].map((byte) => Uint8Array.of(byte))).events.map(parseSseEvent)).toEqual(
      whole,
    );
    expect(whole).toEqual([
      { event: null, data: "a" },
      { event: null, data: null },
      { event: "e", data: "ü\n2" },
    ]);
  });

  it("holds an unfinished event", () => {
    const framer = new SseFramer();
    expect(framer.push(encoder.encode("data: half"))).toEqual([]);
    expect(framer.pendingBytes).toBe(10);
    expect(decoder.decode(framer.lastEvent())).toBe("data: half");
  });
});

describe("reading an event", () => {
  it.each([
    ["data:x\n\n", "x"],
    ["data: x\n\n", "x"],
    ["data:  x\n\n", " x"],
    ["data\n\n", ""],
    ["data: a\ndata: b\n\n", "a\nb"],
    ["data: a: b\n\n", "a: b"],
    [": only a comment\n\n", null],
    ["\n\n", null],
    ["retry: 10\n\n", null],
    ["data: x\r\n\r\n", "x"],
  ])("%j has the data %j", (text, data) => {
    expect(parseSseEvent(encoder.encode(text)).data).toBe(data);
  });

  it("restores a written event", () => {
    expect(parseSseEvent(formatSseEvent("{}", "done"))).toEqual({ event: "done", data: "{}" });
    expect(parseSseEvent(formatSseEvent("[DONE]"))).toEqual({ event: null, data: "[DONE]" });
  });
});
