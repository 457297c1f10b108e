import type { JsonObject } from "../../../canon/json.ts";
import { numberOf, objectOf, objectsOf, textOf, stringsOf } from "../../terminal/read-answer.ts";
import { amountText, numberText } from "../../terminal/amounts.ts";
import { personText, timeText } from "./contents.ts";

export const HISTORY_HEAD: readonly string[] = ["POSITION", "WHEN", "WHAT", "FROM → TO", "BY", "WITH"];

/** A row of the log as cells. Members of its record are those of `PolicyRecord`; what a newer server adds is left out. */
export function historyRow(row: JsonObject): readonly string[] {
  const record = objectOf(row, "record") ?? {};
  const position = row["position"];
  const kind = textOf(record, "kind");
  const by = objectOf(record, "by");
  return [
    typeof position === "number" ? String(position) : "?",
    timeOf(record),
    KINDS.get(kind) ?? kind.replaceAll("_", " "),
    movementText(record),
    by === null ? (kind === "imported" ? "an older version" : "a server's files") : actorText(by),
    detailText(record) || "-",
  ];
}

const KINDS: ReadonlyMap<string, string> = new Map([
  ["imported", "taken over"],
  ["observed", "new content"],
  ["returned", "files changed back"],
  ["approved", "approved"],
  ["approval_withdrawn", "approval withdrawn"],
  ["candidate_withdrawn", "candidate withdrawn"],
  ["promoted", "promoted"],
  ["rolled_back", "rolled back"],
  ["released", "released"],
]);

/** Milliseconds that no calendar has would throw where they are written. */
function timeOf(record: JsonObject): string {
  const at = numberOf(record, "at");
  return timeText(at === null || Number.isNaN(new Date(at).getTime()) ? null : at);
}

function movementText(record: JsonObject): string {
  if ("to" in record) return `${referenceText(objectOf(record, "from"))} → ${referenceText(objectOf(record, "to"))}`;
  if (!("revision" in record)) return "-";
  const slot = textOf(record, "slot");
  const end = textOf(record, "content") === "removal" ? ", the policy's end" : "";
  return `${referenceText(record)}${end}${slot === "" ? "" : `, ${slot}`}`;
}

function referenceText(reference: JsonObject | null): string {
  if (reference === null) return "nothing";
  return `r${textOf(reference, "revision")} (${textOf(reference, "digest").slice(0, 8)})`;
}

function actorText(by: JsonObject): string {
  const roles = stringsOf(by, "roles");
  const person = objectOf(by, "person");
  const who =
    person === null
      ? `key ${textOf(by, "keyId")}`
      : personText({
          issuer: textOf(person, "issuer"),
          subject: textOf(person, "subject"),
          ...(Object.hasOwn(person, "name") && { name: textOf(person, "name") }),
        });
  return `${who} of ${textOf(by, "workspace")}${roles.length === 0 ? "" : ` (${roles.join(", ")})`}`;
}

function detailText(record: JsonObject): string {
  const approvals = objectsOf(record, "approvals").map((approval) => textOf(objectOf(approval, "by"), "keyId"));
  const reason = textOf(record, "reason").replaceAll("_", " ");
  return [
    ...reportText(objectOf(record, "report")),
    ...(reason === "" ? [] : [reason]),
    ...("approvals" in record
      ? [approvals.length === 0 ? "no approvals" : `approved by ${approvals.join(" and ")}`]
      : []),
    ...shadowText(objectOf(record, "shadow")),
  ].join("; ");
}

function reportText(report: JsonObject | null): readonly string[] {
  if (report === null) return [];
  const failed = numberOf(objectOf(report, "assertions"), "failed") ?? 0;
  const complete = report["complete"] === true ? "" : ", incomplete";
  const isVerified = objectOf(report, "verification")?.["result"] === "verified";
  return [
    `${isVerified ? "verified" : "claimed"} report ${textOf(report, "sha256").slice(0, 8)}${complete}${failed === 0 ? "" : `, ${amountText(failed, "assertion")} failed`}`,
  ];
}

function shadowText(shadow: JsonObject | null): readonly string[] {
  if (shadow === null) return [];
  const amount = (name: string): number => numberOf(shadow, name) ?? 0;
  const judged = amountText(amount("judged"), "request");
  const denied = `${numberText(amount("wouldDeny"))} would have been denied, ${numberText(amount("newlyDenied"))} of them let through`;
  const indeterminate = amount("indeterminate");
  return [
    `of ${judged} in shadow ${denied}${indeterminate === 0 ? "" : `, ${numberText(indeterminate)} indeterminate`}`,
  ];
}
