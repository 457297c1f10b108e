import { ABSENT } from "./amounts.ts";

const DAY = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "2-digit" });

const PARTS = {
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
} as const;
const THIS_YEAR = new Intl.DateTimeFormat(undefined, PARTS);
const OTHER_YEAR = new Intl.DateTimeFormat(undefined, { ...PARTS, year: "numeric" });

const TO_THE_MINUTE = {
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
} as const;
const MINUTE_OF_YEAR = new Intl.DateTimeFormat(undefined, TO_THE_MINUTE);
const MINUTE_OF_TODAY = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

const TODAY = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/**
 * A time as the reader's clock has it, with UTC on hover.
 *
 * @param at RFC 3339, or milliseconds since the epoch. @param day without the hour. @param short of
 * today without the day. @param minute the same without seconds.
 */
export function Time({
  at,
  day = false,
  short = false,
  minute = false,
}: {
  readonly at: string | number | null | undefined;
  readonly day?: boolean;
  readonly short?: boolean;
  readonly minute?: boolean;
}) {
  if (at === null || at === undefined) return <span class="absent">{ABSENT}</span>;
  const time = new Date(at);
  if (Number.isNaN(time.getTime())) return <bdi>{String(at)}</bdi>;
  const utc = time.toISOString();
  const now = new Date();
  const ofYear = time.getFullYear() === now.getFullYear() ? THIS_YEAR : OTHER_YEAR;
  const isToday = time.toDateString() === now.toDateString();
  const format = minute
    ? isToday
      ? MINUTE_OF_TODAY
      : MINUTE_OF_YEAR
    : day
      ? DAY
      : short && isToday
        ? TODAY
        : ofYear;
  return (
    <time dateTime={utc} title={`${utc.replace("T", " ").replace(/\.\d+Z$/, "")} UTC`}>
      {format.format(time)}
    </time>
  );
}
