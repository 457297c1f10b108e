import type { ChangeWord } from "../../../../simulate/point.ts";
import type { ComparisonReport } from "../../../../simulate/report/report.ts";

/** How much a reviewer should mind: requests that stop, data that goes somewhere new, or the same in another way. */
export type Tone = "stop" | "widen" | "narrow" | "quiet" | "good";

export interface Look {
  /** Stands before the words, so that colour is never all that tells them apart. */
  readonly sign: string;
  readonly tone: Tone;
}

export const LOOK_OF_WORD: Readonly<Record<ChangeWord, Look>> = {
  newly_denied: { sign: "×", tone: "stop" },
  newly_allowed: { sign: "+", tone: "widen" },
  primary_changed: { sign: "→", tone: "widen" },
  fallbacks_widened: { sign: "+", tone: "widen" },
  fallbacks_narrowed: { sign: "−", tone: "narrow" },
  fallbacks_reordered: { sign: "↕", tone: "quiet" },
  destination_changed: { sign: "≠", tone: "widen" },
  sharing_changed: { sign: "↕", tone: "quiet" },
  edits_changed: { sign: "≠", tone: "quiet" },
  reason_changed: { sign: "≠", tone: "quiet" },
  indeterminate_new: { sign: "?", tone: "stop" },
};

export const LOOK_OF_ACCESS: Readonly<Record<ComparisonReport["access"], Look>> = {
  equivalent: { sign: "=", tone: "good" },
  more_permissive: { sign: "+", tone: "widen" },
  less_permissive: { sign: "−", tone: "narrow" },
  incomparable: { sign: "±", tone: "widen" },
};
