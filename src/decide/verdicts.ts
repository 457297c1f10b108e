import type {
  Candidate,
  ConstraintTrace,
  ObligationTrace,
  RequestEdits,
} from "../canon/decision.ts";
import type { Denial } from "../canon/error.ts";
import {
  formatRevision,
  type PolicyIdentity,
  type PolicyObligation,
  type PolicyVerdict,
  type StrippableField,
} from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { planOf, tiersOf } from "./candidates.ts";
import { regionsNamed } from "./narrow.ts";

/** Result of applying obligations to the remaining candidates. */
export interface AppliedObligations {
  readonly candidates: readonly Candidate[];
  readonly edits: RequestEdits;
}

/**
 * Of several limits the smallest wins, of several regions the one of the policy that comes first. A
 * preferred region goes before the order that the caller requested, which still holds within the
 * region and outside of it. Tiers come back numbered without holes.
 */
export function applyObligations(
  table: RoutingTable,
  candidates: readonly Candidate[],
  obligations: readonly PolicyObligation[],
): AppliedObligations {
  let maxOutputTokens: number | null = null;
  const stripFields = new Set<StrippableField>();
  const preferred: (readonly string[])[] = [];
  for (const obligation of obligations) {
    switch (obligation.kind) {
      case "max_output_tokens":
        maxOutputTokens = Math.min(maxOutputTokens ?? Infinity, obligation.value);
        break;
      case "strip_field":
        stripFields.add(obligation.value);
        break;
      case "prefer_region":
        preferred.push(regionsNamed(table, obligation.value) ?? []);
        break;
    }
  }
  return {
    candidates: planOf(preferringRegions(tiersOf(candidates), preferred)),
    edits: { maxOutputTokens, stripFields: [...stripFields].toSorted() },
  };
}

/**
 * Stable. A tier of which only some candidates are in the region is split, because dispatch would
 * mix them again.
 */
function preferringRegions(
  tiers: readonly (readonly Candidate[])[],
  preferred: readonly (readonly string[])[],
): readonly (readonly Candidate[])[] {
  const rank = ({ endpoint }: Candidate): number => {
    const index = preferred.findIndex((regions) => regions.includes(endpoint.region));
    return index === -1 ? preferred.length : index;
  };
  const ranks = [...preferred.keys(), preferred.length];
  return ranks.flatMap((index) =>
    tiers.map((tier) => tier.filter((candidate) => rank(candidate) === index)),
  );
}

/**
 * An obligation as a line of the decision.
 *
 * @param outcome result of its slot's obligations: the actual one for an enforced slot, the
 * hypothetical one for a candidate; `null` if the request is denied.
 */
export function obligationTraceOf(
  table: RoutingTable,
  { policy, name, kind, value }: PolicyObligation,
  outcome: AppliedObligations | null,
): ObligationTrace {
  const acts =
    outcome !== null &&
    (kind === "strip_field" ||
      (kind === "max_output_tokens" && outcome.edits.maxOutputTokens === value) ||
      (kind === "prefer_region" && hasRegion(table, outcome.candidates, value)));
  const { id, slot } = policy;
  const effect = !acts ? "none" : slot === "enforced" ? "applied" : "would_apply";
  return {
    policy: id,
    revision: revisionText(policy),
    slot,
    obligation: name,
    kind,
    value,
    effect,
  };
}

function hasRegion(table: RoutingTable, candidates: readonly Candidate[], name: string): boolean {
  const regions = regionsNamed(table, name) ?? [];
  return candidates.some(({ endpoint }) => regions.includes(endpoint.region));
}

export function sameEdits(left: RequestEdits, right: RequestEdits): boolean {
  return (
    left.maxOutputTokens === right.maxOutputTokens &&
    left.stripFields.join() === right.stripFields.join()
  );
}

/** Result of applying verdicts to candidates. */
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
  const filters = verdicts.filter(
    ({ effect, verdict }) => effect === "filter" && verdict === "fail",
  );
  const remaining = candidates.filter(
    ({ endpoint }) => !filters.some(({ failing }) => failing.includes(endpoint.id)),
  );
  const denying = verdicts.find((verdict) => denies(verdict, remaining));
  if (denying !== undefined) return { candidates: remaining, denial: denialOf(denying, remaining) };
  const [filter] = filters;
  const denial = remaining.length > 0 || filter === undefined ? null : denialOf(filter, candidates);
  return { candidates: remaining, denial };
}

function denies(
  { verdict, effect, failing }: PolicyVerdict,
  remaining: readonly Candidate[],
): boolean {
  if (verdict !== "fail") return verdict === "indeterminate";
  if (effect !== "require_all") return effect === "gate";
  return remaining.some(({ endpoint }) => failing.includes(endpoint.id));
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
function revisionText({ revision, digest }: PolicyIdentity) {
  return formatRevision(revision) ?? digest.slice(0, 12);
}

/** A verdict as a line of the decision's trace. */
export function traceOf(given: PolicyVerdict, applied: Applied): ConstraintTrace {
  const { policy, constraint, verdict, reason, failing } = given;
  return {
    policy: policy.id,
    revision: revisionText(policy),
    slot: policy.slot,
    constraint,
    verdict,
    reason,
    failing,
    effect: effectOf(given, applied),
  };
}

function effectOf(verdict: PolicyVerdict, applied: Applied): ConstraintTrace["effect"] {
  if (verdict.verdict === "pass") return "none";
  const { candidates } = applied;
  const enforced = verdict.policy.slot === "enforced";
  if (candidates.length === 0 || denies(verdict, candidates))
    return enforced ? "denied" : "would_deny";
  if (verdict.effect === "filter") return enforced ? "narrowed" : "would_narrow";
  return "none";
}
