import { CHANGE_WORDS, type ChangeWord } from "../../../../simulate/sample-request.ts";
import type { Colour } from "../../../terminal/layout.ts";
import type { ComparisonReport, LivenessFinding } from "../../../../simulate/report/report.ts";

export type ChangeSymbol = "+" | "-" | "~" | "!";

/** How much a reviewer should mind: requests that stop, data that goes somewhere new, or the same in another way. */
export type Tone = "stop" | "widen" | "narrow" | "quiet" | "good";

/** How a page shows it. */
export interface Look {
  /** In front of the words, so that colour is never all that tells them apart. */
  readonly sign: string;
  readonly tone: Tone;
}

/** How a change is said, the same in every format. */
export interface ChangeWording {
  readonly symbol: ChangeSymbol;
  readonly colour: Colour;
  /** A few words, as in "3 newly denied". */
  readonly title: string;
  readonly sentence: string;
  /** How loud machines should be about it. */
  readonly level: "error" | "warning" | "notice";
  readonly look: Look;
}

/** The worst first: the first of its words gives a group its symbol. */
export const CHANGE_WORDING: Readonly<Record<ChangeWord, ChangeWording>> = {
  indeterminate_new: {
    symbol: "!",
    colour: "magenta",
    title: "newly indeterminate",
    sentence: "A constraint that acts here cannot be evaluated any more.",
    level: "error",
    look: { sign: "?", tone: "stop" },
  },
  newly_denied: {
    symbol: "-",
    colour: "red",
    title: "newly denied",
    sentence: "Requests that base serves are denied in head.",
    level: "warning",
    look: { sign: "×", tone: "stop" },
  },
  newly_allowed: {
    symbol: "+",
    colour: "green",
    title: "newly allowed",
    sentence: "Requests that base denies are served in head.",
    level: "warning",
    look: { sign: "+", tone: "widen" },
  },
  destination_changed: {
    symbol: "~",
    colour: "yellow",
    title: "destination changed",
    sentence: "An endpoint of the same id now means another provider, region, address, model or contract.",
    level: "warning",
    look: { sign: "≠", tone: "widen" },
  },
  primary_changed: {
    symbol: "~",
    colour: "yellow",
    title: "primary changed",
    sentence: "Requests go to another endpoint first.",
    level: "notice",
    look: { sign: "→", tone: "widen" },
  },
  fallbacks_widened: {
    symbol: "+",
    colour: "green",
    title: "fallbacks widened",
    sentence: "Requests may fall back to an endpoint that base does not use for them.",
    level: "notice",
    look: { sign: "+", tone: "widen" },
  },
  fallbacks_narrowed: {
    symbol: "-",
    colour: "red",
    title: "fallbacks narrowed",
    sentence: "Requests lose an endpoint that they may fall back to in base.",
    level: "notice",
    look: { sign: "−", tone: "narrow" },
  },
  fallbacks_reordered: {
    symbol: "~",
    colour: "yellow",
    title: "fallbacks reordered",
    sentence: "Requests fall back to the same endpoints in another order.",
    level: "notice",
    look: { sign: "↕", tone: "quiet" },
  },
  sharing_changed: {
    symbol: "~",
    colour: "yellow",
    title: "sharing changed",
    sentence: "Requests are shared among the same endpoints in another way.",
    level: "notice",
    look: { sign: "↕", tone: "quiet" },
  },
  edits_changed: {
    symbol: "~",
    colour: "cyan",
    title: "edits changed",
    sentence: "Obligations take out or limit something else.",
    level: "notice",
    look: { sign: "≠", tone: "quiet" },
  },
  reason_changed: {
    symbol: "~",
    colour: "cyan",
    title: "reason changed",
    sentence: "Requests are denied as before, for another reason.",
    level: "notice",
    look: { sign: "≠", tone: "quiet" },
  },
};

/** `words` with the worst at the front. */
export function worstFirst(words: readonly ChangeWord[]): readonly ChangeWord[] {
  return Object.keys(CHANGE_WORDING).flatMap((name) => words.find((word) => word === name) ?? []);
}

/** Of a group's words the worst; a group without one says that its primary changed. */
export function worstWord(words: readonly ChangeWord[]): ChangeWord {
  return worstFirst(words)[0] ?? CHANGE_WORDS[2];
}

/** "newly denied, fallbacks widened". */
export function titleOf(words: readonly ChangeWord[]): string {
  return worstFirst(words)
    .map((word) => CHANGE_WORDING[word].title)
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

export const FINDING_WORDING: Readonly<Record<LivenessFinding["kind"], string>> = {
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
