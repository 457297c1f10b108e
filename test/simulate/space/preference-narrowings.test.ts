import { describe, expect, test } from "vitest";
import type { OpenedSide } from "../../../src/simulate/space/side-walk.ts";
import { narrowings } from "../../../src/simulate/space/preference-effects.ts";
import type { PreferenceUniverse } from "../../../src/simulate/space/universe.ts";
import { endpoint, model, provider, route, table, workspace } from "../../support/table.ts";

const FLAGS = {
  allowFallbacks: [true],
  dataCollection: ["deny"],
  zdr: [false],
  orders: false,
} as const;
const UNIVERSE: PreferenceUniverse = { ...FLAGS, narrowing: ["only", "ignore"] };

/** A side with a route to so many providers, all of them approved. */
function sideOf(providers: number): OpenedSide {
  const names = Array.from({ length: providers }, (_, index) => `p${index}`);
  const [first = "", ...others] = names.map((name) => `e-${name}`);
  const wide = route("wide", first, others);
  const tenant = workspace("w", { routes: ["wide"], providers: names });
  const rows = table({
    providers: names.map((name) => provider(name)),
    models: [model("m")],
    endpoints: names.map((name) => endpoint(`e-${name}`, { provider: name, model: "m" })),
    routes: [wide],
    workspaces: [tenant],
  });
  return { table: rows, opened: { workspace: tenant, route: wide } };
}

describe("the remaining candidates of a route for callers", () => {
  test("are counted for every list of only with every list of ignore", () => {
    const side = sideOf(4);
    const found = narrowings(UNIVERSE, [side], () => {});
    expect(found.reduce((sum, { size }) => sum + size, 0n)).toBe(2n ** 4n * 2n ** 4n);
    expect(found.find(({ preferences }) => Object.keys(preferences).length === 0)?.size).toBe(1n);
    // Only p0 and p1 are left by keeping to them, and whichever others are ignored or not.
    const two = found.filter(({ results: [left] }) => left === 0b0011n).map(({ size }) => size);
    expect(two).toEqual([10n]);
    expect(found.find(({ results: [left] }) => left === 0b1101n)?.preferences).toEqual({
      ignore: ["p1"],
    });
  });

  test("are refused for the first member that names a provider unknown to a side", () => {
    const found = narrowings(UNIVERSE, [sideOf(2), sideOf(1)], () => {});
    const counted = (refusal: string): bigint =>
      found
        .filter(({ results: [, left] }) => left === refusal)
        .reduce((sum, { size }) => sum + size, 0n);
    // Half of the four lists of `only` name p1, with every `ignore`; of the rest half of `ignore`.
    expect([counted("unknown only"), counted("unknown ignore")]).toEqual([8n, 4n]);
  });

  test("are counted for twelve providers in the time of a test", () => {
    const found = narrowings(UNIVERSE, [sideOf(12)], () => {});
    // Every set but the empty one, the whole also without a preference; and nothing, by either
    // member.
    expect(found.length).toBe(4_095 + 1 + 1);
    expect(found.reduce((sum, { size }) => sum + size, 0n)).toBe(2n ** 24n);
  });

  test("are abandoned when the periodic callback throws", () => {
    const check = (): void => {
      throw new Error("enough");
    };
    expect(() => narrowings(UNIVERSE, [sideOf(2)], check)).toThrow("enough");
  });
});
