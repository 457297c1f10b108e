import { listItems, readTime, readValue } from "../terminal/arguments.ts";
import { UsageError } from "../terminal/command-io.ts";
import { DAY_BUCKETS, HOUR_BUCKETS, type PolicyTime } from "../../canon/policy.ts";
import { timeWindow } from "../../decide/time-window.ts";

/** Values separated by commas, sorted, each once. */
export function readValues<Value extends string>(
  flag: string,
  text: string | undefined,
  values: readonly Value[],
): readonly Value[] {
  return [...new Set(listItems(text).map((item) => readValue(flag, item, values)))].toSorted();
}

/** A whole number within bounds. */
export function readCount(flag: string, text: string, most: number): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most) throw new UsageError(`${flag}: must be a whole number from 1 to ${most}`);
  return count;
}

/** `weekday/night`, or the window of an RFC 3339 time; `null` where neither is given. */
export function readWindow(time: string | undefined, at: string | undefined): PolicyTime | null {
  if (time !== undefined && at !== undefined) throw new UsageError("--at, --time: give one of them");
  if (at !== undefined) {
    const instant = readTime(at);
    if (instant === null) throw new UsageError("--at: must be an RFC 3339 time, such as 2026-03-01T22:00:00Z");
    return timeWindow(instant);
  }
  if (time === undefined) return null;
  const [day = "", hour, ...rest] = time.split("/");
  if (hour === undefined || rest.length > 0) {
    throw new UsageError(
      `--time: must be a day and an hour, such as weekday/night: ${DAY_BUCKETS.join(" or ")}, then ${HOUR_BUCKETS.join(", ")}`,
    );
  }
  return { day: readValue("--time", day, DAY_BUCKETS), hour: readValue("--time", hour, HOUR_BUCKETS) };
}
