import { DAY_BUCKETS, HOUR_BUCKETS, WEEKDAYS, type LocalTime } from "./policy.ts";
import { remember } from "./remember.ts";

/** JSON Schema of `PolicyTime.local`. */
export const LOCAL_TIME_SCHEMA = {
  type: "object",
  description: "The same moment on the clock of IANA time zones.",
  additionalProperties: {
    type: "object",
    additionalProperties: false,
    required: ["weekday", "hour"],
    properties: {
      weekday: { type: "string", description: "Day of the week.", enum: WEEKDAYS },
      hour: { type: "integer", description: "Hour of the day.", minimum: 0, maximum: 23 },
    },
  },
} as const;

/** JSON Schema of a `PolicyTime`. */
export const POLICY_TIME_SCHEMA = {
  type: "object",
  additionalProperties: false,
  required: ["day", "hour"],
  properties: {
    day: { enum: DAY_BUCKETS },
    hour: { enum: HOUR_BUCKETS },
    local: LOCAL_TIME_SCHEMA,
  },
} as const;

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/**
 * Whether this Node knows the time zone: an IANA name, no offset such as `+01:00`.
 *
 * @example isTimeZone("Europe/Berlin") // true
 */
export function isTimeZone(name: string): boolean {
  // Offsets have no summer time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    offsetFormat(name);
    return true;
  } catch {
    return false;
  }
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** @throws {RangeError} for a zone that the database does not have. */
function offsetFormat(zone: string): Intl.DateTimeFormat {
  const options = { timeZone: zone, timeZoneName: "longOffset" } as const;
  return remember(formats, zone, () => new Intl.DateTimeFormat("en", options));
}

const OFFSET = /GMT(?:(?<sign>[+-])(?<hours>\d\d):(?<minutes>\d\d))?/;

/**
 * How far the clock of a zone is ahead of UTC, in milliseconds; daylight saving time included.
 *
 * @example zoneOffset("Asia/Kathmandu", 0) // 19_800_000
 *
 * @param at milliseconds since the epoch.
 * @throws {RangeError} for a zone that this Node's database does not have.
 */
export function zoneOffset(zone: string, at: number): number {
  const { sign, hours, minutes } = OFFSET.exec(offsetFormat(zone).format(at))?.groups ?? {};
  const size = Number(hours ?? 0) * HOUR + Number(minutes ?? 0) * 60_000;
  return sign === "-" ? -size : size;
}

/**
 * The wall clock at an instant.
 *
 * @param at milliseconds since the epoch.
 * @param offset of the zone, milliseconds; 0 for UTC.
 * @example localTimeAt(Date.UTC(2026, 0, 9, 22), HOUR) // { weekday: "friday", hour: 23 }
 */
export function localTimeAt(at: number, offset: number): LocalTime {
  const day = Math.floor((at + offset) / DAY);
  // 1 January 1970 was a Thursday.
  const weekday = WEEKDAYS[(((day + 3) % 7) + 7) % 7] ?? "monday";
  return { weekday, hour: Math.floor((at + offset - day * DAY) / HOUR) };
}
