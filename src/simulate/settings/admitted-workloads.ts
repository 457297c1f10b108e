import { coversClaims } from "../../canon/credentials/claim-match.ts";
import { canonicalJson } from "../../canon/json.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { WorkloadRule } from "../../canon/workload-identity.ts";

/**
 * Whether a workload may get a token that it did not get, or one that may more. Where another issuer or other keys sign, it is assumed: who has those keys is
 * unknown here.
 */
export function admitsMore(base: RoutingTable, head: RoutingTable): boolean {
  const [before, after] = [base.workloadIdentity, head.workloadIdentity];
  return Object.values(after?.rules ?? {}).some((rule) => {
    const old = before?.rules[rule.id];
    if (old === undefined) return true;
    const [was, is] = [before?.issuers[old.issuedBy], after?.issuers[rule.issuedBy]];
    return canonicalJson(was ?? null) !== canonicalJson(is ?? null) || mayMore(old, rule);
  });
}

function mayMore(before: WorkloadRule, after: WorkloadRule): boolean {
  const same = ["audience", "workspace", "environment", "workload", "owner"] as const;
  return (
    same.some((name) => before[name] !== after[name]) ||
    // What policies open for a label, they open for the caller.
    canonicalJson(before.labels) !== canonicalJson(after.labels) ||
    !coversClaims(before.claims, after.claims) ||
    after.lifetime > before.lifetime ||
    !isWithin(before.scopes, after.scopes) ||
    !isWithin(before.operations, after.operations) ||
    !isWithin(before.routes, after.routes)
  );
}

/** @param before `null`: everything. */
function isWithin(before: readonly string[] | null, after: readonly string[] | null): boolean {
  return before === null || after?.every((name) => before.includes(name)) === true;
}
