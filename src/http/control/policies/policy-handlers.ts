import type { JsonObject } from "../../../canon/json.ts";
import type { Identity } from "../../../canon/identity.ts";
import type { ServiceError } from "../../../canon/error.ts";
import { entityTag } from "../../../lifecycle/entity-tag.ts";
import { type PolicyLine, contentOf } from "../../../lifecycle/ledger.ts";
import { promotionRequirements, isJudged, missingRequirements } from "../../../lifecycle/requirements.ts";
import type { Runtime } from "../../runtime.ts";
import type { ControlCall, ControlHandler, ControlAnswer } from "../control-call.ts";
import { actorOf, revokedApprovers } from "./actor.ts";
import type { PolicyAdministration } from "./administration.ts";
import { CHANGE_HANDLERS } from "./change-handlers.ts";
import { missingJson } from "./missing.ts";
import { candidateFigures, namedLine, newestLedger, NO_STORE, orUnavailable, parts, viewOf } from "./policy-call.ts";
import { policyContent } from "./policy-content.ts";
import { checkQuery, LIST_QUERY, readEnded } from "./policy-query.ts";
import { stateOf } from "./policy-view.ts";
import { promotionSimulation } from "./simulation/simulation-handler.ts";
import { policyTransitions } from "./transitions.ts";
import { shadowReader } from "../../../governance/shadow/shadow-report.ts";
import { policyShadow, readShadowQuery } from "../shadow/policy-shadow.ts";
import { faultError } from "./policy-error.ts";

/** Where policies stand, and what may be done about it. */
export const POLICY_HANDLERS = {
  listPolicies: async (call) => {
    const found = parts(call);
    if ("code" in found) return found;
    const { administration } = found;
    const { searchParams } = call.url;
    const isEndedAsked = readEnded(searchParams);
    const wrong = checkQuery(searchParams, LIST_QUERY);
    if (wrong !== null) return wrong;
    if (typeof isEndedAsked !== "boolean") return isEndedAsked;
    const ledger = await newestLedger(administration);
    if ("code" in ledger) return ledger;
    const lines = [...ledger.policies.values()];
    // One that the files hold is somebody's business, whatever became of it.
    const isOver = (line: PolicyLine): boolean => stateOf(line) === "ended" && !administration.files().has(line.id);
    const shown = [...lines.filter((line) => !isOver(line)), ...lines.filter((line) => isEndedAsked && isOver(line))];
    const data: JsonObject[] = [];
    for (const line of shown) data.push(await viewOf(call.runtime, administration, line));
    const { policies, table } = call.runtime.snapshots.current.decider;
    return {
      json: { object: "list", policy_set: policies.id, table_revision: table.revision, data },
      headers: NO_STORE,
    };
  },
  getPolicy: async (call) => {
    const found = parts(call);
    if ("code" in found) return found;
    const { identity, administration } = found;
    const wrong = checkQuery(call.url.searchParams, {});
    if (wrong !== null) return wrong;
    const line = await namedLine(administration, call.parameter);
    if ("code" in line) return line;
    const missing = await missingFor(call, identity, administration, line);
    if (missing !== null && "code" in missing) return missing;
    const view = await viewOf(call.runtime, administration, line);
    return { json: { ...view, missing }, headers: [...NO_STORE, "etag", entityTag(line)] };
  },
  getPolicyContent: policyContent,
  getPolicyShadow: candidateShadow,
  getPolicySimulation: promotionSimulation,
  listPolicyTransitions: policyTransitions,
  ...CHANGE_HANDLERS,
} as const satisfies Record<string, ControlHandler>;

/** What a promotion by the caller would lack now; `null` without a candidate. */
async function missingFor(
  { runtime, requestId }: ControlCall,
  identity: Identity,
  administration: PolicyAdministration,
  line: PolicyLine,
): Promise<readonly JsonObject[] | ServiceError | null> {
  const { candidate } = line;
  if (candidate === null) return null;
  const by = await originOf(runtime, identity, requestId);
  if ("code" in by) return by;
  const figures = isJudged(line) ? await orUnavailable(candidateFigures(administration, line, candidate)) : null;
  if (figures !== null && "code" in figures) return figures;
  const { table } = runtime.snapshots.current.decider;
  const required = { ...promotionRequirements(table, line.id), tableRevision: table.revision };
  const revoked = await revokedApprovers(line, runtime.keys);
  if ("code" in revoked) return revoked;
  return missingRequirements(line, { ...required, revoked }, by, figures, Date.now()).map(missingJson);
}

/** Whoever comes from too far to change anything may still read: nobody's approvals are theirs. */
async function originOf(
  { keys }: Pick<Runtime, "keys">,
  identity: Identity,
  requestId: string,
): Promise<{ readonly origin: string } | ServiceError> {
  const actor = keys === undefined ? null : await actorOf(identity, requestId, keys);
  if (actor === null || ("code" in actor && actor.status === 403)) return { origin: identity.keyId };
  return actor;
}

/** GET /v1/policies/{id}/shadow: what the candidate would have done. */
async function candidateShadow(call: ControlCall): Promise<ControlAnswer> {
  const found = parts(call);
  if ("code" in found) return found;
  const { identity, administration } = found;
  const asked = readShadowQuery(call.url.searchParams);
  if ("code" in asked) return asked;
  const line = await namedLine(administration, call.parameter);
  if ("code" in line) return line;
  if (line.candidate === null) return faultError({ fault: "no_candidate" });
  const { table } = call.snapshot.decider;
  const { workspace } = identity;
  const reader = shadowReader(workspace, Object.keys(table.workspaces), table.policies.managedBy ?? null);
  const { revision, digest, firstSeenAt: firstSeen } = contentOf(line, line.candidate.digest);
  const watched = { id: line.id, revision, digest, since: line.candidate.since, firstSeen };
  const answer = await policyShadow(administration.shadow, watched, reader, asked.witnesses, Date.now());
  return "code" in answer ? answer : { ...answer, headers: NO_STORE };
}
