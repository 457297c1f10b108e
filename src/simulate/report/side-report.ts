import { initialMode } from "../../policy/initial-mode.ts";
import type { Side } from "../request.ts";
import type { SideReport } from "./report.ts";

export function sideReport({ name, commit, table, policies, warnings }: Side): SideReport {
  return {
    name,
    commit,
    table_revision: table.revision,
    policies: policies.policies.map(({ contract: { id }, digest }) => ({
      id,
      digest,
      slot: initialMode(table, id) === "enforce" ? "enforced" : "candidate",
    })),
    warnings,
  };
}

/** Policies that are taken for promoted in head: those asked for, or all that are candidates on either side. Sorted. */
export function promotedPolicies(
  base: SideReport,
  head: SideReport,
  asked: readonly string[] | null,
): readonly string[] {
  if (asked !== null) return asked.toSorted();
  const candidates = [...base.policies, ...head.policies].filter(({ slot }) => slot === "candidate");
  return [...new Set(candidates.map(({ id }) => id))].toSorted();
}
