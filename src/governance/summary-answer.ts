import type { PolicyIdentity, PolicySlot } from "../canon/policy.ts";
import { asWord, type Word } from "../evidence/record.ts";
import type { Dimension, Grouping } from "./dimensions.ts";
import type { Measures } from "./measures.ts";
import { RELATIVE_ERROR } from "./quantile-sketch.ts";
import { HOUR } from "./roll-up.ts";
import type { ShadowPolicy } from "./shadow-counts.ts";
import type { Group } from "./groups.ts";
import type { Summary, VerdictLine } from "./summarise.ts";
import { formatHour, type Window } from "./window.ts";

/**
 * What `GET /v1/governance/summary` answers. Words, numbers and closed lists: `test/governance/summary-answer.test-d.ts`
 * proves that no member takes free text. No money: it is operational evidence, and no bill.
 */
export interface SummaryAnswer {
  readonly object: "governance.summary";
  readonly version: 1;
  /** `null`: requests without an accepted key. */
  readonly workspace: Word | null;
  readonly window: {
    /** RFC 3339; whole hours, so possibly more than was asked. */
    readonly start: Word;
    readonly end: Word;
    /** Before it every hour is over and every request has ended: those numbers do not change any more. Before `start` where that can be said of no hour of the window. */
    readonly complete_until: Word;
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
  readonly table_revision: Word | null;
  readonly evidence: { readonly head: { readonly position: number; readonly hash: Word } | null };
}

type AnswerGroup = Measures & Pick<Group, "group">;

export interface AnswerPolicy {
  readonly id: Word;
  /** What the process that answers has loaded from the files. */
  readonly slots: readonly { readonly slot: PolicySlot; readonly revision: number; readonly digest: Word }[];
  /** What the store has as its newest; `null` where it has none. */
  readonly stored: { readonly revision: number; readonly mode: "shadow" | "enforce"; readonly digest: Word } | null;
  /**
   * Whether files and store differ. `digest`: the store knows a content that is not loaded; `mode`: it stands in another
   * slot; `not_loaded`, `not_stored`: only one of them has it. `null`: they agree.
   */
  readonly drift: "digest" | "mode" | "not_loaded" | "not_stored" | null;
}

/** What the answer says besides the counts. */
export interface SummaryScene {
  readonly workspace: string | null;
  readonly window: Window;
  readonly grouping: Grouping;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly loaded: readonly PolicyIdentity[] | null;
  readonly stored: readonly StoredPolicyState[];
  readonly tableRevision: string | null;
  readonly head: { readonly position: number; readonly hash: string } | null;
}

export interface StoredPolicyState {
  readonly id: string;
  readonly digest: string;
  readonly revision: number;
  readonly mode: "shadow" | "enforce";
}

/**
 * A decision counts in the hour in which its request arrived, and is written when its body has been read (within
 * a minute) and it has been decided. Milliseconds.
 */
const LATEST_RECORD = 120_000;

export function summaryAnswer(scene: SummaryScene, summary: Summary): SummaryAnswer {
  const { window, grouping, workspace, head, tableRevision } = scene;
  const settled = Math.floor((scene.now - LATEST_RECORD) / HOUR);
  const complete = Math.min(window.until, settled, summary.firstRunning ?? Infinity);
  return {
    object: "governance.summary",
    version: 1,
    workspace: workspace === null ? null : asWord(workspace),
    window: {
      start: asWord(formatHour(window.from)),
      end: asWord(formatHour(window.until)),
      complete_until: asWord(formatHour(complete)),
    },
    group_by: grouping.dimensions,
    relative_error: RELATIVE_ERROR,
    totals: summary.totals,
    groups: summary.groups.map(({ group, measures }) => ({ group, ...measures })),
    truncated: summary.truncated,
    verdicts: summary.verdicts,
    shadows: summary.shadows,
    policies: policyStates(scene.loaded, scene.stored),
    table_revision: tableRevision === null ? null : asWord(tableRevision),
    evidence: { head: head === null ? null : { position: head.position, hash: asWord(head.hash) } },
  };
}

/** @param loaded `null` where no files are loaded: then nothing can be said of drift. */
function policyStates(
  loaded: readonly PolicyIdentity[] | null,
  stored: readonly StoredPolicyState[],
): readonly AnswerPolicy[] {
  const ids = new Set([...(loaded ?? []), ...stored].map(({ id }) => id));
  return [...ids].toSorted().map((id) => {
    const own = (loaded ?? []).filter((policy) => policy.id === id);
    const state = stored.find((policy) => policy.id === id) ?? null;
    return {
      id: asWord(id),
      slots: own.map(({ slot, revision, digest }) => ({ slot, revision, digest: asWord(digest) })),
      stored: state === null ? null : { revision: state.revision, mode: state.mode, digest: asWord(state.digest) },
      drift: loaded === null ? null : driftOf(own, state),
    };
  });
}

function driftOf(own: readonly PolicyIdentity[], state: StoredPolicyState | null): AnswerPolicy["drift"] {
  if (own.length === 0) return "not_loaded";
  if (state === null) return "not_stored";
  const same = own.filter(({ digest }) => digest === state.digest);
  if (same.length === 0) return "digest";
  const slot: PolicySlot = state.mode === "enforce" ? "enforced" : "candidate";
  return same.some((policy) => policy.slot === slot) ? null : "mode";
}
