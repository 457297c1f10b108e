import { useEffect, useMemo, useState } from "preact/hooks";

/** The time spans that figures are shown for. */
export const WINDOWS = [
  ["1h", "1 h"],
  ["3h", "3 h"],
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["30d", "30 d"],
] as const;

type Unit = "minute" | "hour" | "day";

/** Seconds of each span, and how finely the API counts it: minutes are kept for three hours. */
const SPANS: Readonly<Record<string, readonly [seconds: number, unit: Unit]>> = {
  "1h": [3_600, "minute"],
  "3h": [10_800, "minute"],
  "24h": [86_400, "hour"],
  "7d": [604_800, "hour"],
  "30d": [2_592_000, "day"],
};

/** Seconds. */
export const STEPS: Readonly<Record<Unit, number>> = { minute: 60, hour: 3_600, day: 86_400 };

export interface Window {
  readonly name: string;
  /** RFC 3339. */
  readonly start: string;
  /** The same span before it; `null` where its minutes are gone. */
  readonly before: { readonly start: string; readonly end: string } | null;
  readonly unit: Unit;
}

/** @param name of {@link WINDOWS}; anything else is a day. @param now milliseconds. */
export function windowOf(name: string | null, now: number): Window {
  const known = name !== null && Object.hasOwn(SPANS, name) ? name : "24h";
  const [seconds, unit] = SPANS[known] ?? [86_400, "hour"];
  const at = (ago: number): string => new Date(now - ago * 1_000).toISOString();
  return {
    name: known,
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

/** The seconds since the epoch at which a day (`2026-11-24`), hour or minute of UTC begins. */
export function beginningOf(label: string): number {
  const instant = /^\d{4}-\d{2}-\d{2}$/.test(label) ? `${label}T00:00:00Z` : label;
  return Date.parse(instant) / 1_000;
}

/** The beginnings of all steps from `start` to `end`, RFC 3339: seconds since the epoch. */
export function timesOf(start: string, end: string, unit: Unit): readonly number[] {
  const step = STEPS[unit];
  const first = Math.floor(Date.parse(start) / 1_000 / step);
  const last = Math.floor((Date.parse(end) / 1_000 - 1) / step);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => (first + at) * step);
}

/** Whether the step is still running: its counts are not those of a whole one. */
export const isRunning = (time: number, unit: Unit): boolean =>
  time + STEPS[unit] > Date.now() / 1_000;
