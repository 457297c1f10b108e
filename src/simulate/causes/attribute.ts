import type { ChangeGroup } from "../report/report.ts";
import type { SampleRequest, View } from "../sample-request.ts";
import type { DecidingSide, Variants } from "./unit-variants.ts";

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

/** Indices of units. */
export interface Attribution {
  /** Units without which requests of the group would get another result; empty: not found. */
  readonly units: ReadonlySet<number>;
  /** Of each request that was tried the units that its change needs together. */
  readonly together: readonly (readonly number[])[];
}

/**
 * The units that each group follows from, in the order of the groups. Where two units have the same
 * effect, so that neither is needed, those that alone have an effect on base.
 */
export async function attribute(
  groups: readonly ViewedGroup[],
  variants: Variants,
): Promise<readonly Attribution[]> {
  const { length: units } = variants.undone;
  if (units === 1) return groups.map(() => attribution([0], []));
  let left = MOST_DECISIONS;
  const found: Attribution[] = [];
  for (const { group, view } of groups) {
    const causes = new Set<number>();
    const joined: (readonly number[])[] = [];
    for (const sample of samplesOf(group)) {
      if (left <= 0) break;
      left -= units;
      const { units: own, together } = await causesOf(sample, group, view, variants);
      for (const unit of own) causes.add(unit);
      joined.push(...together);
    }
    found.push({ units: causes, together: joined });
  }
  return found;
}

function attribution(units: readonly number[], together: readonly number[]): Attribution {
  return { units: new Set(units), together: [together] };
}

async function causesOf(
  sample: SampleRequest,
  { kinds }: ChangeGroup,
  view: View,
  { base, head, undone, done, isRename }: Variants,
): Promise<Attribution> {
  // Another version of a model is no reason why a request is allowed.
  const isMoved = kinds.includes("destination_changed");
  const resultOf = (side: DecidingSide) => side.result(sample, view, isMoved);
  const [was, is] = [resultOf(base), resultOf(head)];
  // A workspace and a route of one group need not be together in any of its requests.
  if (was === is) return attribution([], []);
  const results = undone.map((side) => (side === null ? is : resultOf(side)));
  const needed = [...results.keys()].filter((unit) => results[unit] !== is);
  if (needed.length > 0) {
    // Another reason for a denial is counted only, and joins no causes.
    if (kinds.every((kind) => kind === "reason_changed")) return attribution(needed, []);
    // Units that each alone restore base's result are conditions of one change. Others only change
    // what a newly served request gets.
    const isServed = base.serves(sample, view);
    const restoring = needed.filter(
      (unit) =>
        results[unit] === was || (!isServed && undone[unit]?.serves(sample, view) === false),
    );
    if (restoring.length === 0) return attribution(needed, needed);
    return attribution(isServed ? needed : restoring, restoring);
  }
  const enough: number[] = [];
  for (const unit of undone.keys()) {
    const side = await done(unit);
    if (side !== null && resultOf(side) !== was) enough.push(unit);
  }
  // Two former names in one request are each refused alone: that does not make them one change.
  const first = enough.find(isRename);
  const own = first === undefined ? enough : [first];
  return attribution(own, own);
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
