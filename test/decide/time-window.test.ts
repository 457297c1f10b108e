import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { timeWindow } from "../../src/decide/policy-input.ts";

const at = (text: string): number => Date.parse(text);

describe("time windows", () => {
  it.each([
    ["2026-01-09T00:00:00.000Z", "weekday", "night"],
    ["2026-01-09T05:59:59.999Z", "weekday", "night"],
    ["2026-01-09T06:00:00.000Z", "weekday", "morning"],
    ["2026-01-09T11:59:59.999Z", "weekday", "morning"],
    ["2026-01-09T12:00:00.000Z", "weekday", "afternoon"],
    ["2026-01-09T17:59:59.999Z", "weekday", "afternoon"],
    ["2026-01-09T18:00:00.000Z", "weekday", "evening"],
    ["2026-01-09T23:59:59.999Z", "weekday", "evening"],
    ["2026-01-10T00:00:00.000Z", "weekend", "night"],
    ["2026-01-11T23:59:59.999Z", "weekend", "evening"],
    ["2026-01-12T00:00:00.000Z", "weekday", "night"],
    ["1970-01-01T00:00:00.000Z", "weekday", "night"],
    ["1969-12-28T23:59:59.999Z", "weekend", "evening"],
  ] as const)("%s is a %s, in the %s", (text, day, hour) => {
    expect(timeWindow(at(text))).toEqual({ day, hour });
  });

  it("agrees with the calendar at every instant", () => {
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), (date) => {
        const { day, hour } = timeWindow(date.getTime());
        expect(day === "weekend").toBe([0, 6].includes(date.getUTCDay()));
        expect(["night", "morning", "afternoon", "evening"].indexOf(hour)).toBe(
          Math.floor(date.getUTCHours() / 6),
        );
      }),
    );
  });

  it.each([Number.NaN, Infinity, -Infinity])("refuses a clock that says %d", (time) => {
    expect(() => timeWindow(time)).toThrow(RangeError);
  });
});
