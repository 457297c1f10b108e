import { formatRevision } from "../../../canon/policy.ts";
import type { codedError } from "../../../canon/error-codes.ts";
import {
  REQUIREMENTS,
  type LifecycleFault,
  type MissingRequirement,
  type RequirementFacts,
  type RequirementName,
} from "../../../lifecycle/lifecycle.ts";
import { refusal, type RefusalError } from "../../refusal.ts";
import type { PromotionSimulationFault } from "./administration.ts";
import type { JsonObject } from "../../../canon/json.ts";
import { CONTROL_ERRORS, type PROMOTION_ERRORS } from "../../../canon/control-errors.ts";

/** An error of a policy with the fix of its row, which clients print beside the message. */
function policyError(
  code: keyof typeof CONTROL_ERRORS,
  message: string,
  { facts, ...more }: NonNullable<Parameters<typeof codedError>[2]> = {},
) {
  return refusal(code, message, { ...more, facts: { fix: CONTROL_ERRORS[code].fix, ...facts } });
}

const MESSAGES = {
  policy_not_found: "There is no policy with this id.",
  content_not_found: "The policy has no content with this digest, or it is no longer stored.",
  no_candidate: "The policy has no candidate to promote.",
  nothing_to_roll_back_to:
    "Nothing is enforced, or the requested revision was not enforced before the present one. GET /v1/policies/{id}/transitions lists the enforced revisions. Content that initial_mode enforced when it was first seen has no earlier one.",
  not_held: "The content is neither held nor withdrawn, so there is nothing to release.",
  not_approved: "You have not approved this content, so there is no approval to withdraw.",
  busy: "Too many changes of policies at the same time; nothing was done.",
  simulation_busy: "Other simulations of promotions are waiting already; nothing was done.",
  nothing_to_simulate: "The content is enforced already, so promoting it would change nothing.",
  assertions_invalid:
    "The assertions file of this server has errors, so it cannot simulate a promotion.",
  simulation_too_large: "The simulation needs more than a minute or 1 GiB on this server.",
  // Nothing to try again: the change is in the log.
  policies_not_applied:
    "The change is stored, but this server could not load it yet and decides as before. It keeps trying.",
} as const satisfies Partial<Record<keyof typeof CONTROL_ERRORS, string>>;

/** An error that always has the same message. */
export function plainError(code: keyof typeof MESSAGES): RefusalError {
  return policyError(code, MESSAGES[code], code === "content_not_found" ? { param: "digest" } : {});
}

/** Why nothing was done, as an error to throw. No value of the request is repeated. */
export function faultError(fault: LifecycleFault): RefusalError {
  switch (fault.fault) {
    case "unknown_policy":
      return plainError("policy_not_found");
    case "unknown_content":
      return plainError("content_not_found");
    case "changed": {
      const enforced_revision = formatRevision(fault.enforced?.revision ?? 0);
      const candidate_revision = formatRevision(fault.candidate?.revision ?? 0);
      const current = { etag: fault.etag, candidate_revision, enforced_revision };
      return policyError(
        "precondition_failed",
        `The policy has changed since you read it: enforced is ${enforced_revision ?? "none"} now, candidate ${candidate_revision ?? "none"}.`,
        { facts: { current } },
      );
    }
    case "held":
      return policyError("held", `Revision r${fault.revision} was rolled back and is held.`);
    case "requirements":
      return policyError(missingCode(fault.missing), describeMissing(fault.missing), {
        facts: { missing: fault.missing.map(missingJson) },
      });
    case "no_bytes":
      return policyError(
        "content_not_kept",
        `The bytes of revision r${fault.revision} are not stored or cannot be loaded.`,
      );
    case "unavailable":
      return storeUnavailable();
    case "no_candidate":
    case "nothing_to_roll_back_to":
    case "not_held":
    case "not_approved":
    case "busy":
      return plainError(fault.fault);
  }
}

const SIMULATION_CODES = {
  busy: "simulation_busy",
  unknown_content: "content_not_found",
  no_change: "nothing_to_simulate",
  assertions_invalid: "assertions_invalid",
  too_large: "simulation_too_large",
} as const;

/** Why the server has no simulation of a promotion. */
export function simulationError(fault: PromotionSimulationFault): RefusalError {
  return fault === "unavailable" ? storeUnavailable() : plainError(SIMULATION_CODES[fault]);
}

export function storeUnavailable(): RefusalError {
  return refusal(
    "store_unavailable",
    "The policy log cannot be read or written now; the change may or may not have been made. Read the policy before you try again.",
  );
}

/**
 * @param isManaged whether `policies.managed_by` of routes.yaml names a workspace. It does not name
 * the caller's workspace.
 */
export function notManagedHere(isManaged: boolean): RefusalError {
  return policyError(
    "not_managed_here",
    isManaged
      ? "Policies are managed by other workspaces (policies.managed_by of routes.yaml)."
      : "There are several workspaces, and policies.managed_by of routes.yaml does not name those that manage policies.",
  );
}

/** The first of the order speaks for several. */
export function missingCode(missing: readonly MissingRequirement[]): keyof typeof CONTROL_ERRORS {
  const first = REQUIREMENTS.find((name) =>
    missing.some(({ requirement }) => requirement === name),
  );
  if (first === undefined) throw new Error("policies: a refusal that misses nothing");
  return NEEDED[first].code;
}

/**
 * A requirement that is not met, as answers show it: numbers for programs, a sentence and the fix
 * for people.
 */
export function missingJson(missing: MissingRequirement): JsonObject {
  const { requirement, have, need, ...facts } = missing;
  const amounts =
    requirement === "soak"
      ? {
          have_seconds: Math.floor((have ?? 0) / 1_000),
          need_seconds: Math.ceil((need ?? 0) / 1_000),
        }
      : { have, need };
  return {
    requirement,
    ...amounts,
    ...facts,
    message: needed(missing),
    fix: CONTROL_ERRORS[NEEDED[requirement].code].fix,
  };
}

/**
 * A requirement that is not met: its error code, and the text after "The promotion still needs".
 */
interface Needed {
  readonly code: keyof typeof PROMOTION_ERRORS;
  readonly text: (facts: RequirementFacts) => string;
}

const NEEDED: Readonly<Record<RequirementName, Needed>> = {
  approvals: {
    code: "approvals_required",
    text: ({ have, need }) => `${amount(need, "approval")} of this content (${have} count)`,
  },
  roles: {
    code: "approvals_required",
    text: ({ roles }) => `an approver with the role ${roles.join(", and one with ")}`,
  },
  soak: {
    code: "soak_not_met",
    text: ({ have, need }) => `${duration(need)} in shadow (${duration(have)} so far)`,
  },
  decisions: {
    code: "decisions_required",
    text: ({ have, need }) => `${amount(need, "decision")} in shadow (${have} so far)`,
  },
  no_indeterminate: {
    code: "indeterminate_seen",
    text: ({ have }) =>
      `a verdict for every request in shadow (${amount(have, "request")} had none)`,
  },
  report: {
    code: "report_required",
    text: ({ claimed, outdated }) =>
      `an approval with the complete simulation report that this server makes itself (${claimed} only claimed, ${outdated} outdated)`,
  },
  assertions: {
    code: "assertions_not_passed",
    text: ({ have }) =>
      have === 0
        ? "an approval whose verified report has assertions that passed"
        : `an approval whose verified report has no failed assertions (${have} failed)`,
  },
};

function needed({ requirement, ...facts }: MissingRequirement) {
  return NEEDED[requirement].text({
    have: 0,
    need: 0,
    roles: [],
    claimed: 0,
    outdated: 0,
    ...facts,
  });
}

/** `3 approvals` */
function amount(count: number, singular: string) {
  return `${count} ${singular}${count === 1 ? "" : "s"}`;
}

/** All that is missing, in one sentence with numbers. */
export function describeMissing(missing: readonly MissingRequirement[]): string {
  return `The promotion still needs ${joined(missing.map(needed))}.`;
}

function joined(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join("");
  return `${parts.slice(0, -1).join("; ")}; and ${parts.at(-1)}`;
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** Rounded down to its two largest units, such as `2d 3h`. @param time milliseconds. */
function duration(time: number): string {
  let rest = Math.floor(time / 1_000);
  const parts: string[] = [];
  for (const [unit, seconds] of UNITS) {
    if (rest >= seconds) parts.push(`${Math.floor(rest / seconds)}${unit}`);
    rest %= seconds;
  }
  if (rest > 0 || parts.length === 0) parts.push(`${rest}s`);
  return parts.slice(0, 2).join(" ");
}
