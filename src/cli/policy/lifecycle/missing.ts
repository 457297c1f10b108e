import { REQUIREMENTS, type RequirementFacts, type RequirementFormat } from "../../../canon/promotion.ts";
import { amountText, numberText } from "../../terminal/amounts.ts";
import type { Missing, PolicyView } from "./view.ts";
import { durationText } from "./contents.ts";

const FORMAT: RequirementFormat = {
  number: numberText,
  amount: amountText,
  duration: durationText,
  selfApproval: false,
};

/** One thing that a promotion still lacks, as a sentence; the same in a list, after an approval and in a refusal. */
function missingText(missing: Missing): string {
  const row = REQUIREMENTS.find(({ name }) => name === missing.requirement);
  // A newer server may require more than this command knows.
  return row?.missing(factsOf(missing), FORMAT) ?? missing.requirement;
}

/** Durations are seconds. */
function factsOf({ roles = [], claimed = 0, outdated = 0, ...missing }: Missing): RequirementFacts {
  const { have = missing.have_seconds ?? 0, need = missing.need_seconds ?? 0 } = missing;
  return { have, need, roles, claimed, outdated };
}

export function missingTexts(missing: readonly Missing[]): string {
  return missing.map(missingText).join("; ");
}

/**
 * What is missing for a promoter who has not approved. A server answers what is missing for the caller, whose own approval mostly does not count: to an
 * approver it would say that the approval was for nothing.
 */
export function missingForOthers({ missing, approvals, requirements }: PolicyView): readonly Missing[] | null {
  const reports = approvals.flatMap(({ report }) => (report?.status === "verified" && report.complete ? [report] : []));
  const passed = reports.some(({ assertions: { passed: good, failed, waived } }) => failed === 0 && good + waived > 0);
  return (
    missing?.flatMap((one): readonly Missing[] => {
      switch (one.requirement) {
        case "approvals":
          return approvals.length >= (one.need ?? requirements.approvals) ? [] : [{ ...one, have: approvals.length }];
        case "roles": {
          const roles = (one.roles ?? []).filter((role) => !approvals.some(({ by }) => by.roles.includes(role)));
          return roles.length === 0 ? [] : [{ ...one, roles }];
        }
        case "report":
          return reports.length > 0 ? [] : [one];
        case "assertions":
          return passed ? [] : [one];
        default:
          return [one];
      }
    }) ?? null
  );
}

/** One requirement and whether it is met: `null` where nothing says so. */
interface RequirementLine {
  readonly text: string;
  readonly met: boolean | null;
}

/** Everything that the policy's promotion requires, with what is missing of it. */
export function requirementLines({ requirements, missing }: PolicyView): readonly RequirementLine[] {
  const lines = REQUIREMENTS.flatMap(({ name, shown, required }) => {
    const lacking = missing?.find(({ requirement }) => requirement === name);
    const value = requirements[shown];
    const isRequired = typeof value === "object" ? value.length > 0 : value !== 0 && value !== false;
    if (!isRequired && lacking === undefined) return [];
    const met = missing === null ? null : lacking === undefined;
    const text = required(
      {
        have: 0,
        need: typeof value === "number" ? value : 0,
        roles: typeof value === "object" ? value : [],
        claimed: 0,
        outdated: 0,
      },
      { ...FORMAT, selfApproval: requirements.self_approval },
    );
    if (lacking === undefined) return [{ text, met }];
    // What has no amounts would say the same twice.
    const hasAmounts = (lacking.have_seconds ?? lacking.have ?? lacking.roles?.[0]) !== undefined;
    if (isRequired && !hasAmounts) return [{ text, met }];
    return [{ text: isRequired ? `${text}: ${missingText(lacking)}` : missingText(lacking), met }];
  });
  const others = (missing ?? []).filter(({ requirement }) => REQUIREMENTS.every(({ name }) => name !== requirement));
  return [...lines, ...others.map((one) => ({ text: missingText(one), met: false }))];
}
