import type { Outcome, OutcomePair, RequestPoint } from "../point.ts";
import type { Assertion, CaseExpectation } from "./assertion.ts";
import { formatDenial, outcomeViolation } from "./judge.ts";
import { STANDPOINT_WORDS } from "./run.ts";

/** Decides one request on both sides, from both standpoints: the engine's part of a point case. */
export type DecidePoint = (point: RequestPoint) => { readonly declared: OutcomePair; readonly promoted: OutcomePair };

/** One case of one assertion. Plain data. */
export interface CaseResult {
  /** Id of the assertion. */
  readonly assertion: string;
  readonly point: RequestPoint;
  /** What is not as expected; `null`: nothing. */
  readonly message: string | null;
}

/** The requests of all cases, in the order of the file. */
export function casePoints(assertions: readonly Assertion[]): readonly RequestPoint[] {
  return assertions.flatMap((assertion) =>
    assertion.kind === "cases" ? assertion.cases.map(({ point }) => point) : [],
  );
}

/** Every case with its decision on head. */
export function judgeCases(assertions: readonly Assertion[], decide: DecidePoint): readonly CaseResult[] {
  return assertions.flatMap((assertion) => {
    if (assertion.kind !== "cases") return [];
    const standpoints = assertion.standpoint === "both" ? (["declared", "promoted"] as const) : [assertion.standpoint];
    return assertion.cases.map(({ name, point, expect }) => {
      const decided = decide(point);
      const messages = standpoints.flatMap((standpoint) => {
        const violation = caseViolation(decided[standpoint].head, expect);
        return violation === null ? [] : [`${name}: ${STANDPOINT_WORDS[standpoint]}, ${violation}`];
      });
      return { assertion: assertion.id, point, message: messages[0] ?? null };
    });
  });
}

function caseViolation(outcome: Outcome, expect: CaseExpectation): string | null {
  const wrong = outcomeViolation(outcome, expect);
  if (wrong !== null) return wrong;
  const plan = outcome.plan.map(({ endpoint }) => endpoint);
  const what = outcome.denial === null ? `the plan is ${plan.join(", ")}` : `denied by ${formatDenial(outcome.denial)}`;
  const { plan: expected, primary, contains = [], lacks = [] } = expect;
  const same = expected?.length === plan.length && expected.every((endpoint, index) => endpoint === plan[index]);
  if (expected !== undefined && !same) return `${what}, expected ${expected.join(", ") || "none"}`;
  if (primary !== undefined && plan[0] !== primary) return `${what}, expected ${primary} first`;
  const missing = contains.find((endpoint) => !plan.includes(endpoint));
  if (missing !== undefined) return `${what}, expected ${missing} in it`;
  const unwanted = lacks.find((endpoint) => plan.includes(endpoint));
  return unwanted === undefined ? null : `${what}, expected no ${unwanted}`;
}
