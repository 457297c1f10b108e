import type { JsonObject } from "../../canon/json.ts";
import { objectOf, objectsOf, textOf, stringsOf } from "./members.ts";

/** What becomes of the request, in one line. */
export function headline(explanation: JsonObject): string {
  const denial = objectOf(explanation, "denial");
  if (denial !== null) {
    const error = objectOf(explanation, "error");
    return `DENIED by ${denialText(denial)}, ${textOf(error, "status")}: ${textOf(error, "message")}`;
  }
  const only = explanation["max_places"] === 1 ? ", and nowhere else" : "";
  const plan = objectsOf(explanation, "plan");
  return `ROUTED to ${isArranged(explanation) ? arrangedText(plan) : planText(plan)}${only}`;
}

/** `eu-residency/processed_in_eu: NOT_IN_EU` */
function denialText(denial: JsonObject): string {
  const policy = textOf(objectOf(denial, "policy"), "id");
  return `${policy}/${textOf(denial, "failed_constraint")}: ${textOf(denial, "reason_code")}`;
}

/** A server has put the plan in the order in which a call would try it now, and chance has no part in it. */
export function isArranged(explanation: JsonObject): boolean {
  return objectOf(explanation, "arrangement")?.["by_chance"] === false;
}

/** `a, then b` */
function arrangedText(plan: readonly JsonObject[]): string {
  return plan.map((candidate) => textOf(candidate, "endpoint")).join(", then ");
}

/** `a or b, then c`: equals are put in order when a call is made. */
function planText(plan: readonly JsonObject[]): string {
  const tiers = Map.groupBy(plan, ({ tier }) => tier);
  return [...tiers.values()]
    .map((tier) => tier.map((candidate) => textOf(candidate, "endpoint")).join(" or "))
    .join(", then ");
}

/** What would become of it if every candidate were promoted; `null` where nothing would change. */
export function promotedLine(explanation: JsonObject): string | null {
  const promoted = objectOf(explanation, "if_promoted");
  if (promoted === null) return null;
  const denial = objectOf(promoted, "denial");
  if (denial !== null) return `DENIED by ${denialText(denial)}`;
  const edits = editText(objectOf(promoted, "edits"));
  return `ROUTED to ${stringsOf(promoted, "plan").join(", ")}${edits === "" ? "" : `; ${edits}`}`;
}

/** `at most 500 tokens of output, without user`; empty where nothing is changed. */
export function editText(edits: JsonObject | null): string {
  const most = textOf(edits, "max_output_tokens");
  const fields = stringsOf(edits, "strip_fields");
  return [
    ...(most === "" ? [] : [`at most ${most} tokens of output`]),
    ...(fields.length === 0 ? [] : [`without ${fields.join(", ")}`]),
  ].join(", ");
}
