import { answer, type AnswerCode } from "./answer-code.ts";

const LOOK = "Look again with `GET /v1/policies/{id}`, or `signalbox policy show ID`.";

/** Keys, the catalogue, and changes of policies. */
export const CONTROL_CODES = {
  invalid_cursor: answer(
    400,
    "`after` is no id of what the list holds.",
    "`?after=nothing`.",
    "Use the cursor of the last page.",
  ),
  invalid_limit: answer(
    400,
    "`limit` is outside its bounds.",
    "`?limit=0`.",
    "Send a whole number within the bounds named.",
  ),
  invalid_lifecycle: answer(
    400,
    "`lifecycle` is none of the catalogue's words.",
    "`?lifecycle=old`.",
    "Use a word that the message names.",
  ),
  invalid_operation: answer(
    400,
    "`operation` is none of the router's kinds of work.",
    "`?operation=paint`.",
    "Use a word that the message names.",
  ),
  key_not_found: answer(
    404,
    "The workspace has no key with this id.",
    "`GET /v1/keys/unknown`.",
    "`GET /v1/keys` lists them.",
  ),
  key_not_active: answer(
    400,
    "The key is revoked or expired, so it cannot be rotated.",
    "`POST /v1/keys/{id}/rotate` of a revoked key.",
    "Make a new key.",
  ),
  too_many_keys: answer(
    400,
    "The workspace has as many active keys as it may have.",
    "A script that makes a key for each run.",
    "Revoke keys that are not used.",
  ),
  workspace_not_found: answer(
    404,
    "routes.yaml has no workspace of this name.",
    "A key for a workspace that was removed.",
    "Name a workspace of routes.yaml.",
  ),
  policy_not_found: answer(
    404,
    "There is no policy with this id.",
    "`GET /v1/policies/unknown`.",
    "`GET /v1/policies` lists them.",
  ),
  content_not_found: answer(
    404,
    "The policy has no content with this digest, or it is not kept any more.",
    "A digest of another policy.",
    "`signalbox policy history ID` shows the digests.",
  ),
  content_not_kept: answer(
    409,
    "The bytes that should act again are not kept or cannot be loaded.",
    "A rollback to content from before the store.",
    "Bring it back by its files.",
  ),
  precondition_required: answer(
    428,
    "A change of a policy needs `If-Match` with the ETag of what the caller has seen.",
    "A promotion without `If-Match`.",
    LOOK,
  ),
  precondition_failed: answer(
    412,
    "The policy is not as the caller has seen it any more; `current` of the error says how it is.",
    "Two people promote at once.",
    LOOK,
  ),
  no_candidate: answer(409, "Nothing waits for a promotion.", "A second promotion of the same content.", LOOK),
  held: answer(
    409,
    "The content was rolled back and is held.",
    "A promotion of what was rolled back an hour ago.",
    "Release it first (`signalbox policy release`), or change the files.",
  ),
  not_held: answer(409, "The content is neither held nor withdrawn.", "A release of what acts.", LOOK),
  not_approved: answer(
    409,
    "There is no approval of this content by the caller.",
    "A withdrawal after a withdrawal.",
    LOOK,
  ),
  nothing_to_roll_back_to: answer(
    409,
    "Nothing was enforced before what is enforced now.",
    "A rollback of what `initial_mode` enforced at first sight.",
    "Promote a change of it, or its end.",
  ),
  busy: answer(
    409,
    "Too many changed policies at the same time; nothing was done.",
    "Ten promotions at once.",
    "Try again.",
  ),
  not_managed_here: answer(
    403,
    "The caller's workspace does not manage policies.",
    "An approval with a key of a workspace that `policies.managed_by` lacks.",
    "Ask with a key of one of them, or add the workspace to `policies.managed_by`.",
  ),
  policies_not_applied: answer(
    503,
    "The change is made and stands; this server could not load it yet and decides as before.",
    "A replica whose disk is full.",
    "Do not repeat it; `/status` says when it is done.",
  ),
  approvals_required: answer(
    409,
    "A promotion needs approvals, or roles among them, that it does not have; `missing` of the error lists them.",
    '`promotion: {"*": {approvals: 2}}` and one approval.',
    "`signalbox policy approve ID`, by somebody else.",
  ),
  soak_not_met: answer(
    409,
    "The candidate has not been in shadow for as long as `soak` asks.",
    "`soak: 24h`, an hour after the change.",
    "Wait; `missing` says how long.",
  ),
  decisions_required: answer(
    409,
    "The candidate has judged fewer requests in shadow than `decisions` asks.",
    "`decisions: 1000` on a quiet day.",
    "Wait for traffic; `missing` has the numbers.",
  ),
  indeterminate_seen: answer(
    409,
    "The candidate could not judge some requests in shadow, and the promotion asks that there be none.",
    "A rule that reads a member that some requests lack.",
    "Mend the policy; `signalbox policy show ID` has examples.",
  ),
  report_required: answer(
    409,
    "The promotion needs a report of a simulation for exactly this content.",
    "An approval without `--report` where `report: true`.",
    "`signalbox simulate --format json`, then approve with `--report FILE`.",
  ),
  assertions_not_passed: answer(
    409,
    "The report of the simulation has assertions that failed or that were not checked.",
    "A report made without `assertions.yaml`.",
    "Simulate again with the assertions; mend what fails.",
  ),
} as const satisfies Readonly<Record<string, AnswerCode>>;
