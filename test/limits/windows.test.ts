import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isTimeZone } from "../../src/canon/local-time.ts";
import { LIMIT_WINDOWS, type LimitWindow } from "../../src/canon/limits.ts";
import { RETENTION, windowAt, windowBounds } from "../../src/limits/windows.ts";

const textOf = ({ start, end }: ReturnType<typeof windowAt>): readonly string[] =>
  [start, end].map((at) => new Date(at).toISOString());

const HOUR = 3_600_000;

describe("windows", () => {
  const at = Date.UTC(2028, 1, 29, 23, 59, 59, 999);
  it.each([
    ["minute", "2028-02-29T23:59:00.000Z", "2028-03-01T00:00:00.000Z"],
    ["hour", "2028-02-29T23:00:00.000Z", "2028-03-01T00:00:00.000Z"],
    ["day", "2028-02-29T00:00:00.000Z", "2028-03-01T00:00:00.000Z"],
    ["week", "2028-02-28T00:00:00.000Z", "2028-03-06T00:00:00.000Z"],
    ["month", "2028-02-01T00:00:00.000Z", "2028-03-01T00:00:00.000Z"],
  ] as const)("of a %s are aligned in UTC where no zone is named", (window, ...expected) => {
    expect(textOf(windowAt(window, at))).toEqual(expected);
  });

  it.each([
    // Clocks go forward on 29 March, and back on 25 October.
    ["day", "Europe/Berlin", "2026-03-29T10:00Z", "2026-03-28T23:00", "2026-03-29T22:00"],
    ["day", "Europe/Berlin", "2026-10-25T10:00Z", "2026-10-24T22:00", "2026-10-25T23:00"],
    ["week", "Europe/Berlin", "2026-10-25T10:00Z", "2026-10-18T22:00", "2026-10-25T23:00"],
    ["month", "Europe/Berlin", "2026-10-25T10:00Z", "2026-09-30T22:00", "2026-10-31T23:00"],
    // Clocks go forward at midnight: there is no 0:00 on 6 September 2026.
    ["day", "America/Santiago", "2026-09-06T10:00Z", "2026-09-06T04:00", "2026-09-07T03:00"],
    ["day", "Asia/Kolkata", "2026-09-06T18:29Z", "2026-09-05T18:30", "2026-09-06T18:30"],
    // Minutes and hours are not those of a zone.
    ["hour", "Asia/Kolkata", "2026-09-06T18:29Z", "2026-09-06T18:00", "2026-09-06T19:00"],
  ] as const)(
    "of a %s in %s that contains %s begin and end there",
    (window, zone, when, ...span) => {
      expect(textOf(windowAt(window, Date.parse(when), zone))).toEqual(
        span.map((text) => `${text}:00.000Z`),
      );
    },
  );

  const zones = [
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "America/New_York",
    "America/Santiago",
    "America/Havana",
    "Africa/Cairo",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
  ];

  /** The period that a moment is in, by the date that a calendar on the wall of the zone shows. */
  function periodOf(window: LimitWindow, moment: number, zone: string): string {
    const date = new Intl.DateTimeFormat("sv-SE", { timeZone: zone }).format(moment);
    if (window === "month") return date.slice(0, 7);
    if (window === "day") return date;
    const monday = new Date(`${date}T00:00:00Z`);
    monday.setUTCDate(monday.getUTCDate() - ((monday.getUTCDay() + 6) % 7));
    return monday.toISOString().slice(0, 10);
  }

  it("contain exactly the moments of their date, week or month, in every zone and summer time", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("day", "week", "month"),
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(2010, 0), max: Date.UTC(2040, 0) }),
        (window, zone, moment) => {
          const { start, end } = windowAt(window, moment, zone);
          const period = periodOf(window, moment, zone);
          const inside = [start, moment, end - 1].map((one) => periodOf(window, one, zone));
          expect([...new Set(inside)]).toEqual([period]);
          for (const outside of [start - 1, end])
            expect(periodOf(window, outside, zone)).not.toBe(period);
          expect(windowAt(window, end, zone).start).toBe(end);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("are found by a query within its bounds, and kept while a request may settle in them", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...LIMIT_WINDOWS),
        fc.constantFrom(...zones),
        fc.integer({ min: Date.UTC(2010, 0), max: Date.UTC(2040, 0) }),
        (window, zone, moment) => {
          const { start, end } = windowAt(window, moment, zone);
          const bound = windowBounds(moment)[LIMIT_WINDOWS.indexOf(window)] ?? Infinity;
          if (window === "minute" || window === "hour") expect(bound).toBe(start);
          else expect(start).toBeGreaterThan(bound);
          expect(start + RETENTION[window]).toBeGreaterThanOrEqual(
            end + (window === "minute" ? 0 : HOUR),
          );
        },
      ),
    );
  });
});

it.each([
  ["Europe/Berlin", true],
  ["UTC", true],
  ["Europe/Berlni", false],
  ["+02:00", false],
  ["", false],
  ["constructor", false],
])("a time zone called %j exists: %s", (name, expected) => {
  expect(isTimeZone(name)).toBe(expected);
});
