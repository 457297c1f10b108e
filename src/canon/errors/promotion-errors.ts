import { final, type ErrorRow } from "./error-row.ts";

const LACKING = { ...final(409, "precondition"), at: ["policy_change"] } as const;

/** Errors of promotions that lack something. */
export const PROMOTION_ERRORS = {
  approvals_required: {
    ...LACKING,
    meaning:
      "The promotion lacks approvals, or approvals by people with the required roles; `missing` of the error lists them.",
    example: '`promotion: {"*": {approvals: 2}}` and one approval.',
    fix: "`signalbox policy approve ID`, by another person.",
  },
  soak_not_met: {
    ...LACKING,
    meaning:
      "The candidate has not been in shadow for as long as `soak` requires; `missing` has the rest.",
    example: "`soak: 24h`, an hour after the change.",
    fix: "Wait for the rest of the time.",
  },
  decisions_required: {
    ...LACKING,
    meaning:
      "The candidate was evaluated for fewer requests in shadow than `min_decisions` requires; `missing` has the number.",
    example: "`min_decisions: 1000` on a quiet day.",
    fix: "Wait for traffic.",
  },
  indeterminate_seen: {
    ...LACKING,
    meaning:
      "The candidate was indeterminate for some requests in shadow; the promotion allows none.",
    example: "A rule that reads a member that some requests lack.",
    fix: "Fix the policy; `signalbox policy show ID` has examples.",
  },
  report_required: {
    ...LACKING,
    meaning:
      "The promotion requires an approval that names the simulation report of exactly this promotion, as the server computes it.",
    example:
      "An approval without `--report` where `report: true`, or a change of `routes.yaml` since the approval.",
    fix: "`signalbox policy simulate ID --format json=report.json`, then approve with `--report report.json`.",
  },
  assertions_not_passed: {
    ...LACKING,
    meaning: "The verified report has assertions that failed, or none at all.",
    example: "A server without `assertions.yaml` beside its policies.",
    fix: "Give the server the assertions and correct what fails, then approve again with a new report.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
