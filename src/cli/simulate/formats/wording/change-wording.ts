import { CHANGES, type Change, type ChangeKind } from "../../../../simulate/change-kind.ts";
import type { Colour } from "../../../terminal/layout.ts";
import type { ComparisonReport, UnusedFinding } from "../../../../simulate/report/report.ts";

type ChangeSymbol = "+" | "-" | "~" | "!";

/** How much a reviewer should mind: requests that stop, data that goes somewhere new, or the same in another way. */
export type Tone = "stop" | "widen" | "narrow" | "quiet" | "good";

/** How a page shows it. */
export interface Look {
  /** Before the title, so that colour is never the only difference. */
  readonly sign: string;
  readonly tone: Tone;
}

/** How a change is shown, the same in every format. */
interface ChangeWording extends Change {
  readonly symbol: ChangeSymbol;
  readonly colour: Colour;
  readonly look: Look;
}

export const CHANGE_WORDING: Readonly<Record<ChangeKind, ChangeWording>> = {
  newly_denied: { ...CHANGES.newly_denied, symbol: "-", colour: "red", look: { sign: "×", tone: "stop" } },
  newly_allowed: { ...CHANGES.newly_allowed, symbol: "+", colour: "green", look: { sign: "+", tone: "widen" } },
  primary_changed: { ...CHANGES.primary_changed, symbol: "~", colour: "yellow", look: { sign: "→", tone: "widen" } },
  fallbacks_widened: { ...CHANGES.fallbacks_widened, symbol: "+", colour: "green", look: { sign: "+", tone: "widen" } },
  fallbacks_narrowed: {
    ...CHANGES.fallbacks_narrowed,
    symbol: "-",
    colour: "red",
    look: { sign: "−", tone: "narrow" },
  },
  fallbacks_reordered: {
    ...CHANGES.fallbacks_reordered,
    symbol: "~",
    colour: "yellow",
    look: { sign: "↕", tone: "quiet" },
  },
  sharing_changed: { ...CHANGES.sharing_changed, symbol: "~", colour: "yellow", look: { sign: "↕", tone: "quiet" } },
  destination_changed: {
    ...CHANGES.destination_changed,
    symbol: "~",
    colour: "yellow",
    look: { sign: "≠", tone: "widen" },
  },
  weaker_obligation: {
    ...CHANGES.weaker_obligation,
    symbol: "+",
    colour: "yellow",
    look: { sign: "+", tone: "widen" },
  },
  higher_ceiling: { ...CHANGES.higher_ceiling, symbol: "+", colour: "yellow", look: { sign: "+", tone: "widen" } },
  edits_changed: { ...CHANGES.edits_changed, symbol: "~", colour: "cyan", look: { sign: "≠", tone: "quiet" } },
  reason_changed: { ...CHANGES.reason_changed, symbol: "~", colour: "cyan", look: { sign: "≠", tone: "quiet" } },
  indeterminate_new: {
    ...CHANGES.indeterminate_new,
    symbol: "!",
    colour: "magenta",
    look: { sign: "?", tone: "stop" },
  },
};

/** `words` with the worst at the front: the first of its words gives a group its symbol. */
export function worstFirst(kinds: readonly ChangeKind[]): readonly ChangeKind[] {
  return kinds.toSorted((left, right) => CHANGES[left].rank - CHANGES[right].rank);
}

/** The worst kind of a group; `primary_changed` where it has none. */
export function worstChange(kinds: readonly ChangeKind[]): ChangeKind {
  return worstFirst(kinds)[0] ?? "primary_changed";
}

/** "newly denied, fallbacks widened". */
export function titleOf(kinds: readonly ChangeKind[]): string {
  return worstFirst(kinds)
    .map((kind) => CHANGES[kind].title)
    .join(", ");
}

interface AccessWording {
  readonly title: string;
  readonly sentence: string;
  readonly colour: Colour;
  readonly look: Look;
}

export const ACCESS_WORDING: Readonly<Record<ComparisonReport["access"], AccessWording>> = {
  equivalent: {
    title: "equivalent",
    sentence: "No request gains or loses an endpoint.",
    colour: "green",
    look: { sign: "=", tone: "good" },
  },
  more_permissive: {
    title: "more permissive",
    sentence: "Head allows everything that base allows, and more.",
    colour: "yellow",
    look: { sign: "+", tone: "widen" },
  },
  less_permissive: {
    title: "less permissive",
    sentence: "Head allows nothing that base does not allow, and less.",
    colour: "red",
    look: { sign: "−", tone: "narrow" },
  },
  incomparable: {
    title: "incomparable",
    sentence: "Head allows something that base does not, and the other way round.",
    colour: "magenta",
    look: { sign: "±", tone: "widen" },
  },
};

export const NEW_DATA_PATH = {
  title: "new data path",
  sentence: "Data of this workspace can reach a provider and region in head that it cannot reach in base.",
} as const;

export const FINDING_WORDING: Readonly<Record<UnusedFinding["kind"], string>> = {
  policy_without_effect: "policy without effect",
  constraint_never_fails: "constraint never fails",
  constraint_never_passes: "constraint never passes",
  reason_never_given: "reason never given",
  route_never_chosen: "route never chosen",
  endpoint_never_chosen: "endpoint never chosen",
  fallback_never_used: "fallback never used",
};

/** Name of what coverage is counted over. */
export const COVERAGE_WORDING = {
  constraints: "constraints",
  reasons: "reasons",
  routes: "routes",
  fallback_edges: "fallback edges",
} as const;
