import { type PolicyIdentity, formatRevision, type PolicySlot } from "../canon/policy.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import type { Dimension, Grouping } from "./dimensions.ts";
import type { Measures } from "./measures.ts";
import type { StoredPolicy, StoredSlot } from "./stored-policies.ts";
import { RELATIVE_ERROR } from "./quantile-sketch.ts";
import { HOUR } from "./roll-up.ts";
import type { ShadowPolicy } from "./shadow-counts.ts";
import type { Group } from "./groups.ts";
import type { Summary, VerdictLine } from "./summarise.ts";
import { formatHour, type Window } from "./window.ts";

/**
 * What `GET /v1/governance/summary` answers. Enum values, numbers and closed lists: `test/governance/summary-answer.test-d.ts`
 * proves that no member takes free text. No money: it is operational evidence, and no bill.
 */
export interface SummaryAnswer {
  readonly object: "governance.summary";
  readonly version: 1;
  /** `null`: requests without an accepted key, or of several workspaces. */
  readonly workspace: Identifier | null;
  /** Whose requests are counted; empty for those without an accepted key. */
  readonly workspaces: readonly Identifier[];
  readonly window: {
    /** RFC 3339; whole hours, so possibly more than requested. */
    readonly start: Identifier;
    readonly end: Identifier;
    /** Before it every hour is over and every request has ended: those numbers do not change any more. Before `start` where that can be said of no hour of the window. */
    readonly complete_until: Identifier;
  };
  readonly group_by: readonly Dimension[];
  /** How far percentiles may be from the exact ones, as a share of them. */
  readonly relative_error: number;
  readonly totals: Measures;
  readonly groups: readonly AnswerGroup[];
  /** There are more groups than are given; these have the most requests. */
  readonly truncated: boolean;
  /** Why requests were denied and refused, over the whole window. */
  readonly verdicts: readonly VerdictLine[];
  /** What revisions in shadow would have done, over the whole window. */
  readonly shadows: readonly ShadowPolicy[];
  readonly policies: readonly AnswerPolicy[];
  /** `null` where no table is loaded, as on the command line. */
  readonly table_revision: Identifier | null;
  /** No position: it counts the requests of all workspaces. */
  readonly evidence: { readonly head: { readonly hash: Identifier } | null };
}

type AnswerGroup = Measures & Pick<Group, "group">;

/** The members of the answer besides the counts. */
export interface SummaryContext {
  readonly workspaces: readonly string[];
  readonly window: Window;
  readonly grouping: Grouping;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly loaded: readonly PolicyIdentity[] | null;
  /** From the policy log. */
  readonly stored: readonly StoredPolicy[];
  readonly tableRevision: string | null;
  readonly head: { readonly hash: string } | null;
}

/**
 * A decision counts in the hour in which its request arrived, and is written when its body has been read (within
 * a minute) and it has been decided. Milliseconds.
 */
const LATEST_RECORD = 120_000;

export function summaryAnswer(context: SummaryContext, summary: Summary): SummaryAnswer {
  const { window, grouping, workspaces, head, tableRevision } = context;
  const settled = Math.floor((context.now - LATEST_RECORD) / HOUR);
  const complete = Math.min(window.until, settled, summary.firstRunning ?? Infinity);
  return {
    object: "governance.summary",
    version: 1,
    workspace: onlyOne(workspaces),
    workspaces: workspaces.map(asIdentifier),
    window: {
      start: asIdentifier(formatHour(window.from)),
      end: asIdentifier(formatHour(window.until)),
      complete_until: asIdentifier(formatHour(complete)),
    },
    group_by: grouping.dimensions,
    relative_error: RELATIVE_ERROR,
    totals: summary.totals,
    groups: summary.groups.map(({ group, measures }) => ({ group, ...measures })),
    truncated: summary.truncated,
    verdicts: summary.verdicts,
    shadows: summary.shadows,
    policies: policyStates(context.loaded, context.stored),
    table_revision: tableRevision === null ? null : asIdentifier(tableRevision),
    evidence: { head: head === null ? null : { hash: asIdentifier(head.hash) } },
  };
}

/** `null` where there is none or more than one. */
export function onlyOne(workspaces: readonly string[]): Identifier | null {
  const [first, ...others] = workspaces;
  return first === undefined || others.length > 0 ? null : asIdentifier(first);
}

/** A policy in a summary. */
interface AnswerPolicy {
  readonly id: Identifier;
  /** What the process that answers decides with. */
  readonly slots: readonly {
    readonly slot: PolicySlot;
    readonly revision: Identifier | null;
    readonly digest: Identifier;
  }[];
  /** Its slot in the store; `null` where the store has none. */
  readonly stored: { readonly enforced: AnswerSlot | null; readonly candidate: AnswerSlot | null } | null;
  /**
   * How the policies that the process runs differ from those in the store. `digest`: another content; `slot`: the same contents in other slots;
   * `not_loaded`, `not_stored`: only one of them has it. `null`: they agree, as they do within a second of a change.
   */
  readonly drift: "digest" | "slot" | "not_loaded" | "not_stored" | null;
}

interface AnswerSlot {
  /** `r7`; `null` where no store has numbered the content. */
  readonly revision: Identifier | null;
  readonly digest: Identifier;
  readonly content: "rules" | "removal";
  /** RFC 3339: when it entered the slot; `null` where it was not recorded. */
  readonly since: Identifier | null;
}

/**
 * Policies that are enforced or in shadow, in the process or in the store, sorted by id.
 *
 * @param loaded `null` where no set of policies is loaded: then drift is unknown.
 */
export function policyStates(
  loaded: readonly PolicyIdentity[] | null,
  stored: readonly StoredPolicy[],
): readonly AnswerPolicy[] {
  const current = new Map(stored.filter((policy) => !hasEnded(policy)).map((policy) => [policy.id, policy]));
  const own = Map.groupBy(loaded ?? [], ({ id }) => id);
  return [...new Set([...own.keys(), ...current.keys()])].toSorted().map((id) => {
    const [slots, policy = null] = [own.get(id) ?? [], current.get(id)];
    return {
      id: asIdentifier(id),
      slots: slots.map(({ slot, revision, digest }) => ({
        slot,
        revision: shownRevision(revision),
        digest: asIdentifier(digest),
      })),
      stored:
        policy === null ? null : { enforced: answerSlot(policy.enforced), candidate: answerSlot(policy.candidate) },
      drift: loaded === null ? null : driftOf(slots, policy),
    };
  });
}

function hasEnded({ enforced, candidate }: StoredPolicy): boolean {
  return candidate === null && enforced?.content !== "rules";
}

function answerSlot(slot: StoredSlot | null): AnswerSlot | null {
  if (slot === null) return null;
  const { revision, digest, content, since } = slot;
  const entered = since === null ? null : asIdentifier(new Date(since).toISOString());
  return { revision: shownRevision(revision), digest: asIdentifier(digest), content, since: entered };
}

function shownRevision(revision: number): Identifier | null {
  const shown = formatRevision(revision);
  return shown === null ? null : asIdentifier(shown);
}

function driftOf(own: readonly PolicyIdentity[], policy: StoredPolicy | null): AnswerPolicy["drift"] {
  const said = (["enforced", "candidate"] as const).flatMap((slot) => {
    const content = policy?.[slot] ?? null;
    // There is nothing to load of a policy's end.
    return content?.content === "rules" ? [{ slot, digest: content.digest }] : [];
  });
  if (own.length === 0) return said.length === 0 ? null : "not_loaded";
  if (said.length === 0) return "not_stored";
  if (!isSame(own, said, ({ digest }) => digest)) return "digest";
  return isSame(own, said, ({ slot, digest }) => `${slot} ${digest}`) ? null : "slot";
}

type SlotStatus = Pick<PolicyIdentity, "slot" | "digest">;

function isSame(left: readonly SlotStatus[], right: readonly SlotStatus[], name: (one: SlotStatus) => string): boolean {
  const [own, others] = [left, right].map((list) => list.map(name).toSorted().join("\n"));
  return own === others;
}
