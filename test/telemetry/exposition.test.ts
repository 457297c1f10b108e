import { describe, expect, it } from "vitest";
import {
  Counter,
  Histogram,
  formatExposition,
  reading,
  single,
} from "../../src/telemetry/families.ts";
import { parseExposition, sumOf } from "./parse-exposition.ts";

const counter = (most?: number) => new Counter("things", "Things.", ["a", "b"], most);

describe("families", () => {
  it("count by labels, and never downwards", () => {
    const things = counter();
    things.add(1, "x", "y");
    things.add(2, "x", "y");
    things.add(1, "x", "");
    things.add(-5, "x", "y");
    things.add(Number.NaN, "x", "y");
    expect([...things.samples()].map(({ value }) => value)).toEqual([3, 1]);
  });

  it("distinguish labels that are equal when joined", () => {
    const things = counter();
    things.add(1, "ab", "c");
    things.add(1, "a", "bc");
    expect([...things.samples()]).toHaveLength(2);
  });

  it("hold a bounded number of series, and count omitted ones", () => {
    const things = counter(2);
    for (const name of ["a", "b", "c", "d", "a"]) things.add(1, name, "");
    expect([...things.samples()]).toHaveLength(2);
    expect(things.dropped).toBe(2);
    const times = new Histogram("t_seconds", "T.", ["a"], [1], 1);
    times.observe(1, "a");
    times.observe(1, "b");
    expect(times.dropped).toBe(1);
  });

  it("put an observation into the first bucket with a bound not below it", () => {
    const times = new Histogram("t_seconds", "T.", [], [0.5, 1, 2]);
    for (const value of [0.5, 0.6, 1, 3, Number.NaN]) times.observe(value);
    const page = parseExposition(formatExposition([times], undefined).text);
    const below = (le: string): number => sumOf(page, "t_seconds_bucket", { le });
    expect([below("0.5"), below("1.0"), below("2.0"), below("+Inf")]).toEqual([1, 3, 3, 4]);
    expect(sumOf(page, "t_seconds_sum")).toBeCloseTo(5.1);
  });
});

describe("the page", () => {
  it("escapes characters that would break a line or a label, in both formats", () => {
    const wild = 'back\\slash "quotes"\nline';
    const things = new Counter("things", wild, ["a"]);
    things.add(1, wild);
    for (const [format, accept] of [
      ["prometheus", undefined],
      ["openmetrics", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"],
    ] as const) {
      const { text } = formatExposition([things], accept);
      const family = [...parseExposition(text, format).values()][0];
      expect(family?.help).toBe(wild);
      expect(family?.samples[0]?.labels).toEqual({ a: wild });
    }
  });

  it("names the unit that a name ends with, in OpenMetrics", () => {
    const families = [
      single("gauge", "age_seconds", "A.", () => 1),
      single("gauge", "n", "N.", () => 1),
    ];
    const { text } = formatExposition(families, "application/openmetrics-text");
    expect(text.match(/^# UNIT .*$/gm)).toEqual(["# UNIT age_seconds seconds"]);
    expect(formatExposition(families, undefined).text).not.toContain("UNIT");
  });

  it("names its format", () => {
    expect(formatExposition([], "text/plain").contentType).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(formatExposition([], "application/openmetrics-text; version=1.0.0")).toEqual({
      contentType: "application/openmetrics-text; version=1.0.0; charset=utf-8",
      text: "# EOF\n",
    });
  });

  it("is refused by a strict reader where it is wrong", () => {
    const good = "# HELP a A.\n# TYPE a gauge\na 1\n";
    expect(() => parseExposition(good)).not.toThrow();
    for (const bad of [
      "a 1\n",
      "# HELP a A.\na 1\n",
      `${good}a 2\n`,
      `${good}${good}`,
      good.replace("a 1", "b 1"),
      good.replace("a 1", 'a{x="\\t"} 1'),
      good.replace("a 1", 'a{x="1",x="2"} 1'),
      good.replace("gauge", "counter"),
      good.replace("a 1", "a one"),
    ]) {
      expect(() => parseExposition(bad), bad).toThrow(/./);
    }
  });

  it("reads gauges of other parts when it is scraped", () => {
    let value = 1;
    const now = reading("gauge", "now", "Now.", [], () => [[value] as const]);
    value = 7;
    expect(sumOf(parseExposition(formatExposition([now], undefined).text), "now")).toBe(7);
  });
});
