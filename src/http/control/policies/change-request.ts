import { invalidRequest, type ServiceError } from "../../../canon/error.ts";
import { parseRevision } from "../../../canon/policy.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../canon/json.ts";
import { ROLLBACK_REASONS, type ReportReference, type RollbackReason } from "../../../lifecycle/records.ts";

/** The simulation that an approver has seen; `null` where the body names none. Reads a body that matches `APPROVE_SCHEMA`. */
export function readReport({ report }: JsonObject): ReportReference | null {
  if (!isJsonObject(report)) return null;
  const assertions = isJsonObject(report["assertions"]) ? report["assertions"] : {};
  const { passed, failed, waived } = assertions;
  return {
    sha256: readText(report, "sha256"),
    tableRevision: readText(report, "table_revision"),
    complete: report["complete"] === true,
    assertions: { passed: Number(passed), failed: Number(failed), waived: Number(waived) },
  };
}

/** The revisions that a body expects in the slots; a slot that it does not name is not looked at. */
export function readExpected(body: JsonObject): {
  readonly candidateRevision?: number | null;
  readonly enforcedRevision?: number | null;
} {
  const expected = isJsonObject(body["expected"]) ? body["expected"] : {};
  const candidate = readRevision(expected["candidate_revision"]);
  const enforced = readRevision(expected["enforced_revision"]);
  return {
    ...(candidate !== undefined && { candidateRevision: candidate }),
    ...(enforced !== undefined && { enforcedRevision: enforced }),
  };
}

/** Left out, `null`, or the number of a revision such as `r4`. */
export function readRevision(value: JsonValue | undefined): number | null | undefined {
  if (value === null) return null;
  return typeof value === "string" ? (parseRevision(value) ?? undefined) : undefined;
}

/** A text that the schema requires; empty where the body has none. */
export function readText(body: JsonObject, name: string): string {
  const value = body[name];
  return typeof value === "string" ? value : "";
}

export function readReason({ reason }: JsonObject): RollbackReason {
  return ROLLBACK_REASONS.find((known) => known === reason) ?? "other";
}

/** What a body that matches `WITHDRAW_SCHEMA` withdraws: the two have different members. */
export function readWithdrawal(
  body: JsonObject,
): { readonly what: "approval"; readonly digest: string } | { readonly what: "candidate" } | ServiceError {
  const isApproval = body["what"] === "approval";
  const [needed, other] = isApproval ? (["digest", "expected"] as const) : (["expected", "digest"] as const);
  if (body[other] !== undefined) {
    const message = `${other} has no meaning for the withdrawal of ${isApproval ? "an approval" : "a candidate"}; leave it out`;
    return invalidRequest("invalid_value", message, other);
  }
  if (body[needed] === undefined) return invalidRequest("missing_field", `${needed} is required`, needed);
  return isApproval ? { what: "approval", digest: readText(body, "digest") } : { what: "candidate" };
}
