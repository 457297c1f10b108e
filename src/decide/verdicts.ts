import type { Candidate, ConstraintTrace } from "../canon/decision.ts";
import type { Denial } from "../canon/error.ts";
import type { PolicyIdentity, PolicyVerdict } from "../canon/policy.ts";

/** What a set of verdicts does to a list of candidates. */
interface Applied {
  readonly candidates: readonly Candidate[];
  readonly denial: Denial | null;
}

/**
 * Filters first, all together; then gates and `require_all` over the remaining candidates. The
 * order of policies can therefore change which denial is named, and never whether there is one.
 * Every verdict but `pass` denies (docs/policies.md#a-policy).
 */
export function applyVerdicts(
  candidates: readonly Candidate[],
  verdicts: readonly PolicyVerdict[],
): Applied {
  let remaining = candidates;
  for (const verdict of verdicts) {
    if (verdict.effect === "filter" && verdict.verdict === "fail") {
      remaining = remaining.filter(({ endpoint }) => !verdict.failing.includes(endpoint.id));
    }
  }
  for (const verdict of verdicts) {
    if (closes(verdict, remaining))
      return { candidates: remaining, denial: denialOf(verdict, remaining) };
  }
  const first = verdicts.find(
    (verdict) => verdict.effect === "filter" && verdict.verdict === "fail",
  );
  if (remaining.length === 0 && first !== undefined) {
    return { candidates: remaining, denial: denialOf(first, candidates) };
  }
  return { candidates: remaining, denial: null };
}

function closes(verdict: PolicyVerdict, remaining: readonly Candidate[]): boolean {
  if (verdict.verdict === "pass") return false;
  if (verdict.verdict === "indeterminate") return true;
  if (verdict.effect === "gate") return true;
  if (verdict.effect === "filter") return false;
  return remaining.some(({ endpoint }) => verdict.failing.includes(endpoint.id));
}

function denialOf(verdict: PolicyVerdict, among: readonly Candidate[]): Denial {
  return {
    policy: verdict.policy.id,
    revision: revisionText(verdict.policy),
    mode: "enforce",
    constraint: verdict.constraint,
    reason: verdict.reason ?? "EVALUATION_INDETERMINATE",
    subject: null,
    failing: verdict.failing.filter((id) => among.some(({ endpoint }) => endpoint.id === id)),
  };
}

/** `r7`; before any store has numbered the content, the first twelve digits of its digest. */
export function revisionText(policy: PolicyIdentity): string {
  return policy.revision > 0 ? `r${policy.revision}` : policy.digest.slice(0, 12);
}

/** The same verdict as a line of the decision's trace. */
export function traceOf(verdict: PolicyVerdict, applied: Applied): ConstraintTrace {
  return {
    policy: verdict.policy.id,
    revision: revisionText(verdict.policy),
    slot: verdict.policy.slot,
    constraint: verdict.constraint,
    verdict: verdict.verdict,
    reason: verdict.reason,
    failing: verdict.failing,
    effect: effectOf(verdict, applied),
  };
}

function effectOf(verdict: PolicyVerdict, applied: Applied): ConstraintTrace["effect"] {
  if (verdict.verdict === "pass") return "none";
  const denies = closes(verdict, applied.candidates) || applied.candidates.length === 0;
  const enforced = verdict.policy.slot === "enforced";
  if (denies) return enforced ? "denied" : "would_deny";
  if (verdict.effect === "filter") return enforced ? "narrowed" : "would_narrow";
  return "none";
}
