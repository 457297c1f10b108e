import { DEFAULT_PROMOTION } from "../../src/canon/table.ts";
import { createHash } from "node:crypto";

import { canonicalJson } from "../../src/canon/json.ts";
import { chainHash, GENESIS, type ChainLink } from "../../src/evidence/chain.ts";
import { PolicyLogVerifier } from "../../src/lifecycle/fold.ts";
import type { Actor, ContentReference, PolicyLogRow } from "../../src/lifecycle/records.ts";

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Rows of these texts, chained as a store has them. */
export function chainTexts(texts: readonly string[], from: ChainLink = GENESIS): PolicyLogRow[] {
  let { position, hash: previous } = from;
  return texts.map((record) => {
    position += 1;
    const row = {
      position,
      previous,
      hash: chainHash(previous, position, "policy", record),
      record,
    };
    previous = row.hash;
    return row;
  });
}

/** Rows of these records; not all of them need be ones that there can be. */
export function chainRecords(records: readonly object[]): PolicyLogRow[] {
  return chainTexts(records.map(canonicalJson));
}

/** The first fault as `position cause`; `null` where all verifies. */
export function faultIn(
  rows: readonly PolicyLogRow[],
  remembered: readonly ChainLink[] = [],
): string | null {
  const verifier = new PolicyLogVerifier(remembered);
  for (const fault of [verifier.begin(), ...addAll(verifier, rows), verifier.end()]) {
    if (fault !== null) return `${fault.position} ${fault.cause}`;
  }
  return null;
}

function* addAll(
  verifier: PolicyLogVerifier,
  rows: readonly PolicyLogRow[],
): Generator<ReturnType<typeof verifier.add>> {
  for (const row of rows) yield verifier.add(row);
}

export const POLICY = "eu-residency";
export const REMOVAL = sha256(canonicalJson({ removal: POLICY }));

/** The content of the policy that a letter stands for. */
export function content(letter: string, revision: number): ContentReference {
  return { revision, digest: sha256(`content ${letter}`), module: sha256(`module ${letter}`) };
}

export function person(name: string, roles: readonly string[] = []): Actor {
  return {
    keyId: `sbk_${name}`,
    workspace: "platform",
    origin: `sbk_${name}`,
    roles,
    requestId: `req_${name}`,
  };
}

export const NOTHING_REQUIRED = DEFAULT_PROMOTION;

export const FIGURES = {
  since: 0,
  judged: 100,
  wouldDeny: 7,
  newlyDenied: 5,
  wouldNarrow: 3,
  indeterminate: 0,
};

export const REPORT = {
  sha256: sha256("report"),
  tableRevision: "t1",
  complete: true,
  assertions: { passed: 3, failed: 0, waived: 1 },
  verification: { result: "not_computed" },
};

/** Records of one policy, each a second after the one before. */
export class Story {
  readonly records: object[] = [];

  add(record: object): this {
    this.records.push({ policy: POLICY, at: 1_000 * (this.records.length + 1), ...record });
    return this;
  }

  observed({ revision, digest, module }: ContentReference, more: object = {}): this {
    const slot = "candidate";
    return this.add({
      kind: "observed",
      revision,
      digest,
      module,
      content: "rules",
      slot,
      tableRevision: "t1",
      ...more,
    });
  }

  removed(revision: number, more: object = {}): this {
    return this.observed(
      { revision, digest: REMOVAL, module: null },
      { content: "removal", ...more },
    );
  }

  returned({ revision, digest }: ContentReference): this {
    return this.add({ kind: "returned", revision, digest });
  }

  approved({ revision, digest }: ContentReference, by: Actor, report: object | null = null): this {
    return this.add({ kind: "approved", revision, digest, by, report });
  }

  by(
    kind: "approval_withdrawn" | "candidate_withdrawn" | "released",
    { revision, digest }: ContentReference,
    by: Actor = person("ann"),
  ): this {
    return this.add({ kind, revision, digest, by });
  }

  promoted(from: ContentReference | null, to: ContentReference, more: object = {}): this {
    const record = {
      kind: "promoted",
      by: person("ann"),
      tableRevision: "t1",
      from,
      to,
      approvals: [],
    };
    const shadow = to.module === null ? null : FIGURES;
    return this.add({ ...record, requirements: NOTHING_REQUIRED, shadow, ...more });
  }

  rolledBack(from: ContentReference, to: ContentReference | null, more: object = {}): this {
    const record = {
      kind: "rolled_back",
      by: person("ann"),
      tableRevision: "t1",
      from,
      to,
      reason: "wrong_denials",
    };
    return this.add({ ...record, ...more });
  }

  get rows(): PolicyLogRow[] {
    return chainRecords(this.records);
  }
}
