import { canonicalJson } from "../canon/json.ts";
import { entityTag } from "./entity-tag.ts";
import type { LifecycleFault } from "./fault.ts";
import { contentOf, referenceOf, type KnownContent, type PolicyLedger, type PolicyLine } from "./ledger.ts";
import type { Expectation, PromotionRequest, RollbackRequest } from "./lifecycle.ts";
import type { Actor, ContentReference, PolicyRecord, ReportReference, ShadowFigures } from "./records.ts";
import { countedApprovals, missingRequirements } from "./requirements.ts";

/** The record to write; `null` where it is so already; or why it must not be. */
export type Verdict = PolicyRecord | null | LifecycleFault;

/** A policy and one content of it. */
interface ContentRequest {
  readonly policy: string;
  readonly digest: string;
  readonly by: Actor;
}

export function lineOf(ledger: PolicyLedger, policy: string): PolicyLine | LifecycleFault {
  return ledger.policies.get(policy) ?? { fault: "unknown_policy" };
}

/** An approval is of a content, wherever it stands; the same person's next one takes its place. */
export function approval(
  ledger: PolicyLedger,
  { policy, digest, by, report }: ContentRequest & { readonly report: ReportReference | null },
  at: number,
): Verdict {
  const found = contentIn(ledger, policy, digest);
  if ("fault" in found) return found;
  const standing = found.line.approvals.get(digest)?.find((one) => one.by.origin === by.origin);
  const isSame =
    standing !== undefined && canonicalJson([standing.by.roles, standing.report]) === canonicalJson([by.roles, report]);
  return isSame ? null : { kind: "approved", policy, at, revision: found.content.revision, digest, by, report };
}

export function approvalWithdrawal(ledger: PolicyLedger, { policy, digest, by }: ContentRequest, at: number): Verdict {
  const found = contentIn(ledger, policy, digest);
  if ("fault" in found) return found;
  const stands = found.line.approvals.get(digest)?.some((one) => one.by.origin === by.origin) === true;
  if (!stands) return { fault: "not_approved" };
  return { kind: "approval_withdrawn", policy, at, revision: found.content.revision, digest, by };
}

export function candidateWithdrawal(
  ledger: PolicyLedger,
  { policy, expected, by }: { readonly policy: string; readonly expected: Expectation; readonly by: Actor },
  at: number,
): Verdict {
  const line = expectedLine(ledger, policy, expected);
  if ("fault" in line) return line;
  const candidate = referenceOf(line, "candidate");
  if (candidate === null) return { fault: "no_candidate" };
  return { kind: "candidate_withdrawn", policy, at, revision: candidate.revision, digest: candidate.digest, by };
}

export function release(
  ledger: PolicyLedger,
  { policy, digest, expected, by }: ContentRequest & { readonly expected: Expectation },
  at: number,
): Verdict {
  const line = expectedLine(ledger, policy, expected);
  if ("fault" in line) return line;
  const content = line.contents.get(digest);
  if (content?.isKept !== true) return { fault: "unknown_content" };
  const slots = [line.enforced?.digest, line.candidate?.digest];
  // The end of a policy of which nothing acts is nothing to wait for.
  if (content.content === "removal" && line.enforced === null) return { fault: "not_held" };
  const changes =
    line.held.has(digest) || line.withdrawn.has(digest) || (line.candidate === null && !slots.includes(digest));
  if (!changes) return { fault: "not_held" };
  return { kind: "released", policy, at, revision: content.revision, digest, by };
}

/** The candidate that a promotion would be about, before anything is counted. */
export function promotable(
  ledger: PolicyLedger,
  { policy, expected }: Pick<PromotionRequest, "policy" | "expected">,
): { readonly line: PolicyLine; readonly candidate: ContentReference } | LifecycleFault {
  const line = expectedLine(ledger, policy, expected);
  if ("fault" in line) return line;
  const candidate = referenceOf(line, "candidate");
  if (candidate === null) return { fault: "no_candidate" };
  if (line.held.has(candidate.digest)) return { fault: "held", revision: candidate.revision };
  return { line, candidate };
}

/** @param figures of the very candidate; `null` for a removal. */
export function promotion(
  { line, candidate }: { readonly line: PolicyLine; readonly candidate: ContentReference },
  { by, requirements, revoked = new Set(), tableRevision }: Omit<PromotionRequest, "figures">,
  figures: ShadowFigures | null,
  at: number,
): PolicyRecord | LifecycleFault {
  const missing = missingRequirements(line, { ...requirements, revoked, tableRevision }, by, figures, at);
  if (missing.length > 0) return { fault: "requirements", missing };
  return {
    kind: "promoted",
    policy: line.id,
    at,
    by,
    tableRevision,
    from: referenceOf(line, "enforced"),
    to: candidate,
    approvals: countedApprovals(line, { ...requirements, revoked }, by),
    requirements,
    shadow: figures,
  };
}

/** The content that a rollback leads to; `null` for nothing. */
export function rollBackTarget(
  line: PolicyLine,
  toRevision: number | null | undefined,
): string | null | LifecycleFault {
  if (line.enforced === null) return { fault: "nothing_to_roll_back_to" };
  const target = line.former.findLast(
    (digest) => toRevision === undefined || (digest === null ? null : contentOf(line, digest).revision) === toRevision,
  );
  return target === undefined || target === line.enforced.digest ? { fault: "nothing_to_roll_back_to" } : target;
}

export function rollback(ledger: PolicyLedger, request: RollbackRequest, at: number): PolicyRecord | LifecycleFault {
  const { policy, expected, by, tableRevision, reason } = request;
  const line = expectedLine(ledger, policy, expected);
  if ("fault" in line) return line;
  const target = rollBackTarget(line, request.toRevision);
  const from = referenceOf(line, "enforced");
  if (target !== null && typeof target !== "string") return target;
  if (from === null) return { fault: "nothing_to_roll_back_to" };
  const to = target === null ? null : referenceTo(contentOf(line, target));
  return { kind: "rolled_back", policy, at, by, tableRevision, from, to, reason };
}

/** The policy, where it still is as the caller has seen it. */
function expectedLine(ledger: PolicyLedger, policy: string, expected: Expectation): PolicyLine | LifecycleFault {
  const line = lineOf(ledger, policy);
  if ("fault" in line) return line;
  const etag = entityTag(line);
  const [candidate, enforced] = [referenceOf(line, "candidate"), referenceOf(line, "enforced")];
  const isExpected =
    expected.etag === etag &&
    agrees(expected.candidateRevision, candidate) &&
    agrees(expected.enforcedRevision, enforced);
  return isExpected ? line : { fault: "changed", etag, candidate, enforced };
}

function agrees(expected: number | null | undefined, present: ContentReference | null): boolean {
  return expected === undefined || expected === (present?.revision ?? null);
}

function contentIn(
  ledger: PolicyLedger,
  policy: string,
  digest: string,
): { readonly line: PolicyLine; readonly content: KnownContent } | LifecycleFault {
  const line = lineOf(ledger, policy);
  if ("fault" in line) return line;
  const content = line.contents.get(digest);
  return content === undefined ? { fault: "unknown_content" } : { line, content };
}

function referenceTo({ revision, digest, module }: KnownContent): ContentReference {
  return { revision, digest, module };
}
