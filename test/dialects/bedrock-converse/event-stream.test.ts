import { Int64, type EventStreamCodec } from "@smithy/eventstream-codec";
import fc from "fast-check";
import { crc32 as nodeCrc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  crc32,
  type Frame,
  FrameReader,
} from "../../../src/dialects/bedrock-converse/event-stream-frames.ts";
import { joined, pieces, singleBytes, someCuts } from "../laws/arbitrary/wire.ts";
import { codec } from "./wire.ts";

const LIMIT = 100_000;
type Message = Parameters<EventStreamCodec["encode"]>[0];
type Value = Message["headers"][string];

const bytes = (maximum: number) => fc.uint8Array({ maxLength: maximum });
const someText = fc.string({ unit: "grapheme", maxLength: 20 });
const isShort = (name: string): boolean => new TextEncoder().encode(name).length < 256;

/** Headers of every type of the encoding. */
const value: fc.Arbitrary<Value> = fc.oneof(
  { weight: 4, arbitrary: someText.map((text): Value => ({ type: "string", value: text })) },
  fc.boolean().map((flag): Value => ({ type: "boolean", value: flag })),
  fc.integer({ min: -128, max: 127 }).map((number): Value => ({ type: "byte", value: number })),
  fc
    .integer({ min: -32_768, max: 32_767 })
    .map((number): Value => ({ type: "short", value: number })),
  fc.integer().map((number): Value => ({ type: "integer", value: number })),
  fc.nat().map((number): Value => ({ type: "long", value: Int64.fromNumber(number) })),
  bytes(40).map((binary): Value => ({ type: "binary", value: binary })),
  fc.nat().map((time): Value => ({ type: "timestamp", value: new Date(time) })),
  fc.uuid().map((id): Value => ({ type: "uuid", value: id })),
);

const message: fc.Arbitrary<Message> = fc.record({
  headers: fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }).filter(isShort), value, {
    maxKeys: 5,
  }),
  body: bytes(200),
});

function textHeaders({ headers }: Message): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, header]) =>
      header.type === "string" ? [[name, header.value]] : [],
    ),
  );
}

const reported = ({ headers, payload }: Frame) => ({
  headers: Object.fromEntries(headers),
  payload: [...payload],
});

describe("frames of an event stream", () => {
  it("have the CRC-32 that Node computes", () => {
    fc.assert(
      fc.property(bytes(500), (some) => {
        expect(crc32(some)).toBe(nodeCrc32(some));
      }),
    );
  });

  it("equal those of the maintained codec, for every cut of the bytes", () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 4 }), someCuts, (messages, cuts) => {
        const reader = new FrameReader(LIMIT);
        const written = joined(messages.map((one) => codec.encode(one)));
        const read = pieces(written, cuts).flatMap((piece) => reader.push(piece));
        expect(reader.fault).toBeNull();
        expect(read.map(reported)).toEqual(
          messages.map((one) => ({ headers: textHeaders(one), payload: [...one.body] })),
        );
      }),
    );
  });

  it("do not change when the socket's buffer is used again", () => {
    const written = codec.encode({
      headers: { a: { type: "string", value: "b" } },
      body: new Uint8Array([1, 2, 3]),
    });
    const [frame] = new FrameReader(LIMIT).push(written);
    written.fill(0);
    expect([...(frame?.payload ?? [])]).toEqual([1, 2, 3]);
  });

  it("one damaged bit is found before its frame is used", () => {
    fc.assert(
      fc.property(
        message,
        message,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (first, second, at) => {
          const sound = codec.encode(first);
          const damaged = codec.encode(second);
          const bit = Math.floor(at * damaged.length * 8);
          damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
          const reader = new FrameReader(LIMIT);
          const read = singleBytes(joined([sound, damaged, sound])).flatMap((byte) =>
            reader.push(byte),
          );
          expect(read).toHaveLength(1);
          expect(reader.fault).toBe("malformed");
        },
      ),
    );
  });

  it("a frame with a damaged length is refused without waiting for it", () => {
    const frame = codec.encode({ headers: {}, body: new Uint8Array(10) });
    frame[1] = 1;
    const reader = new FrameReader(LIMIT);
    reader.push(frame.subarray(0, 12));
    expect(reader.fault).toBe("malformed");
  });

  it("are too_large at once where they exceed the limit", () => {
    const frame = codec.encode({ headers: {}, body: new Uint8Array(LIMIT) });
    const reader = new FrameReader(LIMIT);
    expect(reader.push(frame.subarray(0, 12))).toEqual([]);
    expect(reader.fault).toBe("too_large");
    expect(reader.push(frame.subarray(12))).toEqual([]);
  });

  it.each([
    ["a length too short for the headers", [0, 0, 0, 16, 0, 0, 0, 1], []],
    ["a name beyond the headers", [0, 0, 0, 18, 0, 0, 0, 2], [9, 97]],
    ["a value beyond the headers", [0, 0, 0, 22, 0, 0, 0, 6], [1, 97, 7, 0, 9, 98]],
    ["a count beyond the headers", [0, 0, 0, 20, 0, 0, 0, 4], [1, 97, 7, 0]],
    ["an unknown type", [0, 0, 0, 19, 0, 0, 0, 3], [1, 97, 10]],
  ])("%s is no frame, even with correct checksums", (_name, lengths, headers) => {
    const start = [...lengths, ...bigEndian(nodeCrc32(new Uint8Array(lengths))), ...headers];
    const reader = new FrameReader(LIMIT);
    expect(
      reader.push(new Uint8Array([...start, ...bigEndian(nodeCrc32(new Uint8Array(start)))])),
    ).toEqual([]);
    expect(reader.fault).toBe("malformed");
  });
});

function bigEndian(number: number): readonly number[] {
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 0xff);
}
