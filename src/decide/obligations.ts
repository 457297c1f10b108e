import type { Candidate, ObligationTrace, RequestEdits } from "../canon/decision.ts";
import type { PolicyObligation, StrippableField } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { planOf, tiersOf } from "./candidates.ts";
import { regionsNamed } from "./narrow.ts";
import { revisionText } from "./verdicts.ts";

/** What a set of obligations makes of the candidates that the policies have left. */
export interface Obliged {
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
): Obliged {
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
 * Stable. Equals of which only some are in the region are equals no more: dispatch would mix them
 * again.
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
 * @param outcome what its slot's obligations made of the request: what is for an enforced slot,
 * what would be for a candidate; `null` where the request is denied, so that nothing acts on it.
 */
export function obligationTraceOf(
  table: RoutingTable,
  { policy, name, kind, value }: PolicyObligation,
  outcome: Obliged | null,
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
