import { describe, expect, it } from "vitest";

import { FrameCursor } from "../../../src/store/batch/frames.ts";
import { frameItems, toBatch } from "../../../src/store/postgres/evidence/batch.ts";

describe("a batch", () => {
  it("omits what repeats within it, and says where a decision stood", () => {
    const decisions = ["a", "b", "a", "c"].flatMap((id, index) => [
      index,
      id,
      index === 1 ? null : "w",
      `{"n":${index}}`,
    ]);
    const outcomes = [7, "b", '{"at":7.5}', 8, "b", '{"at":8}', 9, "elsewhere", '{"at":9}'];
    const batch = toBatch(decisions, outcomes);
    expect(batch).toEqual({
      items: [
        { k: "decision", r: "a", a: 0, w: "w", t: '{"n":0}' },
        { k: "decision", r: "b", a: 1, w: null, t: '{"n":1}' },
        { k: "decision", r: "c", a: 3, w: "w", t: '{"n":3}' },
        { k: "outcome", r: "b", a: 7, w: null, t: '{"at":7.5}' },
        { k: "outcome", r: "elsewhere", a: 9, w: null, t: '{"at":9}' },
      ],
      positions: [0, 1, 3, null, null],
      duplicates: [2],
      lost: 1,
    });
  });

  it("is framed with the workspaces of outcomes, whose decisions are in it or before it", () => {
    const { items } = toBatch([1, "a", "w", "{}", 2, "b", null, "{}"], [3, "a", "{}", 4, "b", "{}", 5, "c", "{}"]);
    const framed = frameItems(items, (requestId) => (requestId === "c" ? "grüße" : "wrong"));
    const cursor = new FrameCursor(new Uint8Array(framed.records));
    const frames: unknown[] = [];
    for (let index = 0; cursor.next(); index += 1) {
      frames.push([cursor.kind, cursor.requestId, framed.workspaces[cursor.workspaceNumber - 1] ?? null]);
      expect([framed.starts[index], framed.ends[index]]).toEqual([cursor.recordStart, cursor.end]);
    }
    expect(frames).toEqual([
      ["decision", "a", "w"],
      ["decision", "b", null],
      ["outcome", "a", "w"],
      ["outcome", "b", null],
      ["outcome", "c", "grüße"],
    ]);
    expect(framed).toMatchObject({ decided: ["a", "b"], workspaceNumbers: [1, 0], ended: ["a", "b", "c"] });
  });
});
