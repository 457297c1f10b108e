import { canonicalJson } from "../canon/json.ts";
import {
  DEFAULT_PROMOTION,
  type PromotionRequirements,
  type RoutingTable,
} from "../canon/table.ts";
import {
  REQUIREMENTS,
  contentOf,
  entityTag,
  referenceOf,
  type Expectation,
  type Judge,
  type KnownContent,
  type LifecycleFault,
  type MissingRequirement,
  type PolicyStates,
  type PolicyStatus,
  type PromotionRequest,
  type RequirementFacts,
  type RequirementName,
  type RollbackRequest,
} from "./lifecycle.ts";
import type {
  Actor,
  Approval,
  ContentReference,
  ReportReference,
  ShadowFigures,
} from "./records.ts";

/**
 * Requirements of the policy's promotion (`policies.promotion`): its own row, which is whole, or
 * that of `*`, or the defaults.
 */
export function promotionRequirements(
  { policies: { promotion: rows = {} } }: Pick<RoutingTable, "policies">,
  policy: string,
): PromotionRequirements {
  const specific = Object.hasOwn(rows, policy) ? rows[policy] : undefined;
  return specific ?? (Object.hasOwn(rows, "*") ? rows["*"] : undefined) ?? DEFAULT_PROMOTION;
}

/** Inputs of a promotion's check. */
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

/** The missing part of each requirement, or `null`. */
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
    required.assertions && !reports.some(passesAssertions)
      ? { have: Math.max(0, ...reports.map(({ assertions }) => assertions.failed)) }
      : null,
};

/**
 * Requirements that a promotion by `by` at `now` does not meet; empty where all are met. In
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
  const approvedReports = approvals.flatMap(({ report }) => (report === null ? [] : [report]));
  const verified = approvedReports.filter(({ verification }) => verification.result === "verified");
  const reports = verified.filter((report) =>
    coversPromotion(report, status, required.tableRevision),
  );
  const judged: Judged = {
    required,
    approvals,
    soaked: Math.max(0, now - status.candidate.since),
    figures,
    reports,
    claimed: approvedReports.length - verified.length,
    outdated: verified.length - reports.length,
  };
  return REQUIREMENTS.flatMap((requirement) => {
    const facts = MISSING[requirement](judged);
    return facts === null ? [] : [{ requirement, ...facts }];
  });
}

/** Valid approvals of the candidate's content. */
export function candidateApprovals({ candidate, approvals }: PolicyStatus): readonly Approval[] {
  return approvals.get(candidate?.digest ?? "") ?? [];
}

/** Valid approvals of the candidate's content that count for the promoter. */
function countedApprovals(
  status: PolicyStatus,
  {
    selfApproval,
    revoked,
  }: Pick<PromotionRequirements, "selfApproval"> & Pick<PromotionRequest, "revoked">,
  by: Pick<Actor, "origin">,
): readonly Approval[] {
  const valid = candidateApprovals(status).filter(({ by: { keyId } }) => !revoked.has(keyId));
  return selfApproval ? valid : valid.filter((one) => one.by.origin !== by.origin);
}

/** Whether the figures of shadow mean anything for the candidate. */
export function hasShadowFigures(status: PolicyStatus): boolean {
  return (
    status.candidate !== null && contentOf(status, status.candidate.digest).content === "rules"
  );
}

/**
 * A report covers one promotion: under one table, replacing one content. After a change of either
 * it is outdated.
 */
export function coversPromotion(
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

function passesAssertions({ complete, assertions }: NonNullable<Approval["report"]>) {
  return complete && assertions.failed === 0 && assertions.passed + assertions.waived > 0;
}

/** A policy and one content of it. */
interface ContentRequest {
  readonly policy: string;
  readonly digest: string;
  readonly by: Actor;
}

function statusOf(states: PolicyStates, policy: string): PolicyStatus | LifecycleFault {
  return states.policies.get(policy) ?? { fault: "unknown_policy" };
}

/** An approval is of a content, in whichever slot; the same person's next one replaces it. */
export function approval({
  policy,
  digest,
  by,
  report,
}: ContentRequest & { readonly report: ReportReference | null }): Judge {
  return (states, at) => {
    const found = contentIn(states, policy, digest);
    if ("fault" in found) return found;
    const earlier = approvalBy(found.status, digest, by);
    const isRepeated =
      earlier !== undefined &&
      canonicalJson([earlier.by.roles, earlier.report]) === canonicalJson([by.roles, report]);
    return isRepeated
      ? null
      : { kind: "approved", policy, at, revision: found.content.revision, digest, by, report };
  };
}

export function approvalWithdrawal({ policy, digest, by }: ContentRequest): Judge {
  return (states, at) => {
    const found = contentIn(states, policy, digest);
    if ("fault" in found) return found;
    if (approvalBy(found.status, digest, by) === undefined) return { fault: "not_approved" };
    return { kind: "approval_withdrawn", policy, at, revision: found.content.revision, digest, by };
  };
}

function approvalBy({ approvals }: PolicyStatus, digest: string, { origin }: Actor) {
  return approvals.get(digest)?.find(({ by }) => by.origin === origin);
}

export function candidateWithdrawal({
  policy,
  expected,
  by,
}: Omit<ContentRequest, "digest"> & { readonly expected: Expectation }): Judge {
  return (states, at) => {
    const found = expectedCandidate(states, policy, expected);
    if ("fault" in found) return found;
    const { revision, digest } = found.candidate;
    return { kind: "candidate_withdrawn", policy, at, revision, digest, by };
  };
}

/** Lifts a hold or a withdrawal of a kept content, or brings back one that stands in no slot. */
export function contentRelease({
  policy,
  digest,
  expected,
  by,
}: ContentRequest & { readonly expected: Expectation }): Judge {
  return (states, at) => {
    const status = expectedStatus(states, policy, expected);
    if ("fault" in status) return status;
    const content = status.contents.get(digest);
    if (content === undefined) return { fault: "unknown_content" };
    const slots = [status.enforced?.digest, status.candidate?.digest];
    // A policy without enforced content can be removed without a promotion.
    if (content.content === "removal" && status.enforced === null) return { fault: "not_held" };
    const changes =
      status.held.has(digest) ||
      status.withdrawn.has(digest) ||
      (status.candidate === null && !slots.includes(digest));
    if (!changes) return { fault: "not_held" };
    return { kind: "released", policy, at, revision: content.revision, digest, by };
  };
}

/** Nothing is counted before the state is the expected one. */
export function promotion({
  policy,
  expected,
  by,
  requirements,
  revoked,
  tableRevision,
  figures,
}: PromotionRequest): Judge {
  return async (states, at) => {
    const found = expectedCandidate(states, policy, expected);
    if ("fault" in found) return found;
    const { status, candidate } = found;
    if (status.held.has(candidate.digest)) return { fault: "held", revision: candidate.revision };
    const shadow = hasShadowFigures(status) ? await figures() : null;
    const required = { ...requirements, revoked, tableRevision };
    const missing = missingRequirements(status, required, by, shadow, at);
    if (missing.length > 0) return { fault: "requirements", missing };
    return {
      kind: "promoted",
      policy,
      at,
      by,
      tableRevision,
      from: referenceOf(status, "enforced"),
      to: candidate,
      approvals: countedApprovals(status, required, by),
      requirements,
      shadow,
    };
  };
}

/** The content that a rollback leads to; `null` for nothing. */
export function rollBackTarget(
  status: PolicyStatus,
  toRevision: number | null | undefined,
): string | null | LifecycleFault {
  if (status.enforced === null) return { fault: "nothing_to_roll_back_to" };
  const target = status.former.findLast(
    (digest) =>
      toRevision === undefined ||
      (digest === null ? null : contentOf(status, digest).revision) === toRevision,
  );
  return target === undefined || target === status.enforced.digest
    ? { fault: "nothing_to_roll_back_to" }
    : target;
}

export function rollback({
  policy,
  expected,
  by,
  tableRevision,
  reason,
  toRevision,
}: RollbackRequest): Judge {
  return (states, at) => {
    const status = expectedStatus(states, policy, expected);
    if ("fault" in status) return status;
    const target = rollBackTarget(status, toRevision);
    const from = referenceOf(status, "enforced");
    if (target !== null && typeof target !== "string") return target;
    if (from === null) return { fault: "nothing_to_roll_back_to" };
    const to = target === null ? null : referenceTo(contentOf(status, target));
    return { kind: "rolled_back", policy, at, by, tableRevision, from, to, reason };
  };
}

function expectedCandidate(
  states: PolicyStates,
  policy: string,
  expected: Expectation,
): { readonly status: PolicyStatus; readonly candidate: ContentReference } | LifecycleFault {
  const status = expectedStatus(states, policy, expected);
  if ("fault" in status) return status;
  const candidate = referenceOf(status, "candidate");
  return candidate === null ? { fault: "no_candidate" } : { status, candidate };
}

/** The policy, if it is still in the state that the caller has seen. */
function expectedStatus(
  states: PolicyStates,
  policy: string,
  expected: Expectation,
): PolicyStatus | LifecycleFault {
  const status = statusOf(states, policy);
  if ("fault" in status) return status;
  const etag = entityTag(status);
  const [candidate, enforced] = [referenceOf(status, "candidate"), referenceOf(status, "enforced")];
  const isExpected =
    expected.etag === etag &&
    agrees(expected.candidateRevision, candidate) &&
    agrees(expected.enforcedRevision, enforced);
  return isExpected ? status : { fault: "changed", etag, candidate, enforced };
}

function agrees(expected: number | null | undefined, present: ContentReference | null) {
  return expected === undefined || expected === (present?.revision ?? null);
}

function contentIn(
  states: PolicyStates,
  policy: string,
  digest: string,
): { readonly status: PolicyStatus; readonly content: KnownContent } | LifecycleFault {
  const status = statusOf(states, policy);
  if ("fault" in status) return status;
  const content = status.contents.get(digest);
  return content === undefined ? { fault: "unknown_content" } : { status, content };
}

function referenceTo({ revision, digest, module }: KnownContent): ContentReference {
  return { revision, digest, module };
}
