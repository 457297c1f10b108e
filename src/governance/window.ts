import type { Grouping } from "./dimensions.ts";
import { KEPT_MINUTES, type Facet } from "./increments.ts";
import { HOUR, MINUTE } from "./roll-up.ts";

/** Whole steps since the epoch: `from` is the first one counted, `until` the first one not. */
export interface Window {
  readonly from: number;
  readonly until: number;
  /** Hours, or minutes where they are grouped by. */
  readonly step: typeof HOUR | typeof MINUTE;
}

const DEFAULT_HOURS = 24;
const DEFAULT_MINUTES = 60;
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
  readonly member: "start" | "end" | "group_by";
  readonly problem: string;
}

/**
 * The hours that touch the time from `start` to `end`, or the minutes where they are grouped by.
 *
 * @param start RFC 3339; `null`: a day before the end, or an hour of minutes.
 * @param end RFC 3339; `null`: now.
 * @param now milliseconds since the epoch.
 */
export function readWindow(
  start: string | null,
  end: string | null,
  now: number,
  time: Grouping["time"],
): Window | WindowProblem {
  const step = time === "minute" ? MINUTE : HOUR;
  const last = end === null ? now : readInstant(end);
  if (last === null) return { member: "end", problem: `end ${NO_INSTANT}` };
  const until = Math.ceil(last / step);
  const span = time === "minute" ? DEFAULT_MINUTES : DEFAULT_HOURS;
  const first = start === null ? (until - span) * step : readInstant(start);
  if (first === null) return { member: "start", problem: `start ${NO_INSTANT}` };
  if (first >= last) return { member: "start", problem: "start must be before end" };
  const from = Math.floor(first / step);
  if (time === "minute" && from < now / MINUTE - KEPT_MINUTES) {
    const problem = "start must be within the last three hours: older counts are by the hour only";
    return { member: "start", problem };
  }
  if (until - from > MAXIMUM_DAYS * 24) {
    return { member: "start", problem: `start must be at most ${MAXIMUM_DAYS} days before end` };
  }
  if (time === "hour" && until - from > MAXIMUM_HOURLY_DAYS * 24) {
    const problem = `group_by hour takes at most ${MAXIMUM_HOURLY_DAYS} days from start to end; give a shorter window, or group by day`;
    return { member: "group_by", problem };
  }
  return { from, until, step };
}

/** The part of a store's query that a window is: facets that have no minutes give whole hours. */
export function windowOf(facet: Facet, { from, until, step }: Window) {
  if (facet === "minute" || step === HOUR) return { facet, from, until };
  const inHours = HOUR / step;
  return { facet, from: Math.floor(from / inHours), until: Math.ceil(until / inHours) };
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

/** The start of a step, RFC 3339. @param at steps since the epoch. @param step milliseconds. */
export function formatStart(at: number, step: number): string {
  return `${new Date(at * step).toISOString().slice(0, 19)}Z`;
}
