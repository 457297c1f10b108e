import { HOUR_BUCKETS, type PolicyTime } from "../canon/policy.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Hours of a bucket. */
const BUCKET = 24 / HOUR_BUCKETS.length;

/**
 * The window that an instant falls in. UTC has no daylight saving time: a day is 24 hours, and a
 * quarter of it a bucket.
 *
 * @param at milliseconds since the epoch.
 * @throws {RangeError} when `at` is not finite: a clock without a valid time must not decide
 * anything.
 */
export function timeWindow(at: number): PolicyTime {
  if (!Number.isFinite(at)) throw new RangeError("timeWindow: the clock gives no time");
  const day = Math.floor(at / DAY);
  // 1 January 1970 was a Thursday; counted from Monday, the days from 5 on are the weekend.
  const weekday = modulo(day + 3, 7);
  const hour = HOUR_BUCKETS[Math.floor((at - day * DAY) / HOUR / BUCKET)];
  if (hour === undefined) throw new RangeError("timeWindow: the clock gives no time of day");
  return { day: weekday < 5 ? "weekday" : "weekend", hour };
}

/**
 * What stands in for the time where no policy reads it, so that requests of different hours are the
 * same question.
 */
export const ANY_TIME: PolicyTime = Object.freeze({ day: "weekday", hour: "morning" });

/** Not negative, unlike `%`. */
function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}
