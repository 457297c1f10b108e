import { amountText, numberText } from "../../../terminal/amounts.ts";
import type { Missing, PolicyView } from "../server/view.ts";
import { durationText } from "./contents.ts";

/** One thing that a promotion still lacks, in words; the same in a list, after an approval and in a refusal. */
export function missingText(missing: Missing): string {
  const { requirement, roles = [], claimed = 0, outdated = 0 } = missing;
  const { have, need } = amountsOf(missing);
  switch (requirement) {
    case "approvals":
      return `${numberText(have ?? 0)} of ${amountText(need ?? 0, "approval")}`;
    case "roles":
      return `no approver with the role ${roles.join(", none with ")}`;
    case "soak":
      return `watched ${durationText(have ?? 0)} of ${durationText(need ?? 0)}`;
    case "decisions":
      return `${numberText(have ?? 0)} of ${amountText(need ?? 0, "decision")}`;
    case "no_indeterminate":
      return `${amountText(have ?? 0, "verdict")} indeterminate`;
    case "report":
      return `no approval with the server's own complete simulation report${reportCounts(claimed, outdated)}`;
    case "assertions":
      return have === null || have === 0
        ? "no approval with a verified report whose assertions passed"
        : `${amountText(have, "assertion")} failed in a verified report`;
    default:
      // A newer server may require more than this command knows.
      return requirement;
  }
}

/** What there is and what is required: seconds for a soak, otherwise amounts. */
function amountsOf(missing: Missing): { readonly have: number | null; readonly need: number | null } {
  return {
    have: missing.have_seconds ?? missing.have ?? null,
    need: missing.need_seconds ?? missing.need ?? null,
  };
}

function reportCounts(claimed: number, outdated: number): string {
  const counts = [
    ...(claimed === 0 ? [] : [`${numberText(claimed)} only claimed`]),
    ...(outdated === 0 ? [] : [`${numberText(outdated)} outdated`]),
  ];
  return counts.length === 0 ? "" : ` (${counts.join(", ")})`;
}

export function missingTexts(missing: readonly Missing[]): string {
  return missing.map(missingText).join("; ");
}

/**
 * What is missing when somebody promotes who has not approved. A server says what is missing for whoever asks, and whose own approval mostly does not count: to an
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
export interface RequirementLine {
  readonly text: string;
  readonly met: boolean | null;
}

/** Everything that the policy's promotion requires, with what is missing of it. */
export function requirementLines({ requirements, missing }: PolicyView): readonly RequirementLine[] {
  const known = new Set<string>();
  const lines = WORDS.flatMap(([requirement, say]) => {
    known.add(requirement);
    const text = say(requirements);
    const lacking = missing?.find((one) => one.requirement === requirement);
    if (text === null && lacking === undefined) return [];
    const met = missing === null ? null : lacking === undefined;
    if (lacking === undefined) return [{ text: text ?? requirement, met }];
    // What has no amounts would say the same twice.
    const amounts = amountsOf(lacking).have !== null || (lacking.roles ?? []).length > 0;
    return [
      { text: text === null || !amounts ? (text ?? missingText(lacking)) : `${text}: ${missingText(lacking)}`, met },
    ];
  });
  const others = (missing ?? []).filter(({ requirement }) => !known.has(requirement));
  return [...lines, ...others.map((one) => ({ text: missingText(one), met: false }))];
}

const WORDS: readonly (readonly [string, (required: PolicyView["requirements"]) => string | null])[] = [
  ["approvals", approvalsText],
  ["roles", ({ roles }) => (roles.length === 0 ? null : `an approver with the role ${roles.join(", one with ")}`)],
  ["soak", ({ soak_seconds: soak }) => (soak === 0 ? null : `in shadow for ${durationText(soak)}`)],
  [
    "decisions",
    ({ min_decisions: decisions }) => (decisions === 0 ? null : `asked about ${amountText(decisions, "decision")}`),
  ],
  ["no_indeterminate", ({ no_indeterminate: none }) => (none ? "no indeterminate verdict in shadow" : null)],
  ["report", ({ report }) => (report ? "an approval with the server's own complete simulation report" : null)],
  ["assertions", ({ assertions }) => (assertions ? "assertions that passed in a verified report" : null)],
];

function approvalsText({ approvals, self_approval: selfApproval }: PolicyView["requirements"]): string | null {
  if (approvals === 0) return null;
  return `${amountText(approvals, "approval")}${selfApproval ? ", the promoter's own among them or not" : ", the promoter's own not counted"}`;
}
