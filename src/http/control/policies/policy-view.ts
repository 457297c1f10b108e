import type { ValueOf } from "../../../canon/json/schema.ts";
import { formatRevision, type PolicyContract } from "../../../canon/policy.ts";
import { mapSettings, type PromotionRequirements } from "../../../canon/promotion.ts";
import { formatTime } from "../../../canon/rfc3339.ts";
import { rollBackTarget } from "../../../lifecycle/changes.ts";
import { entityTag } from "../../../lifecycle/entity-tag.ts";
import { contentOf, type PolicyLine, type SlotState } from "../../../lifecycle/ledger.ts";
import { driftOf } from "../../../lifecycle/observe.ts";
import type { Approval, ReportReference } from "../../../lifecycle/records.ts";
import { isOfThisPromotion } from "../../../lifecycle/requirements.ts";
import type { POLICY_VIEW } from "../../contract/policies/policy-answers.ts";

type PolicyView = ValueOf<typeof POLICY_VIEW>;
type SlotView = PolicyView["candidate"];
type ApprovalView = PolicyView["approvals"][number];

/** What a view of a policy is made of besides its line. */
export interface ViewContext {
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
  line: PolicyLine,
  { requirements, tableRevision, file, differing, contractOf }: ViewContext,
): PolicyView {
  const contract = contractOf(namingDigest(line) ?? "");
  const target = rollBackTarget(line, undefined);
  return {
    object: "policy",
    id: line.id,
    title: contract?.title ?? line.id,
    owners: contract?.owners ?? [],
    state: stateOf(line),
    ...modeOf(line),
    etag: entityTag(line),
    enforced: describeSlot(line, line.enforced, contractOf),
    candidate: describeSlot(line, line.candidate, contractOf),
    approvals: approvalsOf(line).map((approval) => describeApproval(approval, line, tableRevision)),
    requirements: describeRequirements(requirements),
    rollback_to: typeof target === "string" ? reference(line, target) : null,
    can_roll_back: target === null || typeof target === "string",
    held: [...line.held].map((digest) => reference(line, digest)),
    withdrawn: [...line.withdrawn].map((digest) => reference(line, digest)),
    files: file !== null && line.contents.has(file) ? reference(line, file) : null,
    drift: driftOf(line, file, differing),
  };
}

/** The content whose title and owners stand for the policy: what is watched, what acts, or the newest that there was. */
export function namingDigest(line: PolicyLine): string | null {
  const slots = [line.candidate?.digest, line.enforced?.digest].filter((digest) => digest !== undefined);
  const ruling = slots.find((digest) => contentOf(line, digest).content === "rules");
  return ruling ?? [...line.contents.values()].findLast(({ content }) => content === "rules")?.digest ?? null;
}

export function stateOf(line: PolicyLine): PolicyView["state"] {
  const isEnforced = holdsRules(line, line.enforced);
  if (holdsRules(line, line.candidate)) return isEnforced ? "changing" : "shadow";
  if (!isEnforced) return "ended";
  return line.candidate === null ? "enforced" : "ending";
}

/** What the policy does to requests, and by which content: enforced rules, else those in shadow. Both `null` where the policy has ended. */
function modeOf(line: PolicyLine): Pick<PolicyView, "mode" | "revision"> {
  const slot = [line.enforced, line.candidate].find((one) => holdsRules(line, one)) ?? null;
  if (slot === null) return { mode: null, revision: null };
  const revision = formatRevision(contentOf(line, slot.digest).revision);
  return { mode: slot === line.enforced ? "enforce" : "shadow", revision };
}

function holdsRules(line: PolicyLine, slot: SlotState | null): boolean {
  return slot !== null && contentOf(line, slot.digest).content === "rules";
}

function describeSlot(line: PolicyLine, slot: SlotState | null, contractOf: ViewContext["contractOf"]): SlotView {
  if (slot === null) return null;
  const { revision, digest, module, content, firstSeenAt } = contentOf(line, slot.digest);
  const contract = content === "rules" ? contractOf(digest) : null;
  return {
    revision: revisionText(revision),
    digest,
    content,
    module_sha256: module,
    since: formatTime(slot.since),
    first_seen: formatTime(firstSeenAt),
    held: line.held.has(digest),
    ...describeRules(contract),
  };
}

/** What a content checks and asks for, and of which operations; nothing of a removal. */
export function describeRules(
  contract: PolicyContract | null,
): Pick<NonNullable<SlotView>, "constraints" | "obligations" | "operations"> {
  return {
    constraints: (contract?.constraints ?? []).map(({ name, effect, reasons }) => ({ name, effect, reasons })),
    obligations: (contract?.obligations ?? []).map(({ name, kind, value }) => ({ name, kind, value })),
    operations: contract?.operations ?? [],
  };
}

/** Standing approvals of the candidate's content. */
function approvalsOf(line: PolicyLine): readonly Approval[] {
  return line.candidate === null ? [] : (line.approvals.get(line.candidate.digest) ?? []);
}

function describeReport(report: ReportReference, line: PolicyLine, serving: string): ApprovalView["report"] {
  const { sha256, tableRevision, complete, assertions, verification } = report;
  const isVerified = verification?.result === "verified";
  return {
    sha256,
    table_revision: tableRevision,
    complete,
    assertions: { ...assertions },
    status: !isVerified ? "claimed" : isOfThisPromotion(report, line, serving) ? "verified" : "outdated",
    claimed_because: isVerified ? null : (verification?.result ?? "not_verified"),
  };
}

function describeApproval({ by, at, report }: Approval, line: PolicyLine, serving: string): ApprovalView {
  return {
    by: { key_id: by.keyId, workspace: by.workspace, origin: by.origin, roles: by.roles },
    at: formatTime(at),
    report: report === null ? null : describeReport(report, line, serving),
  };
}

function describeRequirements(required: PromotionRequirements): PolicyView["requirements"] {
  return mapSettings("shown", {
    count: (_, name) => required[name],
    flag: (_, name) => required[name],
    words: (_, name) => required[name],
    duration: (_, name) => required[name] / 1_000,
  });
}

function reference(line: PolicyLine, digest: string): PolicyView["held"][number] {
  return { revision: revisionText(contentOf(line, digest).revision), digest };
}

/** Contents are numbered from 1. */
function revisionText(revision: number): string {
  return formatRevision(revision) ?? `r${revision}`;
}
