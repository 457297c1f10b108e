import type { ReportedSide } from "../request.ts";
import type { CompiledSide } from "../side-contents.ts";
import type { PolicyReport, SideReport } from "./report.ts";

export function sideReport(
  { name, commit, table, warnings }: ReportedSide,
  { contents }: CompiledSide,
  side: PolicyReport["from"],
): SideReport {
  return {
    name,
    commit,
    table_revision: table.revision,
    policies: contents.map(({ contract: { id }, digest, slot, rules, isKept }) => ({
      id,
      digest,
      slot,
      content: rules === null ? "removal" : "rules",
      from: isKept ? "base" : side,
    })),
    warnings,
  };
}

/** Policies that count as promoted in head: the requested ones, or all candidates of either side. Sorted. */
export function promotedPolicies(
  base: SideReport,
  head: SideReport,
  requested: readonly string[] | null,
): readonly string[] {
  if (requested !== null) return requested.toSorted();
  const candidates = [...base.policies, ...head.policies].filter(({ slot }) => slot === "candidate");
  return [...new Set(candidates.map(({ id }) => id))].toSorted();
}
