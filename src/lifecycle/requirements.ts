import {
  DEFAULT_PROMOTION,
  REQUIREMENTS,
  type MissingRequirement,
  type PromotionRequirements,
  type RequirementFacts,
  type RequirementName,
} from "../canon/promotion.ts";
import type { RoutingTable } from "../canon/table.ts";
import { contentOf, type PolicyStatus } from "./policy-states.ts";
import type { PromotionRequest } from "./lifecycle.ts";
import type { Actor, Approval, ReportReference, ShadowFigures } from "./records.ts";

/**
 * What a promotion of the policy requires (`policies.promotion`): its own row, which is whole, or
 * that of `*`, or the defaults.
 */
export function promotionRequirements(
  { policies: { promotion = {} } }: Pick<RoutingTable, "policies">,
  policy: string,
): PromotionRequirements {
  const own = Object.hasOwn(promotion, policy) ? promotion[policy] : undefined;
  return own ?? (Object.hasOwn(promotion, "*") ? promotion["*"] : undefined) ?? DEFAULT_PROMOTION;
}

/** What a promotion is judged by. */
interface Judged {
  readonly required: PromotionRequirements;
  /** Approvals that count. */
  readonly approvals: readonly Approval[];
  /** How long the content has been the candidate, milliseconds. */
  readonly soaked: number;
  /** `null` for a removal: it is not evaluated, so nothing can be required of its results. */
  readonly figures: ShadowFigures | null;
  /** Verified reports of exactly this promotion. */
  readonly reports: readonly ReportReference[];
  readonly claimed: number;
  readonly outdated: number;
}

/** What is missing of each requirement; `null`: nothing. */
const MISSING: {
  readonly [Name in RequirementName]: (judged: Judged) => Partial<RequirementFacts> | null;
} = {
  approvals: ({ required, approvals: { length: have } }) =>
    have < required.approvals ? { have, need: required.approvals } : null,
  roles: ({ required, approvals }) => {
    const roles = required.roles.filter(
      (role) => !approvals.some(({ by }) => by.roles.includes(role)),
    );
    return roles.length > 0 ? { roles } : null;
  },
  soak: ({ required, soaked: have }) =>
    have < required.soak ? { have, need: required.soak } : null,
  decisions: ({ required, figures }) =>
    figures !== null && figures.judged < required.decisions
      ? { have: figures.judged, need: required.decisions }
      : null,
  no_indeterminate: ({ required, figures }) =>
    figures !== null && required.noIndeterminate && figures.indeterminate > 0
      ? { have: figures.indeterminate }
      : null,
  report: ({ required, reports, claimed, outdated }) =>
    (required.report || required.assertions) && !reports.some(({ complete }) => complete)
      ? { claimed, outdated }
      : null,
  assertions: ({ required, reports }) =>
    required.assertions && !reports.some(isAsserted)
      ? { have: Math.max(0, ...reports.map(({ assertions }) => assertions.failed)) }
      : null,
};

/**
 * What is missing before the candidate may be promoted by `by` at `now`; empty where nothing is. In
 * the order of the documentation.
 *
 * @param figures `null` for a removal.
 */
export function missingRequirements(
  status: PolicyStatus,
  required: PromotionRequirements & Pick<PromotionRequest, "revoked" | "tableRevision">,
  by: Pick<Actor, "origin">,
  figures: ShadowFigures | null,
  now: number,
): readonly MissingRequirement[] {
  if (status.candidate === null) return [];
  const approvals = countedApprovals(status, required, by);
  const named = approvals.flatMap(({ report }) => (report === null ? [] : [report]));
  const verified = named.filter(({ verification }) => verification.result === "verified");
  const reports = verified.filter((report) =>
    isOfThisPromotion(report, status, required.tableRevision),
  );
  const judged: Judged = {
    required,
    approvals,
    soaked: Math.max(0, now - status.candidate.since),
    figures,
    reports,
    claimed: named.length - verified.length,
    outdated: verified.length - reports.length,
  };
  return REQUIREMENTS.flatMap(({ name }) => {
    const facts = MISSING[name](judged);
    return facts === null ? [] : [{ requirement: name, ...facts }];
  });
}

/** Valid approvals of the candidate's content that count for the promoter. */
export function countedApprovals(
  status: PolicyStatus,
  {
    selfApproval,
    revoked,
  }: Pick<PromotionRequirements, "selfApproval"> & Pick<PromotionRequest, "revoked">,
  by: Pick<Actor, "origin">,
): readonly Approval[] {
  if (status.candidate === null) return [];
  const approvals = status.approvals.get(status.candidate.digest) ?? [];
  const counted = approvals.filter((approval) => revoked?.has(approval.by.keyId) !== true);
  return selfApproval ? counted : counted.filter((approval) => approval.by.origin !== by.origin);
}

/** Whether the figures of shadow mean anything for the candidate. */
export function isJudged(status: PolicyStatus): boolean {
  return (
    status.candidate !== null && contentOf(status, status.candidate.digest).content === "rules"
  );
}

/**
 * A report says what a promotion does under one table and instead of one content: after a change of
 * either it is another promotion.
 */
export function isOfThisPromotion(
  { verification, tableRevision }: ReportReference,
  status: Pick<PolicyStatus, "enforced">,
  serving: string,
): boolean {
  return (
    verification.result === "verified" &&
    tableRevision === serving &&
    verification.enforced === (status.enforced?.digest ?? null)
  );
}

function isAsserted({ complete, assertions }: NonNullable<Approval["report"]>): boolean {
  return complete && assertions.failed === 0 && assertions.passed + assertions.waived > 0;
}
