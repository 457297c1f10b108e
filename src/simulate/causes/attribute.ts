import type { ChangeGroup } from "../report/report.ts";
import type { SampleRequest, View } from "../sample-request.ts";
import type { Variants } from "./unit-variants.ts";

/** A group under the view in which it was found. */
export interface ViewedGroup {
  readonly group: ChangeGroup;
  readonly view: View;
}

/**
 * Decisions for the search of causes. A reader waits for them, and the first examples of a group
 * nearly always show its causes.
 */
const MOST_DECISIONS = 6_000;
/** Requests of one group that are tried: another workspace of the group may have another cause. */
const MOST_SAMPLES = 24;

/**
 * The units that each group follows from: those without which the example request would get another
 * result. Where none is, because two units have the same effect, those that alone have an effect on
 * base.
 *
 * @returns indices of units for each group, in the order of the groups; none where no cause was
 * found.
 */
export async function attribute(
  groups: readonly ViewedGroup[],
  units: number,
  variants: Variants,
): Promise<readonly ReadonlySet<number>[]> {
  const [only] = variants.undone.length === 1 ? [0] : [];
  if (only !== undefined) return groups.map(() => new Set([only]));
  let left = MOST_DECISIONS;
  const found: ReadonlySet<number>[] = [];
  for (const { group, view } of groups) {
    const causes = new Set<number>();
    for (const sample of samplesOf(group)) {
      if (left <= 0) break;
      left -= units;
      for (const unit of await causesOf(sample, view, units, variants)) causes.add(unit);
    }
    found.push(causes);
  }
  return found;
}

async function causesOf(
  sample: SampleRequest,
  view: View,
  units: number,
  { base, head, undone, done, isRename }: Variants,
): Promise<readonly number[]> {
  const [was, is] = [base.result(sample, view), head.result(sample, view)];
  // A workspace and a route of one group need not be together in any of its requests.
  if (was === is) return [];
  const needed = undone.flatMap((side, unit) =>
    side !== null && side.result(sample, view) !== is ? [unit] : [],
  );
  if (needed.length > 0) return needed;
  const enough: number[] = [];
  for (let unit = 0; unit < units; unit += 1) {
    const side = await done(unit);
    if (side !== null && side.result(sample, view) !== was) enough.push(unit);
  }
  // Two former names in one request are each refused alone: that does not make them one change.
  const first = enough.find(isRename);
  return first === undefined ? enough : [first];
}

/** The example, then one request of each other workspace and route. */
function samplesOf({ example, workspaces, routes }: ChangeGroup): readonly SampleRequest[] {
  return [
    example,
    ...workspaces.flatMap((workspace) =>
      workspace === example.workspace ? [] : [{ ...example, workspace }],
    ),
    ...routes.flatMap((model) => (model === example.model ? [] : [{ ...example, model }])),
  ].slice(0, MOST_SAMPLES);
}
