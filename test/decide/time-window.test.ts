import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPolicyZone } from "../../src/policy/compiled.ts";
import type { PolicyTime } from "../../src/canon/policy.ts";
import { timeWindow, windowIn } from "../../src/decide/policy-input.ts";

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

  it.each([Number.NaN, Infinity, -Infinity])("refuses a clock of %d", (time) => {
    expect(() => timeWindow(time)).toThrow(RangeError);
  });
});

describe("the clocks of time zones", () => {
  it.each([
    // Berlin changes on 29 March and on 25 October at 01:00 UTC.
    ["Europe/Berlin", "2026-03-29T00:59:59Z", "sunday", 1],
    ["Europe/Berlin", "2026-03-29T01:00:00Z", "sunday", 3],
    ["Europe/Berlin", "2026-10-25T00:59:59Z", "sunday", 2],
    ["Europe/Berlin", "2026-10-25T01:00:00Z", "sunday", 2],
    ["Europe/Berlin", "2026-10-25T02:00:00Z", "sunday", 3],
    ["Europe/Berlin", "2026-01-09T23:00:00Z", "saturday", 0],
    ["America/New_York", "2026-01-10T04:59:59Z", "friday", 23],
    ["Asia/Kathmandu", "2026-01-09T18:14:59Z", "friday", 23],
    ["Asia/Kathmandu", "2026-01-09T18:15:00Z", "saturday", 0],
    ["Pacific/Kiritimati", "2026-01-09T10:00:00Z", "saturday", 0],
    ["UTC", "1969-12-28T23:59:59Z", "sunday", 23],
  ] as const)("%s at %s is %s, hour %d", (zone, text, weekday, hour) => {
    expect(timeWindow(at(text), [zone]).local).toEqual({ [zone]: { weekday, hour } });
  });

  it("agrees with the calendar of the platform at every minute", () => {
    const zones = ["America/St_Johns", "Australia/Lord_Howe", "Africa/Casablanca"];
    const range = { min: new Date("2000-01-01"), max: new Date("2036-01-01"), noInvalidDate: true };
    fc.assert(
      fc.property(fc.date(range), fc.constantFrom(...zones), (date, zone) => {
        const parts = new Intl.DateTimeFormat("en", {
          timeZone: zone,
          weekday: "long",
          hour: "2-digit",
          hourCycle: "h23",
        }).formatToParts(date);
        const part = (type: string) => parts.find((one) => one.type === type)?.value;
        expect(timeWindow(date.getTime(), [zone]).local).toEqual({
          [zone]: { weekday: part("weekday")?.toLowerCase(), hour: Number(part("hour")) },
        });
      }),
    );
  });

  it.each(["Europe/Berln", "Berlin", "europe/berlin", "+01:00", "", "Japan", "../etc/passwd"])(
    "%j is no name of a time zone",
    (name) => {
      expect(isPolicyZone(name)).toBe(false);
    },
  );

  it("are added to a window that names none of them, and are kept where it does", () => {
    const zones = ["Europe/Berlin", "UTC"];
    const given = { weekday: "monday", hour: 23 } as const;
    const window = { day: "weekday", hour: "night", local: { UTC: given, "Asia/Tokyo": given } };
    expect(windowIn(zones, window as PolicyTime)).toEqual({
      day: "weekday",
      hour: "night",
      local: { "Europe/Berlin": { weekday: "monday", hour: 1 }, UTC: given },
    });
    expect(windowIn([], window as PolicyTime)).toEqual({ day: "weekday", hour: "night" });
  });
});
