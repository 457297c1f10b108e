import { describe, expect, it } from "vitest";
import type { Turn } from "../../src/canon/generate/message.ts";
import { CallIds } from "../../src/dialects/translate-request.ts";

const PLAIN = /^[a-zA-Z0-9_-]+$/;
const SHORT = /^[a-zA-Z0-9_-]{1,64}$/;

function callsOf(ids: readonly string[]): readonly Turn[] {
  const content = ids.map((id) => ({ kind: "tool_call", id, name: "f", arguments: "{}", cache: null }) as const);
  const results = ids.map((callId) => ({ callId, content: [], isError: null, cache: null }));
  return [
    { role: "assistant", name: null, content },
    { role: "tool", results },
  ];
}

describe("ids of calls on their way to a protocol that does not take all", () => {
  it("stay where they are taken", () => {
    const ids = new CallIds(callsOf(["a", "b-1"]), PLAIN);
    expect([ids.sent("a"), ids.sent("b-1"), ids.rewritten]).toEqual(["a", "b-1", false]);
  });

  it("are rewritten to ids that are not used elsewhere, the same one wherever the call is named", () => {
    const ids = new CallIds(callsOf(["a:1", "a/1", "call_a_1_2", "a 1"]), PLAIN);
    expect(["a:1", "a/1", "call_a_1_2", "a 1", "a:1"].map((id) => ids.sent(id))).toEqual([
      "call_a_1",
      "call_a_1_3",
      "call_a_1_2",
      "call_a_1_4",
      "call_a_1",
    ]);
    expect(ids.rewritten).toBe(true);
  });

  it("keep to the longest that is taken, and stay apart", () => {
    const given = Array.from({ length: 300 }, (_, index) => `${"x".repeat(80)}${index}`);
    const ids = new CallIds(callsOf(given), SHORT, 64);
    const sent = given.map((id) => ids.sent(id));
    expect(new Set(sent).size).toBe(given.length);
    expect(sent.every((id) => SHORT.test(id))).toBe(true);
  });

  it.each([
    ["all of one length", (index: number) => String.fromCodePoint(0x4e00 + index), PLAIN, Infinity],
    ["all too long", (index: number) => `${"x".repeat(64)}${index}`, SHORT, 64],
    [
      "all too long, and apart just where they are cut",
      (index: number) => `${"x".repeat(50)}${String(index).padStart(9, "0")}:${"x".repeat(9)}`,
      SHORT,
      64,
    ],
  ] as const)("20,000 that clean to one id take no time: %s", (_name, made, plain, longest) => {
    const given = Array.from({ length: 20_000 }, (_, index) => made(index));
    const begun = performance.now();
    const ids = new CallIds(callsOf(given), plain, longest);
    expect(new Set(given.map((id) => ids.sent(id))).size).toBe(given.length);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });
});
