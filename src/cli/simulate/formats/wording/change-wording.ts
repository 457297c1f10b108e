import { CHANGES, type Change, type ChangeKind } from "../../../../simulate/change-kind.ts";
import type { Colour } from "../../../terminal/layout.ts";
import type { ComparisonReport, UnusedFinding, CoverageResult } from "../../../../simulate/report/report.ts";

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

/** Symbol and colour at a terminal, sign and tone in a page. */
const LOOKS: Readonly<Record<ChangeKind, readonly [ChangeSymbol, Colour, sign: string, Tone]>> = {
  newly_denied: ["-", "red", "×", "stop"],
  newly_allowed: ["+", "green", "+", "widen"],
  primary_changed: ["~", "yellow", "→", "widen"],
  fallbacks_widened: ["+", "green", "+", "widen"],
  fallbacks_narrowed: ["-", "red", "−", "narrow"],
  fallbacks_reordered: ["~", "yellow", "↕", "quiet"],
  sharing_changed: ["~", "yellow", "↕", "quiet"],
  destination_changed: ["~", "yellow", "≠", "widen"],
  weaker_obligation: ["+", "yellow", "+", "widen"],
  higher_ceiling: ["+", "yellow", "+", "widen"],
  edits_changed: ["~", "cyan", "≠", "quiet"],
  reason_changed: ["~", "cyan", "≠", "quiet"],
  indeterminate_new: ["!", "magenta", "?", "stop"],
};

export function changeWording(kind: ChangeKind): ChangeWording {
  const [symbol, colour, sign, tone] = LOOKS[kind];
  return { ...CHANGES[kind], symbol, colour, look: { sign, tone } };
}

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

/** "policy without effect", "fallback edges": an enum value of the report as a reader sees it. */
export function valueText(value: UnusedFinding["kind"] | CoverageResult["what"]): string {
  return value.replaceAll("_", " ");
}
