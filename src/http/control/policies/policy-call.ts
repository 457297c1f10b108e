import type { ServiceError } from "../../../canon/error.ts";
import type { Identity } from "../../../canon/identity.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { PolicyContract } from "../../../canon/policy.ts";
import { shadowFigures } from "../../../governance/shadow-report.ts";
import {
  contentOf,
  type PolicyStates,
  type PolicyStatus,
  type SlotState,
} from "../../../lifecycle/lifecycle.ts";
import type { Actor, ShadowFigures } from "../../../lifecycle/records.ts";
import {
  isJudged,
  missingRequirements,
  promotionRequirements,
} from "../../../lifecycle/changes.ts";
import type { Runtime } from "../../runtime.ts";
import type { ControlCall, ControlHandler } from "../control-call.ts";
import type { ShadowSource } from "../policy-shadow.ts";
import { revokedApprovers } from "./actor.ts";
import type { PolicyAdministration } from "./administration.ts";
import { missingJson, noSuchPolicy, notManagedHere, storeUnavailable } from "./policy-error.ts";
import { describePolicy, namingDigest } from "./policy-view.ts";

/** What every handler here needs. */
interface PolicyParts {
  readonly identity: Identity;
  readonly administration: PolicyAdministration;
}

export function parts({ identity, runtime }: ControlCall): PolicyParts | ServiceError {
  if (identity === null) throw new Error("policies: a call without an identity");
  return runtime.policies === undefined
    ? storeUnavailable()
    : { identity, administration: runtime.policies };
}

/** Why the caller may not manage policies; `null` where it may. */
export function managementError(
  { snapshot }: Pick<ControlCall, "snapshot">,
  { workspace }: Pick<Identity, "workspace">,
): ServiceError | null {
  const { policies, workspaces } = snapshot.decider.table;
  // Policies are everybody's: where nothing is said, the only workspace there is may change them,
  // and no tenant may of several.
  const managers = policies.managedBy ?? (Object.keys(workspaces).length === 1 ? [workspace] : []);
  return managers.includes(workspace) ? null : notManagedHere(managers.length > 0);
}

/** The log as it is now, for this process too. */
export async function newestStates({
  lifecycle,
}: PolicyAdministration): Promise<PolicyStates | ServiceError> {
  return orUnavailable(lifecycle.refresh());
}

/** A failed read is not the caller's fault; the store's error text does not leave the server. */
export async function orUnavailable<Result>(
  reading: Promise<Result>,
): Promise<Result | ServiceError> {
  try {
    return await reading;
  } catch {
    return storeUnavailable();
  }
}

/** The policy that the path names. */
export async function namedStatus(
  administration: PolicyAdministration,
  parameter: string | null,
): Promise<PolicyStatus | ServiceError> {
  const states = await newestStates(administration);
  if ("code" in states) return states;
  return states.policies.get(parameter ?? "") ?? noSuchPolicy();
}

/** A handler about the policy that the path names. */
export function ofPolicy(
  answer: (
    call: ControlCall,
    parts: PolicyParts & { readonly status: PolicyStatus },
  ) => ReturnType<ControlHandler>,
): ControlHandler {
  return async (call) => {
    const found = parts(call);
    if ("code" in found) return found;
    const status = await namedStatus(found.administration, call.parameter);
    return "code" in status ? status : answer(call, { ...found, status });
  };
}

/**
 * Counts that are being read, by content: concurrent callers share one read, or each would read
 * hours of cells.
 */
const counting = new WeakMap<ShadowSource, Map<string, Promise<ShadowFigures>>>();

/**
 * What the candidate said in shadow, in every workspace together. @throws {Error} where the counts
 * cannot be read.
 */
export async function candidateFigures(
  { shadow }: PolicyAdministration,
  status: PolicyStatus,
  { digest, since }: SlotState,
): Promise<ShadowFigures> {
  const running = counting.get(shadow) ?? new Map<string, Promise<ShadowFigures>>();
  counting.set(shadow, running);
  const known = running.get(digest);
  if (known !== undefined) return { ...(await known), since };
  const { revision, firstSeenAt } = contentOf(status, digest);
  const figures = shadowFigures(shadow, status.id, revision, since, Date.now(), firstSeenAt);
  running.set(digest, figures);
  try {
    return await figures;
  } finally {
    running.delete(digest);
  }
}

/** A policy as it is shown, by what this process decides with now. */
export async function viewOf(
  { snapshots }: Pick<Runtime, "snapshots">,
  administration: PolicyAdministration,
  status: PolicyStatus,
): Promise<JsonObject> {
  const { policies, table } = snapshots.current.decider;
  const loaded = new Map(
    policies.policies.map(({ identity, contract }) => [identity.digest, contract]),
  );
  const digests = [status.enforced?.digest, status.candidate?.digest, namingDigest(status)];
  const contracts = new Map<string, PolicyContract | null>();
  for (const digest of digests) {
    if (digest == null || contracts.has(digest)) continue;
    contracts.set(digest, loaded.get(digest) ?? (await contractOf(administration, digest)));
  }
  return describePolicy(status, {
    requirements: promotionRequirements(table, status.id),
    tableRevision: table.revision,
    file: administration.files().get(status.id)?.digest ?? null,
    differing: administration.differing(),
    contractOf: (digest) => contracts.get(digest) ?? null,
  });
}

/** One that cannot be read is shown without its rules: the slots are still as they are. */
async function contractOf(
  administration: PolicyAdministration,
  digest: string,
): Promise<PolicyContract | null> {
  try {
    return (await administration.content(digest))?.contract ?? null;
  } catch {
    return null;
  }
}

/** What a promotion by a promoter of this origin would lack now; `null` without a candidate. */
export async function missingFor(
  { snapshots, keys }: Pick<Runtime, "snapshots" | "keys">,
  by: Pick<Actor, "origin">,
  administration: PolicyAdministration,
  status: PolicyStatus,
): Promise<readonly JsonObject[] | ServiceError | null> {
  const { candidate } = status;
  if (candidate === null) return null;
  const figures = isJudged(status)
    ? await orUnavailable(candidateFigures(administration, status, candidate))
    : null;
  if (figures !== null && "code" in figures) return figures;
  const { table } = snapshots.current.decider;
  const required = { ...promotionRequirements(table, status.id), tableRevision: table.revision };
  const revoked = await revokedApprovers(status, keys);
  if ("code" in revoked) return revoked;
  return missingRequirements(status, { ...required, revoked }, by, figures, Date.now()).map(
    missingJson,
  );
}
