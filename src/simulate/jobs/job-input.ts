import { type Assertion, comparesSides } from "../assertions/assertion.ts";
import { distinctionsOf } from "../assertions/distinctions.ts";
import type { RoutingTable } from "../../canon/table.ts";
import { isOwnDoing, meaningOf } from "../assertions/run.ts";
import { concernTest, selectionAspects, type SelectionAspects } from "../assertions/select.ts";
import { planSpace, type AssertionDistinctions, type PlannedSpace } from "../space/make-space.ts";
import type { CompiledSides } from "../side-contents.ts";

/** Everything that a thread needs to enumerate and decide jobs. Plain data. */
export interface JobInput extends CompiledSides {
  /**
   * Policies of head that are taken for promoted, and none of base's; `null`: every candidate of
   * both sides.
   */
  readonly promoted: readonly string[] | null;
  readonly assertions: readonly Assertion[];
  /** When deciding ends, finished or not, milliseconds since the epoch. */
  readonly deadline: number;
}

export function planJobs({
  base,
  head,
  assertions,
}: Omit<JobInput, "promoted" | "deadline">): PlannedSpace {
  return planSpace(base, head, assertionDistinctions(assertions, { base, head }));
}

/** The distinctions of each assertion; cases have none. */
export function assertionDistinctions(
  assertions: readonly Assertion[],
  { base, head }: CompiledSides,
): readonly AssertionDistinctions[] {
  const tables = { base: base.table, head: head.table };
  return assertions.map((assertion) => ({
    ...distinctionsOf([assertion], tables),
    concerns: concernTest(assertion, tables),
    means: assertion.kind === "cases" ? () => false : meaningOf(assertion, tables),
    aspects: aspectsOf(assertion, head.table),
    id: assertion.id,
    comparesSides: comparesSides(assertion.kind),
    comparesReach: assertion.kind === "no_new_access",
  }));
}

function aspectsOf(assertion: Assertion, table: RoutingTable): SelectionAspects {
  if (assertion.kind === "cases")
    return { ofRequirements: () => "not meant", ofPreferences: () => "not meant" };
  const { ofRequirements, ofPreferences } = selectionAspects(assertion, table);
  return {
    ofRequirements,
    ofPreferences: (sample) =>
      isOwnDoing(assertion, sample) ? "not meant" : ofPreferences(sample),
  };
}
