import { CEILINGS, isWithinCeiling, isWithinCeilings, type Ceiling } from "../canon/ceiling.ts";
import type { Candidate } from "../canon/decision.ts";
import type { ReasonCode } from "../canon/reasons.ts";
import type { Approvals } from "../canon/approvals.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../canon/table.ts";
import { routeCandidates } from "./candidates.ts";
import type { Trace } from "./trace.ts";

const APPROVALS: Readonly<Record<Ceiling, { readonly constraint: string; readonly reason: ReasonCode }>> = {
  data_collection: { constraint: "data_collection_approved", reason: "DATA_COLLECTION_NOT_APPROVED" },
  retention: { constraint: "retention_approved", reason: "RETENTION_NOT_APPROVED" },
};

/** Constraints that are checked before the caller's preferences. */
export function isCeilingConstraint(constraint: string): boolean {
  return CEILINGS.some((ceiling) => APPROVALS[ceiling].constraint === constraint);
}

/**
 * Leaves out the candidates whose provider's contract is above what the workspace approves. It comes before the caller's preferences, so that no
 * preference changes what it leaves. Where it leaves nothing, the request is denied and all candidates are returned, so that the trace is complete.
 */
export function applyCeilings(
  table: RoutingTable,
  { approve }: WorkspaceRow,
  candidates: readonly Candidate[],
  trace: Trace,
): readonly Candidate[] {
  let remaining = candidates;
  for (const ceiling of CEILINGS) {
    if (!hasCeiling(approve, ceiling)) continue;
    const { constraint, reason } = APPROVALS[ceiling];
    const passes = ({ endpoint }: Candidate): boolean =>
      isWithinCeiling(ceiling, approve, table.providers[endpoint.provider]);
    const kept = remaining.filter(passes);
    const failing = remaining.filter((candidate) => !passes(candidate)).map(({ endpoint }) => endpoint.id);
    const isDenied = kept.length === 0;
    trace.record({
      policy: "approvals",
      revision: table.revision,
      slot: "enforced",
      constraint,
      verdict: failing.length === 0 ? "pass" : "fail",
      reason: failing.length === 0 ? null : reason,
      failing,
      effect: failing.length === 0 ? "none" : isDenied ? "denied" : "narrowed",
    });
    if (isDenied) {
      trace.deny({ policy: "approvals", revision: table.revision, constraint, reason, subject: null, failing });
      return candidates;
    }
    remaining = kept;
  }
  return remaining;
}

function hasCeiling(approve: Approvals, ceiling: Ceiling): boolean {
  return (ceiling === "data_collection" ? approve.dataCollection : approve.retention) !== undefined;
}

/** The candidates of a route that a workspace's ceilings leave; none where its requests are denied for them. */
export function candidatesWithin(
  table: RoutingTable,
  { approve }: WorkspaceRow,
  route: RouteRow,
): readonly Candidate[] {
  return routeCandidates(table, route).filter(({ endpoint }) =>
    isWithinCeilings(approve, table.providers[endpoint.provider]),
  );
}
