import { asWord, type Word } from "../../../evidence/record.ts";
import type { ShadowCountReport } from "../../../governance/shadow/shadow-report.ts";
import type { LookedAt, ExampleGroup } from "../../../simulate/examples/find-examples.ts";

/** The revision that a report is about, as the policy log has it. */
export interface ShadowLine {
  /** Policy id. */
  readonly id: string;
  readonly revision: number;
  readonly digest: string;
  /** When it entered its slot, milliseconds since the epoch. */
  readonly since: number;
  /** When it was first seen, likewise: a candidate that has come back is counted from then. `since` where left out. */
  readonly firstSeen?: number;
}

/**
 * What `GET /v1/policies/{id}/shadow` answers: counts over all hours in which the revision was asked, and requests of the newest evidence to try. Words,
 * numbers and closed lists: `test/http/shadow/shadow-answer.test-d.ts` proves that no member takes free text.
 */
export interface ShadowAnswer extends ShadowCountReport {
  readonly object: "policy.shadow";
  readonly policy: Word;
  /** `r7`. */
  readonly revision: Word;
  readonly digest: Word;
  /** RFC 3339: when it entered its slot. The numbers include an earlier time in shadow. */
  readonly since: Word;
  /** RFC 3339: up to when evidence is in the numbers. */
  readonly until: Word;
  readonly witnesses: readonly ExampleGroup[];
  /** How much of the evidence witnesses were looked for in. */
  readonly looked_at: LookedAt;
}

/** @param now milliseconds since the epoch. */
export function shadowAnswer(
  { id, revision, digest, since }: ShadowLine,
  counts: ShadowCountReport,
  found: { readonly witnesses: readonly ExampleGroup[]; readonly lookedAt: LookedAt },
  now: number,
): ShadowAnswer {
  return {
    object: "policy.shadow",
    policy: asWord(id),
    revision: asWord(`r${revision}`),
    digest: asWord(digest),
    since: asWord(new Date(since).toISOString()),
    until: asWord(new Date(now).toISOString()),
    ...counts,
    witnesses: found.witnesses,
    looked_at: found.lookedAt,
  };
}
