import type { ValueOf } from "../../../canon/json/schema.ts";
import { formatRevision, type PolicyContract } from "../../../canon/policy.ts";
import { mapSettings, type PromotionRequirements } from "../../../canon/promotion.ts";
import { formatTime } from "../../../canon/rfc3339.ts";
import {
  contentOf,
  entityTag,
  type PolicyStatus,
  type SlotState,
} from "../../../lifecycle/lifecycle.ts";
import { driftOf } from "../../../lifecycle/observe.ts";
import type { Approval, ReportReference } from "../../../lifecycle/records.ts";
import { isOfThisPromotion, rollBackTarget } from "../../../lifecycle/changes.ts";
import type { POLICY_VIEW } from "../../contract/policy-answers.ts";

type PolicyView = ValueOf<typeof POLICY_VIEW>;
type SlotView = PolicyView["candidate"];
type ApprovalView = PolicyView["approvals"][number];

/** What a view of a policy is made of besides its status. */
interface ViewContext {
  readonly requirements: PromotionRequirements;
  /** Revision of the table that serves. */
  readonly tableRevision: string;
  /** Digest of what this server's files hold; `null`: not the policy. */
  readonly file: string | null;
  /** Digests of contents whose kept module is not what its sources compile to. */
  readonly differing: ReadonlySet<string>;
  /** Of a content by its digest; `null` where it is not known. */
  readonly contractOf: (digest: string) => PolicyContract | null;
}

/** A policy as people and scripts see it. */
export function describePolicy(
  status: PolicyStatus,
  { requirements, tableRevision, file, differing, contractOf }: ViewContext,
): PolicyView {
  const contract = contractOf(namingDigest(status) ?? "");
  const target = rollBackTarget(status, undefined);
  return {
    object: "policy",
    id: status.id,
    title: contract?.title ?? status.id,
    owners: contract?.owners ?? [],
    state: stateOf(status),
    ...modeOf(status),
    etag: entityTag(status),
    enforced: describeSlot(status, status.enforced, contractOf),
    candidate: describeSlot(status, status.candidate, contractOf),
    approvals: approvalsOf(status).map((approval) =>
      describeApproval(approval, status, tableRevision),
    ),
    requirements: describeRequirements(requirements),
    rollback_to: typeof target === "string" ? reference(status, target) : null,
    can_roll_back: target === null || typeof target === "string",
    held: [...status.held].map((digest) => reference(status, digest)),
    withdrawn: [...status.withdrawn].map((digest) => reference(status, digest)),
    files: file !== null && status.contents.has(file) ? reference(status, file) : null,
    drift: driftOf(status, file, differing),
  };
}

/**
 * The content whose title and owners stand for the policy: what is watched, what acts, or the
 * newest that there was.
 */
export function namingDigest(status: PolicyStatus): string | null {
  const slots = [status.candidate?.digest, status.enforced?.digest].filter(
    (digest) => digest !== undefined,
  );
  const ruling = slots.find((digest) => contentOf(status, digest).content === "rules");
  return (
    ruling ??
    [...status.contents.values()].findLast(({ content }) => content === "rules")?.digest ??
    null
  );
}

export function stateOf(status: PolicyStatus): PolicyView["state"] {
  const isEnforced = holdsRules(status, status.enforced);
  if (holdsRules(status, status.candidate)) return isEnforced ? "changing" : "shadow";
  if (!isEnforced) return "ended";
  return status.candidate === null ? "enforced" : "ending";
}

/**
 * What the policy does to requests, and by which content: enforced rules, else those in shadow.
 * Both `null` where the policy has ended.
 */
function modeOf(status: PolicyStatus): Pick<PolicyView, "mode" | "revision"> {
  const slot = [status.enforced, status.candidate].find((one) => holdsRules(status, one)) ?? null;
  if (slot === null) return { mode: null, revision: null };
  const revision = formatRevision(contentOf(status, slot.digest).revision);
  return { mode: slot === status.enforced ? "enforce" : "shadow", revision };
}

function holdsRules(status: PolicyStatus, slot: SlotState | null): boolean {
  return slot !== null && contentOf(status, slot.digest).content === "rules";
}

function describeSlot(
  status: PolicyStatus,
  slot: SlotState | null,
  contractOf: ViewContext["contractOf"],
): SlotView {
  if (slot === null) return null;
  const { revision, digest, module, content, firstSeenAt } = contentOf(status, slot.digest);
  const contract = content === "rules" ? contractOf(digest) : null;
  return {
    revision: revisionText(revision),
    digest,
    content,
    module_sha256: module,
    since: formatTime(slot.since),
    first_seen: formatTime(firstSeenAt),
    held: status.held.has(digest),
    ...describeRules(contract),
  };
}

/** Constraints and obligations of a content, and their operations; none for a removal. */
export function describeRules(
  contract: PolicyContract | null,
): Pick<NonNullable<SlotView>, "constraints" | "obligations" | "operations"> {
  return {
    constraints: (contract?.constraints ?? []).map(({ name, effect, reasons }) => ({
      name,
      effect,
      reasons,
    })),
    obligations: (contract?.obligations ?? []).map(({ name, kind, value }) => ({
      name,
      kind,
      value,
    })),
    operations: contract?.operations ?? [],
  };
}

/** Approvals of the candidate's content that count. */
function approvalsOf(status: PolicyStatus): readonly Approval[] {
  return status.candidate === null ? [] : (status.approvals.get(status.candidate.digest) ?? []);
}

function describeReport(
  report: ReportReference,
  status: PolicyStatus,
  serving: string,
): ApprovalView["report"] {
  const { sha256, tableRevision, complete, assertions, verification } = report;
  const isVerified = verification.result === "verified";
  return {
    sha256,
    table_revision: tableRevision,
    complete,
    assertions: { ...assertions },
    status: !isVerified
      ? "claimed"
      : isOfThisPromotion(report, status, serving)
        ? "verified"
        : "outdated",
    claimed_because: isVerified ? null : verification.result,
  };
}

function describeApproval(
  { by, at, report }: Approval,
  status: PolicyStatus,
  serving: string,
): ApprovalView {
  return {
    by: {
      key_id: by.keyId,
      workspace: by.workspace,
      origin: by.origin,
      roles: by.roles,
      ...(by.person !== undefined && { person: { ...by.person } }),
    },
    at: formatTime(at),
    report: report === null ? null : describeReport(report, status, serving),
  };
}

function describeRequirements(required: PromotionRequirements): PolicyView["requirements"] {
  return mapSettings("shown", {
    count: (_, name) => required[name],
    flag: (_, name) => required[name],
    list: (_, name) => required[name],
    duration: (_, name) => required[name] / 1_000,
  });
}

function reference(status: PolicyStatus, digest: string): PolicyView["held"][number] {
  return { revision: revisionText(contentOf(status, digest).revision), digest };
}

/** Contents are numbered from 1. */
function revisionText(revision: number): string {
  return formatRevision(revision) ?? `r${revision}`;
}
