import type { RoutingTable } from "../../canon/table.ts";
import {
  isNarrowed,
  type ClassComparison,
  type OutcomePair,
  type SampleRequest,
  type View,
  VIEWS,
  type OfSides,
} from "../sample-request.ts";
import { type Assertion, comparesSides } from "./assertion.ts";
import { type Judge, judgeOf } from "./judge.ts";
import { requestTest } from "./select.ts";

/** The count of one assertion so far. */
export interface AssertionCount {
  readonly id: string;
  /** Classes that it applies to. */
  readonly classes: number;
  readonly violations: number;
  /** The first violation in the order of the classes. */
  readonly first: { readonly sample: SampleRequest; readonly message: string } | null;
}

/** One for each assertion that is held against classes, in the order of the file. Plain data. */
export type AssertionTally = readonly AssertionCount[];

interface Running {
  readonly assertion: Assertion;
  readonly means: (sample: SampleRequest) => boolean;
  readonly judge: Judge;
  classes: number;
  violations: number;
  first: AssertionCount["first"];
}

/** Checks every assertion against every class. `judgeCases` checks the cases. */
export class AssertionRun {
  readonly #running: readonly Running[];

  /** @param tables those that the classes are decided with. */
  constructor(assertions: readonly Assertion[], tables: OfSides<RoutingTable>) {
    this.#running = assertions.flatMap((assertion) => {
      if (assertion.kind === "cases") return [];
      const means = meaningOf(assertion, tables);
      return [
        {
          assertion,
          means,
          judge: judgeOf(assertion, tables),
          classes: 0,
          violations: 0,
          first: null,
        },
      ];
    });
  }

  visit(comparison: ClassComparison): void {
    for (const running of this.#running) {
      if (running.means(comparison.sample) && !isOwnDoing(running.assertion, comparison.sample))
        judgeClass(running, comparison);
    }
  }

  snapshot(): AssertionTally {
    return this.#running.map(({ assertion, classes, violations, first }) => ({
      id: assertion.id,
      classes,
      violations,
      first,
    }));
  }
}

/** Whether an assertion means a request. */
export function meaningOf(
  assertion: Exclude<Assertion, { readonly kind: "cases" }>,
  tables: OfSides<RoutingTable>,
): (sample: SampleRequest) => boolean {
  return requestTest(
    assertion,
    tables,
    comparesSides(assertion.kind) ? ["base", "head"] : ["head"],
  );
}

/** A caller that excludes endpoints may have fewer left, or none. */
export function isOwnDoing(
  { kind }: Pick<Assertion, "kind">,
  { preferences }: SampleRequest,
): boolean {
  return kind === "always_routable" && isNarrowed(preferences);
}

/** A class counts once, whether one or both views violate the assertion. */
function judgeClass(running: Running, comparison: ClassComparison): void {
  const { assertion, judge } = running;
  const { sample, reaching } = comparison;
  let met = false;
  let message: string | null = null;
  for (const view of VIEWS) {
    if (assertion.view !== "both" && assertion.view !== view) continue;
    const pair = comparison[view];
    const own = judge(pair);
    // A name that base lacks, or the caller's own order, hides a part of what base lets the caller
    // reach.
    const isAll = own.violation === null || reaching === null || assertion.kind !== "no_new_access";
    const judgement = isAll ? own : judge(withReach(pair, reaching[view]));
    met ||= judgement.met;
    if (judgement.violation !== null) message ??= `${VIEW_TITLES[view]}, ${judgement.violation}`;
  }
  if (met) running.classes += 1;
  if (message === null) return;
  running.violations += 1;
  running.first ??= { sample, message };
}

/**
 * With everything that base lets the caller reach: by the request itself, and by the one that it is
 * compared with.
 */
function withReach(pair: OutcomePair, { base }: OutcomePair): OutcomePair {
  return { ...pair, base: { ...pair.base, plan: [...pair.base.plan, ...base.plan] } };
}

/** The view, as messages name it. */
export const VIEW_TITLES: Readonly<Record<View, string>> = {
  declared: "as declared",
  promoted: "as if promoted",
};

/**
 * The tally of all classes, made of those of consecutive parts.
 *
 * @param tallies in the order of the parts, so that the first violation is the same however the
 * classes were shared out.
 */
export function mergeTallies(tallies: readonly AssertionTally[]): AssertionTally {
  const [first = [], ...others] = tallies;
  return first.map((count, index) =>
    others.reduce((sum, tally) => addCounts(sum, tally[index]), count),
  );
}

function addCounts(sum: AssertionCount, next: AssertionCount | undefined): AssertionCount {
  if (next?.id !== sum.id)
    throw new Error("mergeTallies: the tallies are not of the same assertions");
  return {
    id: sum.id,
    classes: sum.classes + next.classes,
    violations: sum.violations + next.violations,
    first: sum.first ?? next.first,
  };
}
