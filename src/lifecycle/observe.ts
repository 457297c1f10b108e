import {
  contentOf,
  removalDigest,
  type FileContent,
  type PolicyStates,
  type PolicyStatus,
} from "./lifecycle.ts";
import type { PolicyRecord } from "./records.ts";

/** Contents of a server's files now, and when it last recorded them. */
interface Observation {
  readonly contents: readonly FileContent[];
  /** Digest by policy; `null` at the start of a process. */
  readonly before: ReadonlyMap<string, string> | null;
  readonly tableRevision: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Rows to write for the files of one server. A replica with older files must not take
 * back what a newer one brought: at a start, what is known may fill an empty slot and replace no
 * other content. Files that change under a running server are changed on purpose, and replace it.
 */
export function observationRecords(
  states: PolicyStates,
  observation: Observation,
): readonly PolicyRecord[] {
  const present = observation.contents.flatMap(
    (content) => ofPresent(states.policies.get(content.policy), content, observation) ?? [],
  );
  const ids = new Set(observation.contents.map(({ policy }) => policy));
  const absent = [...states.policies.values()].flatMap((status) =>
    ids.has(status.id) ? [] : (ofAbsent(status, observation) ?? []),
  );
  return [...present, ...absent];
}

function ofPresent(
  status: PolicyStatus | undefined,
  file: FileContent,
  observation: Observation,
): PolicyRecord | null {
  const { policy, digest, module } = file;
  const { at, tableRevision } = observation;
  const knownContent = status?.contents.get(digest);
  if (status === undefined || knownContent === undefined) {
    const slot = status === undefined && file.initialMode === "enforce" ? "enforced" : "candidate";
    const revision = nextRevision(status);
    return {
      kind: "observed",
      policy,
      at,
      revision,
      digest,
      module,
      content: "rules",
      slot,
      tableRevision,
    };
  }
  const { revision } = knownContent;
  const before =
    observation.before === null ? null : (observation.before.get(policy) ?? removalDigest(policy));
  const hasChanged = before !== null && before !== digest;
  const returned: PolicyRecord = { kind: "returned", policy, at, revision, digest };
  // A replica that deploys late did not go back to older content: it must neither replace the
  // candidate nor reset its time in shadow.
  const isOldReplica = hasChanged && before === status.candidate?.digest;
  if (status.candidate !== null) return isOldReplica ? returned : null;
  if (status.enforced?.digest === digest) return null;
  return hasChanged || isReturnable(status, digest) ? returned : null;
}

/** A policy whose file was removed; its rules stay enforced until the removal is promoted. */
function ofAbsent(
  status: PolicyStatus,
  { before, at, tableRevision }: Observation,
): PolicyRecord | null {
  const policy = status.id;
  const digest = removalDigest(policy);
  if (status.enforced?.digest === digest || status.candidate?.digest === digest) return null;
  if (status.enforced === null && status.candidate === null) return null;
  const hadFile = before?.has(policy) === true;
  // A candidate may be a newer replica's; it ends where a running server sees its file go.
  if (!hadFile && (status.candidate !== null || status.withdrawn.has(digest))) return null;
  const knownContent = status.contents.get(digest);
  if (knownContent === undefined || status.enforced === null) {
    const revision = knownContent?.revision ?? nextRevision(status);
    return {
      kind: "observed",
      policy,
      at,
      revision,
      digest,
      module: null,
      content: "removal",
      slot: "candidate",
      tableRevision,
    };
  }
  return { kind: "returned", policy, at, revision: knownContent.revision, digest };
}

/**
 * Whether known content may fill an empty slot at a start: not if it was enforced before, or
 * removed by hand.
 */
function isReturnable(status: PolicyStatus, digest: string) {
  return (
    !status.held.has(digest) && !status.withdrawn.has(digest) && !status.former.includes(digest)
  );
}

function nextRevision(status: PolicyStatus | undefined) {
  return 1 + Math.max(0, ...[...(status?.contents.values() ?? [])].map(({ revision }) => revision));
}

/**
 * How the files and the kept modules differ from the slots; empty where they do not.
 *
 * @param digest of the policy in the files, `null` where they have none.
 * @param differing digests of contents whose kept module is not what its sources compile to.
 */
export function driftOf(
  status: PolicyStatus,
  digest: string | null,
  differing: ReadonlySet<string> = new Set(),
): readonly Drift[] {
  const slots = [status.enforced?.digest, status.candidate?.digest];
  const moduleDiffers = slots.some((slot) => slot !== undefined && differing.has(slot));
  return [...fileDrift(status, digest), ...(moduleDiffers ? (["module_differs"] as const) : [])];
}

function fileDrift(status: PolicyStatus, digest: string | null): readonly Drift[] {
  const removal = removalDigest(status.id);
  const slots = [status.enforced?.digest, status.candidate?.digest];
  const found: Drift[] = [];
  if (digest === null) {
    const hasRules = slots.some(
      (slot) => slot !== undefined && contentOf(status, slot).content === "rules",
    );
    if (hasRules && !slots.includes(removal)) found.push("not_in_files");
    return found;
  }
  if (status.held.has(digest)) found.push("files_held");
  else if (status.withdrawn.has(digest)) found.push("files_withdrawn");
  else if (!slots.includes(digest)) found.push("files_differ");
  if (
    status.candidate !== null &&
    status.candidate.digest !== digest &&
    !found.includes("files_differ")
  ) {
    found.push("candidate_not_in_files");
  }
  return found;
}

export const DRIFTS = [
  "files_differ",
  "files_held",
  "files_withdrawn",
  "candidate_not_in_files",
  "not_in_files",
  "module_differs",
] as const;
export type Drift = (typeof DRIFTS)[number];

/** The difference and the fix, for operators. */
export const DRIFT_SENTENCES: Readonly<Record<Drift, string>> = {
  files_differ:
    "the content of the files was seen before and is in no slot; update the files of an older replica, or release the content",
  files_held:
    "the content of the files was rolled back and is held; release it or change the files",
  files_withdrawn: "the content of the files was withdrawn; release it or change the files",
  candidate_not_in_files:
    "the candidate differs from the content of the files; update the files or withdraw it",
  not_in_files:
    "the files do not have the policy; put its file back, or send SIGHUP and promote the removal",
  module_differs:
    "the store keeps a module that its sources do not compile to, and servers run what they compile themselves; find out who changed the store",
};
