import { explainCommand } from "../../../simulate/explain/explain-arguments.ts";
import { formatTime } from "../../../canon/rfc3339.ts";
import type { ApprovalView, Content, SlotView } from "./view.ts";

/** `r4 (9f2c1a7b)` */
export function contentText({ revision, digest }: Content): string {
  return `${revision} (${digest.slice(0, 8)})`;
}

/** The same, with what a removal is: a policy's end. */
export function slotText(slot: SlotView): string {
  return `${contentText(slot)}${slot.content === "removal" ? ", the policy's removal" : ""}`;
}

/** `2026-03-02T10:00Z`, to the minute; `?` where a server does not say it. */
export function timeText(time: number | null): string {
  return time === null ? "?" : `${formatTime(time).slice(0, 16)}Z`;
}

/** `key 7f3a of acme-prod (security)` */
export function actorText({ key_id: key, workspace, roles, person }: ApprovalView["by"]): string {
  return `${person === undefined ? `key ${key}` : personText(person)} of ${workspace}${roles.length === 0 ? "" : ` (${roles.join(", ")})`}`;
}

/** `Ada (248289 at https://idp.example)` */
export function personText({
  issuer,
  subject,
  name,
}: {
  readonly issuer: string;
  readonly subject: string;
  readonly name?: string;
}): string {
  return name === undefined ? `${subject} at ${issuer}` : `${name} (${subject} at ${issuer})`;
}

/** A command line to paste. @param server as it was given by a flag; `null` where the environment names it. */
export function commandText(argv: readonly string[], server: string | null): string {
  return explainCommand([...argv, ...(server === null ? [] : ["--server", server])]);
}

/** The enforced content of a policy, as a part of a sentence. */
export function actingText(enforced: SlotView | null): string {
  if (enforced === null) return "nothing is enforced";
  return enforced.content === "removal" ? "it has ended, nothing is enforced" : `${contentText(enforced)} is enforced`;
}
