/** Periods over which use is counted. Aligned to UTC, so that every process and every replica counts in the same ones. */
export const LIMIT_WINDOWS = ["minute", "hour", "day", "month"] as const;
export type LimitWindow = (typeof LIMIT_WINDOWS)[number];

/** What is counted. `micro_usd`: millionths of a US dollar, so that sums are whole numbers. */
export const LIMIT_MEASURES = ["requests", "tokens", "micro_usd"] as const;
export type LimitMeasure = (typeof LIMIT_MEASURES)[number];

const LENGTHS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

const DAY = LENGTHS.day;

/** How long after its start a counter of a window is kept, milliseconds: longer than the window, and than any request that may still settle in it. */
export const KEPT: Readonly<Record<LimitWindow, number>> = {
  minute: 600_000,
  hour: 2 * DAY,
  day: 2 * DAY,
  month: 62 * DAY,
};

/** When the window that holds the moment began. @param at milliseconds since the epoch. */
export function windowStart(window: LimitWindow, at: number): number {
  if (window !== "month") return at - (at % LENGTHS[window]);
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** When the window ends that began then: the first moment of the next. @param start as {@link windowStart} gives it. */
export function windowEnd(window: LimitWindow, start: number): number {
  if (window !== "month") return start + LENGTHS[window];
  const date = new Date(start);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
}
