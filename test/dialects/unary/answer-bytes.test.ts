import { describe, expect, it } from "vitest";
import { AnswerBytes } from "../../../src/dialects/unary/answer-bytes.ts";

/** One piece of memory with two pieces of an answer in it. */
function pieces(): readonly [Uint8Array, Uint8Array] {
  const memory = Uint8Array.of(1, 2, 3, 4);
  return [memory.subarray(0, 2), memory.subarray(2)];
}

describe("an answer that has been sent", () => {
  it("frees its own memory once, and cannot be read again", () => {
    const own = pieces();
    const answer = new AnswerBytes(own, true);
    answer.free();
    answer.free();
    expect(own.map(({ length }) => length)).toEqual([0, 0]);
    expect(() => answer.look()).toThrow("given back");
    expect(() => answer.whole).toThrow("given back");
  });

  it("does not free shared memory", () => {
    const shared = pieces();
    const answer = new AnswerBytes(shared);
    answer.free();
    expect([...answer.whole]).toEqual([1, 2, 3, 4]);
  });
});
