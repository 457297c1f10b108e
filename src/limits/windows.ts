import { DAY, HOUR, zoneOffset } from "../canon/local-time.ts";
import type { LimitWindow } from "../canon/limits.ts";

const LENGTHS = { minute: 60_000, hour: HOUR } as const;

/**
 * How long after its start a counter of a window is kept, milliseconds: longer than the window, and
 * than any request that may still settle in it.
 */
export const RETENTION: Readonly<Record<LimitWindow, number>> = {
  minute: 600_000,
  hour: 2 * DAY,
  day: 2 * DAY,
  week: 16 * DAY,
  month: 62 * DAY,
};

/** Longest window in any time zone: clocks that go back make a day longer. Milliseconds. */
const LONGEST = { day: DAY + 2 * HOUR, week: 7 * DAY + 2 * HOUR, month: 31 * DAY + 2 * HOUR };

/** A calendar period, milliseconds since the epoch. */
interface CalendarWindow {
  readonly start: number;
  /** Start of the next one. */
  readonly end: number;
}

/** The newest of each kind and zone: requests come in the order of time. */
const newest = new Map<string, CalendarWindow>();

/**
 * The window that contains a moment. Minutes and hours are those of UTC; days, weeks (from Monday)
 * and months those of the time zone.
 *
 * @param zone an IANA name that `isTimeZone` accepts
 * @example windowAt("day", Date.UTC(2026, 10, 28, 15)).start // 2026-11-28T00:00:00Z
 * @throws {RangeError} for an unknown zone
 */
export function windowAt(window: LimitWindow, at: number, zone: string = "UTC"): CalendarWindow {
  if (window === "minute" || window === "hour") {
    const start = at - (at % LENGTHS[window]);
    return { start, end: start + LENGTHS[window] };
  }
  const key = `${window} ${zone}`;
  const cached = newest.get(key);
  if (cached !== undefined && at >= cached.start && at < cached.end) return cached;
  const day = localDay(at, zone);
  const [first, next] =
    window === "month"
      ? [firstOfMonth(day, 0), firstOfMonth(day, 1)]
      : window === "week"
        ? [day - weekday(day), day - weekday(day) + 7]
        : [day, day + 1];
  const found = { start: startOfDay(first, zone), end: startOfDay(next, zone) };
  newest.set(key, found);
  return found;
}

/**
 * For a query of the counters that hold a moment: the start of the minute and of the hour, and for
 * days, weeks and months the moment after which each of them starts, whatever the zone.
 */
export function windowBounds(at: number): readonly number[] {
  return [
    windowAt("minute", at).start,
    windowAt("hour", at).start,
    at - LONGEST.day,
    at - LONGEST.week,
    at - LONGEST.month,
  ];
}

/** Days since 1970-01-01 of the date in the zone. */
function localDay(at: number, zone: string) {
  return Math.floor((at + zoneOffset(zone, at)) / DAY);
}

/** Days since the last Monday; 1970-01-01 was a Thursday. */
function weekday(day: number) {
  return (day + 3) % 7;
}

function firstOfMonth(day: number, later: number): number {
  const date = new Date(day * DAY);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later) / DAY;
}

/** Where clocks go forward at midnight, a day starts at 1:00. */
function startOfDay(day: number, zone: string): number {
  const wall = day * DAY;
  const candidates = [-DAY, DAY].map((away) => wall - zoneOffset(zone, wall + away));
  return Math.min(...candidates.filter((at) => localDay(at, zone) >= day));
}
