import { describe, expect, it } from "vitest";

import { chainHash, GENESIS } from "../../src/evidence/chain.ts";
import { encodeBatch, FrameCursor } from "../../src/store/batch/frames.ts";
import { OpenDecision, OpenDecisions } from "../../src/store/sqlite/batch/open-decision.ts";
import { sealBatch, type KnownLog } from "../../src/store/sqlite/batch/seal.ts";

const EMPTY: KnownLog = { head: GENESIS, highWater: "", knows: () => false, open: new OpenDecisions() };

function framesOf(bytes: Uint8Array<ArrayBuffer>) {
  const cursor = new FrameCursor(bytes);
  const frames = [];
  while (cursor.next()) {
    const { kind, at, requestId, record, hash, workspaceNumber: workspaceIndex } = cursor;
    frames.push({ kind, at, requestId, record, hash, workspaceIndex });
  }
  return frames;
}

describe("the bytes of a batch", () => {
  it("have every record to the byte, whatever characters it has", () => {
    const text = '{"a":"grüße \u{1f600} \\u0000"}';
    const { bytes, workspaces } = encodeBatch([5, "ré", "w", text, 6, "b", null, "{}"], [7, "ré", text]);
    expect(workspaces).toEqual(["w"]);
    expect(framesOf(bytes)).toEqual([
      { kind: "decision", at: 5, requestId: "ré", record: text, hash: "0".repeat(64), workspaceIndex: 1 },
      { kind: "decision", at: 6, requestId: "b", record: "{}", hash: "0".repeat(64), workspaceIndex: 0 },
      { kind: "outcome", at: 7, requestId: "ré", record: text, hash: "0".repeat(64), workspaceIndex: 0 },
    ]);
  });

  it("end before a record that is not whole", () => {
    const { bytes } = encodeBatch([5, "a", null, "{}"], [6, "a", "{}"]);
    for (const cut of [1, 3, 54]) expect(framesOf(bytes.subarray(0, -cut))).toHaveLength(1);
    expect(framesOf(bytes.subarray(0, -56))).toHaveLength(0);
  });

  it("are refused for a request id that is too long for its length", () => {
    expect(() => encodeBatch([5, "x".repeat(65_536), null, "{}"], [])).toThrow(RangeError);
  });
});

describe("a sealed batch", () => {
  it("omits what is there already, wherever it is, and chains the rest without a gap", () => {
    const decisions = ["a", "b", "a", "old", "c"].flatMap((id, at) => [at, id, "w", `{"${id}":${at}}`]);
    const outcomes = ["b", "nobody", "b", "running", "c"].flatMap((id, at) => [at, id, `{"end":"${id}${at}"}`]);
    const running = new OpenDecision("running", 3, 1, "other");
    const known: KnownLog = {
      head: { position: 7, hash: "1".repeat(64) },
      highWater: "running",
      knows: (id) => id === "old",
      open: new OpenDecisions([running]),
    };
    const sealed = sealBatch(encodeBatch(decisions, outcomes), 9, known);
    expect([sealed.duplicates, sealed.lost]).toEqual([[2, 3], 2]);
    const frames = framesOf(sealed.bytes);
    expect(frames.map(({ record }) => record)).toEqual([
      '{"a":0}',
      '{"b":1}',
      '{"c":4}',
      '{"end":"b0"}',
      '{"end":"running3"}',
      '{"end":"c4"}',
    ]);
    let hash = known.head.hash;
    for (const [index, frame] of frames.entries()) {
      hash = chainHash(hash, 8 + index, frame.kind, frame.record);
      expect(frame.hash).toBe(hash);
    }
    expect(sealed.head).toEqual({ position: 13, hash });
    expect(sealed.workspaces).toEqual(["w", "other"]);
    expect(frames.map(({ workspaceIndex }) => workspaceIndex)).toEqual([1, 1, 1, 1, 2, 1]);
    expect([sealed.decided, sealed.ended]).toEqual([
      { lowest: "a", highest: "c" },
      { lowest: "b", highest: "running" },
    ]);
    const texts = sealed.steps.map(({ from, to }) => sealed.bytes.toString("utf8", from, to));
    expect(texts).toEqual(frames.map(({ record }) => record));
  });

  it("is empty where everything is there already", () => {
    const sealed = sealBatch(encodeBatch([], [1, "nobody", "{}"]), 1, EMPTY);
    expect([sealed.bytes.length, sealed.lost, sealed.head]).toEqual([0, 1, GENESIS]);
  });
});
