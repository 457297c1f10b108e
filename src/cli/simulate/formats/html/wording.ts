import type { ChangeWord } from "../../../../simulate/point.ts";
import type { ComparisonReport, CoverageResult, LivenessFinding } from "../../../../simulate/report/report.ts";

/** How much a reviewer should mind: requests that stop, data that goes somewhere new, or the same in another way. */
export type Tone = "stop" | "widen" | "narrow" | "quiet" | "good";

interface Wording {
  readonly label: string;
  /** Stands before the label, so that colour is never all that tells words apart. */
  readonly sign: string;
  readonly tone: Tone;
  readonly meaning: string;
}

export const WORDING_OF_WORD: Readonly<Record<ChangeWord, Wording>> = {
  newly_denied: {
    label: "newly denied",
    sign: "×",
    tone: "stop",
    meaning: "Base answers these requests, head refuses.",
  },
  newly_allowed: {
    label: "newly allowed",
    sign: "+",
    tone: "widen",
    meaning: "Base refuses these requests, head answers.",
  },
  primary_changed: { label: "primary changed", sign: "→", tone: "widen", meaning: "Another place is tried first." },
  fallbacks_widened: {
    label: "fallbacks widened",
    sign: "+",
    tone: "widen",
    meaning: "Requests may go to places that base does not try.",
  },
  fallbacks_narrowed: {
    label: "fallbacks narrowed",
    sign: "−",
    tone: "narrow",
    meaning: "Places that base tries are not tried any more.",
  },
  fallbacks_reordered: {
    label: "fallbacks reordered",
    sign: "↕",
    tone: "quiet",
    meaning: "The same places in another order.",
  },
  destination_changed: {
    label: "destination changed",
    sign: "≠",
    tone: "widen",
    meaning: "An endpoint of the same name stands for something else.",
  },
  edits_changed: {
    label: "edits changed",
    sign: "≠",
    tone: "quiet",
    meaning: "Obligations take out or limit something else.",
  },
  reason_changed: {
    label: "reason changed",
    sign: "≠",
    tone: "quiet",
    meaning: "Refused on both sides, for another reason.",
  },
  indeterminate_new: {
    label: "newly indeterminate",
    sign: "?",
    tone: "stop",
    meaning: "A constraint of head could not be evaluated.",
  },
};

export const WORDING_OF_ACCESS: Readonly<
  Record<
    ComparisonReport["access"],
    { readonly title: string; readonly sign: string; readonly tone: Tone; readonly meaning: string }
  >
> = {
  equivalent: {
    title: "Access is the same",
    sign: "=",
    tone: "good",
    meaning: "Head allows exactly what base allows.",
  },
  more_permissive: {
    title: "More permissive",
    sign: "+",
    tone: "widen",
    meaning: "Head allows everything that base allows, and more.",
  },
  less_permissive: {
    title: "Less permissive",
    sign: "−",
    tone: "narrow",
    meaning: "Head allows nothing new, and refuses some of what base allows.",
  },
  incomparable: {
    title: "More here, less there",
    sign: "±",
    tone: "widen",
    meaning: "Head allows some of what base refuses, and refuses some of what base allows.",
  },
};

export const MEANING_OF_FINDING: Readonly<Record<LivenessFinding["kind"], string>> = {
  policy_without_effect: "policy changes no decision",
  constraint_never_fails: "constraint never fails",
  constraint_never_passes: "constraint never passes",
  reason_never_given: "reason is never given",
  route_never_chosen: "route is never chosen",
  endpoint_never_chosen: "endpoint is never chosen",
  fallback_never_used: "fallback is never used",
};

export const LABEL_OF_COVERAGE: Readonly<Record<CoverageResult["what"], string>> = {
  constraints: "Constraints",
  reasons: "Reasons",
  routes: "Routes",
  fallback_edges: "Fallback edges",
};

/** With separators of thousands; takes decimal digits as well, which may be more than a number holds. */
export function grouped(amount: number | string): string {
  return String(amount).replaceAll(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 class`, `2 classes`. */
export function counted(amount: number | string, one: string, many: string): string {
  return `${grouped(amount)} ${String(amount) === "1" ? one : many}`;
}
