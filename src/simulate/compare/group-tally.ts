import type { ChangeKind } from "../change-kind.ts";
import type { Member, Outcome, OutcomePair, SampleRequest } from "../sample-request.ts";
import type { ClassDetails } from "../space/job-space.ts";

/**
 * The position of a class in the enumeration: the first one becomes the example, on whichever
 * thread it was found.
 */
export type Order = number;

/** Classes that change in the same way. Plain data: it crosses threads. */
export interface GroupTally {
  readonly kinds: readonly ChangeKind[];
  readonly base: Outcome;
  readonly head: Outcome;
  /** Workspace → the route names of its requests. */
  readonly members: Map<string, Set<string>>;
  readonly operations: Set<string>;
  /** Names that every request of the group has. */
  common: { needs: readonly string[]; features: readonly string[]; labels: readonly string[] };
  /** Dimension → values that requests of the group take. */
  readonly taken: Map<string, Set<string>>;
  classes: number;
  shapes: bigint;
  example: SampleRequest;
  order: Order;
}

/** The dimension under which a group lists what denials are about. */
export const DENIED_FOR = "denied_for";

export type GroupTallies = Map<string, GroupTally>;

/** Requests with the same text are of the same group, whichever class they come from. */
export function groupKey(pair: OutcomePair): string {
  const known = keys.get(pair);
  if (known !== undefined) return known;
  const { kinds, base, head } = pair;
  const isMisnamed = [base, head].some(({ denial }) => denial?.reason === "unknown_preference");
  // Refused on one side for a name that it does not have: whatever the other side does is one
  // change.
  const keyed = isMisnamed ? [base.denial, head.denial].map(keyOf) : [base, head].map(withKey);
  const made = JSON.stringify([kinds, ...keyed]);
  keys.set(pair, made);
  return made;
}

/**
 * A denial by the table names what it is about: `capability_supported:tools`. Such denials are one
 * change, not twenty: what they are about is collected beside them.
 */
function folded(outcome: Outcome): Outcome {
  const { denial } = outcome;
  if (denial === null) return outcome;
  const [constraint = ""] = denial.constraint.split(":");
  return { ...outcome, denial: { ...denial, constraint } };
}

/** By which preference a caller excludes all that is left does not matter. */
function keyOf(denial: Outcome["denial"]): Outcome["denial"] {
  if (denial === null) return null;
  return {
    ...denial,
    constraint: denial.policy === "preferences" ? "" : (denial.constraint.split(":")[0] ?? ""),
  };
}

function withKey(outcome: Outcome): Outcome {
  return { ...outcome, denial: keyOf(outcome.denial) };
}

/** `tools` of `capability_supported:tools`; of either side. */
function subjectsOf({ base, head }: OutcomePair): readonly string[] {
  return [base, head].flatMap(({ denial }) => denial?.constraint.split(":").slice(1) ?? []);
}

/** One pair covers very many classes. */
const keys = new WeakMap<OutcomePair, string>();

/**
 * What was added to a group: thousands of classes have the same members, the same pair and the same
 * taken values.
 */
const added = new WeakMap<GroupTally, WeakSet<object>>();

/** True once for each object. */
function newTo(group: GroupTally): (part: object) => boolean {
  const known = added.get(group) ?? new WeakSet();
  added.set(group, known);
  return (part) => {
    if (known.has(part)) return false;
    known.add(part);
    return true;
  };
}

/** @param size requests of one member. */
export function addToGroup(
  groups: GroupTallies,
  pair: OutcomePair,
  sample: SampleRequest,
  members: readonly Member[],
  size: bigint,
  order: Order,
  { common, taken }: ClassDetails,
): void {
  const key = groupKey(pair);
  let group = groups.get(key);
  if (group === undefined) {
    const { kinds } = pair;
    const [base, head] = [folded(pair.base), folded(pair.head)];
    group = {
      kinds,
      base,
      head,
      members: new Map(),
      operations: new Set(),
      common,
      taken: new Map(),
      classes: 0,
      shapes: 0n,
      example: sample,
      order,
    };
    groups.set(key, group);
  }
  const isNew = newTo(group);
  if (isNew(members)) {
    for (const { workspace, model } of members) addAll(group.members, workspace, [model]);
  }
  group.operations.add(sample.operation);
  group.common = inCommon(group.common, common);
  for (const part of taken)
    if (isNew(part)) for (const [name, values] of part) addAll(group.taken, name, values);
  if (isNew(pair)) addAll(group.taken, DENIED_FOR, subjectsOf(pair));
  group.classes += 1;
  group.shapes += size * BigInt(members.length);
  if (order < group.order)
    Object.assign(group, {
      base: folded(pair.base),
      head: folded(pair.head),
      example: sample,
      order,
    });
}

export function mergeGroups(into: GroupTallies, from: GroupTallies): void {
  for (const [key, group] of from) {
    const known = into.get(key);
    if (known === undefined) {
      into.set(key, group);
      continue;
    }
    for (const [workspace, routes] of group.members) addAll(known.members, workspace, routes);
    for (const operation of group.operations) known.operations.add(operation);
    known.common = inCommon(known.common, group.common);
    for (const [name, values] of group.taken) addAll(known.taken, name, values);
    known.classes += group.classes;
    known.shapes += group.shapes;
    const { base, head, example, order } = group;
    if (order < known.order) Object.assign(known, { base, head, example, order });
  }
}

function inCommon(left: GroupTally["common"], right: GroupTally["common"]): GroupTally["common"] {
  const kept = (mine: readonly string[], other: readonly string[]): readonly string[] =>
    mine.every((kind) => other.includes(kind)) ? mine : mine.filter((kind) => other.includes(kind));
  return {
    needs: kept(left.needs, right.needs),
    features: kept(left.features, right.features),
    labels: kept(left.labels, right.labels),
  };
}

function addAll(sets: Map<string, Set<string>>, name: string, values: Iterable<string>): void {
  const set = sets.get(name) ?? new Set<string>();
  sets.set(name, set);
  for (const value of values) set.add(value);
}
