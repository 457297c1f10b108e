import type { PolicyIdentity } from "../canon/policy.ts";
import { asIdentifier, type Identifier } from "../evidence/record.ts";
import type { Dimension, Grouping } from "./dimensions.ts";
import type { Measures } from "./measures.ts";
import { policyStates, type AnswerPolicy } from "./policy-states.ts";
import type { StoredPolicy } from "./stored-policies.ts";
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
