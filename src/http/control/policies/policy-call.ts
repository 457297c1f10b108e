import { callerOf } from "../query.ts";
import type { KeyManagement } from "../../../canon/credentials/service-key.ts";
import { isPersonId, type Identity } from "../../../canon/identity.ts";
import type { JsonObject } from "../../../canon/json.ts";
import type { ValueOf } from "../../../canon/json/schema.ts";
import { formatRevision, type PolicyContract } from "../../../canon/policy.ts";
import { formatTime } from "../../../canon/rfc3339.ts";
import { shadowFigures } from "../../../governance/shadow-report.ts";
import type { POLICY_VIEW } from "../../contract/policy-answers.ts";
import type { ControlCall, ControlHandler } from "../control-call.ts";
import type { PolicyAdministration } from "./administration.ts";
import { missingJson, notManagedHere, plainError, storeUnavailable } from "./policy-error.ts";
import type { ShadowSource } from "../policy-shadow.ts";
import { remember } from "../../../canon/remember.ts";
import { refusal } from "../../refusal.ts";
import type { Runtime } from "../../runtime.ts";
import type { Snapshot } from "../../snapshot.ts";
import {
  candidateApprovals,
  rollBackTarget,
  hasShadowFigures,
  coversPromotion,
  missingRequirements,
  promotionRequirements,
} from "../../../lifecycle/changes.ts";
import { driftOf } from "../../../lifecycle/observe.ts";
import {
  contentOf,
  entityTag,
  type PolicyStates,
  type PolicyStatus,
  type SlotState,
} from "../../../lifecycle/lifecycle.ts";
import type {
  Actor,
  Approval,
  ReportReference,
  ShadowFigures,
} from "../../../lifecycle/records.ts";

type PolicyView = ValueOf<typeof POLICY_VIEW>;
type SlotView = PolicyView["candidate"];
type ApprovalView = PolicyView["approvals"][number];

/**
 * The content whose title and owners stand for the policy: the one in shadow, the enforced one, or
 * the newest of the past.
 */
function namingDigest(status: PolicyStatus): string | null {
  const slots = [status.candidate?.digest, status.enforced?.digest].filter(
    (digest) => digest !== undefined,
  );
  const ruling = slots.find((digest) => contentOf(status, digest).content === "rules");
  return (
    ruling ??
    [...status.contents.values()].findLast(({ content }) => content === "rules")?.digest ??
    null
  );
}

export function stateOf(status: PolicyStatus): PolicyView["state"] {
  const isEnforced = holdsRules(status, status.enforced);
  if (holdsRules(status, status.candidate)) return isEnforced ? "changing" : "shadow";
  if (!isEnforced) return "ended";
  return status.candidate === null ? "enforced" : "ending";
}

/**
 * The policy's effect on requests, and its content: enforced rules, else those in shadow.
 * Both `null` where the policy has ended.
 */
function modeOf(status: PolicyStatus): Pick<PolicyView, "mode" | "revision"> {
  const slot = [status.enforced, status.candidate].find((one) => holdsRules(status, one)) ?? null;
  if (slot === null) return { mode: null, revision: null };
  const revision = formatRevision(contentOf(status, slot.digest).revision);
  return { mode: slot === status.enforced ? "enforce" : "shadow", revision };
}

function holdsRules(status: PolicyStatus, slot: SlotState | null) {
  return slot !== null && contentOf(status, slot.digest).content === "rules";
}

function describeSlot(
  status: PolicyStatus,
  slot: SlotState | null,
  contractOf: (digest: string) => PolicyContract | null,
): SlotView {
  if (slot === null) return null;
  const { revision, digest, module, content, firstSeenAt } = contentOf(status, slot.digest);
  const contract = content === "rules" ? contractOf(digest) : null;
  return {
    revision: revisionText(revision),
    digest,
    content,
    module_sha256: module,
    since: formatTime(slot.since),
    first_seen: formatTime(firstSeenAt),
    held: status.held.has(digest),
    ...describeRules(contract),
  };
}

/** Constraints and obligations of a content, and their operations; none for a removal. */
export function describeRules(
  contract: PolicyContract | null,
): Pick<NonNullable<SlotView>, "constraints" | "obligations" | "operations"> {
  return {
    constraints: contract?.constraints ?? [],
    obligations: contract?.obligations ?? [],
    operations: contract?.operations ?? [],
  };
}

function describeReport(
  report: ReportReference,
  status: PolicyStatus,
  serving: string,
): ApprovalView["report"] {
  const { sha256, tableRevision, complete, assertions, verification } = report;
  const isVerified = verification.result === "verified";
  return {
    sha256,
    table_revision: tableRevision,
    complete,
    assertions: { ...assertions },
    status: !isVerified
      ? "claimed"
      : coversPromotion(report, status, serving)
        ? "verified"
        : "outdated",
    claimed_because: isVerified ? null : verification.result,
  };
}

function describeApproval(
  { by, at, report }: Approval,
  status: PolicyStatus,
  serving: string,
): ApprovalView {
  return {
    by: {
      key_id: by.keyId,
      workspace: by.workspace,
      origin: by.origin,
      roles: by.roles,
      ...(by.person !== undefined && { person: { ...by.person } }),
    },
    at: formatTime(at),
    report: report === null ? null : describeReport(report, status, serving),
  };
}

function reference(status: PolicyStatus, digest: string): PolicyView["held"][number] {
  return { revision: revisionText(contentOf(status, digest).revision), digest };
}

/** Contents are numbered from 1. */
function revisionText(revision: number) {
  return formatRevision(revision) ?? `r${revision}`;
}

/**
 * Keys between a key and its origin, at most. A key that rotates itself every day gets there in
 * nearly three years.
 */
export const LONGEST_WAY = 1_000;

/** Ids of keys. Names of people who make keys at a terminal have another form. */
const KEY_ID = /^[0-9A-Za-z]{12}$/;

/**
 * Who is responsible for a key. The way goes from each key to the one that made it over HTTP,
 * rotations included: the maker of a key sees its text, so the maker chose its name. A key that was
 * rotated at a terminal comes from the one it replaces, and a key made there is its own origin.
 *
 * A person who is signed in is their own origin, which no key can be: keys that they make over HTTP
 * are theirs. Their roles are their groups.
 *
 * Roles are the labels that all keys on the way have: a key cannot give a role that it does not
 * have to a key that it creates.
 *
 * @throws {RefusalError}
 */
export async function actorOf(
  identity: Pick<Identity, "keyId" | "workspace" | "person" | "labels">,
  requestId: string,
  keys: Pick<KeyManagement, "get">,
): Promise<Actor> {
  const { keyId, workspace, person } = identity;
  if (person != null) {
    const { issuer, subject, name } = person;
    const personFacts = { issuer, subject, ...(name !== null && { name }) };
    return {
      keyId,
      workspace,
      origin: keyId,
      roles: [...identity.labels].toSorted(),
      requestId,
      person: personFacts,
    };
  }
  let roles: ReadonlySet<string> | null = null;
  let id = keyId;
  for (let steps = 0; steps < LONGEST_WAY; steps += 1) {
    const key = await orUnavailable(keys.get(id));
    if (key === null) {
      // A key that is gone still was one person; which labels it had is not known.
      return { keyId, workspace, origin: id, roles: [], requestId };
    }
    const labels: ReadonlySet<string> = new Set(key.labels);
    roles = roles === null ? labels : roles.intersection(labels);
    // The maker answers for the key. Their groups are not known here.
    if (isPersonId(key.createdBy))
      return { keyId, workspace, origin: key.createdBy, roles: [], requestId };
    const next: string | null = KEY_ID.test(key.createdBy) ? key.createdBy : key.rotatedFrom;
    if (next === null)
      return { keyId, workspace, origin: id, roles: [...roles].toSorted(), requestId };
    id = next;
  }
  // Any key on the way, taken for the origin, would make several people of one.
  throw refusal(
    "origin_too_far",
    "The chain of keys that created this key is too long to identify its owner; create a key at the terminal (signalbox keys create).",
  );
}

/**
 * Public ids of revoked keys whose approvals of the candidate are still recorded: an approval of a
 * revoked key does not count. A key that has merely expired did speak.
 */
export async function revokedApprovers(
  status: PolicyStatus,
  keys: Pick<KeyManagement, "get">,
): Promise<ReadonlySet<string>> {
  const revoked = new Set<string>();
  for (const { by } of candidateApprovals(status)) {
    if (isPersonId(by.keyId)) continue;
    const key = await orUnavailable(keys.get(by.keyId));
    if (key === null || key.status === "revoked") revoked.add(by.keyId);
  }
  return revoked;
}

/** Caller and policies, for every handler here. */
interface PolicyParts {
  readonly identity: Identity;
  readonly administration: PolicyAdministration;
}

export function parts(call: ControlCall): PolicyParts {
  return { identity: callerOf(call), administration: call.runtime.policies };
}

/**
 * Whether the workspace may manage policies. They concern all workspaces: by default the only one
 * may change them, and no tenant may of several.
 */
export function managesPolicies(
  { decider }: Pick<Snapshot, "decider">,
  { workspace }: Pick<Identity, "workspace">,
): boolean {
  const { policies, workspaces } = decider.table;
  return policies.managedBy?.includes(workspace) ?? Object.keys(workspaces).length === 1;
}

/** @throws {RefusalError} where the caller may not manage policies. */
export function checkManagement({ snapshot }: ControlCall, identity: Identity): void {
  if (!managesPolicies(snapshot, identity))
    throw notManagedHere(snapshot.decider.table.policies.managedBy !== undefined);
}

/** The log as it is now, for this process too. */
export function newestStates({ lifecycle }: PolicyAdministration): Promise<PolicyStates> {
  return orUnavailable(lifecycle.refresh());
}

/**
 * A failed read is not the caller's fault; the store's error text does not leave the server.
 *
 * @throws {RefusalError}
 */
export function orUnavailable<Result>(reading: Promise<Result>): Promise<Result> {
  return reading.catch(() => {
    throw storeUnavailable();
  });
}

/** The policy that the path names. @throws {RefusalError} */
export async function namedStatus(
  administration: PolicyAdministration,
  parameter: string,
): Promise<PolicyStatus> {
  const status = (await newestStates(administration)).policies.get(parameter);
  if (status === undefined) throw plainError("policy_not_found");
  return status;
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
    const status = await namedStatus(found.administration, call.parameter);
    return answer(call, { ...found, status });
  };
}

/**
 * Counts that are being read, by content: concurrent callers share one read, or each would read
 * hours of cells.
 */
const counting = new WeakMap<ShadowSource, Map<string, Promise<ShadowFigures>>>();

/**
 * Counts of the candidate in shadow, of every workspace together. @throws {Error} where the counts
 * cannot be read.
 */
export async function candidateFigures(
  { shadow }: PolicyAdministration,
  status: PolicyStatus,
): Promise<ShadowFigures> {
  if (status.candidate === null) throw new Error("policies: no candidate to count");
  const { digest, since } = status.candidate;
  const running = remember(counting, shadow, () => new Map());
  const inProgress = running.get(digest);
  if (inProgress !== undefined) return { ...(await inProgress), since };
  const { revision, firstSeenAt } = contentOf(status, digest);
  const figures = shadowFigures(shadow, status.id, revision, since, Date.now(), firstSeenAt);
  running.set(digest, figures);
  try {
    return await figures;
  } finally {
    running.delete(digest);
  }
}

/** A policy as it is shown, by the current snapshot of this process. */
export async function viewOf(
  { snapshots }: Pick<Runtime, "snapshots">,
  administration: PolicyAdministration,
  status: PolicyStatus,
): Promise<PolicyView> {
  const { policies, table } = snapshots.current.decider;
  const loaded = new Map(
    policies.policies.map(({ identity, contract }) => [identity.digest, contract]),
  );
  const digests = [status.enforced?.digest, status.candidate?.digest, namingDigest(status)];
  const contracts = new Map<string, PolicyContract | null>();
  for (const digest of digests) {
    if (digest == null || contracts.has(digest)) continue;
    contracts.set(digest, loaded.get(digest) ?? (await readContract(administration, digest)));
  }
  const contractOf = (digest: string) => contracts.get(digest) ?? null;
  const contract = contractOf(namingDigest(status) ?? "");
  const target = rollBackTarget(status, undefined);
  const required = promotionRequirements(table, status.id);
  const file = administration.files().get(status.id) ?? null;
  return {
    object: "policy",
    id: status.id,
    title: contract?.title ?? status.id,
    owners: contract?.owners ?? [],
    state: stateOf(status),
    ...modeOf(status),
    etag: entityTag(status),
    enforced: describeSlot(status, status.enforced, contractOf),
    candidate: describeSlot(status, status.candidate, contractOf),
    approvals: candidateApprovals(status).map((approval) =>
      describeApproval(approval, status, table.revision),
    ),
    requirements: {
      approvals: required.approvals,
      roles: required.roles,
      self_approval: required.selfApproval,
      soak_seconds: required.soak / 1_000,
      min_decisions: required.decisions,
      no_indeterminate: required.noIndeterminate,
      report: required.report,
      assertions: required.assertions,
    },
    rollback_to: typeof target === "string" ? reference(status, target) : null,
    can_roll_back: target === null || typeof target === "string",
    held: [...status.held].map((digest) => reference(status, digest)),
    withdrawn: [...status.withdrawn].map((digest) => reference(status, digest)),
    files: file !== null && status.contents.has(file) ? reference(status, file) : null,
    drift: driftOf(status, file, administration.differing()),
  };
}

/** One that cannot be read is shown without its rules: the slots are still as they are. */
async function readContract(
  administration: PolicyAdministration,
  digest: string,
): Promise<PolicyContract | null> {
  try {
    return (await administration.content(digest))?.contract ?? null;
  } catch {
    return null;
  }
}

/** Requirements that a promoter of this origin would not meet now; `null` without a candidate. */
export async function missingFor(
  { snapshots, keys }: Pick<Runtime, "snapshots" | "keys">,
  by: Pick<Actor, "origin">,
  administration: PolicyAdministration,
  status: PolicyStatus,
): Promise<readonly JsonObject[] | null> {
  if (status.candidate === null) return null;
  const figures = hasShadowFigures(status)
    ? await orUnavailable(candidateFigures(administration, status))
    : null;
  const { table } = snapshots.current.decider;
  const required = { ...promotionRequirements(table, status.id), tableRevision: table.revision };
  const revoked = await revokedApprovers(status, keys);
  return missingRequirements(status, { ...required, revoked }, by, figures, Date.now()).map(
    missingJson,
  );
}
