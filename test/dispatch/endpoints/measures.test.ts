import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  CAPACITY,
  FADE,
  Measures,
  OLDEST,
  RecentSamples,
} from "../../../src/dispatch/endpoint-tracker.ts";

function measured(...samples: readonly (readonly [firstToken: number, now: number])[]): Measures {
  const measures = new Measures();
  for (const [firstToken, now] of samples)
    measures.endCall({ firstToken, tokensPerSecond: null }, now);
  return measures;
}

describe("the time to the first token", () => {
  it("is null without measurements", () => {
    const measures = new Measures();
    measures.endCall({ firstToken: null, tokensPerSecond: null }, 0);
    for (const value of [Number.NaN, Infinity, -1])
      measures.endCall({ firstToken: value, tokensPerSecond: value }, 0);
    expect(measures.firstToken.recent(0)).toBeNull();
    expect(measures.firstToken.percentile(0.5, 0)).toBeNull();
    expect(measures.throughput.percentile(0.5, 0)).toBeNull();
  });

  it("rises to a high sample at once and falls to low ones in time", () => {
    const measures = measured([100, 0], [2_000, 1_000]);
    expect(measures.firstToken.recent(1_000)).toBe(2_000);
    measures.endCall({ firstToken: 100, tokensPerSecond: null }, 1_000);
    expect(measures.firstToken.recent(1_000)).toBe(2_000);
    measures.endCall({ firstToken: 100, tokensPerSecond: null }, 1_000 + FADE);
    expect(measures.firstToken.recent(1_000 + FADE)).toBeCloseTo(
      2_000 / Math.E + 100 * (1 - 1 / Math.E),
    );
  });

  it("fades without new samples", () => {
    const measures = measured([1_000, 0]);
    expect(measures.firstToken.recent(FADE)).toBeCloseTo(1_000 / Math.E);
    expect(measures.firstToken.recent(100 * FADE)).toBeLessThan(1e-9);
  });

  it("converges to the samples, where they agree", () => {
    const measures = measured([9_000, 0]);
    for (let now = 1_000; now < 20 * FADE; now += 1_000)
      measures.endCall({ firstToken: 300, tokensPerSecond: null }, now);
    expect(measures.firstToken.recent(20 * FADE)).toBeGreaterThan(290);
    expect(measures.firstToken.recent(20 * FADE)).toBeLessThan(310);
  });

  it("is between zero and the greatest sample", () => {
    const sample = fc.tuple(fc.integer({ min: 0, max: 100_000 }), fc.nat({ max: 200_000 }));
    fc.assert(
      fc.property(fc.array(sample, { minLength: 1, maxLength: 50 }), (samples) => {
        const measures = new Measures();
        let now = 0;
        let most = 0;
        for (const [value, pause] of samples) {
          now += pause;
          most = Math.max(most, value);
          measures.endCall({ firstToken: value, tokensPerSecond: null }, now);
          expect(measures.firstToken.recent(now)).toBeGreaterThanOrEqual(value);
          expect(measures.firstToken.recent(now)).toBeLessThanOrEqual(most * (1 + 1e-9));
        }
      }),
    );
  });
});

describe("percentiles", () => {
  it("are those of the latest samples, by nearest rank", () => {
    const value = fc.double({ min: 0, max: 1e6, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 3 * CAPACITY }),
        fc.constantFrom(0.5, 0.75, 0.9, 0.99),
        fc.constantFrom("lower", "higher"),
        (values, share, better) => {
          const samples = new RecentSamples(better);
          for (const one of values) samples.add(one, 0);
          const best = values
            .slice(-CAPACITY)
            .toSorted((left, right) => (better === "lower" ? left - right : right - left));
          expect(samples.percentile(share, 0)).toBe(best[Math.ceil(share * best.length) - 1]);
        },
      ),
    );
  });

  it("of a throughput fall: they are the rates that most calls have reached", () => {
    const measures = new Measures();
    for (let rate = 1; rate <= 100; rate += 1)
      measures.endCall({ firstToken: rate, tokensPerSecond: rate }, 0);
    expect([0.5, 0.75, 0.9, 0.99].map((share) => measures.firstToken.percentile(share, 0))).toEqual(
      [50, 75, 90, 99],
    );
    expect([0.5, 0.75, 0.9, 0.99].map((share) => measures.throughput.percentile(share, 0))).toEqual(
      [51, 26, 11, 2],
    );
  });

  it("follow each new sample, and forget old ones one after the other", () => {
    const samples = new RecentSamples("lower");
    samples.add(9, 0);
    expect(samples.percentile(0.5, 0)).toBe(9);
    samples.add(1, 1_000);
    expect(samples.percentile(0.5, 1_000)).toBe(1);
    expect(samples.percentile(0.99, OLDEST - 1)).toBe(9);
    expect(samples.percentile(0.99, OLDEST)).toBe(1);
    expect(samples.percentile(0.5, OLDEST + 1_000)).toBeNull();
    samples.add(5, OLDEST + 2_000);
    expect(samples.percentile(0.5, OLDEST + 2_000)).toBe(5);
  });
});

describe("calls in flight", () => {
  it("are those that have begun and not ended", () => {
    const measures = new Measures();
    measures.begin();
    measures.begin();
    measures.endCall({ firstToken: null, tokensPerSecond: null }, 0);
    expect(measures.inFlight).toBe(1);
  });
});
