import type { ObservedPolicy } from "./port.ts";

/** @throws {RangeError} when an id stands in `contents` twice */
export function refuseRepeatedId(contents: readonly ObservedPolicy[]): void {
  const seen = new Set<string>();
  for (const { id } of contents) {
    if (seen.has(id)) throw new RangeError(`policy ${id} is given twice; give each policy once`);
    seen.add(id);
  }
}
