import { useEffect, useMemo, useState } from "preact/hooks";

/** The time spans that figures are shown for. */
export const WINDOWS = [
  ["1h", "1 h"],
  ["24h", "24 h"],
  ["7d", "7 d"],
  ["30d", "30 d"],
] as const;

const HOURS: Readonly<Record<string, number>> = { "1h": 1, "24h": 24, "7d": 168, "30d": 720 };

export interface Window {
  readonly name: string;
  /** RFC 3339. */
  readonly start: string;
  /** How finely the API can show it. */
  readonly unit: "hour" | "day";
}

const HOUR = 3_600_000;

/** @param name of {@link WINDOWS}; anything else is a day. */
export function windowOf(name: string | null, now: number): Window {
  const known = name !== null && Object.hasOwn(HOURS, name) ? name : "24h";
  const hours = HOURS[known] ?? 24;
  return {
    name: known,
    start: new Date(now - hours * HOUR).toISOString(),
    unit: hours > 168 ? "day" : "hour",
  };
}

/** Milliseconds. The API counts by the hour, so a window need not move sooner. */
const STEP = 300_000;

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

/** The window of a name, which moves with the time. */
export function useWindow(name: string | null): Window {
  const now = useNow();
  return useMemo(() => windowOf(name, now), [name, now]);
}

/** The seconds since the epoch at which a day (`2026-11-24`) or an hour of UTC begins. */
export function beginningOf(label: string): number {
  const instant = /^\d{4}-\d{2}-\d{2}$/.test(label) ? `${label}T00:00:00Z` : label;
  return Date.parse(instant) / 1_000;
}
