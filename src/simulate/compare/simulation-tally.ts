import type { AssertionTally } from "../assertions/run.ts";
import { emptyComparison, mergeComparison, type ComparisonTally } from "./comparison-tally.ts";
import { emptyLiveness, mergeLiveness, type LivenessTally } from "./liveness-tally.ts";

/** Everything that deciding jobs has come to. Plain data: it crosses threads, and is merged in any order with the same result. */
export interface SimulationTally {
  classes: number;
  shapes: bigint;
  readonly declared: ComparisonTally;
  readonly promoted: ComparisonTally;
  readonly baseLiveness: LivenessTally;
  readonly headLiveness: LivenessTally;
  /** Job → what assertions saw in it: their witnesses are the first in the order of jobs. */
  readonly assertions: Map<number, AssertionTally>;
}

export function emptyTally(): SimulationTally {
  return {
    classes: 0,
    shapes: 0n,
    declared: emptyComparison(),
    promoted: emptyComparison(),
    baseLiveness: emptyLiveness(),
    headLiveness: emptyLiveness(),
    assertions: new Map(),
  };
}

export function mergeTally(into: SimulationTally, from: SimulationTally): void {
  into.classes += from.classes;
  into.shapes += from.shapes;
  mergeComparison(into.declared, from.declared);
  mergeComparison(into.promoted, from.promoted);
  mergeLiveness(into.baseLiveness, from.baseLiveness);
  mergeLiveness(into.headLiveness, from.headLiveness);
  for (const [job, tally] of from.assertions) into.assertions.set(job, tally);
}
