import { CHANGE_KINDS } from "../../../simulate/change-kind.ts";
import {
  formatSarifLog,
  type SarifLevel,
  type SarifResult,
  type SarifRule,
} from "../../terminal/report.ts";
import type { ReportModel } from "./model.ts";
import { noticesOf, type Notice, type NoticeRule } from "./notices.ts";
import { LATENT_SENTENCE } from "./wording/latent.ts";
import { changeWording } from "./wording/comparison.ts";

const LEVELS = { error: "error", warning: "warning", notice: "note" } as const;

const RULES: readonly SarifRule[] = [
  rule(
    "incomplete",
    "Not every class of requests was decided.",
    "error",
    "Raise --time-limit, or let policies read fewer members.",
  ),
  rule(
    "assertion_failed",
    "An assertion fails.",
    "error",
    "Change the files, or waive the assertion with a reason.",
  ),
  rule(
    "assertion_waived",
    "An assertion fails and is waived.",
    "note",
    "Fix it before the waiver ends.",
  ),
  rule(
    "coverage_failed",
    "All requests of head together cover less than the assertions require.",
    "error",
    "Remove or correct what no request covers, or except it from coverage.",
  ),
  ...CHANGE_KINDS.map((kind) => {
    const { sentence, level } = changeWording(kind);
    return rule(
      kind,
      sentence,
      LEVELS[level],
      "Try the command of the result: it explains one such request.",
    );
  }),
  rule(
    "changed_entry",
    "An entry of the files differs, and no request is decided differently.",
    "note",
    "Check that the new value is intended.",
  ),
  rule(
    "future_row_change",
    LATENT_SENTENCE,
    "warning",
    "Check that the policy may allow it: a later row with these values will not show it as a change.",
  ),
  rule(
    "dead_configuration",
    "A part of head that no request uses.",
    "note",
    "Remove it, or correct what prevents requests from using it.",
  ),
];

function rule(id: NoticeRule, meaning: string, level: SarifLevel, fix: string): SarifRule {
  return { id, meaning, level, fix };
}

/** SARIF 2.1.0 with the rules that results name. */
export function formatSarif(model: ReportModel): string {
  const results = noticesOf(model).flatMap(resultOf);
  const used = new Set(results.map(({ ruleId }) => ruleId));
  return formatSarifLog(
    RULES.filter(({ id }) => used.has(id)),
    results,
  );
}

/** Code scanning shows only what has a position. */
function resultOf({
  rule: ruleId,
  level,
  alone,
  location,
  fingerprints,
  suppression,
}: Notice): readonly SarifResult[] {
  if (ruleId === null) return [];
  return [
    {
      ruleId,
      level: LEVELS[level],
      message: alone,
      location,
      ...(fingerprints === null ? {} : { fingerprints }),
      ...(suppression === null ? {} : { suppression }),
    },
  ];
}
