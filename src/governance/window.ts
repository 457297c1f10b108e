import { HOUR } from "./roll-up.ts";

/** Whole hours since the epoch: `from` is the first one counted, `until` the first one not. */
export interface Window {
  readonly from: number;
  readonly until: number;
}

const DEFAULT_HOURS = 24;
export const MAXIMUM_DAYS = 400;

/** By the hour, one cell a label and hour is added up and shown: no window needs more at a time. */
export const MAXIMUM_HOURLY_DAYS = 31;

/** Later times end in an hour that RFC 3339 cannot write. */
const LAST_INSTANT = Date.UTC(9999, 0, 1);

const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * A problem with a member of the question, in a sentence for the caller that does not repeat what
 * was written.
 */
interface WindowProblem {
  readonly member: "start" | "end";
  readonly problem: string;
}

/**
 * The hours that touch the time from `start` to `end`: counts are kept by the hour.
 *
 * @param start RFC 3339; `null`: a day before the end.
 * @param end RFC 3339; `null`: now.
 * @param now milliseconds since the epoch.
 */
export function readWindow(
  start: string | null,
  end: string | null,
  now: number,
): Window | WindowProblem {
  const last = end === null ? now : readInstant(end);
  if (last === null) return { member: "end", problem: `end ${NO_INSTANT}` };
  const until = Math.ceil(last / HOUR);
  const first = start === null ? (until - DEFAULT_HOURS) * HOUR : readInstant(start);
  if (first === null) return { member: "start", problem: `start ${NO_INSTANT}` };
  if (first >= last) return { member: "start", problem: "start must be before end" };
  const from = Math.floor(first / HOUR);
  if (until - from > MAXIMUM_DAYS * 24) {
    return { member: "start", problem: `start must be at most ${MAXIMUM_DAYS} days before end` };
  }
  return { from, until };
}

/**
 * What is wrong with grouping so long a window so finely, in a sentence for the caller; `null` for
 * nothing.
 */
export function windowTooFine({ from, until }: Window, time: "day" | "hour" | null): string | null {
  if (time !== "hour" || until - from <= MAXIMUM_HOURLY_DAYS * 24) return null;
  return `group_by hour takes at most ${MAXIMUM_HOURLY_DAYS} days from start to end; give a shorter window, or group by day`;
}

/** After the name of the parameter. */
export const NO_INSTANT =
  "must be a time as RFC 3339 writes it, with a zone and from 1970 to 9998, such as 2026-11-21T00:00:00Z";

/** Milliseconds since the epoch; `null` for a text that names no instant, such as 30 February. */
export function readInstant(text: string): number | null {
  const [, year, month, day] = INSTANT.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return null;
  const time = Date.parse(text.toUpperCase());
  // Some days beyond a month's end are read as days of the next one.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number.isNaN(time) || time < 0 || time > LAST_INSTANT || Number(day) > lastDay
    ? null
    : time;
}

/** The start of an hour, RFC 3339. */
export function formatHour(hour: number): string {
  return `${new Date(hour * HOUR).toISOString().slice(0, 19)}Z`;
}
