import { FORBIDDEN, INVALID, NOT_FOUND, final, passing, type ErrorRow } from "./error.ts";

const PRECONDITION = final(409, "precondition");

/** A change of a policy that its present state does not allow. */
const CONFLICT = { ...PRECONDITION, at: ["policy_change"] } as const;

/** Errors of promotions that lack something. */
export const PROMOTION_ERRORS = {
  approvals_required: {
    ...CONFLICT,
    meaning:
      "The promotion lacks approvals, or approvals by people with the required roles; `missing` of the error lists them.",
    example: '`promotion: {"*": {approvals: 2}}` and one approval.',
    fix: "`signalbox policy approve ID`, by another person.",
  },
  soak_not_met: {
    ...CONFLICT,
    meaning:
      "The candidate has not been in shadow for as long as `soak` requires; `missing` has the rest.",
    example: "`soak: 24h`, an hour after the change.",
    fix: "Wait for the rest of the time.",
  },
  decisions_required: {
    ...CONFLICT,
    meaning:
      "The candidate was evaluated for fewer requests in shadow than `min_decisions` requires; `missing` has the number.",
    example: "`min_decisions: 1000` on a quiet day.",
    fix: "Wait for traffic.",
  },
  indeterminate_seen: {
    ...CONFLICT,
    meaning:
      "The candidate was indeterminate for some requests in shadow; the promotion allows none.",
    example: "A rule that reads a member that some requests lack.",
    fix: "Fix the policy; `signalbox policy show ID` has examples.",
  },
  report_required: {
    ...CONFLICT,
    meaning:
      "The promotion requires an approval that names the simulation report of exactly this promotion, as the server computes it.",
    example:
      "An approval without `--report` where `report: true`, or a change of `routes.yaml` since the approval.",
    fix: "`signalbox policy simulate ID --format json=report.json`, then approve with `--report report.json`.",
  },
  assertions_not_passed: {
    ...CONFLICT,
    meaning: "The verified report has assertions that failed, or none at all.",
    example: "A server without `assertions.yaml` beside its policies.",
    fix: "Give the server the assertions and correct what fails, then approve again with a new report.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

const READ_AGAIN =
  "Read the policy again with `GET /v1/policies/{id}` or `signalbox policy show ID`.";

/** Keys, the catalogue, and changes of policies. */
export const CONTROL_ERRORS = {
  invalid_cursor: {
    ...INVALID,
    at: ["listKeys", "listAnthropicModels", "listDecisions"],
    meaning: "The cursor is not an id of the list, or two cursors exclude each other.",
    example: "`?after=nothing`.",
    fix: "Use the cursor of the last page.",
  },
  key_not_found: {
    ...NOT_FOUND,
    at: ["one_key"],
    meaning: "The workspace has no key with this id.",
    example: "`GET /v1/keys/unknown`.",
    fix: "`GET /v1/keys` lists them.",
  },
  key_not_active: {
    ...INVALID,
    at: ["rotateKey", "revokeKey"],
    meaning: "The key is revoked or expired, so it cannot be rotated.",
    example: "`POST /v1/keys/{id}/rotate` of a revoked key.",
    fix: "Make a new key.",
  },
  key_already_rotated: {
    ...PRECONDITION,
    at: ["rotateKey"],
    meaning: "The key has been rotated already. A key is rotated once.",
    example: "A second `POST /v1/keys/{id}/rotate` during the overlap.",
    fix: "Rotate the key that replaced it: `service_key.replaced_by` has its id. Its text is not needed for that.",
  },
  key_differs: {
    ...PRECONDITION,
    at: ["putNamedKey"],
    meaning:
      "The key of this name has another `environment`, `exchange` or `expires_at` than the body. A PUT does not change them.",
    example: "A second `PUT` of a name with another `expires_at`.",
    fix: "Delete the key of this name and send the PUT again, which makes a new key; or use another name.",
  },
  too_many_keys: {
    ...INVALID,
    at: ["createKey", "putNamedKey", "rotateKey"],
    meaning: "The workspace has as many active keys as it may have.",
    example: "A script that makes a key for each run.",
    fix: "Revoke keys that are not used.",
  },
  workspace_not_found: {
    ...NOT_FOUND,
    at: ["createKey", "listKeys", "putNamedKey", "retrieveNamedKey", "deleteNamedKey"],
    meaning: "The workspace does not exist, or it is not the key's own.",
    example: '`"workspace": "other"` in `POST /v1/keys`.',
    fix: "Leave `workspace` out, or name the key's own.",
  },
  decision_not_found: {
    ...NOT_FOUND,
    at: ["retrieveDecision", "explainDecision"],
    meaning: "The workspace has no decision with this id, or it was pruned.",
    example: "`GET /v1/decisions/req_0`.",
    fix: "Give the request's id as `x-request-id` has it; `GET /v1/decisions` lists them.",
  },
  policy_not_found: {
    ...NOT_FOUND,
    at: ["one_policy"],
    meaning: "There is no policy with this id.",
    example: "`GET /v1/policies/unknown`.",
    fix: "`GET /v1/policies` lists them.",
  },
  content_not_found: {
    ...NOT_FOUND,
    at: ["one_policy"],
    meaning: "The policy has no content with this digest, or it is no longer stored.",
    example: "A digest of another policy.",
    fix: "`signalbox policy history ID` shows the digests.",
  },
  content_not_kept: {
    ...CONFLICT,
    meaning: "The bytes of the content are not stored or cannot be loaded.",
    example: "A rollback to content from before the store.",
    fix: "Bring it back by its files.",
  },
  precondition_required: {
    ...final(428, "precondition"),
    at: ["if_match"],
    meaning: "A change of a policy needs `If-Match` with the ETag that the caller has read.",
    example: "A promotion without `If-Match`.",
    fix: READ_AGAIN,
  },
  precondition_failed: {
    ...final(412, "precondition"),
    at: ["if_match"],
    meaning:
      "The policy has changed since the caller read it; `current` of the error has its state.",
    example: "Two people promote at once.",
    fix: READ_AGAIN,
  },
  no_candidate: {
    ...PRECONDITION,
    at: ["policy_change", "retrievePolicyShadow", "retrievePolicySimulation"],
    meaning: "No candidate waits for promotion.",
    example: "A second promotion of the same content.",
    fix: READ_AGAIN,
  },
  held: {
    ...CONFLICT,
    meaning: "The content was rolled back and is held.",
    example: "A promotion of content that was rolled back an hour ago.",
    fix: "Release it first (`signalbox policy release`), or change the files.",
  },
  not_held: {
    ...CONFLICT,
    meaning: "The content is neither held nor withdrawn.",
    example: "A release of enforced content.",
    fix: READ_AGAIN,
  },
  not_approved: {
    ...CONFLICT,
    meaning: "The caller has not approved this content.",
    example: "A withdrawal after a withdrawal.",
    fix: READ_AGAIN,
  },
  nothing_to_roll_back_to: {
    ...CONFLICT,
    meaning: "No content was enforced before the present one.",
    example: "A rollback of content that `initial_mode` enforced when it was first seen.",
    fix: "Promote a change or the removal of the policy.",
  },
  busy: {
    ...passing(409, "precondition", 1000),
    at: ["policy_change"],
    meaning: "Too many changes of policies at the same time; nothing was done.",
    example: "Ten promotions at once.",
    fix: "Try again.",
  },
  not_managed_here: {
    ...FORBIDDEN,
    at: ["policy_change", "retrievePolicySimulation"],
    meaning: "The caller's workspace does not manage policies.",
    example: "An approval with a key of a workspace that `policies.managed_by` lacks.",
    fix: "Use a key of one of them, or add the workspace to `policies.managed_by`.",
  },
  policies_not_applied: {
    ...final(503, "unavailable"),
    at: ["policy_change"],
    meaning: "The change is stored; this server could not load it yet and decides as before.",
    example: "A replica whose disk is full.",
    fix: "Do not repeat the change; `/status` shows when it is in force.",
  },
  ...PROMOTION_ERRORS,
  nothing_to_simulate: {
    ...PRECONDITION,
    at: ["retrievePolicySimulation"],
    meaning: "The content is enforced already, so promoting it would change nothing.",
    example: "`?digest=enforced`.",
    fix: READ_AGAIN,
  },
  assertions_invalid: {
    ...PRECONDITION,
    at: ["retrievePolicySimulation"],
    meaning:
      "The assertions file beside the server's policies has errors, so the server cannot simulate a promotion.",
    example: "An assertion that names a route that `routes.yaml` does not have.",
    fix: "Run `signalbox check`, correct the file, and let the server read its files again.",
  },
  simulation_too_large: {
    ...PRECONDITION,
    at: ["retrievePolicySimulation"],
    meaning: "The simulation of the promotion needs more than a minute or 1 GiB on this server.",
    example: "Policies that read ten labels and eight capabilities of every request.",
    fix: "Let the policies read fewer members of requests, or do not require a report.",
  },
  simulation_busy: {
    ...passing(503, "unavailable", 5000),
    at: ["retrievePolicySimulation", "approvePolicy"],
    meaning: "Other simulations of promotions are waiting already; nothing was done.",
    example: "Ten approvers of ten policies at once.",
    fix: "Try again.",
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;
