import type { AssertionTally } from "../assertions/run.ts";
import { emptyComparison, mergeComparison, type ComparisonTally } from "./comparison-tally.ts";
import { emptyUsage, mergeUsage, type UsageTally } from "./usage-tally.ts";

/**
 * Everything that decided jobs have shown. Plain data: it crosses threads, and is merged in any
 * order with the same result.
 */
export interface SimulationTally {
  classes: number;
  shapes: bigint;
  /**
   * `needs tools`, `features sampling`: needs and features by which requests reach different
   * states.
   */
  readonly matters: Set<string>;
  /** Jobs of which the policies of head evaluate some request. */
  readonly live: Set<number>;
  /** Policy → how often it was evaluated. */
  readonly evaluations: Map<string, number>;
  readonly declared: ComparisonTally;
  readonly promoted: ComparisonTally;
  readonly baseUsage: UsageTally;
  readonly headUsage: UsageTally;
  /** Job → counts of its assertions: their examples are the first in the order of jobs. */
  readonly assertions: Map<number, AssertionTally>;
  /** Whether memory has ended deciding. */
  isFull: boolean;
}

export function emptyTally(): SimulationTally {
  return {
    classes: 0,
    shapes: 0n,
    matters: new Set(),
    live: new Set(),
    evaluations: new Map(),
    declared: emptyComparison(),
    promoted: emptyComparison(),
    baseUsage: emptyUsage(),
    headUsage: emptyUsage(),
    assertions: new Map(),
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
