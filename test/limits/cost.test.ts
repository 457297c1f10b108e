import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FailureKind } from "../../src/canon/failure.ts";
import type { TokenUsage } from "../../src/canon/generate/event.ts";
import type { Price } from "../../src/canon/table.ts";
import {
  costOfUse,
  plausibleUsage,
  reportedCost,
  reportedCostOfParts,
  type EndedAttempt,
  type EndedRequest,
  type UsageBounds,
} from "../../src/limits/cost.ts";
import { endpoint } from "../support/table.ts";

const PLAIN: Price = { input: 1.25, output: 10, request: 0 };
const FULL: Price = {
  input: 3,
  output: 15,
  request: 0,
  cachedInput: 0.3,
  cacheWrite: 3.75,
  cacheWriteHour: 6,
  reasoning: 20,
  search: 2,
};
const FREE: Price = { input: 0, output: 0, request: 0 };

function usage(
  input: number | null,
  output: number | null,
  more: Partial<TokenUsage> = {},
): TokenUsage {
  return { input, output, cacheRead: null, cacheWrite: null, reasoning: null, ...more };
}

describe("the cost of counts", () => {
  it.each([
    ["input and output", PLAIN, usage(1_000, 100), 1_250 + 1_000],
    ["less than a millionth of a dollar", { ...FREE, input: 0.02 }, usage(7, null), 0.14],
    ["cached input at its rate", FULL, usage(1_000, 0, { cacheRead: 400 }), 600 * 3 + 400 * 0.3],
    [
      "written input at its rates",
      FULL,
      usage(100, 0, { cacheWrite: 60, cacheWriteHour: 20 }),
      120 + 40 * 3.75 + 120,
    ],
    ["reasoning at its rate", FULL, usage(1, 100, { reasoning: 40 }), 3 + 60 * 15 + 40 * 20],
    [
      "all of it as input and output without other rates",
      PLAIN,
      usage(8, 2, { cacheRead: 4, reasoning: 1 }),
      30,
    ],
    [
      "an hour's writes at the rate of writes",
      { ...PLAIN, cacheWrite: 2 },
      usage(1, 0, { cacheWrite: 1, cacheWriteHour: 1 }),
      2,
    ],
    [
      "parts that are larger than the whole as the whole",
      FULL,
      usage(10, 5, { cacheRead: 99, reasoning: 99 }),
      3 + 100,
    ],
    ["nothing, where nothing has a price", FREE, usage(null, null), 0],
    ["input alone, where output has no price", { ...FREE, input: 1 }, usage(5, null), 5],
    ["a model that made nothing", PLAIN, usage(8, 0), 10],
  ])("is %s", (_, price, counted, micro) => {
    expect(costOfUse(price, { ...counted, searches: 0 })).toBe(Math.round(micro * 1_000));
  });

  it("counts searches per thousand, and needs their number where they have a price", () => {
    const price = { ...FREE, search: 2 };
    expect(costOfUse(price, { input: null, output: null, searches: 3 })).toBe(6_000_000);
    expect(costOfUse(price, { input: 90, output: 0, searches: null })).toBeNull();
  });

  it.each([
    ["the price", null, usage(10, 10)],
    ["the input", PLAIN, usage(null, 10)],
    ["the output", PLAIN, usage(10, null)],
    ["the input: a count of none counts nothing", PLAIN, usage(0, 10)],
    ["the output: below 0", PLAIN, usage(10, -1)],
    ["the output: no number", PLAIN, usage(10, Number.NaN)],
    ["the input: more than can be", PLAIN, usage(2 ** 50, 10)],
    ["the sum: more than can be", { ...PLAIN, input: 1_000_000 }, usage(2 ** 39, 10)],
  ])("is unknown, and not 0, without %s", (_, price, counted) => {
    expect(costOfUse(price, counted)).toBeNull();
  });

  it("of a sum is the sum of the costs, but for the rounding of each", () => {
    const count = fc.nat(1_000_000);
    const rate = fc.nat(100_000).map((cents) => cents / 1_000);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(count, count, count), { minLength: 1, maxLength: 8 }),
        rate,
        rate,
        rate,
        (parts, input, output, cached) => {
          const price = { input, output, request: 0, cachedInput: cached };
          const uses = parts.map(([fresh, read, made]) =>
            usage(1 + fresh + read, made, { cacheRead: read }),
          );
          const sum = (pick: (one: TokenUsage) => number | null): number =>
            uses.reduce((total, one) => total + (pick(one) ?? 0), 0);
          const whole = costOfUse(
            price,
            usage(
              sum((one) => one.input),
              sum((one) => one.output),
              { cacheRead: sum((one) => one.cacheRead) },
            ),
          );
          const apart = sum((one) => costOfUse(price, one));
          expect(Math.abs((whole ?? Number.NaN) - apart)).toBeLessThanOrEqual(parts.length);
        },
      ),
    );
  });
});

const plain = endpoint("plain", { price: PLAIN });
const full = endpoint("full", { price: { ...FULL, request: 0.01 } });
const unpriced = endpoint("unpriced", { price: null });

function attempt(
  failure: FailureKind | null,
  status: number | null = 200,
  at = plain,
  calls = 1,
): EndedAttempt {
  return { endpoint: at, failure, status, calls };
}

const ENDED: EndedRequest = {
  countsOnly: false,
  whole: true,
  attempts: [attempt(null)],
  usage: usage(1_000, 100),
  streamed: true,
  outputCharacters: 300,
};

const BOUNDS: UsageBounds = {
  input: 10_000,
  output: 4_000,
  reasonedOutput: 6_000,
  sum: 10_000,
  likelyInput: () => 7,
  reservedOutput: 4_000,
};

describe("the cost of a request", () => {
  it.each([
    ["its counts at the price of who answered", {}, 2_250],
    [
      "that of the answer, where others refused",
      { attempts: [attempt("overloaded", 529, full), attempt(null)] },
      2_250,
    ],
    [
      "the call too, where it has a price",
      { attempts: [attempt(null, 200, full)] },
      3_000 + 1_500 + 10_000,
    ],
    [
      "the input of a lost call too",
      { attempts: [attempt("reset", null), attempt(null)] },
      2_250 + 1_250,
    ],
    [
      "0 for counting tokens",
      { countsOnly: true, usage: usage(9, null), attempts: [attempt(null, 200, unpriced)] },
      0,
    ],
    [
      "that of an answer cut after its count",
      { whole: false, attempts: [attempt("client_closed")] },
      2_250,
    ],
  ])("is %s", (_, more, micro) => {
    expect(reportedCost({ ...ENDED, ...more })).toBe(micro * 1_000);
  });

  it.each([
    ["the provider did not count", { usage: null }],
    ["the endpoint has no price", { attempts: [attempt(null, 200, unpriced)] }],
    [
      "a lost call's endpoint has no price",
      { attempts: [attempt("reset", null, unpriced), attempt(null)] },
    ],
  ])("is unknown where %s", (_, more) => {
    expect(reportedCost({ ...ENDED, ...more })).toBeNull();
  });

  it.each([
    ["refused", [attempt("rejected", 400)]],
    ["not reached", [attempt("connect", null)]],
    ["never called", []],
  ])("is zero where providers were %s", (_, attempts) => {
    expect(reportedCost({ ...ENDED, usage: null, attempts })).toBeUndefined();
    expect(reportedCostOfParts(attempts, [])).toBeUndefined();
  });

  it.each([
    ["a cut answer was counted at its beginning", { whole: false, outputCharacters: 301 }, 101],
    ["a cut answer's output was not counted", { whole: false, usage: usage(1_000, null) }, 100],
    ["a whole answer was counted at its beginning", { outputCharacters: 6_500 }, 2_167],
    ["nothing may be generated beyond the limit", { whole: false, outputCharacters: 1e6 }, 4_000],
  ])(
    "counts the characters of output where %s, and the cached input as such",
    (_, more, output) => {
      const ended = { ...ENDED, attempts: [attempt("client_closed", 200, full)], ...more };
      const cached = { ...usage(1_000, ended.usage?.output ?? null), cacheRead: 600 };
      const known = plausibleUsage({ ...ended, usage: cached }, BOUNDS);
      expect(known).toEqual({ ...cached, output });
      const cost = costOfUse(full.price, { ...cached, output }) ?? Number.NaN;
      expect(reportedCost({ ...ended, usage: known })).toBe(cost + 1e7);
    },
  );

  it("keeps counts that can be those of the whole answer", () => {
    for (const more of [{}, { whole: false }, { usage: null }, { outputCharacters: 6_400 }]) {
      const ended = { ...ENDED, ...more };
      expect(plausibleUsage(ended, BOUNDS)).toBe(ended.usage);
    }
  });

  it.each([
    ["input beyond the window", usage(1_000_010, 20), null, [7, 20]],
    ["cached input beyond its input", usage(11, 20, { cacheRead: 999_999 }), 60, [11, 20]],
    [
      "written input beside cached beyond its input",
      usage(11, 20, { cacheRead: 8, cacheWrite: 8 }),
      60,
      [11, 20],
    ],
    ["output beyond the request's maximum", usage(11, 900_000), null, [11, 4_000]],
    ["output of a stream beyond it", usage(11, 900_000), 26, [11, 9]],
    [
      "reasoned output beyond the model's maximum",
      usage(11, 900_000, { reasoning: 899_990 }),
      26,
      [11, 9],
    ],
    ["reasoning beyond its output", usage(11, 20, { reasoning: 21 }), 60, [11, 20]],
    ["both together beyond the window", usage(9_990, 100), null, [9_990, 10]],
    ["numbers that cannot be stated", usage(1e308, Number.MAX_SAFE_INTEGER), 26, [7, 9]],
  ])("replaces %s by the estimate", (_, counted, outputCharacters, [input, output]) => {
    const known = plausibleUsage({ ...ENDED, usage: counted, outputCharacters }, BOUNDS);
    expect(known).not.toBe(counted);
    expect(known).toMatchObject({ input, output });
    expect((known?.cacheRead ?? 0) + (known?.cacheWrite ?? 0)).toBeLessThanOrEqual(input ?? 0);
    expect(known?.reasoning ?? 0).toBeLessThanOrEqual(output ?? 0);
  });

  it("keeps reasoning that a provider counts beside the request's maximum", () => {
    const counted = usage(11, 5_000, { reasoning: 4_900 });
    expect(plausibleUsage({ ...ENDED, usage: counted }, BOUNDS)).toBe(counted);
  });

  it("is of no count beyond its bound, for all counts of a provider", () => {
    const count = fc.option(
      fc.oneof(fc.nat(20_000), fc.constantFrom(2 ** 40, Number.MAX_SAFE_INTEGER, 1e308)),
    );
    const counts = fc.record({
      input: count,
      output: count,
      cacheRead: count,
      cacheWrite: count,
      reasoning: count,
    });
    fc.assert(
      fc.property(
        counts,
        fc.boolean(),
        fc.option(fc.nat(1e6)),
        (counted, whole, outputCharacters) => {
          const known = plausibleUsage(
            { ...ENDED, usage: counted, whole, outputCharacters },
            BOUNDS,
          );
          const [input, output] = [known?.input ?? 0, known?.output ?? 0];
          expect(input).toBeLessThanOrEqual(BOUNDS.input);
          expect(output).toBeLessThanOrEqual(BOUNDS.reasonedOutput);
          expect(input + output).toBeLessThanOrEqual(BOUNDS.sum);
          expect((known?.cacheRead ?? 0) + (known?.cacheWrite ?? 0)).toBeLessThanOrEqual(
            known?.input ?? BOUNDS.input,
          );
          expect(known?.reasoning ?? 0).toBeLessThanOrEqual(known?.output ?? BOUNDS.reasonedOutput);
        },
      ),
    );
  });

  it("of parts is the sum of each at its own endpoint's price, with the calls", () => {
    const parts = [
      { endpoint: plain, inputTokens: 1_000, searches: 0 },
      { endpoint: full, inputTokens: 10, searches: 5 },
    ];
    const attempts = [attempt("rate_limited", 429), attempt(null), attempt(null, 200, full)];
    expect(reportedCostOfParts(attempts, parts)).toBe((1_250 + 30 + 5 * 2_000 + 10_000) * 1_000);
  });

  it("of parts is unknown where one was lost, discarded or not counted, unless it costs nothing", () => {
    const part = { endpoint: plain, inputTokens: 1_000, searches: 0 };
    expect(reportedCostOfParts([attempt(null, 200, plain, 2)], [part, part])).toBe(2_500_000);
    expect(reportedCostOfParts([attempt(null, 200, plain, 2)], [part])).toBeNull();
    expect(reportedCostOfParts([attempt(null), attempt("reset", null)], [part])).toBeNull();
    expect(reportedCostOfParts([attempt(null)], [{ ...part, inputTokens: null }])).toBeNull();
    const free = endpoint("free", { price: FREE });
    expect(reportedCostOfParts([attempt(null), attempt("reset", null, free)], [part])).toBe(
      1_250_000,
    );
  });
});
