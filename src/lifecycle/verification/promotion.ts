import { canonicalJson } from "../../canon/json.ts";
import type { Approval, PromotedRecord, ReportReference } from "../records.ts";
import type { PolicyLogCause } from "./causes.ts";

/** What the rows before a promotion say of the content that it promotes. */
export interface Promotable {
  readonly isRemoval: boolean;
  /** Standing, one of each origin. */
  readonly approvals: readonly Approval[];
  /** When it became the candidate, milliseconds since the epoch. */
  readonly since: number;
}

/** Whether what a promotion's own requirements ask for was there, by the rows before it; the first thing that was not. */
export function promotionCause(record: PromotedRecord, status: Promotable): PolicyLogCause | null {
  if ((record.shadow === null) !== status.isRemoval) return "figures";
  return (
    copyCause(record, status.approvals) ?? peopleCause(record) ?? reportCause(record) ?? shadowCause(record, status)
  );
}

/** The approvals in the row are those that stood and count, to the letter: they are what is read in years to come. */
function copyCause(
  { approvals, by, requirements }: PromotedRecord,
  status: readonly Approval[],
): PolicyLogCause | null {
  const copies = approvals.map(canonicalJson);
  const originals = status.map(canonicalJson);
  if (copies.some((copy) => !originals.includes(copy)) || new Set(copies).size < copies.length)
    return "approval_unknown";
  const counts = (approval: Approval): boolean => requirements.selfApproval || approval.by.origin !== by.origin;
  if (!approvals.every(counts)) return "self_approval";
  return copies.length === status.filter(counts).length ? null : "approval_missing";
}

function peopleCause({ approvals, requirements }: PromotedRecord): PolicyLogCause | null {
  if (approvals.length < requirements.approvals) return "approvals";
  const roles = new Set(approvals.flatMap(({ by }) => by.roles));
  return requirements.roles.every((role) => roles.has(role)) ? null : "roles";
}

/**
 * Whether the reports that a promotion required were only claimed by approvers: an older version, which verified none, made the promotion. It was
 * lawful then, so the log goes on verifying, and an auditor is told.
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

function reportCause(record: PromotedRecord): PolicyLogCause | null {
  const { approvals, requirements } = record;
  const whole = approvals.flatMap(({ report }) =>
    report?.complete === true && isCounted(report, record) ? [report] : [],
  );
  if ((requirements.report || requirements.assertions) && whole.length === 0) return "report";
  if (!requirements.assertions) return null;
  const isProven = whole.some(({ assertions: { passed, failed, waived } }) => failed === 0 && passed + waived > 0);
  return isProven ? null : "assertions";
}

function shadowCause({ at, requirements, shadow }: PromotedRecord, { since }: Promotable): PolicyLogCause | null {
  // A clock that was behind another one's takes nothing away where nothing is required.
  if (Math.max(0, at - since) < requirements.soak) return "soak";
  // Of a removal nothing is counted, so nothing is asked.
  if (shadow === null) return null;
  if (shadow.judged < requirements.decisions) return "decisions";
  return requirements.noIndeterminate && shadow.indeterminate > 0 ? "indeterminate" : null;
}
