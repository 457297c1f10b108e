import { ABSENT } from "./amounts.ts";

export const DATE = { day: "2-digit", month: "short" } as const;
export const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;

const formats = new Map<string, Intl.DateTimeFormat>();

/** A time in the reader's locale, and time zone unless the options have another. */
export function formatTime(time: Date, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.DateTimeFormat(undefined, options);
  formats.set(key, format);
  return format.format(time);
}

/** @param day begins at midnight of UTC: RFC 3339, or seconds since the epoch. */
export const dayOfUtc = (day: string | number): string =>
  formatTime(new Date(typeof day === "number" ? day * 1_000 : day), { ...DATE, timeZone: "UTC" });

/**
 * A time on the reader's clock, with UTC on hover: `24 Nov, 02:58`, and the year unless it is this
 * one.
 *
 * @param at RFC 3339, or milliseconds since the epoch. @param short today without
 * the day. @param zone names the reader's time zone.
 */
export function Time({
  at,
  short = false,
  seconds = false,
  zone = false,
}: {
  readonly at: string | number | null | undefined;
  readonly short?: boolean;
  readonly seconds?: boolean;
  readonly zone?: boolean;
}) {
  if (at === null || at === undefined) return <span class="absent">{ABSENT}</span>;
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <bdi>{String(at)}</bdi>;
  const utc = time.toISOString();
  const now = new Date();
  const isToday = time.toDateString() === now.toDateString();
  const text = formatTime(time, {
    ...(!(short && isToday) && DATE),
    ...(time.getFullYear() !== now.getFullYear() && { year: "numeric" }),
    ...CLOCK,
    ...(seconds && { second: "2-digit" }),
    ...(zone && { timeZoneName: "short" }),
  });
  return (
    <time dateTime={utc} title={`${utc.replace("T", " ").replace(/\.\d+Z$/, "")} UTC`}>
      {text}
    </time>
  );
}

/** When the figures of a page came, milliseconds since the epoch. */
export function AsOf({ at }: { readonly at: number | null }) {
  if (at === null) return null;
  return (
    <span class="hint">
      as of <Time at={at} short zone />
    </span>
  );
}
