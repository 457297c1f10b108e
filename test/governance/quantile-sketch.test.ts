import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { QuantileSketch, RELATIVE_ERROR } from "../../src/governance/cell.ts";
import { exactQuantile } from "./exact-quantile.ts";

/** Milliseconds as records have them: to the microsecond, from nothing to days. */
const value = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 1, max: 100_000_000 }).map((microseconds) => microseconds / 1000),
  fc.integer({ min: 1, max: 5_000 }).map((microseconds) => microseconds / 1000),
  fc.integer({ min: 1, max: 1_000_000_000 }),
);
const values = fc.array(value, { minLength: 1, maxLength: 300 });

const sketchOf = (all: readonly number[]): QuantileSketch => {
  const sketch = new QuantileSketch();
  for (const one of all) sketch.add(one);
  return sketch;
};

const merged = (...parts: readonly Uint8Array[]): Uint8Array => {
  const sketch = new QuantileSketch();
  for (const part of parts) sketch.addEncoded(part);
  return sketch.encode();
};

describe("a quantile sketch", () => {
  it("has every quantile within its error", () => {
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (all, share) => {
        const exact = exactQuantile(all, share);
        const found = sketchOf(all).quantile(share) ?? Number.NaN;
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(exact * (RELATIVE_ERROR + 1e-9));
      }),
    );
  });

  it("is the same for every order and grouping of its values", () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const [left, middle, right] = [
          sketchOf(a).encode(),
          sketchOf(b).encode(),
          sketchOf(c).encode(),
        ];
        const whole = sketchOf([...a, ...b, ...c]).encode();
        expect(merged(merged(left, middle), right)).toEqual(whole);
        expect(merged(left, merged(middle, right))).toEqual(whole);
        expect(merged(right, left, middle)).toEqual(whole);
      }),
    );
  });

  it("has no quantile when it is empty, and no bytes", () => {
    expect(new QuantileSketch().quantile(0.5)).toBeNull();
    expect(new QuantileSketch().encode()).toHaveLength(0);
  });

  it("is small: ten thousand answers between 200 ms and 20 s fit into 700 bytes", () => {
    const all = Array.from({ length: 10_000 }, (_, index) => 200 * 100 ** (index / 10_000));
    expect(sketchOf(all).encode().length).toBeLessThan(700);
  });

  it("counts values beyond its range at its ends, and is bounded", () => {
    const sketch = sketchOf([1e300, Number.MAX_VALUE, 1e9, -5, Number.NaN, 1e-9]);
    expect(sketch.count).toBe(6);
    expect(sketch.quantile(0)).toBe(0);
    expect(sketch.quantile(1)).toBeGreaterThan(0.98e9);
    expect(sketch.quantile(1)).toBeLessThan(1.02e9);
  });

  it("refuses bytes that are no sketch", () => {
    expect(() => new QuantileSketch().addEncoded(Uint8Array.of(0x80))).toThrow(RangeError);
    expect(() => new QuantileSketch().addEncoded(Uint8Array.of(0xff, 0x7f, 1))).toThrow(RangeError);
  });
});
