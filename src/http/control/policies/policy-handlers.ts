import type { JsonObject } from "../../../canon/json.ts";
import type { Identity } from "../../../canon/identity.ts";
import type { ServiceError } from "../../../canon/error.ts";
import { entityTag } from "../../../lifecycle/entity-tag.ts";
import { type PolicyStatus, contentOf } from "../../../lifecycle/policy-states.ts";
import { promotionRequirements, isJudged, missingRequirements } from "../../../lifecycle/requirements.ts";
import type { Runtime } from "../../runtime.ts";
import type { ControlCall, ControlHandler, ControlAnswer } from "../control-call.ts";
import { actorOf, revokedApprovers } from "./actor.ts";
import type { PolicyAdministration } from "./administration.ts";
import { CHANGE_HANDLERS } from "./change-handlers.ts";
import { missingJson } from "./missing.ts";
import {
  candidateFigures,
  namedStatus,
  newestStates,
  ofPolicy,
  orUnavailable,
  parts,
  viewOf,
  managementError,
} from "./policy-call.ts";
import { policyContent, contentNamed } from "./policy-content.ts";
import { readCount } from "../query.ts";
import { readDigest } from "./policy-query.ts";
import { stateOf } from "./policy-view.ts";
import { policyTransitions } from "./transitions.ts";
import { shadowReader } from "../../../governance/shadow/shadow-report.ts";
import { policyShadow, SHADOW_QUERY } from "../policy-shadow.ts";
import { faultError, noSuchContent, simulationError } from "./policy-error.ts";

/** Where policies stand, and what may be done about it. */
export const POLICY_HANDLERS = {
  listPolicies: async (call) => {
    const found = parts(call);
    if ("code" in found) return found;
    const { administration } = found;
    const showsEnded = call.url.searchParams.get("ended") === "true";
    const states = await newestStates(administration);
    if ("code" in states) return states;
    const lines = [...states.policies.values()];
    // A policy that is in the files is shown, whatever its state.
    const isOver = (status: PolicyStatus): boolean =>
      stateOf(status) === "ended" && !administration.files().has(status.id);
    const shown = [
      ...lines.filter((status) => !isOver(status)),
      ...lines.filter((status) => showsEnded && isOver(status)),
    ];
    const data: JsonObject[] = [];
    for (const status of shown) data.push(await viewOf(call.runtime, administration, status));
    const { policies, table } = call.runtime.snapshots.current.decider;
    return { json: { object: "list", policy_set: policies.id, table_revision: table.revision, data } };
  },
  retrievePolicy: ofPolicy(async (call, { identity, administration, status }) => {
    const missing = await missingFor(call, identity, administration, status);
    if (missing !== null && "code" in missing) return missing;
    const view = await viewOf(call.runtime, administration, status);
    return { json: { ...view, missing }, headers: ["etag", entityTag(status)] };
  }),
  retrievePolicyContent: policyContent,
  /** What the candidate would have done. */
  retrievePolicyShadow: ofPolicy(async (call, { identity, administration, status }) => {
    const examples = readCount(call.url.searchParams, "witnesses", SHADOW_QUERY);
    if (typeof examples !== "number") return examples;
    if (status.candidate === null) return faultError({ fault: "no_candidate" });
    const { table } = call.snapshot.decider;
    const { workspace } = identity;
    const reader = shadowReader(workspace, Object.keys(table.workspaces), table.policies.managedBy ?? null);
    const { revision, digest, firstSeenAt: firstSeen } = contentOf(status, status.candidate.digest);
    const watched = { id: status.id, revision, digest, since: status.candidate.since, firstSeen };
    return policyShadow(administration.shadow, watched, reader, examples, Date.now());
  }),
  retrievePolicySimulation: promotionSimulation,
  listPolicyTransitions: policyTransitions,
  ...CHANGE_HANDLERS,
} as const satisfies Record<string, ControlHandler>;

/** What a promotion by the caller would lack now; `null` without a candidate. */
async function missingFor(
  { runtime, requestId }: ControlCall,
  identity: Identity,
  administration: PolicyAdministration,
  status: PolicyStatus,
): Promise<readonly JsonObject[] | ServiceError | null> {
  const { candidate } = status;
  if (candidate === null) return null;
  const by = await originOf(runtime, identity, requestId);
  if ("code" in by) return by;
  const figures = isJudged(status) ? await orUnavailable(candidateFigures(administration, status, candidate)) : null;
  if (figures !== null && "code" in figures) return figures;
  const { table } = runtime.snapshots.current.decider;
  const required = { ...promotionRequirements(table, status.id), tableRevision: table.revision };
  const revoked = await revokedApprovers(status, runtime.keys);
  if ("code" in revoked) return revoked;
  return missingRequirements(status, { ...required, revoked }, by, figures, Date.now()).map(missingJson);
}

/** A key whose chain is too long to change anything may still read; no approval counts as its own. */
async function originOf(
  { keys }: Pick<Runtime, "keys">,
  identity: Identity,
  requestId: string,
): Promise<{ readonly origin: string } | ServiceError> {
  const actor = keys === undefined ? null : await actorOf(identity, requestId, keys);
  if (actor === null || ("code" in actor && actor.status === 403)) return { origin: identity.keyId };
  return actor;
}

/** GET /v1/policies/{id}/simulation: the server's own report on the promotion of one content. */
async function promotionSimulation(call: ControlCall): Promise<ControlAnswer> {
  const found = parts(call);
  if ("code" in found) return found;
  const { identity, administration } = found;
  // A report names every workspace that the promotion concerns, and making one costs up to a minute.
  const refused = managementError(call, identity);
  if (refused !== null) return refused;
  const requested = readDigest(call.url.searchParams);
  if (requested !== null && typeof requested !== "string") return requested;
  const line = await namedStatus(administration, call.parameter);
  if ("code" in line) return line;
  const name = requested ?? "candidate";
  const content = contentNamed(line, name);
  if (content === null) return name === "candidate" ? faultError({ fault: "no_candidate" }) : noSuchContent();
  const made = await administration.simulate(line.id, content.digest);
  return typeof made === "string" ? simulationError(made) : { text: made.text };
}
