/* oxlint-disable no-restricted-globals -- reads and writes given times, never the clock */
const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;

/**
 * Milliseconds since the epoch of an RFC 3339 time with a zone; `null` for anything else.
 *
 * @example readTime("2026-11-28T12:00:00Z") // 1795867200000
 */
export function readTime(text: string): number | null {
  const [, year, month, day, hour] = INSTANT.exec(text) ?? [];
  if (year === undefined || month === undefined || day === undefined) return null;
  // Some days beyond a month's end are read as days of the next one, and hour 24 as the next day.
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  const time = Date.parse(text.toUpperCase());
  return Number.isNaN(time) || Number(day) > lastDay || Number(hour) > 23 ? null : time;
}

/**
 * The same, written in UTC.
 *
 * @example formatTime(0) // "1970-01-01T00:00:00.000Z"
 */
export function formatTime(time: number): string;
export function formatTime(time: number | null): string | null;
export function formatTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
