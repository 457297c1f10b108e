import type { JsonValue } from "../../canon/json.ts";

/** Whether one of the stop sequences is white space only; line breaks are common ones, and not all protocols take them. */
export function hasBlankStop(stop: JsonValue | undefined): boolean {
  const sequences = Array.isArray(stop) ? stop : [stop];
  return sequences.some((sequence: JsonValue | undefined) => typeof sequence === "string" && sequence.trim() === "");
}
