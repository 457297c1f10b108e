import { useEffect, useMemo, useState } from "preact/hooks";
import { withQuery } from "../api/client.ts";
import { inWorkspaces } from "../api/session-state.ts";
import type { Summary } from "../api/types.ts";
import { useResource } from "../api/use-resource.ts";
import { groupLabel } from "./group-label.ts";

type Unit = "minute" | "hour" | "day";

/**
 * A time span that figures are shown for, how finely the API counts it (minutes are kept for three
 * hours), and the filter of the list of decisions that covers it.
 */
type Span = readonly [title: string, seconds: number, unit: Unit, hours: string];

const DAY: Span = ["24 h", 86_400, "hour", "24"];
const SPANS: Readonly<Record<string, Span>> = {
  "1h": ["1 h", 3_600, "minute", "1"],
  "3h": ["3 h", 10_800, "minute", "24"],
  "24h": DAY,
  "7d": ["7 d", 604_800, "hour", "168"],
  "30d": ["30 d", 2_592_000, "day", "720"],
};

export const WINDOWS = Object.entries(SPANS).map(([name, [title]]) => [name, title] as const);

/** Seconds. */
export const STEPS: Readonly<Record<Unit, number>> = { minute: 60, hour: 3_600, day: 86_400 };

export interface Window {
  readonly name: string;
  readonly title: string;
  /** Hours of the filter of the list of decisions. */
  readonly since: string;
  /** RFC 3339. */
  readonly start: string;
  /** The same span before it; `null` where its minutes are gone. */
  readonly before: { readonly start: string; readonly end: string } | null;
  readonly unit: Unit;
}

/** @param name of {@link WINDOWS}; anything else is a day. @param now milliseconds. */
export function windowOf(name: string | null, now: number): Window {
  const known = name !== null && Object.hasOwn(SPANS, name) ? name : "24h";
  const [title, seconds, unit, since] = SPANS[known] ?? DAY;
  const at = (ago: number): string => new Date(now - ago * 1_000).toISOString();
  return {
    name: known,
    title,
    since,
    start: at(seconds),
    before: known === "3h" ? null : { start: at(2 * seconds), end: at(seconds) },
    unit,
  };
}

/** Milliseconds. Counts are by the minute at the finest, so a window need not move sooner. */
const STEP = 60_000;

/**
 * The present time, in steps of {@link STEP}: a page that stays open for a night must not show the
 * windows of the evening.
 */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), STEP);
    return () => clearInterval(timer);
  }, []);
  return now;
}

/** The window of a name, which moves with the time: one of days only every five minutes. */
export function useWindow(name: string | null): Window {
  const now = useNow();
  const step = windowOf(name, now).unit === "minute" ? STEP : 5 * STEP;
  const at = Math.floor(now / step) * step;
  return useMemo(() => windowOf(name, at), [name, at]);
}

/** A span that has something to show, for a page whose address names none. */
interface ChosenSpan {
  /** One of {@link WINDOWS}. */
  readonly name: string;
  /** The first request within a day, seconds since the epoch, where a shorter span has them all. */
  readonly first: number | null;
}

const DAY_SPAN: ChosenSpan = { name: "24h", first: null };

/**
 * A day; an hour or three where the first request of a day is not older: on a server that has just
 * begun, a day would show one bar. `null` until that is known.
 *
 * @param isWanted nothing is read without.
 */
export function useSpanWithTraffic(isWanted: boolean): ChosenSpan | null {
  const [now] = useState(() => Date.now());
  const [isEmpty, setEmpty] = useState(false);
  const pathOf = (span: string): string =>
    withQuery("/v1/governance/summary", {
      start: windowOf(span, now).start,
      group_by: windowOf(span, now).unit,
      ...inWorkspaces(),
    });
  const hours = useResource<Summary>(
    isWanted ? pathOf("24h") : null,
    isEmpty ? STEP / 4 : undefined,
  );
  const firstHour = firstOf(hours.value, "hour");
  useEffect(() => setEmpty(hours.value !== null && firstHour === null), [hours.value]);
  const isYoung = firstHour !== null && firstHour * 1_000 > now - 3 * 3_600_000;
  const minutes = useResource<Summary>(isYoung ? pathOf("3h") : null);
  if (!isWanted || hours.failure !== null || minutes.failure !== null) return DAY_SPAN;
  if (hours.value === null) return null;
  if (!isYoung) return DAY_SPAN;
  if (minutes.value === null) return null;
  const first = firstOf(minutes.value, "minute");
  if (first === null) return DAY_SPAN;
  return { name: first * 1_000 > now - 3_600_000 ? "1h" : "3h", first };
}

function firstOf(summary: Summary | null, unit: Unit): number | null {
  const times = (summary?.groups ?? []).flatMap(({ group, requests }) =>
    requests > 0 ? [startOf(group, unit)] : [],
  );
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * When the minute, hour or day (of UTC) of a group begins, seconds since the epoch; not a number
 * without one.
 */
export const startOf = (group: Parameters<typeof groupLabel>[0], unit: Unit): number =>
  Date.parse(groupLabel(group, unit) ?? "") / 1_000;

/** Values of each step from the start to the end of a summary that is grouped by time. */
export function courseOf({ groups, window: { start, end } }: Summary, unit: Unit) {
  const byTime = new Map(groups.map((each) => [startOf(each.group, unit), each]));
  const times = timesOf(start, end, unit);
  const valuesOf = <Value>(pick: (group: Summary["groups"][number]) => Value, none: Value) =>
    times.map((time) => {
      const found = byTime.get(time);
      return found === undefined ? none : pick(found);
    });
  return { times, valuesOf };
}

/** The beginnings of all steps from `start` to `end`, RFC 3339: seconds since the epoch. */
export function timesOf(start: string, end: string, unit: Unit): readonly number[] {
  const step = STEPS[unit];
  const first = Math.floor(Date.parse(start) / 1_000 / step);
  const last = Math.floor((Date.parse(end) / 1_000 - 1) / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
}

/** True while the step lasts: its counts are not those of a whole one. */
export const isRunning = (time: number, unit: Unit): boolean =>
  time + STEPS[unit] > Date.now() / 1_000;
