import type { Decision } from "../../../src/canon/decision.ts";
import type { PolicySlot } from "../../../src/canon/policy.ts";
import type { UsageTally } from "../../../src/simulate/compare/simulation-tally.ts";

const BY_TABLE = ["approvals", "preferences"];

/**
 * Counts the policies' verdicts in one decision. Where the table denies, they are about endpoints
 * without traffic and do not count.
 *
 * @param isIgnored contents of which nothing is noted.
 */
export function noteDecision(
  tally: UsageTally,
  decision: Decision,
  isIgnored: (policy: string, slot: PolicySlot) => boolean,
): void {
  if (decision.outcome === "deny" && BY_TABLE.includes(decision.denial.policy)) return;
  for (const { policy, slot, constraint, verdict, reason, effect } of decision.trace) {
    if (BY_TABLE.includes(policy) || isIgnored(policy, slot)) continue;
    const name = `${policy}/${constraint}`;
    if (verdict === "pass") tally.passed.add(name);
    else if (verdict === "fail") tally.failed.add(name);
    else tally.indeterminate.add(name);
    if (verdict === "fail" && reason !== null) tally.reasons.add(`${name}/${reason}`);
    if (effect !== "none") tally.effective.add(policy);
  }
  for (const { policy, slot, effect } of decision.obligations) {
    if (effect !== "none" && !isIgnored(policy, slot)) tally.effective.add(policy);
  }
}
