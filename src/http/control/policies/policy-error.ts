import { formatRevision } from "../../../canon/policy.ts";
import type { ServiceError } from "../../../canon/error.ts";
import { codedError, type AnswerCode } from "../../../canon/errors/coded-error.ts";
import type { LifecycleFault } from "../../../lifecycle/lifecycle.ts";
import type { PromotionSimulationFault } from "./administration.ts";
import type { JsonObject } from "../../../canon/json.ts";
import {
  REQUIREMENTS,
  type MissingRequirement,
  type RequirementFacts,
  type RequirementFormat,
} from "../../../canon/promotion.ts";

/** Why nothing was done, as an error of the API. No value of the request is repeated. */
export function faultError(fault: LifecycleFault): ServiceError {
  switch (fault.fault) {
    case "unknown_policy":
      return noSuchPolicy();
    case "unknown_content":
      return noSuchContent();
    case "changed":
      return codedError(
        "precondition_failed",
        "The policy has changed since you read it. Read it again (GET /v1/policies/{id}) before you decide.",
        {
          facts: {
            current: {
              etag: fault.etag,
              candidate_revision: formatRevision(fault.candidate?.revision ?? 0),
              enforced_revision: formatRevision(fault.enforced?.revision ?? 0),
            },
          },
        },
      );
    case "no_candidate":
      return codedError("no_candidate", "The policy has no candidate to promote.");
    case "held":
      return codedError(
        "held",
        `Revision r${fault.revision} was rolled back and is held; release it first (POST /v1/policies/{id}/releases), or change the policy's files.`,
      );
    case "requirements":
      return codedError(missingCode(fault.missing), describeMissing(fault.missing), {
        facts: { missing: fault.missing.map(missingJson) },
      });
    case "nothing_to_roll_back_to":
      return codedError(
        "nothing_to_roll_back_to",
        "Nothing is enforced, or the requested revision was not enforced before the present one; GET /v1/policies/{id}/transitions lists the enforced revisions. If initial_mode enforced the content when it was first seen, there is no earlier one: promote a change or the removal of the policy.",
      );
    case "not_held":
      return codedError("not_held", "The content is neither held nor withdrawn, so there is nothing to release.");
    case "not_approved":
      return codedError("not_approved", "You have not approved this content, so there is no approval to withdraw.");
    case "no_bytes":
      return codedError(
        "content_not_kept",
        `The bytes of revision r${fault.revision} are not stored or cannot be loaded; restore the policy's files instead.`,
      );
    case "busy":
      return codedError("busy", "Too many changes of policies at the same time; nothing was done. Try again.");
    case "unavailable":
      return storeUnavailable();
  }
}

export function noSuchPolicy(): ServiceError {
  const message = "There is no policy with this id; GET /v1/policies lists them.";
  return codedError("policy_not_found", message);
}

export function noSuchContent(): ServiceError {
  const message = "The policy has no content with this digest, or it is no longer stored.";
  return codedError("content_not_found", message, { param: "digest" });
}

/** Why the server has no simulation of a promotion. */
export function simulationError(fault: PromotionSimulationFault): ServiceError {
  switch (fault) {
    case "busy":
      return simulationBusy();
    case "unavailable":
      return storeUnavailable();
    case "unknown_content":
      return noSuchContent();
    case "no_change":
      return codedError(
        "nothing_to_simulate",
        "The content is enforced already, so promoting it would change nothing.",
      );
    case "assertions_invalid":
      return codedError(
        "assertions_invalid",
        "The assertions file of this server has errors; correct it (signalbox check lists them) and let the server read its files again.",
      );
    case "too_large":
      return codedError(
        "simulation_too_large",
        "The simulation needs more than a minute or 1 GiB on this server. Let the policies read fewer members of requests, or do not require a report.",
      );
  }
}

export function simulationBusy(): ServiceError {
  return codedError(
    "simulation_busy",
    "Other simulations of promotions are waiting already; nothing was done. Try again.",
  );
}

export function storeUnavailable(): ServiceError {
  return codedError(
    "store_unavailable",
    "The policy log cannot be read or written now; the change may or may not have been made. Read the policy before you try again.",
  );
}

/** The change is in the log, and this process decides as before it. Nothing to try again: the change stands. */
export function notApplied(): ServiceError {
  return codedError(
    "policies_not_applied",
    "The change is stored, but this server could not load it yet and decides as before. It keeps trying; /status shows when it is done.",
  );
}

/** @param isManaged whether `policies.managed_by` of routes.yaml names a workspace. It does not name the caller's workspace. */
export function notManagedHere(isManaged: boolean): ServiceError {
  return codedError(
    "not_managed_here",
    isManaged
      ? "Policies are managed by other workspaces (policies.managed_by of routes.yaml); use a key of one of them, or have your workspace added there."
      : "There are several workspaces, and routes.yaml does not name those that manage policies; set policies.managed_by.",
  );
}

/** The first of the order speaks for several. */
export function missingCode(missing: readonly MissingRequirement[]): AnswerCode {
  const first = REQUIREMENTS.find(({ name }) => missing.some(({ requirement }) => requirement === name));
  if (first === undefined) throw new Error("policies: a refusal that misses nothing");
  return first.code;
}

export function missingJson({ requirement, have, need, ...facts }: MissingRequirement): JsonObject {
  if (REQUIREMENTS.some(({ name, kind }) => name === requirement && kind === "duration")) {
    return {
      requirement,
      have_seconds: Math.floor((have ?? 0) / 1_000),
      need_seconds: Math.ceil((need ?? 0) / 1_000),
    };
  }
  return { requirement, ...(have !== undefined && { have }), ...(need !== undefined && { need }), ...facts };
}

const NONE: RequirementFacts = { have: 0, need: 0, roles: [], claimed: 0, outdated: 0 };

const FORMAT: RequirementFormat = {
  number: String,
  amount: (amount, singular) => `${amount} ${singular}${amount === 1 ? "" : "s"}`,
  duration,
  selfApproval: false,
};

/** All that is missing, in one sentence with numbers. */
export function describeMissing(missing: readonly MissingRequirement[]): string {
  const parts = missing.flatMap(({ requirement, ...facts }) =>
    REQUIREMENTS.filter(({ name }) => name === requirement).map(({ needed }) => needed({ ...NONE, ...facts }, FORMAT)),
  );
  return `The promotion still needs ${joined(parts)}.`;
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
