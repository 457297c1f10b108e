import { describe, expect, it } from "vitest";
import type { KeyLimits } from "../../src/canon/limits.ts";
import { effectiveLimits, counterLimits } from "../../src/limits/accounts.ts";

const NONE: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  budget: null,
};

describe("a key's own limits beside those of per_key", () => {
  it("apply alone where there are no others", () => {
    const some = { ...NONE, concurrency: 1 };
    expect([effectiveLimits(some, null), effectiveLimits(null, some)]).toEqual([some, some]);
    expect(effectiveLimits(null, null)).toBeNull();
  });

  it("are the smaller of both, measure by measure", () => {
    const own = { ...NONE, requestsPerMinute: 9, tokensPerMinute: 10 };
    const perKey = { ...NONE, requestsPerMinute: 5, tokensPerMinute: 100, concurrency: 2 };
    const expected = { requestsPerMinute: 5, tokensPerMinute: 10, concurrency: 2, budget: null };
    expect(effectiveLimits(own, perKey)).toEqual(expected);
    expect(effectiveLimits(perKey, own)).toEqual(expected);
  });

  it("are one object for the same two sources", () => {
    const [own, perKey] = [{ ...NONE }, { ...NONE }];
    expect(effectiveLimits(own, perKey)).toBe(effectiveLimits(own, perKey));
    expect(effectiveLimits(own, perKey)).not.toBe(effectiveLimits(own, { ...perKey }));
  });

  it.each([
    [
      "the smaller of one kind",
      { usd: 5, per: "day" },
      { usd: 3, per: "day" },
      [["micro_usd", "day", 3_000_000]],
    ],
    [
      "the smaller one of the key",
      { usd: 3, per: "day" },
      { usd: 5, per: "day" },
      [["micro_usd", "day", 3_000_000]],
    ],
    [
      "the smaller of one kind, in the zone of per_key",
      { usd: 3, per: "week", timeZone: "Asia/Tokyo" },
      { usd: 5, per: "week", timeZone: "Europe/Berlin" },
      [["micro_usd", "week", 3_000_000, "Europe/Berlin"]],
    ],
    ["the only one", null, { tokens: 7, per: "hour" }, [["tokens", "hour", 7]]],
    [
      "both of two periods",
      { usd: 5, per: "day" },
      { usd: 9, per: "month" },
      [
        ["micro_usd", "day", 5_000_000],
        ["micro_usd", "month", 9_000_000],
      ],
    ],
    [
      "both of two units",
      { tokens: 5, per: "day" },
      { usd: 9, per: "day" },
      [
        ["tokens", "day", 5],
        ["micro_usd", "day", 9_000_000],
      ],
    ],
  ] as const)("have as budget %s", (_, own, perKey, expected) => {
    const limits = effectiveLimits({ ...NONE, budget: own }, { ...NONE, budget: perKey });
    const counters = counterLimits(limits ?? NONE);
    expect(
      counters.map(({ measure, window, ceiling, zone }) => [
        measure,
        window,
        ceiling,
        ...(zone === undefined ? [] : [zone]),
      ]),
    ).toEqual(expected);
  });
});
