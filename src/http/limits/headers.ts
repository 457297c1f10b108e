import type { LimitMeasure, ProtocolFamily } from "../../dialects/contract/protocol-family.ts";
import type { CounterAccount } from "../../limits/counter-account.ts";
import type { Meters } from "../../limits/meters.ts";
import { timestamp } from "./limit-error.ts";

/**
 * What is left of the limits that a request counts against, in the headers of its protocol's family (docs/limits.md). Of several limits the one
 * of which least is left. Nothing where there are none. Names and values by turns.
 *
 * @param now milliseconds since the epoch.
 */
export function limitHeaders(family: ProtocolFamily, meters: readonly Meters[], now: number): readonly string[] {
  let headers: readonly string[] = [];
  for (const measure of ["requests", "tokens"] as const) {
    const counter = tightest(meters, measure);
    if (counter === null) continue;
    const { ceiling: limit, remaining, end } = counter;
    const untilReset = Math.max(0, end - now);
    const resetAt = (): string => timestamp(now + untilReset);
    headers = headers.concat(family.limitHeaders(measure, { limit, remaining, untilReset, resetAt }));
  }
  return headers;
}

function tightest(meters: readonly Meters[], measure: LimitMeasure): CounterAccount | null {
  let found: CounterAccount | null = null;
  for (const { counters } of meters) {
    for (const counter of counters) {
      if (counter.measure === measure && (found === null || counter.remaining < found.remaining)) found = counter;
    }
  }
  return found;
}
