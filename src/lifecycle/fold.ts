import { chainHash } from "../evidence/chain.ts";
import type { PolicyLogRow } from "./policy-log-store.ts";
import { contentOf, type KnownContent, type PolicyLedger, type PolicyLine, type SlotState } from "./ledger.ts";
import { readPolicyRecord } from "./read-record.ts";
import type { Approval, ObservedRecord, PolicyRecord, RolledBackRecord } from "./records.ts";

/** A log that cannot be followed: its chain does not hold, or a newer version has written to it. */
export class PolicyLogError extends Error {
  override readonly name = "PolicyLogError";
}

/**
 * What follows from one more row.
 *
 * @throws {PolicyLogError} when the row is not the next one, is not what was written, or is of no kind that this version knows: to go on without it could
 * bring a policy back that was taken away.
 */
export function foldRow(ledger: PolicyLedger, row: PolicyLogRow): PolicyLedger {
  const { head } = ledger;
  const follows =
    row.position === head.position + 1 &&
    row.previous === head.hash &&
    chainHash(row.previous, row.position, "policy", row.record) === row.hash;
  if (!follows) {
    throw new PolicyLogError(
      `the log of policies does not hold at position ${head.position + 1}; run signalbox evidence verify`,
    );
  }
  const record = readPolicyRecord(row.record);
  if (record === null) {
    throw new PolicyLogError(
      `the log of policies has a row at position ${row.position} that this version does not know; run the newer one`,
    );
  }
  const known = ledger.policies.get(record.policy) ?? newLine(record.policy);
  const line: PolicyLine = { ...foldRecord(known, record, row.position), position: row.position };
  const policies = new Map(
    [...ledger.policies, [line.id, line] as const].toSorted(([left], [right]) => (left < right ? -1 : 1)),
  );
  return { head: { position: row.position, hash: row.hash }, policies };
}

function newLine(id: string): PolicyLine {
  return {
    id,
    contents: new Map(),
    enforced: null,
    candidate: null,
    approvals: new Map(),
    held: new Set(),
    withdrawn: new Set(),
    former: [],
    imported: null,
    moved: 0,
    position: 0,
  };
}

function foldRecord(line: PolicyLine, record: PolicyRecord, moved: number): PolicyLine {
  const { at } = record;
  switch (record.kind) {
    case "imported": {
      const { revision, digest, mode } = record;
      const content: KnownContent = {
        revision,
        digest,
        module: null,
        content: "rules",
        firstSeenAt: at,
        isKept: false,
      };
      return { ...line, contents: new Map(line.contents).set(digest, content), imported: mode };
    }
    case "observed":
      return { ...observed(line, record), moved };
    case "returned": {
      const { digest } = record;
      const candidate = line.enforced?.digest === digest ? null : { digest, since: at };
      return { ...line, candidate, withdrawn: without(line.withdrawn, digest), moved };
    }
    case "approved": {
      const { digest, by, report } = record;
      return withApprovals(line, digest, [...approvalsOfOthers(line, digest, by.origin), { by, at, report }]);
    }
    case "approval_withdrawn":
      return withApprovals(line, record.digest, approvalsOfOthers(line, record.digest, record.by.origin));
    case "candidate_withdrawn":
      return { ...line, candidate: null, withdrawn: new Set(line.withdrawn).add(record.digest), moved };
    case "promoted": {
      const { digest } = record.to;
      const former = [...line.former, line.enforced?.digest ?? null];
      return { ...line, enforced: { digest, since: at }, candidate: null, former, moved };
    }
    case "rolled_back":
      return { ...rolledBack(line, record), moved };
    case "released": {
      const { digest } = record;
      const isFree = line.candidate === null && line.enforced?.digest !== digest;
      const candidate = isFree ? { digest, since: at } : line.candidate;
      return {
        ...line,
        candidate,
        held: without(line.held, digest),
        withdrawn: without(line.withdrawn, digest),
        moved,
      };
    }
  }
}

function observed(line: PolicyLine, record: ObservedRecord): PolicyLine {
  const { revision, digest, module, content, slot, at } = record;
  const firstSeenAt = line.contents.get(digest)?.firstSeenAt ?? at;
  const known: KnownContent = { revision, digest, module, content, firstSeenAt, isKept: true };
  const contents = new Map(line.contents).set(digest, known);
  const state: SlotState = { digest, since: at };
  if (slot === "enforced") return { ...line, contents, enforced: state, candidate: null, imported: null };
  // Where nothing is enforced, there is nothing whose end would have to be promoted: the policy is just not watched any more.
  const candidate = content === "removal" && line.enforced === null ? null : state;
  return { ...line, contents, candidate, imported: null };
}

function rolledBack(line: PolicyLine, { from, to, at }: RolledBackRecord): PolicyLine {
  const target = to?.digest ?? null;
  const former = line.former.slice(0, line.former.lastIndexOf(target));
  const candidate =
    line.candidate === null || line.candidate.digest === target ? { digest: from.digest, since: at } : line.candidate;
  return {
    ...line,
    enforced: target === null ? null : { digest: target, since: at },
    candidate,
    held: new Set(line.held).add(from.digest),
    former,
  };
}

function approvalsOfOthers(line: PolicyLine, digest: string, origin: string): readonly Approval[] {
  return (line.approvals.get(digest) ?? []).filter(({ by }) => by.origin !== origin);
}

/** A row that approves what nobody has seen is no lawful one. @throws {TypeError} */
function withApprovals(line: PolicyLine, digest: string, approvals: readonly Approval[]): PolicyLine {
  contentOf(line, digest);
  return { ...line, approvals: new Map(line.approvals).set(digest, approvals) };
}

function without(digests: ReadonlySet<string>, digest: string): ReadonlySet<string> {
  return new Set([...digests].filter((one) => one !== digest));
}
