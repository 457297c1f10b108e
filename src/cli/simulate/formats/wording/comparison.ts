import type {
  ChangeGroup,
  ComparisonReport,
  CoverageResult,
  DataPath,
  RoutePath,
  SideReport,
  SimulationReport,
  UnusedFinding,
} from "../../../../simulate/report/report.ts";
import { promotedGroups } from "../../../../simulate/report/cause-parts.ts";
import type { View } from "../../../../simulate/sample-request.ts";
import { type ChangeKind, CHANGES } from "../../../../simulate/change-kind.ts";
import { type Mark, names, type Text } from "../../../document/document.ts";
import {
  amountText,
  capitalised,
  classesText,
  countText,
  joinTexts,
  numberText,
  requestShapesText,
} from "../../../terminal/printing.ts";

/** Changes of the promoted view that the declared one does not have. */
export function promotedDifference({ declared, promoted }: SimulationReport) {
  const before = new Map(declared.groups.map((group) => [group.id, group]));
  const added = new Set(promotedGroups({ declared, promoted }).map(({ id }) => id));
  const groups = promoted.groups.filter(({ id }) => added.has(id));
  const paths = PATHS.flatMap((member) => {
    const declaredKeys = new Set(declared[member].map(pathKey));
    return promoted[member].filter((path) => !declaredKeys.has(pathKey(path)));
  });
  return {
    /** Groups that promotion makes, or makes larger: those are shown whole. */
    groups,
    /** They, and the paths that only promotion adds or takes away. */
    only: new Set<ChangeGroup | DataPath | RoutePath>([...groups, ...paths]),
    /** Groups that are the same under both. */
    shared: promoted.groups.filter(
      ({ id, shapes }) => !added.has(id) && before.get(id)?.shapes === shapes,
    ).length,
    any: JSON.stringify(declared) !== JSON.stringify(promoted),
  };
}

const PATHS = ["new_route_paths", "new_data_paths", "lost_data_paths"] as const;

function pathKey(path: DataPath | RoutePath): string {
  const { workspace, provider, region, host } = path;
  const what = "route" in path ? [path.route, ...path.operations] : [path.operation];
  return JSON.stringify([workspace, provider, region, host, what]);
}

interface PolicyDifference {
  readonly mark: "+" | "-" | "~";
  readonly id: string;
  /**
   * "new, candidate", "candidate → enforced", "candidate, text changed", "enforced, its change
   * waits to be promoted".
   */
  readonly what: string;
  /**
   * "3b1c9a0e77d2 → 88f0aa12c3d4": of its text; empty where that is the same, or on one side only.
   */
  readonly digests: string;
}

const MARKS = "+-~";

/** Policies that are not the same on both sides: new ones, gone ones, the rest, each by id. */
export function policyDifferences(base: SideReport, head: SideReport): readonly PolicyDifference[] {
  const all = [...base.policies, ...head.policies].map(({ id }) => id);
  const found = [...new Set(all)].toSorted().flatMap((id) => {
    const rowsOf = ({ policies }: SideReport) => policies.filter((row) => row.id === id);
    const difference = differenceOf(rowsOf(base), rowsOf(head));
    return difference === null ? [] : [{ id, ...difference }];
  });
  return found.toSorted((left, right) => MARKS.indexOf(left.mark) - MARKS.indexOf(right.mark));
}

function differenceOf(
  was: SideReport["policies"],
  is: SideReport["policies"],
): Omit<PolicyDifference, "id"> | null {
  const [before, after] = [slotsOf(was), slotsOf(is)];
  if (is.length === 0) return { mark: "-", what: `gone, it was ${before}`, digests: "" };
  if (was.length === 0) return { mark: "+", what: `new, ${after}`, digests: "" };
  const fromBase = is.filter(({ from }) => from === "base");
  const waiting = is.filter(({ from }) => from === "head");
  // Base's text stays enforced, and head's waits as a candidate.
  if (fromBase.length > 0 && waiting.length > 0) {
    const isRemoval = waiting[0]?.content === "removal";
    const what = `enforced, its ${isRemoval ? "removal" : "change"} waits to be promoted`;
    return { mark: "~", what, digests: digestsOf(fromBase, ...(isRemoval ? [] : [waiting])) };
  }
  const slots = before === after ? after : `${before} → ${after}`;
  if (digestsOf(was) !== digestsOf(is))
    return { mark: "~", what: `${slots}, text changed`, digests: digestsOf(was, is) };
  return before === after ? null : { mark: "~", what: slots, digests: "" };
}

/** A policy may be in both slots, with two texts. */
function slotsOf(rows: SideReport["policies"]): string {
  const slots = new Set(rows.map(({ slot }) => slot));
  return [...slots].toSorted().toReversed().join(" and ");
}

function digestsOf(...sides: readonly SideReport["policies"][]): string {
  const texts = sides.map((rows) => {
    const digests = new Set(rows.map(({ digest }) => digest));
    return [...digests].toSorted().map(shortDigest).join(" and ");
  });
  return texts.join(" → ");
}

/** Enough digits for a person to distinguish contents. */
function shortDigest(digest: string) {
  return digest.replace(/^sha256:/, "").slice(0, 12);
}

/**
 * "more permissive, 12 of 3,184 classes change (40,200 request shapes)"; of an incomplete run only
 * "among the classes that were decided".
 */
export function verdictText(
  comparison: ComparisonReport,
  { space, complete }: SimulationReport,
): string {
  const { classes } = space;
  const { access, changed_classes: changed, changed_shapes: shapes } = comparison;
  const title = `${ACCESS_WORDING[access].title}${complete ? "" : SO_FAR_DECIDED}`;
  if (changed === 0) return `${title}, no class changes`;
  const verb = changed === 1 ? "changes" : "change";
  return `${title}, ${numberText(changed)} of ${classesText(classes)} ${verb} (${requestShapesText(shapes)})`;
}

/** The change of access of a view, in one sentence. */
export function accessSentence(report: SimulationReport, view: View): string {
  const { access, kinds, new_route_paths: gained, lost_data_paths: lostPaths } = report[view];
  if (access === "equivalent" && report.promoted.access !== "equivalent")
    return "Until promoted, no request gains or loses an endpoint.";
  const movesOnly =
    gained.length + lostPaths.length === 0 &&
    kinds.every(({ kind }) => ["MOVES", "CHANGES"].includes(TAGS[kind]));
  return access === "incomparable" && movesOnly
    ? "No route reaches a new destination; endpoints differ in order, version or settings."
    : ACCESS_WORDING[access].sentence;
}

const SO_FAR_DECIDED = " among the classes that were decided";

/**
 * "newly denied 2, fallbacks widened 10": classes for each kind, the worst first; a class may have
 * several.
 */
export function changeCounts({ kinds }: ComparisonReport): string {
  const counts = new Map(kinds.map(({ kind, classes }) => [kind, classes]));
  return worstFirst([...counts.keys()])
    .map((kind) => `${changeWording(kind).title} ${numberText(counts.get(kind) ?? 0)}`)
    .join(", ");
}

/** "12 classes change (newly denied 2, fallbacks widened 10)"; empty where none changes. */
export function changesText(comparison: ComparisonReport): string {
  const { changed_classes: changed } = comparison;
  return changed === 0
    ? ""
    : `${classesText(changed)} ${changed === 1 ? "changes" : "change"} (${changeCounts(comparison)})`;
}

/** "3,184 classes stand for 1,926,400 request shapes". */
export function spaceText({ space }: SimulationReport): string {
  const verb = space.classes === 1 ? "stands" : "stand";
  return `${classesText(space.classes)} ${verb} for ${requestShapesText(space.shapes)}`;
}

/** With `--fresh`: a running server would enforce other contents. */
export const FRESH =
  "Both sides are simulated as new servers: initial_mode decides the slot of every policy.";

/** "main (1a2b3c4d5e6f)". */
export function sideText({ name, commit }: SideReport): string {
  return commit === null ? name : `${name} (${commit.slice(0, 12)})`;
}

/** "as if 2 candidates were promoted"; without a number where none are named. */
function promotedTitle({ promoted_policies: policies }: SimulationReport): string {
  if (policies.length === 0) return "as if candidates were promoted";
  const verb = policies.length === 1 ? "was" : "were";
  return `as if ${amountText(policies.length, "candidate")} ${verb} promoted`;
}

/** "As if 1 candidate was promoted (tool-approval): 1 other group, 1 group as declared." */
export function promotionText(
  report: SimulationReport & { readonly difference: ReturnType<typeof promotedDifference> },
): Text {
  const { promoted_policies: policies, difference } = report;
  const { any, groups, shared } = difference;
  if (policies.length === 0 && !any)
    return "There is no candidate to promote, so both views are equal.";
  const which = policies.length === 0 ? [": "] : [" (", names(policies), "): "];
  const same = shared === 0 ? "" : `, ${amountText(shared, "group")} as declared`;
  const what = any ? `${amountText(groups.length, "other group")}${same}` : "the same changes";
  return [capitalised(promotedTitle(report)), ...which, `${what}.`];
}

/**
 * "No changes. Head allows exactly what base allows.", or what differs although no request is
 * treated differently; `null` where some request is. Changed policies and settings may affect later
 * requests, so "no changes" would promise too much.
 */
export function unchangedText(
  report: SimulationReport,
): { readonly title: string; readonly sentence: string } | null {
  const { declared, promoted, complete } = report;
  if (declared.changed_classes > 0 || promoted.changed_classes > 0) return null;
  const different = differencesText(report);
  if (different === "" && complete) return { title: "no changes", sentence: NO_CHANGES };
  const title = complete
    ? "no request is treated differently"
    : "no changes among the classes that were decided";
  const sentence = `${capitalised(title)}.${different && ` ${capitalised(different)}.`}`;
  return { title, sentence };
}

const NO_CHANGES = "No changes. Head allows exactly what base allows.";

/**
 * "1 policy differs; 2 changed settings": differences that change no class of requests; empty
 * without any.
 */
function differencesText({
  base,
  head,
  changed_settings: settings,
  future_rows: latent,
}: SimulationReport): string {
  const texts = [
    countText(policyDifferences(base, head).length, "policy differs", "policies differ"),
    countText(settings.length, "changed setting"),
    countText(latent?.changes.length ?? 0, "latent change"),
  ];
  return joinTexts(texts, "; ");
}

/** "~ eu-residency: enforced, text changed (3b1c9a0e77d2 → 88f0aa12c3d4)". */
export function policyLine({ mark, id, what, digests }: PolicyDifference): string {
  return `${mark} ${id}: ${what}${digests && ` (${digests})`}`;
}

/**
 * Kinds of rows, the most important first: `many` is the noun or verb after a number. A long report
 * omits those with `isCut`, unless they fail a gate, are a new data path or begin a cause.
 */
export const ROW_KINDS = {
  FAILS: { tone: "stop", many: "fail", isCut: false },
  BREAKS: { tone: "stop", many: "break", isCut: false },
  WIDENS: { tone: "widen", many: "widen", isCut: true },
  MOVES: { tone: "widen", many: "move", isCut: true },
  NARROWS: { tone: "narrow", many: "narrow", isCut: true },
  LATENT: { tone: "widen", many: "latent", isCut: true },
  CHANGES: { tone: "quiet", many: "change", isCut: true },
  CHANGE: { tone: "widen", many: "changes", isCut: false },
  SAME: { tone: "good", many: "same", isCut: false },
  NOTE: { tone: "quiet", many: "notes", isCut: false },
  SPEND: { tone: "quiet", many: "spend", isCut: false },
  COST: { tone: "quiet", many: "costs", isCut: true },
} as const;
export type ScreenTag = keyof typeof ROW_KINDS;
/** Tags of rows about requests; the mark of their changes in every format. */
const EFFECT_MARKS = { BREAKS: "-", WIDENS: "+", MOVES: "~", NARROWS: "-", CHANGES: "~" } as const;
export type EffectTag = keyof typeof EFFECT_MARKS;

const TAGS = {
  indeterminate_new: "BREAKS",
  newly_denied: "BREAKS",
  newly_allowed: "WIDENS",
  fallbacks_widened: "WIDENS",
  destination_changed: "MOVES",
  primary_changed: "MOVES",
  fallbacks_narrowed: "NARROWS",
  fallbacks_reordered: "MOVES",
  sharing_changed: "MOVES",
  edits_changed: "CHANGES",
  weaker_obligation: "WIDENS",
  higher_ceiling: "WIDENS",
  reason_changed: "CHANGES",
} as const;

/** A kind of change with the tag, mark and tone that it has in every format. */
export function changeWording(kind: ChangeKind) {
  const tag = TAGS[kind];
  const symbol: Mark = kind === "indeterminate_new" ? "!" : EFFECT_MARKS[tag];
  return { ...CHANGES[kind], tag, symbol, tone: ROW_KINDS[tag].tone };
}

/** Kinds by rank, the worst first, which gives a group its symbol. */
function worstFirst(kinds: readonly ChangeKind[]): readonly ChangeKind[] {
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

export const ACCESS_WORDING = {
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
} as const;

/** "policy without effect", "fallback edges": an enum value of the report as a reader sees it. */
export function valueText(value: UnusedFinding["kind"] | CoverageResult["what"]): string {
  return value.replaceAll("_", " ");
}
