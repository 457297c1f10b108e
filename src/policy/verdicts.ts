import type {
  ConstraintContract,
  ConstraintEffect,
  PolicyContract,
  PolicyIdentity,
  PolicyObligation,
  PolicyVerdict,
  Verdict,
} from "../canon/policy.ts";

/** The reason of a constraint that could not be evaluated; no policy may declare it. */
const INDETERMINATE_REASON = "EVALUATION_INDETERMINATE";

/**
 * The reason of a constraint whose evaluation would have taken more than it may; no policy may
 * declare it.
 */
const TIMEOUT_REASON = "POLICY_TIMEOUT";

/**
 * Replaces the document of such an evaluation: like any failed one it denies, with its own reason.
 */
export const TIMED_OUT = Symbol("timed out");

/**
 * What a unit's entrypoint gives: for each name a list, empty where the rule is undefined,
 * otherwise with its value.
 */
interface UnitDocument {
  readonly pass: object;
  readonly reason: object;
}

/**
 * Derives a verdict for every declared constraint from the `pass` rules of a policy
 * (docs/policies.md#a-policy). No output of a policy can add a constraint, a reason or a candidate:
 * an output of another form is indeterminate, which denies.
 *
 * @param value a unit's document, or anything else where the evaluation failed.
 * @param candidates ids of the candidates, in plan order.
 */
export function deriveVerdicts(
  policy: PolicyIdentity,
  contract: PolicyContract,
  value: unknown,
  candidates: readonly string[],
): readonly PolicyVerdict[] {
  const document = isUnitDocument(value) ? value : null;
  return contract.constraints.map((constraint) => {
    const { name, effect } = constraint;
    const { verdict, failing } = judge(
      effect,
      document === null ? UNKNOWN : single(document.pass, name),
      candidates,
    );
    return {
      policy,
      constraint: name,
      effect,
      verdict,
      reason:
        value === TIMED_OUT ? TIMEOUT_REASON : reasonFor(constraint, verdict, failing, document),
      failing,
    };
  });
}

/**
 * The obligations that a policy has not waived. Only `true` waives: an evaluation that failed, a
 * rule that is undefined and a value of any other type leave the obligation in force.
 *
 * @param value a unit's document, or anything else where the evaluation failed.
 */
export function deriveObligations(
  policy: PolicyIdentity,
  { obligations }: PolicyContract,
  value: unknown,
): readonly PolicyObligation[] {
  const waivers = isUnitDocument(value) ? own(value, "waive") : undefined;
  return obligations
    .filter(
      ({ name }) =>
        typeof waivers !== "object" || waivers === null || single(waivers, name) !== true,
    )
    .map((obligation) => ({ ...obligation, policy }));
}

interface Judgement {
  readonly verdict: Verdict;
  readonly failing: readonly string[];
}

/**
 * The value of a rule whose policy could not be evaluated at all. Unlike undefined, it matches no
 * effect.
 */
const UNKNOWN = Symbol("unknown");

/**
 * A gate is undefined whenever its condition does not hold, so that is a fail. A set is always
 * defined, empty where nothing passes, so an undefined one is indeterminate like a value of the
 * wrong type.
 */
function judge(effect: ConstraintEffect, value: unknown, candidates: readonly string[]): Judgement {
  if (effect === "gate") {
    if (value === true) return { verdict: "pass", failing: [] };
    return {
      verdict: value === undefined || value === false ? "fail" : "indeterminate",
      failing: [],
    };
  }
  if (!Array.isArray(value)) return { verdict: "indeterminate", failing: candidates };
  const passing = new Set<unknown>(value);
  for (const id of passing) {
    if (typeof id !== "string" || !candidates.includes(id))
      return { verdict: "indeterminate", failing: candidates };
  }
  const failing = candidates.filter((id) => !passing.has(id));
  return { verdict: failing.length === 0 ? "pass" : "fail", failing };
}

function reasonFor(
  constraint: ConstraintContract,
  verdict: Verdict,
  failing: readonly string[],
  document: UnitDocument | null,
): string | null {
  switch (verdict) {
    case "pass":
      return null;
    case "indeterminate":
      return INDETERMINATE_REASON;
    case "fail":
      return declaredReason(
        constraint,
        document === null ? undefined : single(document.reason, constraint.name),
        failing,
      );
  }
}

/**
 * The policy's reason, or that of the first failing candidate which has one; from the declared list
 * or not at all.
 */
function declaredReason(
  { reasons }: ConstraintContract,
  value: unknown,
  failing: readonly string[],
): string {
  const declared = (reason: unknown): string | undefined => reasons.find((one) => one === reason);
  if (typeof value === "string") return declared(value) ?? reasons[0];
  if (typeof value === "object" && value !== null) {
    for (const id of failing) {
      const reason = declared(own(value, id));
      if (reason !== undefined) return reason;
    }
  }
  return reasons[0];
}

function isUnitDocument(value: unknown): value is UnitDocument {
  return (
    typeof value === "object" &&
    value !== null &&
    "pass" in value &&
    typeof value.pass === "object" &&
    value.pass !== null &&
    "reason" in value &&
    typeof value.reason === "object" &&
    value.reason !== null
  );
}

/** The value in the list of one under the name; `undefined` for an empty list or none. */
function single(lists: object, name: string): unknown {
  const list = own(lists, name);
  return Array.isArray(list) && list.length === 1 ? list[0] : undefined;
}

function own(value: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}
