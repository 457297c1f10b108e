import { canonicalJson } from "../../canon/json.ts";
import type { Approval, PromotedRecord, ReportReference } from "../records.ts";

/** What can be wrong with a promotion, each with its sentence. */
export const PROMOTION_CAUSES = {
  approval_unknown: "it counts an approval that did not exist for this content",
  approval_missing: "it leaves out a valid approval of this content that counts",
  self_approval: "it counts the approval of the promoter, which the row's own requirements forbid",
  approvals: "fewer people had approved than the row's own requirements say",
  roles: "no approver had a role that the row's own requirements name",
  soak: "the content had not been the candidate for as long as the row's own requirements say",
  decisions: "the content had judged fewer decisions than the row's own requirements say",
  indeterminate: "verdicts were indeterminate, which the row's own requirements forbid",
  report:
    "no approval that counts refers to a complete report of this promotion, which the row's own requirements demand",
  assertions: "no approval that counts refers to assertions that all passed, which the row's own requirements demand",
  figures: "the shadow figures are missing, or a removal has some although none are counted for it",
} as const;

type PromotionCause = keyof typeof PROMOTION_CAUSES;

/** What the rows before a promotion say of the content that it promotes. */
interface Promotable {
  readonly isRemoval: boolean;
  /** Those that count, one of each origin. */
  readonly approvals: readonly Approval[];
  /** When it became the candidate, milliseconds since the epoch. */
  readonly since: number;
}

/** Whether the rows before a promotion meet its own requirements; the first one that is not met. */
export function promotionCause(record: PromotedRecord, status: Promotable): PromotionCause | null {
  if ((record.shadow === null) !== status.isRemoval) return "figures";
  return (
    copyCause(record, status.approvals) ?? peopleCause(record) ?? reportCause(record) ?? shadowCause(record, status)
  );
}

/** The approvals in the row are those that stood and count, to the letter: they are what is read in years to come. */
function copyCause(
  { approvals, by, requirements }: PromotedRecord,
  status: readonly Approval[],
): PromotionCause | null {
  const copies = approvals.map(canonicalJson);
  const originals = status.map(canonicalJson);
  if (copies.some((copy) => !originals.includes(copy)) || new Set(copies).size < copies.length)
    return "approval_unknown";
  const counts = (approval: Approval): boolean => requirements.selfApproval || approval.by.origin !== by.origin;
  if (!approvals.every(counts)) return "self_approval";
  return copies.length === status.filter(counts).length ? null : "approval_missing";
}

function peopleCause({ approvals, requirements }: PromotedRecord): PromotionCause | null {
  if (approvals.length < requirements.approvals) return "approvals";
  const roles = new Set(approvals.flatMap(({ by }) => by.roles));
  return requirements.roles.every((role) => roles.has(role)) ? null : "roles";
}

/**
 * Whether the reports that a promotion required were only claimed by approvers: an older version, which verified none, made the promotion. It was
 * lawful then, so the log still verifies, and an auditor gets a note.
 */
export function restsOnClaims(record: PromotedRecord): boolean {
  const { requirements } = record;
  if (!requirements.report && !requirements.assertions) return false;
  return reportCause({ ...record, approvals: withoutClaims(record.approvals) }) !== null;
}

function withoutClaims(approvals: readonly Approval[]): readonly Approval[] {
  return approvals.filter(({ report }) => report?.verification !== undefined);
}

/** A report without a verification is of an older version, for which every claim counted. */
function isCounted({ verification, tableRevision }: ReportReference, record: PromotedRecord): boolean {
  if (verification === undefined) return true;
  return (
    verification.result === "verified" &&
    tableRevision === record.tableRevision &&
    verification.enforced === (record.from?.digest ?? null)
  );
}

function reportCause(record: PromotedRecord): PromotionCause | null {
  const { approvals, requirements } = record;
  const whole = approvals.flatMap(({ report }) =>
    report?.complete === true && isCounted(report, record) ? [report] : [],
  );
  if ((requirements.report || requirements.assertions) && whole.length === 0) return "report";
  if (!requirements.assertions) return null;
  const isProven = whole.some(({ assertions: { passed, failed, waived } }) => failed === 0 && passed + waived > 0);
  return isProven ? null : "assertions";
}

function shadowCause({ at, requirements, shadow }: PromotedRecord, { since }: Promotable): PromotionCause | null {
  // A clock that was behind another one's takes nothing away where nothing is required.
  if (Math.max(0, at - since) < requirements.soak) return "soak";
  // A removal has no counts, so nothing is required.
  if (shadow === null) return null;
  if (shadow.judged < requirements.decisions) return "decisions";
  return requirements.noIndeterminate && shadow.indeterminate > 0 ? "indeterminate" : null;
}
