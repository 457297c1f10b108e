import { remembered } from "../remembered.ts";
import type { ChangeKind } from "../change-kind.ts";
import type { Destinations } from "./change-kinds.ts";
import {
  choosesOne,
  type Member,
  type OfSides,
  type Outcome,
  type OutcomePair,
  type SampleRequest,
} from "../sample-request.ts";
import type { ClassDetails, PlainRequests } from "../space/job-space.ts";
import { KEY_LABELS } from "../space/levels.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { routeOf } from "../table-rows.ts";

/**
 * The position of a class in the enumeration: the first one becomes the example, on whichever
 * thread it was found.
 */
type Order = number;

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
  readonly valuesByDimension: Map<string, Set<string>>;
  /**
   * Workspace and route → conditions of its plain requests, by their JSON, one for each operation
   * that has some in the group.
   */
  readonly plain: Map<string, Map<string, PlainConditions>>;
  classes: number;
  shapes: bigint;
  example: SampleRequest;
  order: Order;
}

/** The dimension under which a group lists the subjects of denials. */
export const DENIED_FOR = "denied_for";

type GroupTallies = Map<string, GroupTally>;

/** Requests with the same text are of the same group, whichever class they come from. */
export function groupKey(pair: OutcomePair): string {
  return remembered(keys, pair, () => {
    const { kinds, base, head } = pair;
    const hasUnknownName = [base, head].some(
      ({ denial }) => denial?.reason === "unknown_preference",
    );
    // Refused on one side for a name that it does not have: all outcomes of the other side are
    // one change.
    const keyed = hasUnknownName
      ? [base.denial, head.denial].map(keyOf)
      : [base, head].map((outcome) => ({ ...outcome, denial: keyOf(outcome.denial) }));
    return JSON.stringify([kinds, ...keyed]);
  });
}

/**
 * A denial by the table names its subject: `capability_supported:tools`. Such denials are one
 * change, not twenty: their subjects are collected beside them.
 */
function folded(outcome: Outcome): Outcome {
  return { ...outcome, denial: withoutSubject(outcome.denial) };
}

function withoutSubject(denial: Outcome["denial"]): Outcome["denial"] {
  return denial && { ...denial, constraint: denial.constraint.split(":")[0] ?? "" };
}

/** By which preference a caller excludes all that is left does not matter. */
function keyOf(denial: Outcome["denial"]) {
  return denial?.policy === "preferences" ? { ...denial, constraint: "" } : withoutSubject(denial);
}

/** `tools` of `capability_supported:tools`; of either side. */
function subjectsOf({ base, head }: OutcomePair): readonly string[] {
  return [base, head].flatMap(({ denial }) => denial?.constraint.split(":").slice(1) ?? []);
}

/** One pair covers very many classes. */
const keys = new WeakMap<OutcomePair, string>();

/**
 * Parts that were added to a group: thousands of classes have the same members, the same pair and
 * the same taken values.
 */
const added = new WeakMap<GroupTally, WeakSet<object>>();

/** True once for each object. */
function newTo(group: GroupTally): (part: object) => boolean {
  const seen = remembered(added, group, () => new WeakSet());
  return (part) => {
    if (seen.has(part)) return false;
    seen.add(part);
    return true;
  };
}

/** @param size requests of one member. */
function addToGroup(
  groups: GroupTallies,
  pair: OutcomePair,
  sample: SampleRequest,
  members: readonly Member[],
  size: bigint,
  order: Order,
  { common, valuesByDimension }: ClassDetails,
) {
  const group = remembered(groups, groupKey(pair), (): GroupTally => ({
    kinds: pair.kinds,
    base: folded(pair.base),
    head: folded(pair.head),
    members: new Map(),
    operations: new Set(),
    common,
    valuesByDimension: new Map(),
    plain: new Map(),
    classes: 0,
    shapes: 0n,
    example: sample,
    order,
  }));
  const isNew = newTo(group);
  if (isNew(members)) {
    for (const { workspace, model } of members) addAll(group.members, workspace, [model]);
  }
  group.operations.add(sample.operation);
  group.common = inCommon(group.common, common);
  for (const part of valuesByDimension)
    if (isNew(part))
      for (const [name, values] of part) addAll(group.valuesByDimension, name, values);
  if (isNew(pair)) addAll(group.valuesByDimension, DENIED_FOR, subjectsOf(pair));
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

function mergeGroups(into: GroupTallies, from: GroupTallies) {
  for (const [key, group] of from) {
    const existing = into.get(key);
    if (existing === undefined) {
      into.set(key, group);
      continue;
    }
    for (const [workspace, routes] of group.members) addAll(existing.members, workspace, routes);
    for (const operation of group.operations) existing.operations.add(operation);
    existing.common = inCommon(existing.common, group.common);
    for (const [name, values] of group.valuesByDimension)
      addAll(existing.valuesByDimension, name, values);
    for (const [member, found] of group.plain)
      for (const [text, conditions] of found) addPlain(existing, member, text, conditions);
    existing.classes += group.classes;
    existing.shapes += group.shapes;
    const { base, head, example, order } = group;
    if (order < existing.order) Object.assign(existing, { base, head, example, order });
  }
}

function inCommon(left: GroupTally["common"], right: GroupTally["common"]): GroupTally["common"] {
  const shared = (list: readonly string[], other: readonly string[]) =>
    list.every((kind) => other.includes(kind)) ? list : list.filter((kind) => other.includes(kind));
  return {
    needs: shared(left.needs, right.needs),
    features: shared(left.features, right.features),
    labels: shared(left.labels, right.labels),
  };
}

function addAll(sets: Map<string, Set<string>>, name: string, values: Iterable<string>) {
  const set = remembered(sets, name, () => new Set<string>());
  for (const value of values) set.add(value);
}

/** A provider in a region under one host: the end of a data path. */
interface ReachedHost {
  readonly provider: string;
  readonly region: string;
  readonly host: string;
}

/** The first request that takes a path. */
interface PathExample {
  readonly example: SampleRequest;
  readonly order: Order;
}

/**
 * A data path (docs/simulate.md#what-the-report-says): the requests of a workspace and an operation
 * that reach a destination, by route.
 */
export interface PathTally extends ReachedHost {
  readonly workspace: string;
  readonly operation: string;
  readonly routes: Map<string, PathExample>;
}

export type PathTallies = Map<string, PathTally>;

/** The endpoints of one job, until its members are written out. */
export function jobPaths(destinations: Destinations) {
  const paths = new Map<string, ReachedHost & PathExample>();
  return {
    add({ plan }: Outcome, sample: SampleRequest, order: Order): void {
      for (const { endpoint, provider, region } of plan) {
        const host = destinations.get(endpoint)?.host ?? "";
        const key = `${provider}\n${region}\n${host}`;
        if (!paths.has(key)) paths.set(key, { provider, region, host, example: sample, order });
      }
    },
    /** Every member of the job's pair class has the same paths. */
    writeTo(tallies: PathTallies, members: readonly Member[], operation: string): void {
      for (const { provider, region, host, example, order } of paths.values()) {
        for (const { workspace, model } of members) {
          const routes = new Map([[model, { example: { ...example, workspace, model }, order }]]);
          addPath(tallies, { workspace, operation, provider, region, host, routes });
        }
      }
    },
  };
}

function mergePaths(into: PathTallies, from: PathTallies) {
  for (const path of from.values()) addPath(into, path);
}

/** The first example of all routes of a path. */
export function firstExample({ routes }: Pick<PathTally, "routes">): SampleRequest {
  // Routes of one job have the same order; which of them was added first depends on the threads.
  const [first] = [...routes].toSorted(
    ([left, one], [right, other]) => one.order - other.order || (left < right ? -1 : 1),
  );
  if (first === undefined) throw new Error("simulation: a data path has no route");
  return first[1].example;
}

function addPath(paths: PathTallies, path: PathTally) {
  const key = [path.workspace, path.operation, path.provider, path.region, path.host].join("\n");
  const existing = paths.get(key);
  if (existing === undefined) {
    paths.set(key, path);
    return;
  }
  for (const [route, found] of path.routes) {
    const current = existing.routes.get(route);
    if (current === undefined || found.order < current.order) existing.routes.set(route, found);
  }
}

/** The comparison of one view so far. Plain data, merged in any order with the same result. */
export type ComparisonTally = ReturnType<typeof emptyComparison>;

export function emptyComparison() {
  return {
    changedClasses: 0,
    changedShapes: 0n,
    kinds: new Map<ChangeKind, { readonly classes: number; readonly shapes: bigint }>(),
    groups: new Map<string, GroupTally>(),
    basePaths: new Map<string, PathTally>(),
    headPaths: new Map<string, PathTally>(),
    /** Whether some request reaches a new destination, or no longer reaches one. */
    gains: false,
    loses: false,
  };
}

export function mergeComparison(into: ComparisonTally, from: ComparisonTally): void {
  into.changedClasses += from.changedClasses;
  into.changedShapes += from.changedShapes;
  for (const [kind, { classes, shapes }] of from.kinds) countChange(into, kind, classes, shapes);
  mergeGroups(into.groups, from.groups);
  mergePaths(into.basePaths, from.basePaths);
  mergePaths(into.headPaths, from.headPaths);
  into.gains ||= from.gains;
  into.loses ||= from.loses;
}

/** Adds the classes of one job to a tally. */
export function jobComparison(
  tally: ComparisonTally,
  destinations: OfSides<Destinations>,
  members: readonly Member[],
  groupedMembers: readonly NamedMembers[],
) {
  const paths = { base: jobPaths(destinations.base), head: jobPaths(destinations.head) };
  const plainRequests = new Map<NamedMembers, Map<string, PlainRequests>>();
  return {
    /** @param size requests of one member. */
    add(
      pair: OutcomePair,
      sample: SampleRequest,
      size: bigint,
      order: Order,
      details: () => ClassDetails,
    ): void {
      paths.base.add(pair.base, sample, order);
      paths.head.add(pair.head, sample, order);
      if (pair.kinds.length === 0) return;
      const shapes = size * BigInt(members.length);
      tally.changedClasses += 1;
      tally.changedShapes += shapes;
      for (const kind of pair.kinds) countChange(tally, kind, 1, shapes);
      const before = reached(pair.base, destinations.base);
      const after = reached(pair.head, destinations.head);
      // A caller that takes one candidate by its own order exchanges it for another one: that is
      // neither more nor less.
      const isExchanged = choosesOne(sample.preferences) && before.size > 0 && after.size > 0;
      tally.gains ||= !isExchanged && !after.isSubsetOf(before);
      tally.loses ||= !isExchanged && !before.isSubsetOf(after);
      const found = details();
      for (const each of groupedMembers) {
        const [member] = each.members;
        const same = each.withNames(pair);
        addToGroup(tally.groups, same, { ...sample, ...member }, each.members, size, order, found);
        if (found.plain === null) continue;
        const plain = remembered(plainRequests, each, () => new Map<string, PlainRequests>());
        plain.set(groupKey(same), addedPlain(found.plain, plain.get(groupKey(same))));
      }
    },
    end(operation: string): void {
      paths.base.writeTo(tally.basePaths, members, operation);
      paths.head.writeTo(tally.headPaths, members, operation);
      for (const [{ members: alike }, groups] of plainRequests)
        for (const [key, requests] of groups) {
          const group = tally.groups.get(key);
          if (group === undefined) continue;
          const conditions = plainConditions(requests);
          const text = JSON.stringify(conditions);
          for (const { workspace, model } of alike)
            addPlain(group, `${workspace}\n${model}`, text, conditions);
        }
    },
  };
}

function addPlain({ plain }: GroupTally, member: string, text: string, found: PlainConditions) {
  remembered(plain, member, () => new Map<string, PlainConditions>()).set(text, found);
}

function countChange(tally: ComparisonTally, kind: ChangeKind, classes: number, shapes: bigint) {
  const existing = tally.kinds.get(kind);
  tally.kinds.set(kind, {
    classes: (existing?.classes ?? 0) + classes,
    shapes: (existing?.shapes ?? 0n) + shapes,
  });
}

/** The reached destinations, independent of their ids. */
function reached({ plan }: Outcome, destinations: Destinations): ReadonlySet<string> {
  return new Set(plan.map(({ endpoint }) => destinations.get(endpoint)?.identity ?? endpoint));
}

/** Which plain requests of a workspace and route are in a group. */
interface PlainConditions {
  /** Whether one of the conditions suffices; otherwise all of them have to be met. */
  readonly any: boolean;
  /** `null` where no such list describes them. */
  readonly conditions:
    | readonly { readonly dimension: string; readonly values: readonly string[] }[]
    | null;
}

/** The dimension of labels that a key does not have. */
const OTHER_LABELS = "without_key_labels";

function addedPlain(one: PlainRequests, other: PlainRequests | undefined): PlainRequests {
  if (other === undefined) return one;
  const counts = one.counts.map((perValue, level) =>
    perValue.map((count, value) => count + (other.counts[level]?.[value] ?? 0n)),
  );
  return { ...one, counts };
}

/**
 * "environment test and workload batch", "environment test or workload batch": values of each
 * level, by how many requests have them.
 */
function plainConditions({ levels, counts }: PlainRequests): PlainConditions {
  const product = (sizes: readonly number[]) => sizes.reduce((all, size) => all * BigInt(size), 1n);
  const all = product(counts.map(({ length }) => length));
  const size = (counts[0] ?? []).reduce((sum, count) => sum + count, 0n);
  const amounts = (of: readonly (readonly boolean[])[], isMet: boolean) =>
    product(of.map((perValue) => perValue.filter((one) => one === isMet).length));
  const met = counts.map((perValue) => perValue.map((count) => count > 0n));
  if (size === amounts(met, true)) return { any: false, conditions: conditionsOf(levels, met) };
  const whole = counts.map((perValue) =>
    perValue.map((count) => count === all / BigInt(perValue.length)),
  );
  const excluded = amounts(whole, false);
  return { any: true, conditions: all - size === excluded ? conditionsOf(levels, whole) : null };
}

/** Without levels of which every value is chosen, or none. */
function conditionsOf(
  levels: PlainRequests["levels"],
  selection: readonly (readonly boolean[])[],
): NonNullable<PlainConditions["conditions"]> {
  const byDimension = Map.groupBy(
    levels.flatMap(({ name, values }, level) => {
      const selected = values.filter((_, value) => selection[level]?.[value] === true);
      if (selected.length === 0 || selected.length === values.length) return [];
      // A label is absent or present.
      return name === KEY_LABELS && selected[0] === ""
        ? [{ name: OTHER_LABELS, selected: values.slice(1) }]
        : [{ name, selected }];
    }),
    ({ name }) => name,
  );
  return [...byDimension].map(([dimension, same]) => ({
    dimension,
    values: same.flatMap(({ selected }) => selected).toSorted(),
  }));
}

/** Members of a class whose routes name the same endpoints. */
interface NamedMembers {
  readonly members: readonly Member[];
  /**
   * A pair of outcomes of the class's first member with the names that these members have for its
   * endpoints.
   */
  readonly withNames: (pair: OutcomePair) => OutcomePair;
}

/**
 * The members of a class, together where a report can show the same endpoints for them. The routes
 * of a class have alike endpoints at the same positions, under any name.
 */
export function namedMembers(
  members: readonly Member[],
  tables: OfSides<RoutingTable>,
): readonly NamedMembers[] {
  const found = new Map<string, { readonly names: Names; readonly members: Member[] }>();
  for (const member of members) {
    const names = namesOf(member, tables);
    remembered(found, JSON.stringify(names), () => ({ names, members: [] })).members.push(member);
  }
  const [first, ...others] = found.values();
  if (first === undefined) return [];
  return [
    { members: first.members, withNames: (pair) => pair },
    ...others.map(({ names, members: alike }) => ({
      members: alike,
      withNames: renaming(first.names, names),
    })),
  ];
}

/** Of each side the names of a route's endpoints and of their models, in table order. */
type Names = OfSides<readonly Name[]>;

interface Name {
  readonly endpoint: string;
  readonly model: string;
}

function namesOf(member: Member, { base, head }: OfSides<RoutingTable>): Names {
  const of = (table: RoutingTable): readonly Name[] => {
    const route = routeOf(table, member);
    if (route === null) return [];
    return routeCandidates(table, route).map(({ endpoint: { id, model } }) => ({
      endpoint: id,
      model,
    }));
  };
  return { base: of(base), head: of(head) };
}

/** The same pair gives the same object, which groups are found by. */
function renaming(from: Names, to: Names): NamedMembers["withNames"] {
  const cache = new WeakMap<OutcomePair, OutcomePair>();
  return (pair) => {
    return remembered(cache, pair, () => ({
      ...pair,
      base: renamed(pair.base, from.base, to.base),
      head: renamed(pair.head, from.head, to.head),
    }));
  };
}

function renamed(outcome: Outcome, from: readonly Name[], to: readonly Name[]): Outcome {
  const plan = outcome.plan.map((candidate) => {
    const position = from.findIndex(({ endpoint }) => endpoint === candidate.endpoint);
    return { ...candidate, ...to[position] };
  });
  return { ...outcome, plan };
}
