import type { PolicyData } from "../canon/policy.ts";
import type { Approvals, RoutingTable } from "../canon/table.ts";

/** What policies may read as `data`: the approvals of every workspace and the region groups. */
export function policyData(table: RoutingTable): PolicyData {
  return {
    approved: {
      regions: byWorkspace(table, "regions"),
      providers: byWorkspace(table, "providers"),
      routes: byWorkspace(table, "routes"),
      capabilities: byWorkspace(table, "capabilities"),
      dimensions: byWorkspace(table, "dimensions"),
    },
    regions: table.regionGroups,
  };
}

function byWorkspace<Member extends keyof Approvals>(
  table: RoutingTable,
  member: Member,
): Readonly<Record<string, Approvals[Member]>> {
  const lists: Record<string, Approvals[Member]> = Object.create(null);
  for (const { id, approve } of Object.values(table.workspaces)) lists[id] = approve[member];
  return lists;
}

/**
 * The mode that a policy starts in where no store has it (`policies.initial_mode`): its own, that
 * of `*`, or shadow.
 */
export function initialMode(
  table: Pick<RoutingTable, "policies">,
  policy: string,
): "shadow" | "enforce" {
  const modes = table.policies.initialMode;
  const own = Object.hasOwn(modes, policy) ? modes[policy] : undefined;
  return own ?? (Object.hasOwn(modes, "*") ? modes["*"] : undefined) ?? "shadow";
}
