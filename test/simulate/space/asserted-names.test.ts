import { describe, expect, it } from "vitest";
import type { Capability } from "../../../src/canon/capability.ts";
import {
  assertedNames,
  type RequirementAspects,
  type Step,
} from "../../../src/simulate/space/approval-walk.ts";

function step(need: Capability, asserted: string): Step {
  return { need, feature: null, asserted, isForced: false, isIdle: false, sides: [] };
}

const tools = step("tools", "needs tools");
const logprobs = step("logprobs", "needs logprobs");
const search = step("web_search", "needs ~");
const reasoning = step("reasoning", "needs ~");

/** Of an assertion with `needs: {only: [tools, logprobs]}`. */
const onlyTwo: RequirementAspects = (steps) => [
  steps.every(({ need }) => need === "tools" || need === "logprobs") ? "meant" : "not meant",
];

describe("names in assertions", () => {
  it("are one set where no later name distinguishes them", () => {
    const names = assertedNames([tools, logprobs, search, reasoning], [[]], onlyTwo);
    const one = names.with(names.none, tools);
    expect(one).toBe(names.none);
    expect(names.with(one, logprobs)).toBe(names.none);
    expect(names.with(names.none, search)).not.toBe(names.none);
    expect(names.with(names.with(names.none, search), tools)).toBe(
      names.with(names.none, reasoning),
    );
  });

  it("are settled once a name decides the selection", () => {
    const names = assertedNames([tools, logprobs, search], [[]], onlyTwo);
    expect(names.isSettled(names.none)).toBe(false);
    expect(names.isSettled(names.with(names.none, search))).toBe(true);
    expect(names.aspects(names.with(names.none, search), [])).toEqual(["not meant"]);
    expect(names.aspects(names.none, [])).toEqual(["meant"]);
  });

  it("are settled at once where no step has a name", () => {
    const names = assertedNames([step("tools", "")], [[]], () => []);
    expect(names.isSettled(names.none)).toBe(true);
    expect(names.with(names.none, tools)).toBe(names.none);
  });

  it("are kept apart by one family of signed reasoning", () => {
    const aspectsOf: RequirementAspects = (steps, [family]) => [
      family === "x" && steps.length > 0 ? "meant" : "not meant",
    ];
    const apart = assertedNames([tools], [[], ["x"]], aspectsOf);
    expect(apart.with(apart.none, tools)).not.toBe(apart.none);
  });

  it("are kept apart by every name where there are many", () => {
    const many = Array.from({ length: 12 }, (_, index) => step("tools", `needs ${index}`));
    const names = assertedNames(many, [[]], () => ["meant"]);
    const sets = many.map((one) => names.with(names.none, one));
    expect(new Set([names.none, ...sets]).size).toBe(13);
    const [first, second] = many;
    if (first === undefined || second === undefined) throw new Error("no steps");
    const both = names.with(names.with(names.none, first), second);
    expect(names.with(names.with(names.none, second), first)).toBe(both);
    expect(names.isSettled(both)).toBe(false);
  });
});
