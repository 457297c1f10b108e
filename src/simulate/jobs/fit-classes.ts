import type { DimensionCut } from "../report/report.ts";
import { perScalar, type ScalarName } from "../request-scalars.ts";
import { JobClasses } from "../space/classes.ts";
import { CUT_DIMENSIONS, planJobs, type CutDimension, type JobInput } from "./job-input.ts";

/** How many jobs are looked at for what a cut would save; the largest ones. */
const LOOKED_AT = 5;

/**
 * The dimension whose cut leaves the fewest classes in the largest jobs; `null` where no cut leaves fewer.
 *
 * @param counts classes of the jobs of `input`.
 */
export function bestCut(input: JobInput, counts: readonly number[]): CutDimension | null {
  const largest = [...counts.entries()].toSorted(([, left], [, right]) => right - left).slice(0, LOOKED_AT);
  const jobs = largest.map(([job]) => job);
  const now = largest.reduce((sum, [, count]) => sum + count, 0);
  let best: CutDimension | null = null;
  let fewest = now;
  for (const dimension of CUT_DIMENSIONS) {
    if (input.cut.includes(dimension)) continue;
    const { space, jobs: planned } = planJobs({ ...input, cut: [...input.cut, dimension] });
    const left = jobs.reduce((sum, index) => {
      const job = planned[index];
      return sum + (job === undefined ? 0 : new JobClasses(space, job).count);
    }, 0);
    if (left < fewest) [best, fewest] = [dimension, left];
  }
  return best;
}

/** A cut dimension in a report: how many values there were, and how many are left. */
export function describeCut(input: JobInput, dimension: CutDimension): DimensionCut {
  const { universe } = planJobs({ ...input, cut: [] }).space;
  const own = [...universe.operations.values()];
  const largest = (of: (operation: (typeof own)[number]) => number): number => Math.max(...own.map(of));
  const others: Readonly<Record<Exclude<CutDimension, ScalarName>, () => number>> = {
    needs: () => largest(({ needs }) => needs.length),
    features: () => largest(({ features }) => features.length),
    key_labels: () => universe.labels.length,
    environment: () => universe.environments.length,
    workload: () => universe.workloads.length,
    time: () => universe.times.length,
    preferences: () => 8,
  };
  const values = new Map<string, () => number>([
    ...Object.entries(others),
    ...perScalar((member, { name }): [string, () => number] => [name, () => largest((one) => one[member].length)]),
  ]);
  const isSet = dimension === "needs" || dimension === "features" || dimension === "key_labels";
  return { dimension, values: values.get(dimension)?.() ?? 0, kept: isSet ? 0 : 1 };
}
