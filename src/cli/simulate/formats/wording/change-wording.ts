import { CHANGES, type Change, type ChangeKind } from "../../../../simulate/change-kind.ts";
import type { Mark, Tone } from "../../../document/document.ts";
import type {
  ComparisonReport,
  UnusedFinding,
  CoverageResult,
} from "../../../../simulate/report/report.ts";

/** Symbol and tone of a change, the same in every format. */
interface ChangeWording extends Change {
  readonly symbol: Mark;
  readonly tone: Tone;
}

const LOOKS: Readonly<Record<ChangeKind, readonly [Mark, Tone]>> = {
  newly_denied: ["-", "stop"],
  newly_allowed: ["+", "widen"],
  primary_changed: ["~", "widen"],
  fallbacks_widened: ["+", "widen"],
  fallbacks_narrowed: ["-", "narrow"],
  fallbacks_reordered: ["~", "quiet"],
  sharing_changed: ["~", "quiet"],
  destination_changed: ["~", "widen"],
  weaker_obligation: ["+", "widen"],
  higher_ceiling: ["+", "widen"],
  edits_changed: ["~", "quiet"],
  reason_changed: ["~", "quiet"],
  indeterminate_new: ["!", "stop"],
};

export function changeWording(kind: ChangeKind): ChangeWording {
  const [symbol, tone] = LOOKS[kind];
  return { ...CHANGES[kind], symbol, tone };
}

/** Kinds by rank, the worst first, which gives a group its symbol. */
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
  readonly tone: Tone;
}

export const ACCESS_WORDING: Readonly<Record<ComparisonReport["access"], AccessWording>> = {
  equivalent: {
    title: "equivalent",
    sentence: "No request gains or loses an endpoint.",
    tone: "good",
  },
  more_permissive: {
    title: "more permissive",
    sentence: "Head allows everything that base allows, and more.",
    tone: "widen",
  },
  less_permissive: {
    title: "less permissive",
    sentence: "Head allows nothing that base does not allow, and less.",
    tone: "narrow",
  },
  incomparable: {
    title: "incomparable",
    sentence: "Head allows something that base does not, and the other way round.",
    tone: "widen",
  },
};

/** "policy without effect", "fallback edges": an enum value of the report as a reader sees it. */
export function valueText(value: UnusedFinding["kind"] | CoverageResult["what"]): string {
  return value.replaceAll("_", " ");
}
