import { removalDigest } from "./entity-tag.ts";
import { contentOf, type PolicyLedger, type PolicyLine } from "./ledger.ts";
import type { FileContent } from "./lifecycle.ts";
import type { PolicyRecord } from "./records.ts";

/** What a server's files hold, and what they held when it last told. */
export interface Observation {
  readonly contents: readonly FileContent[];
  /** Digest by policy; `null` at the start of a process. */
  readonly before: ReadonlyMap<string, string> | null;
  readonly tableRevision: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * What has to be written down of the files of one server. A replica with older files must not take back what a newer one brought: at a start, what is known
 * may fill an empty slot and take no other's place. Files that change under a running server are somebody's will, and do.
 */
export function observationRecords(ledger: PolicyLedger, observation: Observation): readonly PolicyRecord[] {
  const present = observation.contents.flatMap((content) => {
    const record = ofPresent(ledger.policies.get(content.policy), content, observation);
    return record === null ? [] : [record];
  });
  const ids = new Set(observation.contents.map(({ policy }) => policy));
  const absent = [...ledger.policies.values()].flatMap((line) => {
    const record = ids.has(line.id) ? null : ofAbsent(line, observation);
    return record === null ? [] : [record];
  });
  return [...present, ...absent];
}

function ofPresent(line: PolicyLine | undefined, file: FileContent, observation: Observation): PolicyRecord | null {
  const { policy, digest, module } = file;
  const { at, tableRevision } = observation;
  const known = line?.contents.get(digest);
  if (line === undefined || known?.isKept !== true) {
    const isFirst = line === undefined || line.imported !== null;
    const mode = isFirst ? (line?.imported ?? file.initialMode) : "shadow";
    const slot = mode === "enforce" ? "enforced" : "candidate";
    const revision = known?.revision ?? nextRevision(line);
    return { kind: "observed", policy, at, revision, digest, module, content: "rules", slot, tableRevision };
  }
  const { revision } = known;
  const before = observation.before === null ? null : (observation.before.get(policy) ?? removalDigest(policy));
  const hasChanged = before !== null && before !== digest;
  const returned: PolicyRecord = { kind: "returned", policy, at, revision, digest };
  // A replica that comes late through what the others had before goes back from nothing: it must not take the candidate's place, nor its time in shadow.
  const leavesCandidate = hasChanged && before === line.candidate?.digest;
  if (line.candidate !== null) return leavesCandidate ? returned : null;
  if (line.enforced?.digest === digest) return null;
  return hasChanged || mayReturn(line, digest) ? returned : null;
}

/** A policy that files have no longer; its rules go on acting until its end is promoted. */
function ofAbsent(line: PolicyLine, { before, at, tableRevision }: Observation): PolicyRecord | null {
  const policy = line.id;
  const digest = removalDigest(policy);
  if (line.enforced?.digest === digest || line.candidate?.digest === digest) return null;
  if (line.enforced === null && line.candidate === null) return null;
  const wasThere = before?.has(policy) === true;
  // What is only watched may be a newer replica's; it ends where a running server sees its file go.
  if (!wasThere && (line.candidate !== null || line.withdrawn.has(digest))) return null;
  const known = line.contents.get(digest);
  if (known === undefined || line.enforced === null) {
    const revision = known?.revision ?? nextRevision(line);
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
  return { kind: "returned", policy, at, revision: known.revision, digest };
}

/** Whether a known content may fill an empty slot at a start: not where it is a former one's, or was taken out by hand. */
function mayReturn(line: PolicyLine, digest: string): boolean {
  return !line.held.has(digest) && !line.withdrawn.has(digest) && !line.former.includes(digest);
}

function nextRevision(line: PolicyLine | undefined): number {
  return 1 + Math.max(0, ...[...(line?.contents.values() ?? [])].map(({ revision }) => revision));
}

/**
 * Words for what of the files, and of the kept modules, is not as the slots are; empty where all is.
 *
 * @param digest of the policy in the files, `null` where they have none.
 * @param differing digests of contents whose kept module is not what its sources compile to.
 */
export function driftOf(
  line: PolicyLine,
  digest: string | null,
  differing: ReadonlySet<string> = new Set(),
): readonly DriftWord[] {
  const slots = [line.enforced?.digest, line.candidate?.digest];
  const isDiffering = slots.some((slot) => slot !== undefined && differing.has(slot));
  return [...fileDrift(line, digest), ...(isDiffering ? (["module_differs"] as const) : [])];
}

function fileDrift(line: PolicyLine, digest: string | null): readonly DriftWord[] {
  const removal = removalDigest(line.id);
  const slots = [line.enforced?.digest, line.candidate?.digest];
  const words: DriftWord[] = [];
  if (digest === null) {
    const hasRules = slots.some((slot) => slot !== undefined && contentOf(line, slot).content === "rules");
    if (hasRules && !slots.includes(removal)) words.push("not_in_files");
    return words;
  }
  if (line.held.has(digest)) words.push("files_held");
  else if (line.withdrawn.has(digest)) words.push("files_withdrawn");
  else if (!slots.includes(digest)) words.push("files_differ");
  if (line.candidate !== null && line.candidate.digest !== digest && !words.includes("files_differ")) {
    words.push("candidate_not_in_files");
  }
  return words;
}

export const DRIFT_WORDS = [
  "files_differ",
  "files_held",
  "files_withdrawn",
  "candidate_not_in_files",
  "not_in_files",
  "module_differs",
] as const;
export type DriftWord = (typeof DRIFT_WORDS)[number];
