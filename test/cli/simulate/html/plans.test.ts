import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { markCandidates } from "../../../../src/cli/simulate/formats/html/plans.ts";
import { candidate } from "./report-fixture.ts";

const marks = (base: string, head: string): string => {
  const candidatesOf = (text: string) => text.split("").map((letter) => candidate(letter.toLowerCase(), letter));
  const marked = markCandidates(candidatesOf(base), candidatesOf(head));
  const shown = (side: (typeof marked)["base"]) =>
    side.map(({ candidate: { model }, mark }) => `${model}:${mark}`).join(" ");
  return `${shown(marked.base)} | ${shown(marked.head)}`;
};

describe("plans beside each other", () => {
  // A capital is another model under the same endpoint id.
  test.each([
    ["", "", " | "],
    ["a", "a", "a:kept | a:kept"],
    ["ab", "", "a:removed b:removed | "],
    ["", "ab", " | a:added b:added"],
    ["ab", "xab", "a:kept b:kept | x:added a:kept b:kept"],
    ["abc", "ac", "a:kept b:removed c:kept | a:kept c:kept"],
    ["abc", "cab", "a:kept b:kept c:moved | c:moved a:kept b:kept"],
    ["ab", "aB", "a:kept b:changed | a:kept B:changed"],
  ])("%s → %s", (base, head, expected) => {
    expect(marks(base, head)).toBe(expected);
  });

  test("the same plan has no marks; a reordered one has some; kept candidates stand in the same order", () => {
    const plan = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f", "g"), { maxLength: 6 });
    fc.assert(
      fc.property(plan, plan, (base, head) => {
        const marked = markCandidates(
          base.map((each) => candidate(each)),
          head.map((each) => candidate(each)),
        );
        const kept = (side: (typeof marked)["base"]) =>
          side.filter(({ mark }) => mark === "kept").map(({ candidate: { endpoint } }) => endpoint);
        expect(kept(marked.base)).toEqual(kept(marked.head));
        const same = base.join() === head.join();
        expect([...marked.base, ...marked.head].every(({ mark }) => mark === "kept")).toBe(same);
      }),
    );
  });
});
