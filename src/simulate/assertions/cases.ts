import type { Outcome, OutcomePair, SampleRequest } from "../sample-request.ts";
import type { Assertion } from "./assertion.ts";
import type { CaseExpectation } from "./file/schema.ts";
import { formatDenial, outcomeViolation } from "./judge.ts";
import { VIEW_TITLES } from "./run.ts";

/** Decides one request on both sides, from both views: the engine's part of a case. */
type DecideSample = (sample: SampleRequest) => {
  readonly declared: OutcomePair;
  readonly promoted: OutcomePair;
};

/** One case of one assertion. Plain data. */
export interface CaseResult {
  /** Id of the assertion. */
  readonly assertion: string;
  readonly sample: SampleRequest;
  /** What is not as expected; `null`: nothing. */
  readonly message: string | null;
}

/** Every case with its decision on head. */
export function judgeCases(assertions: readonly Assertion[], decide: DecideSample): readonly CaseResult[] {
  return assertions.flatMap((assertion) => {
    if (assertion.kind !== "cases") return [];
    const views = assertion.view === "both" ? (["declared", "promoted"] as const) : [assertion.view];
    return assertion.cases.map(({ name, sample, expect }) => {
      const decided = decide(sample);
      const messages = views.flatMap((view) => {
        const violation = caseViolation(decided[view].head, expect);
        return violation === null ? [] : [`${name}: ${VIEW_TITLES[view]}, ${violation}`];
      });
      return { assertion: assertion.id, sample, message: messages[0] ?? null };
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
