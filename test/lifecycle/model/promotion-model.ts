import { canonicalJson } from "../../../src/canon/json.ts";
import type { Approval, PromotedRecord, ReportReference } from "../../../src/lifecycle/records.ts";

export type PromotionCause =
  | "approval_unknown"
  | "approval_missing"
  | "self_approval"
  | "approvals"
  | "roles"
  | "soak"
  | "decisions"
  | "indeterminate"
  | "report"
  | "assertions"
  | "figures";

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
    copyCause(record, status.approvals) ??
    peopleCause(record) ??
    reportCause(record) ??
    shadowCause(record, status)
  );
}

/**
 * The approvals in the row are those that stood and count, to the letter: they are what is read in
 * years to come.
 */
function copyCause(
  { approvals, by, requirements }: PromotedRecord,
  status: readonly Approval[],
): PromotionCause | null {
  const copies = approvals.map(canonicalJson);
  const originals = status.map(canonicalJson);
  if (copies.some((copy) => !originals.includes(copy)) || new Set(copies).size < copies.length)
    return "approval_unknown";
  const counts = (approval: Approval): boolean =>
    requirements.selfApproval || approval.by.origin !== by.origin;
  if (!approvals.every(counts)) return "self_approval";
  return copies.length === status.filter(counts).length ? null : "approval_missing";
}

function peopleCause({ approvals, requirements }: PromotedRecord): PromotionCause | null {
  if (approvals.length < requirements.approvals) return "approvals";
  const roles = new Set(approvals.flatMap(({ by }) => by.roles));
  return requirements.roles.every((role) => roles.has(role)) ? null : "roles";
}

/** A report without a verification is of an older version, for which every claim counted. */
function isCounted(
  { verification, tableRevision }: ReportReference,
  record: PromotedRecord,
): boolean {
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
  const isProven = whole.some(
    ({ assertions: { passed, failed, waived } }) => failed === 0 && passed + waived > 0,
  );
  return isProven ? null : "assertions";
}

function shadowCause(
  { at, requirements, shadow }: PromotedRecord,
  { since }: Promotable,
): PromotionCause | null {
  // A clock that was behind another one's takes nothing away where nothing is required.
  if (Math.max(0, at - since) < requirements.soak) return "soak";
  // A removal has no counts, so nothing is required.
  if (shadow === null) return null;
  if (shadow.judged < requirements.decisions) return "decisions";
  return requirements.noIndeterminate && shadow.indeterminate > 0 ? "indeterminate" : null;
}
