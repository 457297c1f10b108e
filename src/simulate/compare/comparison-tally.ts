import type { ChangeKind } from "../change-kind.ts";
import {
  choosesOne,
  type Member,
  type Outcome,
  type OutcomePair,
  type SampleRequest,
  type OfSides,
} from "../sample-request.ts";
import type { ClassDetails } from "../space/job-space.ts";
import type { Destinations } from "./change-kinds.ts";
import { addToGroup, mergeGroups, type GroupTallies, type Order } from "./group-tally.ts";
import type { NamedMembers } from "./member-names.ts";
import { JobPaths, mergePaths, type PathTallies } from "./path-tally.ts";

/** What one view has come to so far. Plain data, merged in any order with the same result. */
export interface ComparisonTally {
  changedClasses: number;
  changedShapes: bigint;
  readonly kinds: Map<ChangeKind, { classes: number; shapes: bigint }>;
  readonly groups: GroupTallies;
  readonly basePaths: PathTallies;
  readonly headPaths: PathTallies;
  /** Whether some request reaches a new destination, or no longer reaches one. */
  gains: boolean;
  loses: boolean;
}

export function emptyComparison(): ComparisonTally {
  return {
    changedClasses: 0,
    changedShapes: 0n,
    kinds: new Map(),
    groups: new Map(),
    basePaths: new Map(),
    headPaths: new Map(),
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
export class JobComparison {
  readonly #tally: ComparisonTally;
  readonly #destinations: OfSides<Destinations>;
  readonly #members: readonly Member[];
  readonly #base: JobPaths;
  readonly #head: JobPaths;
  readonly #named: readonly NamedMembers[];

  constructor(
    tally: ComparisonTally,
    destinations: OfSides<Destinations>,
    members: readonly Member[],
    named: readonly NamedMembers[],
  ) {
    this.#tally = tally;
    this.#destinations = destinations;
    this.#members = members;
    this.#base = new JobPaths(destinations.base);
    this.#head = new JobPaths(destinations.head);
    this.#named = named;
  }

  /** @param size requests of one member. */
  add(
    pair: OutcomePair,
    sample: SampleRequest,
    size: bigint,
    order: Order,
    details: () => ClassDetails,
  ): void {
    this.#base.add(pair.base, sample, order);
    this.#head.add(pair.head, sample, order);
    if (pair.kinds.length === 0) return;
    const tally = this.#tally;
    const shapes = size * BigInt(this.#members.length);
    tally.changedClasses += 1;
    tally.changedShapes += shapes;
    for (const kind of pair.kinds) countChange(tally, kind, 1, shapes);
    const [before, after] = [
      reached(pair.base, this.#destinations.base),
      reached(pair.head, this.#destinations.head),
    ];
    // A caller that takes one candidate by its own order exchanges it for another one: that is
    // neither more nor less.
    const isExchanged = choosesOne(sample.preferences) && before.size > 0 && after.size > 0;
    tally.gains ||= !isExchanged && !after.isSubsetOf(before);
    tally.loses ||= !isExchanged && !before.isSubsetOf(after);
    for (const { members, named } of this.#named) {
      const [own] = members;
      addToGroup(tally.groups, named(pair), { ...sample, ...own }, members, size, order, details());
    }
  }

  end(operation: string): void {
    this.#base.writeTo(this.#tally.basePaths, this.#members, operation);
    this.#head.writeTo(this.#tally.headPaths, this.#members, operation);
  }
}

function countChange(
  tally: ComparisonTally,
  kind: ChangeKind,
  classes: number,
  shapes: bigint,
): void {
  const known = tally.kinds.get(kind);
  tally.kinds.set(kind, {
    classes: (known?.classes ?? 0) + classes,
    shapes: (known?.shapes ?? 0n) + shapes,
  });
}

/** The reached destinations, independent of their ids. */
function reached({ plan }: Outcome, destinations: Destinations): ReadonlySet<string> {
  return new Set(plan.map(({ endpoint }) => destinations.get(endpoint)?.identity ?? endpoint));
}
