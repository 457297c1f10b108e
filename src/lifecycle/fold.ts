import { hash } from "node:crypto";
import { canonicalJson, isJsonObject, parseJsonObject, type JsonObject } from "../canon/json.ts";
import type { StoredContent } from "../canon/policy.ts";
import { GENESIS, RememberedLinks, chainHash, type ChainLink } from "../evidence/chain.ts";
import {
  hasShape,
  isFlag,
  isListOf,
  isOneOf,
  isText,
  orAbsent,
  orNull,
  type Check,
} from "../evidence/record-shape.ts";
import {
  NO_POLICY_STATES,
  contentOf,
  type KnownContent,
  type PolicyStates,
  type PolicyStatus,
  type SlotState,
} from "./lifecycle.ts";
import {
  type Approval,
  type ObservedRecord,
  type PolicyLogRow,
  type PolicyRecord,
  type RolledBackRecord,
} from "./records.ts";

/** Why a policy log does not verify; each with its sentence. */
export const POLICY_LOG_CAUSES = {
  gap: "a row is missing here, or is at another position",
  hash: "the row, or the one before it, was changed after it was written",
  unreadable: "the row has no policy record in canonical form that this version supports",
  impossible: "no server can follow the row after those before it",
  anchor: "the hash at this position differs from the checkpoint",
  end: "the log ends before the position of a checkpoint",
} as const;

export type PolicyLogCause = keyof typeof POLICY_LOG_CAUSES;

export interface PolicyLogFault {
  /** The first position that does not verify. */
  readonly position: number;
  readonly cause: PolicyLogCause;
}

/** One sentence's second half for people: `does not verify at …`. Quotes nothing of the log. */
export function describePolicyLogFault({ position, cause }: PolicyLogFault): string {
  return `does not verify at position ${position}: ${POLICY_LOG_CAUSES[cause]} (${cause})`;
}

/**
 * Verifies a policy log row by row: that no row was changed, added, removed or moved, and that the
 * fold of the servers follows each (decision 39). Discard it after a fault.
 */
export class PolicyLogVerifier {
  readonly #remembered: RememberedLinks;
  readonly #contents = new Map<string, NamedContent>();
  readonly #counts = new Map<PolicyRecord["kind"], number>();
  #states = NO_POLICY_STATES;
  #reports = { verified: 0, claimed: 0 };

  /** @param remembered positions that were noted before, in this log or elsewhere */
  constructor(remembered: readonly ChainLink[] = []) {
    this.#remembered = new RememberedLinks(remembered);
  }

  /** The newest row that verified. */
  get head(): ChainLink {
    return this.#states.head;
  }

  /** Every content with rules that the log names, each once: the store must have it. */
  get contents(): readonly NamedContent[] {
    return [...this.#contents.values()];
  }

  /** How many rows of a kind verified. */
  count(kind: PolicyRecord["kind"]): number {
    return this.#counts.get(kind) ?? 0;
  }

  /**
   * Approvals with a report: those whose server had made the same report itself, and those that
   * only claim one.
   */
  get reports(): { readonly verified: number; readonly claimed: number } {
    return this.#reports;
  }

  /** Call before the first row. Compares the beginning with what was remembered. */
  begin(): PolicyLogFault | null {
    return this.#remembered.match(GENESIS) ? null : { position: 0, cause: "anchor" };
  }

  /** Adds the next row. Returns its fault. */
  add(row: PolicyLogRow): PolicyLogFault | null {
    const position = this.head.position + 1;
    const cause = row.position === position ? this.#causeIn(row) : "gap";
    return cause === null ? null : { position, cause };
  }

  /** Call after the last row. Checks that the log reaches every remembered position. */
  end(): PolicyLogFault | null {
    if (!this.#remembered.reachBeyond(this.head)) return null;
    return { position: this.head.position + 1, cause: "end" };
  }

  #causeIn(row: PolicyLogRow): PolicyLogCause | null {
    const expected = chainHash(this.head.hash, row.position, "policy", row.record);
    if (row.previous !== this.head.hash || row.hash !== expected) return "hash";
    if (!this.#remembered.match(row)) return "anchor";
    const record = readPolicyRecord(row.record);
    if (record === null) return "unreadable";
    try {
      this.#states = foldRow(this.#states, row);
    } catch (error) {
      if (error instanceof TypeError) return "impossible";
      throw error;
    }
    this.#counts.set(record.kind, this.count(record.kind) + 1);
    if (record.kind === "approved" && record.report !== null) {
      const result = record.report.verification.result === "verified" ? "verified" : "claimed";
      this.#reports = { ...this.#reports, [result]: this.#reports[result] + 1 };
    }
    if (record.kind === "observed" && record.module !== null) {
      const { policy, revision, digest, module } = record;
      const key = `${policy} ${digest}`;
      if (!this.#contents.has(key)) {
        this.#contents.set(key, { policy, revision, digest, module, position: row.position });
      }
    }
    return null;
  }
}

/** A content that the log names, and that must be kept. */
export interface NamedContent {
  readonly policy: string;
  readonly revision: number;
  readonly digest: string;
  /** SHA-256 of its module's bytes. */
  readonly module: string;
  /** Of the first row that names it. */
  readonly position: number;
}

/** Why a kept content is not the one in the log, with its sentence. */
export const KEPT_CONTENT_CAUSES = {
  not_kept: "its content is not stored",
  other_policy: "the content stored under its digest belongs to another policy",
  module: "the stored module is not the one in the log",
  digest: "the stored contract and sources cannot be read, or do not have its digest",
} as const;

export type KeptContentCause = keyof typeof KEPT_CONTENT_CAUSES;

/**
 * Why the content kept under a digest is not the one in the log; `null`: it is.
 *
 * @param digestOf digest of contract and sources as they are kept; `null` where they cannot be read
 */
export function keptContentCause(
  expected: NamedContent,
  stored: StoredContent | null,
  digestOf: (stored: StoredContent) => string | null,
): KeptContentCause | null {
  if (stored === null) return "not_kept";
  if (stored.policy !== expected.policy) return "other_policy";
  if (hash("sha256", stored.module, "hex") !== expected.module) return "module";
  return stored.digest === expected.digest && digestOf(stored) === expected.digest
    ? null
    : "digest";
}

/** Quotes nothing of the log but numbers. */
export function describeContentFault({ position }: NamedContent, cause: KeptContentCause): string {
  return `names content at position ${position} that is missing or damaged: ${KEPT_CONTENT_CAUSES[cause]} (${cause})`;
}

/** A log that cannot be read: its chain does not verify, or a newer version has written to it. */
export class PolicyLogError extends Error {
  override readonly name = "PolicyLogError";
}

/**
 * The state after one more row.
 *
 * @throws {PolicyLogError} when the row is not the next one, was changed, or has an unknown kind:
 * skipping it could restore a removed policy.
 */
export function foldRow(states: PolicyStates, row: PolicyLogRow): PolicyStates {
  const { head } = states;
  const follows =
    row.position === head.position + 1 &&
    row.previous === head.hash &&
    chainHash(row.previous, row.position, "policy", row.record) === row.hash;
  if (!follows) {
    throw new PolicyLogError(
      `the policy log does not verify at position ${head.position + 1}; run signalbox evidence verify`,
    );
  }
  const record = readPolicyRecord(row.record);
  if (record === null) {
    throw new PolicyLogError(
      `the policy log has a row at position ${row.position} that this version does not support; run the newer version`,
    );
  }
  const statusBefore = states.policies.get(record.policy) ?? newLine(record.policy);
  const status: PolicyStatus = {
    ...foldRecord(statusBefore, record, row.position),
    position: row.position,
  };
  const policies = new Map(
    [...states.policies, [status.id, status] as const].toSorted(([left], [right]) =>
      left < right ? -1 : 1,
    ),
  );
  return { head: { position: row.position, hash: row.hash }, policies };
}

function newLine(id: string): PolicyStatus {
  return {
    id,
    contents: new Map(),
    enforced: null,
    candidate: null,
    approvals: new Map(),
    held: new Set(),
    withdrawn: new Set(),
    former: [],
    movedAt: 0,
    position: 0,
  };
}

function foldRecord(status: PolicyStatus, record: PolicyRecord, movedAt: number): PolicyStatus {
  const { at } = record;
  switch (record.kind) {
    case "observed":
      return { ...observed(status, record), movedAt };
    case "returned": {
      const { digest } = record;
      const candidate = status.enforced?.digest === digest ? null : { digest, since: at };
      return { ...status, candidate, withdrawn: without(status.withdrawn, digest), movedAt };
    }
    case "approved": {
      const { digest, by, report } = record;
      return withApprovals(status, digest, [
        ...approvalsOfOthers(status, digest, by.origin),
        { by, at, report },
      ]);
    }
    case "approval_withdrawn":
      return withApprovals(
        status,
        record.digest,
        approvalsOfOthers(status, record.digest, record.by.origin),
      );
    case "candidate_withdrawn":
      return {
        ...status,
        candidate: null,
        withdrawn: new Set(status.withdrawn).add(record.digest),
        movedAt,
      };
    case "promoted": {
      const { digest } = record.to;
      const former = [...status.former, status.enforced?.digest ?? null];
      return { ...status, enforced: { digest, since: at }, candidate: null, former, movedAt };
    }
    case "rolled_back":
      return { ...rolledBack(status, record), movedAt };
    case "released": {
      const { digest } = record;
      const isFree = status.candidate === null && status.enforced?.digest !== digest;
      const candidate = isFree ? { digest, since: at } : status.candidate;
      return {
        ...status,
        candidate,
        held: without(status.held, digest),
        withdrawn: without(status.withdrawn, digest),
        movedAt,
      };
    }
  }
}

function observed(status: PolicyStatus, record: ObservedRecord): PolicyStatus {
  const { revision, digest, module, content, slot, at } = record;
  const firstSeenAt = status.contents.get(digest)?.firstSeenAt ?? at;
  const observedContent: KnownContent = { revision, digest, module, content, firstSeenAt };
  const contents = new Map(status.contents).set(digest, observedContent);
  const state: SlotState = { digest, since: at };
  if (slot === "enforced") return { ...status, contents, enforced: state, candidate: null };
  // Where nothing is enforced, no removal has to be promoted: the policy just leaves shadow.
  const candidate = content === "removal" && status.enforced === null ? null : state;
  return { ...status, contents, candidate };
}

function rolledBack(status: PolicyStatus, { from, to, at }: RolledBackRecord): PolicyStatus {
  const target = to?.digest ?? null;
  const former = status.former.slice(0, status.former.lastIndexOf(target));
  const candidate =
    status.candidate === null || status.candidate.digest === target
      ? { digest: from.digest, since: at }
      : status.candidate;
  return {
    ...status,
    enforced: target === null ? null : { digest: target, since: at },
    candidate,
    held: new Set(status.held).add(from.digest),
    former,
  };
}

function approvalsOfOthers(
  status: PolicyStatus,
  digest: string,
  origin: string,
): readonly Approval[] {
  return (status.approvals.get(digest) ?? []).filter(({ by }) => by.origin !== origin);
}

/** A row that approves unknown content is not lawful. @throws {TypeError} */
function withApprovals(
  status: PolicyStatus,
  digest: string,
  approvals: readonly Approval[],
): PolicyStatus {
  contentOf(status, digest);
  return { ...status, approvals: new Map(status.approvals).set(digest, approvals) };
}

function without(digests: ReadonlySet<string>, digest: string): ReadonlySet<string> {
  return new Set([...digests].filter((one) => one !== digest));
}

const isDigest: Check = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const isRevision: Check = (value) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
const isTime: Check = (value) => typeof value === "number" && Number.isFinite(value);

const CONTENT = { revision: isRevision, digest: isDigest } as const;
const REFERENCE = { ...CONTENT, module: orNull(isDigest) } as const;
const ACTOR = hasShape({
  keyId: isText,
  workspace: isText,
  origin: isText,
  roles: isListOf(isText),
  requestId: isText,
  // Keys, and records of older versions, name no person.
  person: orAbsent(hasShape({ issuer: isText, subject: isText })),
});
const REPORT = hasShape({
  sha256: isDigest,
  tableRevision: isText,
  complete: isFlag,
  assertions: hasShape({ passed: isTime, failed: isTime, waived: isTime }),
  verification: hasShape({ result: isText }),
});
const APPROVAL = hasShape({ by: ACTOR, at: isTime, report: orNull(REPORT) });

/** Required members of each kind of row; a newer version's may have more. */
const MEMBERS: Readonly<Record<PolicyRecord["kind"], Readonly<Record<string, Check>>>> = {
  observed: {
    ...REFERENCE,
    content: isOneOf(["rules", "removal"]),
    slot: isOneOf(["enforced", "candidate"]),
    tableRevision: isText,
  },
  returned: CONTENT,
  approved: { ...CONTENT, by: ACTOR, report: orNull(REPORT) },
  approval_withdrawn: { ...CONTENT, by: ACTOR },
  candidate_withdrawn: { ...CONTENT, by: ACTOR },
  promoted: {
    by: ACTOR,
    tableRevision: isText,
    from: orNull(hasShape(REFERENCE)),
    to: hasShape(REFERENCE),
    approvals: isListOf(APPROVAL),
    requirements: isJsonObject,
    shadow: orNull(isJsonObject),
  },
  rolled_back: {
    by: ACTOR,
    tableRevision: isText,
    from: hasShape(REFERENCE),
    to: orNull(hasShape(REFERENCE)),
    reason: isText,
  },
  released: { ...CONTENT, by: ACTOR },
};

/**
 * The record in a row's text; `null` where this version does not support it. It must be in
 * canonical form: a text with a member twice has two readings. Members that this version does not
 * know belong to a later one, and are ignored.
 */
export function readPolicyRecord(text: string): PolicyRecord | null {
  const value = parseJsonObject(text);
  try {
    return value !== null && canonicalJson(value) === text && isPolicyRecord(value) ? value : null;
  } catch {
    // A number such as 1e999 has no canonical form.
    return null;
  }
}

const SHAPES = new Map(
  Object.entries(MEMBERS).map(([kind, members]) => [
    kind,
    hasShape({ policy: isText, at: isTime, ...members }),
  ]),
);

function isPolicyRecord(value: JsonObject): value is JsonObject & PolicyRecord {
  return typeof value.kind === "string" && SHAPES.get(value.kind)?.(value) === true;
}
