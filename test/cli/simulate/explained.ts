import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";
import { objectOf, textOf } from "../../../src/cli/terminal/call-server.ts";
import type { ChangeGroup } from "../../../src/simulate/report/report.ts";

export function planOf({ plan }: JsonObject): readonly JsonObject[] {
  return Array.isArray(plan) ? plan.filter(isJsonObject) : [];
}

/** What an answer of `explain` says, in the form of {@link resultOf}. */
export function said(explanation: JsonObject): string {
  const { denial } = explanation;
  if (!isJsonObject(denial))
    return planOf(explanation)
      .map((candidate) => textOf(candidate, "endpoint"))
      .join(" ");
  return `denied ${textOf(objectOf(denial, "policy"), "id")}/${textOf(denial, "failed_constraint").split(":")[0]}`;
}

export function resultOf({ plan, denial }: ChangeGroup["head"]): string {
  if (denial !== null) return `denied ${denial.policy}/${denial.constraint}`;
  return plan.map(({ endpoint }) => endpoint).join(" ");
}
