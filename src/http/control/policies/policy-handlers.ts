import { parseJsonObject, type JsonObject } from "../../../canon/json.ts";
import type { Identity } from "../../../canon/identity.ts";
import {
  contentOf,
  entityTag,
  type KnownContent,
  type PolicyStatus,
} from "../../../lifecycle/lifecycle.ts";
import { RefusalError } from "../../refusal.ts";
import type { Runtime } from "../../runtime.ts";
import type { ControlCall, ControlHandler, ControlAnswer } from "../control-call.ts";
import {
  actorOf,
  describeRules,
  checkManagement,
  missingFor,
  namedStatus,
  newestStates,
  ofPolicy,
  orUnavailable,
  parts,
  stateOf,
  viewOf,
} from "./policy-call.ts";
import type { PolicyAdministration } from "./administration.ts";
import { CHANGE_HANDLERS, TRANSITIONS_QUERY, readRevision } from "./change-handlers.ts";
import { plainError, simulationError } from "./policy-error.ts";
import { formatRevision } from "../../../canon/policy.ts";
import { shadowReader } from "../../../governance/shadow-report.ts";
import { SHADOW_QUERY, policyShadow } from "../policy-shadow.ts";
import { readCount } from "../query.ts";

/** GET /v1/policies/{id}/content: rules and contract of one content, from the store. */
const policyContent = ofPolicy(async ({ url }, { administration, status }) => {
  const requested = url.searchParams.get("digest");
  const revision = readRevision(url.searchParams);
  const content =
    revision === null
      ? contentNamed(status, requested)
      : (status.contents.values().find((each) => each.revision === revision) ?? null);
  if (content === null) throw plainError("content_not_found");
  const storedContent =
    content.content === "rules"
      ? await orUnavailable(administration.content(content.digest))
      : null;
  // An older version numbered it and did not keep its content.
  if (storedContent === null && content.content === "rules") throw plainError("content_not_found");
  return {
    json: {
      object: "policy.content",
      policy: status.id,
      revision: formatRevision(content.revision),
      digest: content.digest,
      content: content.content,
      module_sha256: storedContent?.moduleSha256 ?? null,
      contract:
        storedContent === null
          ? null
          : {
              title: storedContent.contract.title,
              owners: storedContent.contract.owners,
              ...describeRules(storedContent.contract),
            },
      sources: storedContent?.sources ?? [],
    },
  };
});

/** `null` where nothing fits, or more than one content does. */
function contentNamed(status: PolicyStatus, requested: string | null): KnownContent | null {
  const { enforced, candidate } = status;
  const slots = { enforced, candidate, "": candidate ?? enforced };
  const slot = requested ?? "";
  if (slot === "" || slot === "enforced" || slot === "candidate") {
    const state = slots[slot];
    return state === null ? null : contentOf(status, state.digest);
  }
  const fitting = [...status.contents.values()].filter(({ digest }) => digest.startsWith(slot));
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

/** Rows of the log read at a time. */
const PAGE = 1_000;

/**
 * GET /v1/policies/{id}/transitions: the policy's rows of the log, oldest first. The rows between
 * them are other policies'.
 */
const policyTransitions = ofPolicy(async ({ url }, { administration, status }) => {
  const after = readCount(url.searchParams, "after", TRANSITIONS_QUERY);
  const limit = readCount(url.searchParams, "limit", TRANSITIONS_QUERY);
  const rows = await orUnavailable(rowsAbout(administration, status.id, after, limit + 1));
  const data = rows.slice(0, limit);
  return { json: { object: "list", data, has_more: rows.length > limit } };
});

async function rowsAbout(
  { rows }: Pick<PolicyAdministration, "rows">,
  policy: string,
  after: number,
  limit: number,
): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  let position = after;
  while (found.length < limit) {
    const read = await rows({ after: position, limit: PAGE });
    for (const row of read) {
      const record = parseJsonObject(row.record);
      if (record?.policy === policy) found.push({ ...row, record });
    }
    position = read.at(-1)?.position ?? position;
    if (read.length < PAGE) break;
  }
  return found.slice(0, limit);
}

/** Status of policies, and their changes. */
export const POLICY_HANDLERS = {
  listPolicies: async (call) => {
    const { administration } = parts(call);
    const showsEnded = call.url.searchParams.get("ended") === "true";
    const states = await newestStates(administration);
    const lines = [...states.policies.values()];
    // A policy that is in the files is shown, whatever its state.
    const isHidden = (status: PolicyStatus) =>
      stateOf(status) === "ended" && !administration.files().has(status.id);
    const shown = [
      ...lines.filter((status) => !isHidden(status)),
      ...lines.filter((status) => showsEnded && isHidden(status)),
    ];
    const data: JsonObject[] = [];
    for (const status of shown) data.push(await viewOf(call.runtime, administration, status));
    const { policies, table } = call.runtime.snapshots.current.decider;
    return {
      json: { object: "list", policy_set: policies.id, table_revision: table.revision, data },
    };
  },
  retrievePolicy: ofPolicy(async (call, { identity, administration, status }) => {
    const by = await originOf(call.runtime, identity, call.requestId);
    const missing = await missingFor(call.runtime, by, administration, status);
    const view = await viewOf(call.runtime, administration, status);
    return { json: { ...view, missing }, headers: ["etag", entityTag(status)] };
  }),
  retrievePolicyContent: policyContent,
  /** Verdicts of the candidate in shadow. */
  retrievePolicyShadow: ofPolicy(async (call, { identity, administration, status }) => {
    const examples = readCount(call.url.searchParams, "examples", SHADOW_QUERY);
    if (status.candidate === null) throw plainError("no_candidate");
    const { table, policies } = call.snapshot.decider;
    const { workspace } = identity;
    const reader = shadowReader(
      workspace,
      Object.keys(table.workspaces),
      table.policies.managedBy ?? null,
    );
    const { revision, digest, firstSeenAt: firstSeen } = contentOf(status, status.candidate.digest);
    const { since } = status.candidate;
    const { zones } = policies;
    const reads = policies.policies.find(({ identity: one }) => one.digest === digest)?.reads;
    const watched = { policy: status.id, revision, digest, since, firstSeen, zones, reads };
    return policyShadow(administration.shadow, watched, reader, examples, Date.now());
  }),
  retrievePolicySimulation: promotionSimulation,
  listPolicyTransitions: policyTransitions,
  ...CHANGE_HANDLERS,
} as const satisfies Record<string, ControlHandler>;

/**
 * A key whose chain is too long to change anything may still read; no approval counts as its own.
 */
async function originOf(
  { keys }: Pick<Runtime, "keys">,
  identity: Identity,
  requestId: string,
): Promise<{ readonly origin: string }> {
  return actorOf(identity, requestId, keys).catch((error: unknown) => {
    if (error instanceof RefusalError && error.answer?.status === 403)
      return { origin: identity.keyId };
    throw error;
  });
}

/** GET /v1/policies/{id}/simulation: the server's own report on the promotion of one content. */
async function promotionSimulation(call: ControlCall): Promise<ControlAnswer> {
  const { identity, administration } = parts(call);
  // A report names every workspace that the promotion concerns, and making one costs up to a
  // minute.
  checkManagement(call, identity);
  const line = await namedStatus(administration, call.parameter);
  const name = call.url.searchParams.get("digest") ?? "candidate";
  const content = contentNamed(line, name);
  if (content === null)
    throw name === "candidate" ? plainError("no_candidate") : plainError("content_not_found");
  const simulation = await administration.simulate(line.id, content.digest);
  if (typeof simulation === "string") throw simulationError(simulation);
  return { text: simulation.text };
}
