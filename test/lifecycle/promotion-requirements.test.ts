import { describe, expect, it } from "vitest";
import { DEFAULT_PROMOTION, type PromotionRequirements } from "../../src/canon/table.ts";
import { promotionRequirements } from "../../src/lifecycle/changes.ts";

const everywhere: PromotionRequirements = { ...DEFAULT_PROMOTION, approvals: 1 };
const own: PromotionRequirements = { ...DEFAULT_PROMOTION, approvals: 2 };

function requirements(
  promotion: Readonly<Record<string, PromotionRequirements>> | undefined,
  policy: string,
): PromotionRequirements {
  const settings = { dir: "policies", initialMode: {} };
  return promotionRequirements(
    { policies: promotion === undefined ? settings : { ...settings, promotion } },
    policy,
  );
}

describe("a promotion requirement", () => {
  it.each([
    ["its own row", { "*": everywhere, a: own }, "a", own],
    ["that of all others", { "*": everywhere, a: own }, "b", everywhere],
    ["the defaults where there is no row", { a: own }, "b", DEFAULT_PROMOTION],
    ["the defaults where the file says nothing", undefined, "a", DEFAULT_PROMOTION],
    ["no member that every object has", { a: own }, "constructor", DEFAULT_PROMOTION],
  ])("is %s", (_, promotion, policy, expected) => {
    expect(requirements(promotion, policy)).toEqual(expected);
  });

  it("is zero or off by default, but indeterminate verdicts are always refused", () => {
    expect(DEFAULT_PROMOTION).toMatchObject({
      approvals: 0,
      soak: 0,
      decisions: 0,
      report: false,
      noIndeterminate: true,
    });
  });
});
