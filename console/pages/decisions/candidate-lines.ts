import type { Decision, DecisionCall, DecisionExplanation } from "../../api/types.ts";
import { endpointsOf, type RouteEndpoint } from "../routes/route-facts.ts";

type Explanation = NonNullable<DecisionExplanation["explanation"]>;

/** True if the explanation of now has the result that was decided then. */
export const isExact = ({ same_table, same_policies, same_result }: DecisionExplanation): boolean =>
  same_table && same_policies === true && same_result === true;

/** A constraint that left a candidate out. */
export interface Verdict {
  readonly policy: string;
  readonly constraint: string;
  readonly reason: string | null;
}

/** One row of the table of candidates. */
export interface CandidateLine {
  readonly key: string;
  readonly endpoint: string;
  /** Position in the plan, from 1; `null` where it has none. */
  readonly rank: number | null;
  readonly call: DecisionCall | null;
  /** The endpoint in the explanation; `null` without one. */
  readonly facts: RouteEndpoint | null;
  /** Constraints that left it out; empty for a candidate of the plan. */
  readonly leftOutBy: readonly Verdict[];
}

/**
 * The calls in the order of trying, then what the plan had besides, then the candidates that were
 * passed over.
 */
export function candidateLines(
  { plan, calls }: Pick<Decision, "plan" | "calls">,
  explanation: Explanation | null,
): readonly CandidateLine[] {
  const facts = new Map(
    (explanation === null ? [] : endpointsOf(explanation)).map((each) => [each.id, each]),
  );
  const lineOf = (key: string, endpoint: string, call: DecisionCall | null): CandidateLine => {
    const at = plan.indexOf(endpoint);
    return {
      key,
      endpoint,
      rank: at < 0 ? null : at + 1,
      call,
      facts: facts.get(endpoint) ?? null,
      leftOutBy: at < 0 && call === null ? verdictsOf(explanation, endpoint) : [],
    };
  };
  const shown = new Set([...calls.map(({ endpoint }) => endpoint), ...plan]);
  const tried = new Set(calls.map(({ endpoint }) => endpoint));
  return [
    ...calls.map((call, at) => lineOf(`${at}`, call.endpoint, call)),
    ...plan
      .filter((endpoint) => !tried.has(endpoint))
      .map((endpoint) => lineOf(endpoint, endpoint, null)),
    ...[...facts.keys()]
      .filter((endpoint) => !shown.has(endpoint))
      .map((endpoint) => lineOf(endpoint, endpoint, null)),
  ];
}

const verdictsOf = (explanation: Explanation | null, endpoint: string): readonly Verdict[] =>
  failedIn(explanation?.candidates.find((each) => each.endpoint === endpoint)?.constraints ?? []);

/** Enforced constraints only: those in shadow exclude no candidate. */
const failedIn = (
  constraints: Explanation["candidates"][number]["constraints"],
): readonly Verdict[] =>
  constraints.filter(
    ({ slot, verdict }) =>
      slot === "enforced" && (verdict === "fail" || verdict === "indeterminate"),
  );

/**
 * The enforced constraints of policies that left something out, each once; those of the table and
 * of the caller have no text.
 */
export function failedRules({ constraints }: Explanation): readonly Verdict[] {
  const failed = failedIn(constraints).filter(({ policy }) => !isOfTable(policy));
  return [...new Map(failed.map((each) => [`${each.policy} ${each.constraint}`, each])).values()];
}

/** Whose constraints are those of the table and of the caller: they have no page and no text. */
const TABLE: ReadonlySet<string> = new Set(["approvals", "preferences"]);

export const isOfTable = (policy: string): boolean => TABLE.has(policy);
