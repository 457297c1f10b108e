/** Longest wait that is believed, milliseconds: a longer one is taken as an hour. */
const MAXIMUM = 3_600_000;

/**
 * Reads how long an upstream wants its clients to wait, in milliseconds from `now` (milliseconds since the epoch): `retry-after-ms`, or
 * `Retry-After` in seconds or as a date (RFC 9110 §10.2.3). `null` without a usable value.
 */
export function readRetryAfter(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  now: number,
): number | null {
  const precise = numberOf(headers["retry-after-ms"]);
  if (precise !== null) return bounded(precise);
  const value = first(headers["retry-after"]);
  if (value === null) return null;
  const seconds = numberOf(value);
  if (seconds !== null) return bounded(seconds * 1000);
  // The engine reads nearly anything as a date, `-1` among it.
  if (!HTTP_DATE.test(value)) return null;
  // The oldest form names no zone, and means this one.
  const date = Date.parse(value.endsWith("GMT") ? value : `${value} GMT`);
  return Number.isNaN(date) ? null : bounded(date - now);
}

/** The form that servers send, and the two obsolete ones (RFC 9110 §5.6.7). */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4})$/;

function first(value: string | readonly string[] | undefined): string | null {
  const single = typeof value === "string" ? value : value?.[0];
  return single === undefined || single.trim() === "" ? null : single.trim();
}

function numberOf(value: string | readonly string[] | undefined): number | null {
  const text = first(value);
  if (text === null || !/^\d+(\.\d+)?$/.test(text)) return null;
  return Number(text);
}

function bounded(milliseconds: number): number {
  return Math.min(Math.max(Math.round(milliseconds), 0), MAXIMUM);
}
