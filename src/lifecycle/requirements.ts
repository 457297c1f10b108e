import type { MissingRequirement } from "./fault.ts";
import { contentOf, type PolicyLine } from "./ledger.ts";
import type { PromotionRequest } from "./lifecycle.ts";
import type { Actor, Approval, PromotionRequirements, ReportReference, ShadowFigures } from "./records.ts";

/**
 * What is missing before the candidate may be promoted by `by` at `now`; empty where nothing is. In the order of the documentation.
 *
 * @param figures `null` for a removal: it is not asked about requests, so nothing can be required of its answers.
 */
export function missingRequirements(
  line: PolicyLine,
  required: PromotionRequirements & Pick<PromotionRequest, "revoked" | "tableRevision">,
  by: Pick<Actor, "origin">,
  figures: ShadowFigures | null,
  now: number,
): readonly MissingRequirement[] {
  const { candidate } = line;
  if (candidate === null) return [];
  const counted = countedApprovals(line, required, by);
  const missing: MissingRequirement[] = [];
  if (counted.length < required.approvals) {
    missing.push({ requirement: "approvals", have: counted.length, need: required.approvals });
  }
  const roles = required.roles.filter((role) => !counted.some((approval) => approval.by.roles.includes(role)));
  if (roles.length > 0) missing.push({ requirement: "roles", roles });
  const soaked = Math.max(0, now - candidate.since);
  if (soaked < required.soak) missing.push({ requirement: "soak", have: soaked, need: required.soak });
  if (figures !== null) {
    if (figures.judged < required.decisions) {
      missing.push({ requirement: "decisions", have: figures.judged, need: required.decisions });
    }
    if (required.noIndeterminate && figures.indeterminate > 0) {
      missing.push({ requirement: "no_indeterminate", have: figures.indeterminate });
    }
  }
  const named = counted.flatMap(({ report }) => (report === null ? [] : [report]));
  const verified = named.filter(({ verification }) => verification?.result === "verified");
  const reports = verified.filter((report) => isOfThisPromotion(report, line, required.tableRevision));
  if ((required.report || required.assertions) && !reports.some(({ complete }) => complete)) {
    const [claimed, outdated] = [named.length - verified.length, verified.length - reports.length];
    missing.push({ requirement: "report", claimed, outdated });
  }
  if (required.assertions && !reports.some(isAsserted)) {
    missing.push({
      requirement: "assertions",
      have: Math.max(0, ...reports.map(({ assertions }) => assertions.failed)),
    });
  }
  return missing;
}

/** Standing approvals of the candidate's content that count for whoever promotes. */
export function countedApprovals(
  line: PolicyLine,
  { selfApproval, revoked }: Pick<PromotionRequirements, "selfApproval"> & Pick<PromotionRequest, "revoked">,
  by: Pick<Actor, "origin">,
): readonly Approval[] {
  if (line.candidate === null) return [];
  const approvals = line.approvals.get(line.candidate.digest) ?? [];
  const standing = approvals.filter((approval) => revoked?.has(approval.by.keyId) !== true);
  return selfApproval ? standing : standing.filter((approval) => approval.by.origin !== by.origin);
}

/** Whether the figures of shadow mean anything for the candidate. */
export function isJudged(line: PolicyLine): boolean {
  return line.candidate !== null && contentOf(line, line.candidate.digest).content === "rules";
}

/** A report says what a promotion does under one table and in the place of one content: after a change of either it is another promotion. */
export function isOfThisPromotion(
  { verification, tableRevision }: ReportReference,
  line: Pick<PolicyLine, "enforced">,
  serving: string,
): boolean {
  return (
    verification?.result === "verified" &&
    tableRevision === serving &&
    verification.enforced === (line.enforced?.digest ?? null)
  );
}

function isAsserted({ complete, assertions }: NonNullable<Approval["report"]>): boolean {
  return complete && assertions.failed === 0 && assertions.passed + assertions.waived > 0;
}
