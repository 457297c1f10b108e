import type { AssertionTally } from "../assertions/run.ts";
import { emptyComparison, mergeComparison } from "./comparison-tally.ts";
import { emptyUsage, mergeUsage } from "./usage-tally.ts";

/**
 * Everything that decided jobs have shown. Plain data: it crosses threads, and is merged in any
 * order with the same result.
 */
export type SimulationTally = ReturnType<typeof emptyTally>;

export function emptyTally() {
  return {
    classes: 0,
    shapes: 0n,
    /** `needs tools`, `features sampling`: by which requests reach different states. */
    matters: new Set<string>(),
    /** Jobs of which the policies of head evaluate some request. */
    live: new Set<number>(),
    /** Policy → how often it was evaluated. */
    evaluations: new Map<string, number>(),
    declared: emptyComparison(),
    promoted: emptyComparison(),
    baseUsage: emptyUsage(),
    headUsage: emptyUsage(),
    /** Job → counts of its assertions: their examples are the first in the order of jobs. */
    assertions: new Map<number, AssertionTally>(),
    /** Whether memory has ended deciding. */
    isFull: false,
  };
}

export function mergeTally(into: SimulationTally, from: SimulationTally): void {
  into.classes += from.classes;
  into.shapes += from.shapes;
  for (const name of from.matters) into.matters.add(name);
  for (const job of from.live) into.live.add(job);
  for (const [policy, count] of from.evaluations)
    into.evaluations.set(policy, (into.evaluations.get(policy) ?? 0) + count);
  mergeComparison(into.declared, from.declared);
  mergeComparison(into.promoted, from.promoted);
  mergeUsage(into.baseUsage, from.baseUsage);
  mergeUsage(into.headUsage, from.headUsage);
  for (const [job, tally] of from.assertions) into.assertions.set(job, tally);
  into.isFull ||= from.isFull;
}
