import { KNOWN_DIFFERENCES } from "./known-differences.ts";
import type { OutcomeKind } from "./judge.ts";
import type { CaseResult } from "./run.ts";

/** A run, measured against what is known. */
export interface Assessment {
  readonly counts: Readonly<Record<OutcomeKind, number>>;
  /**
   * Built-ins that cases need and policies do not have, with the number of cases; most needed
   * first.
   */
  readonly refused: readonly (readonly [name: string, cases: number])[];
  readonly known: readonly (CaseResult & { readonly reason: string })[];
  /** Wrong or not compiling, and not in the list of known differences. */
  readonly unexpected: readonly CaseResult[];
  /** Notes in that list whose cases all came out right. */
  readonly outdated: readonly string[];
  readonly notExpressible: readonly CaseResult[];
}

/** @param known note → reason. */
export function assess(
  results: readonly CaseResult[],
  known: Readonly<Record<string, string>> = KNOWN_DIFFERENCES,
): Assessment {
  const counts = { right: 0, wrong: 0, refused: 0, not_compiling: 0, not_expressible: 0 };
  for (const { outcome } of results) counts[outcome.kind] += 1;
  const different = results.filter(
    ({ outcome }) => outcome.kind === "wrong" || outcome.kind === "not_compiling",
  );
  const differing = new Set(different.map(({ testCase }) => testCase.note));
  const seen = new Set(results.map(({ testCase }) => testCase.note));
  return {
    counts,
    refused: refusedOf(results),
    known: different.flatMap((result) => {
      const { note } = result.testCase;
      const reason = Object.hasOwn(known, note) ? known[note] : undefined;
      return reason === undefined ? [] : [{ ...result, reason }];
    }),
    unexpected: different.filter(({ testCase }) => !Object.hasOwn(known, testCase.note)),
    outdated: Object.keys(known).filter((note) => seen.has(note) && !differing.has(note)),
    notExpressible: results.filter(({ outcome }) => outcome.kind === "not_expressible"),
  };
}

/** Whether nothing happened that the project does not know about. */
export function isAsKnown({ unexpected, outdated }: Assessment): boolean {
  return unexpected.length === 0 && outdated.length === 0;
}

function refusedOf(results: readonly CaseResult[]): readonly (readonly [string, number])[] {
  const cases = new Map<string, number>();
  for (const { outcome } of results) {
    if (outcome.kind !== "refused") continue;
    for (const name of outcome.builtins) cases.set(name, (cases.get(name) ?? 0) + 1);
  }
  return [...cases].toSorted(
    ([leftName, left], [rightName, right]) => right - left || (leftName < rightName ? -1 : 1),
  );
}
