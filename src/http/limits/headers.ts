import type { CounterAccount } from "../../limits/counter-account.ts";
import type { Meters } from "../../limits/meters.ts";
import { familyOf } from "../contract/endpoint.ts";
import { timestamp } from "./limit-error.ts";

/**
 * The rest of the limits that a request counts against, in the headers of its protocol's family (docs/protocols.md#rate-limit-headers). Of several limits it is
 * the one with the smallest rest; the list is empty without limits. Names and values alternate.
 *
 * @param path of the endpoint. @param now milliseconds since the epoch.
 */
export function limitHeaders(path: string, meters: readonly Meters[], now: number): readonly string[] {
  const headers: string[] = [];
  for (const measure of ["requests", "tokens"] as const) {
    const counter = tightest(meters, measure);
    if (counter === null) continue;
    const [limit, remaining] = [String(counter.ceiling), String(counter.remaining)];
    const left = Math.max(0, counter.end - now);
    if (familyOf(path) === "messages") {
      const name = `anthropic-ratelimit-${measure}`;
      headers.push(`${name}-limit`, limit, `${name}-remaining`, remaining, `${name}-reset`, timestamp(now + left));
    } else {
      headers.push(`x-ratelimit-limit-${measure}`, limit, `x-ratelimit-remaining-${measure}`, remaining);
      headers.push(`x-ratelimit-reset-${measure}`, formatDuration(left));
    }
  }
  return headers;
}

function tightest(meters: readonly Meters[], measure: "requests" | "tokens"): CounterAccount | null {
  let found: CounterAccount | null = null;
  for (const { counters } of meters) {
    for (const counter of counters) {
      if (counter.measure === measure && (found === null || counter.remaining < found.remaining)) found = counter;
    }
  }
  return found;
}

/** `1h2m3s`, with `0m` only between hours and seconds; rounded up to whole seconds. @param milliseconds at least 0. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.ceil(milliseconds / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  const rest = `${seconds % 60}s`;
  if (hours > 0) return `${hours}h${minutes}m${rest}`;
  return minutes > 0 ? `${minutes}m${rest}` : rest;
}
