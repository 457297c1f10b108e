import { FORBIDDEN, INVALID, NOT_FOUND, errorAt, final, passing } from "./error.ts";

const PRECONDITION = final(409, "precondition");

/** A change of a policy that its present state does not allow. */
const conflict = errorAt(PRECONDITION, "policy_change");

/** Errors of promotions that lack something. */
export const PROMOTION_ERRORS = {
  approvals_required: conflict(
    "The promotion lacks approvals, or approvals by people with the required roles; `missing` of the error lists them.",
    '`promotion: {"*": {approvals: 2}}` and one approval.',
    "`signalbox policy approve ID`, by another person.",
  ),
  soak_not_met: conflict(
    "The candidate has not been in shadow for as long as `soak` requires; `missing` has the rest.",
    "`soak: 24h`, an hour after the change.",
    "Wait for the rest of the time.",
  ),
  decisions_required: conflict(
    "The candidate was evaluated for fewer requests in shadow than `min_decisions` requires; `missing` has the number.",
    "`min_decisions: 1000` on a quiet day.",
    "Wait for traffic.",
  ),
  indeterminate_seen: conflict(
    "The candidate was indeterminate for some requests in shadow; the promotion allows none.",
    "A rule that reads a member that some requests lack.",
    "Fix the policy; `signalbox policy show ID` has examples.",
  ),
  report_required: conflict(
    "The promotion requires an approval that names the simulation report of exactly this promotion, as the server computes it.",
    "An approval without `--report` where `report: true`, or a change of `routes.yaml` since the approval.",
    "`signalbox policy simulate ID --format json=report.json`, then approve with `--report report.json`.",
  ),
  assertions_not_passed: conflict(
    "The verified report has assertions that failed, or none at all.",
    "A server without `assertions.yaml` beside its policies.",
    "Give the server the assertions and correct what fails, then approve again with a new report.",
  ),
} as const;

const READ_AGAIN =
  "Read the policy again with `GET /v1/policies/{id}` or `signalbox policy show ID`.";

/** Keys, the catalogue, and changes of policies. */
export const CONTROL_ERRORS = {
  invalid_cursor: errorAt(
    INVALID,
    "listKeys",
    "listAnthropicModels",
    "listDecisions",
  )(
    "The cursor is not an id of the list, or two cursors exclude each other.",
    "`?after=nothing`.",
    "Use the cursor of the last page.",
  ),
  key_not_found: errorAt(NOT_FOUND, "one_key")(
    "The workspace has no key with this id.",
    "`GET /v1/keys/unknown`.",
    "`GET /v1/keys` lists them.",
  ),
  key_not_active: errorAt(INVALID, "rotateKey", "revokeKey")(
    "The key is revoked or expired, so it cannot be rotated.",
    "`POST /v1/keys/{id}/rotate` of a revoked key.",
    "Make a new key.",
  ),
  key_already_rotated: errorAt(PRECONDITION, "rotateKey")(
    "The key has been rotated already. A key is rotated once.",
    "A second `POST /v1/keys/{id}/rotate` during the overlap.",
    "Rotate the key that replaced it: `service_key.replaced_by` has its id. Its text is not needed for that.",
  ),
  key_differs: errorAt(PRECONDITION, "putNamedKey")(
    "The key of this name has another `environment`, `exchange` or `expires_at` than the body. A PUT does not change them.",
    "A second `PUT` of a name with another `expires_at`.",
    "Delete the key of this name and send the PUT again, which makes a new key; or use another name.",
  ),
  too_many_keys: errorAt(
    INVALID,
    "createKey",
    "putNamedKey",
    "rotateKey",
  )(
    "The workspace has as many active keys as it may have.",
    "A script that makes a key for each run.",
    "Revoke keys that are not used.",
  ),
  workspace_not_found: errorAt(
    NOT_FOUND,
    "createKey",
    "listKeys",
    "putNamedKey",
    "retrieveNamedKey",
    "deleteNamedKey",
  )(
    "The workspace does not exist, or it is not the key's own.",
    '`"workspace": "other"` in `POST /v1/keys`.',
    "Leave `workspace` out, or name the key's own.",
  ),
  decision_not_found: errorAt(NOT_FOUND, "retrieveDecision", "explainDecision")(
    "The workspace has no decision with this id, or it was pruned.",
    "`GET /v1/decisions/req_0`.",
    "Give the request's id as `x-request-id` has it; `GET /v1/decisions` lists them.",
  ),
  policy_not_found: errorAt(NOT_FOUND, "one_policy")(
    "There is no policy with this id.",
    "`GET /v1/policies/unknown`.",
    "`GET /v1/policies` lists them.",
  ),
  content_not_found: errorAt(NOT_FOUND, "one_policy")(
    "The policy has no content with this digest, or it is no longer stored.",
    "A digest of another policy.",
    "`signalbox policy history ID` shows the digests.",
  ),
  content_not_kept: conflict(
    "The bytes of the content are not stored or cannot be loaded.",
    "A rollback to content from before the store.",
    "Bring it back by its files.",
  ),
  precondition_required: errorAt(final(428, "precondition"), "if_match")(
    "A change of a policy needs `If-Match` with the ETag that the caller has read.",
    "A promotion without `If-Match`.",
    READ_AGAIN,
  ),
  precondition_failed: errorAt(final(412, "precondition"), "if_match")(
    "The policy has changed since the caller read it; `current` of the error has its state.",
    "Two people promote at once.",
    READ_AGAIN,
  ),
  no_candidate: errorAt(
    PRECONDITION,
    "policy_change",
    "retrievePolicyShadow",
    "retrievePolicySimulation",
  )("No candidate waits for promotion.", "A second promotion of the same content.", READ_AGAIN),
  held: conflict(
    "The content was rolled back and is held.",
    "A promotion of content that was rolled back an hour ago.",
    "Release it first (`signalbox policy release`), or change the files.",
  ),
  not_held: conflict(
    "The content is neither held nor withdrawn.",
    "A release of enforced content.",
    READ_AGAIN,
  ),
  not_approved: conflict(
    "The caller has not approved this content.",
    "A withdrawal after a withdrawal.",
    READ_AGAIN,
  ),
  nothing_to_roll_back_to: conflict(
    "No content was enforced before the present one.",
    "A rollback of content that `initial_mode` enforced when it was first seen.",
    "Promote a change or the removal of the policy.",
  ),
  busy: errorAt(passing(409, "precondition", 1000), "policy_change")(
    "Too many changes of policies at the same time; nothing was done.",
    "Ten promotions at once.",
    "Try again.",
  ),
  not_managed_here: errorAt(FORBIDDEN, "policy_change", "retrievePolicySimulation")(
    "The caller's workspace does not manage policies.",
    "An approval with a key of a workspace that `policies.managed_by` lacks.",
    "Use a key of one of them, or add the workspace to `policies.managed_by`.",
  ),
  policies_not_applied: errorAt(final(503, "unavailable"), "policy_change")(
    "The change is stored; this server could not load it yet and decides as before.",
    "A replica whose disk is full.",
    "Do not repeat the change; `/status` shows when it is in force.",
  ),
  ...PROMOTION_ERRORS,
  nothing_to_simulate: errorAt(PRECONDITION, "retrievePolicySimulation")(
    "The content is enforced already, so promoting it would change nothing.",
    "`?digest=enforced`.",
    READ_AGAIN,
  ),
  assertions_invalid: errorAt(PRECONDITION, "retrievePolicySimulation")(
    "The assertions file beside the server's policies has errors, so the server cannot simulate a promotion.",
    "An assertion that names a route that `routes.yaml` does not have.",
    "Run `signalbox check`, correct the file, and let the server read its files again.",
  ),
  simulation_too_large: errorAt(PRECONDITION, "retrievePolicySimulation")(
    "The simulation of the promotion needs more than a minute or 1 GiB on this server.",
    "Policies that read ten labels and eight capabilities of every request.",
    "Let the policies read fewer members of requests, or do not require a report.",
  ),
  simulation_busy: errorAt(
    passing(503, "unavailable", 5000),
    "retrievePolicySimulation",
    "approvePolicy",
  )(
    "Other simulations of promotions are waiting already; nothing was done.",
    "Ten approvers of ten policies at once.",
    "Try again.",
  ),
} as const;
