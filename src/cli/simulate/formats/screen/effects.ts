import type { ChangeKind } from "../../../../simulate/change-kind.ts";
import { conditionCount, type SampleRequest } from "../../../../simulate/sample-request.ts";
import type { CauseReport } from "../../../../simulate/report/cause-report.ts";
import type { ChangeGroup } from "../../../../simulate/report/report.ts";
import {
  addedUsage,
  bySeen,
  NOTHING_USED,
  type SeenWeight,
} from "../../../../simulate/evidence/seen-usage.ts";
import type { ReportModel } from "../model.ts";
import { worstChange } from "../wording/change-wording.ts";
import { conditionsText } from "./conditions.ts";
import { gainsOf, losesOf, movedOf, textOf, isNewName } from "./effect-text.ts";

const EFFECT_TAGS = ["BREAKS", "WIDENS", "MOVES", "NARROWS", "CHANGES"] as const;
export type EffectTag = (typeof EFFECT_TAGS)[number];

/** The effect of a cause on the requests of some workspaces, described by the plainest of them. */
export interface Effect {
  readonly tag: EffectTag;
  readonly workspaces: readonly string[];
  readonly text: string;
  /** A second sentence; empty for most. */
  readonly detail: string;
  readonly promoted: boolean;
  /** Calls of the evidence, and what their answers used; `null` without evidence. */
  readonly seen: SeenWeight | null;
  /** The plainest group, whose example is explained. */
  readonly group: ChangeGroup;
  /** Every group that the line stands for. */
  readonly groups: readonly ChangeGroup[];
}

const TAGS: Readonly<Record<ChangeKind, EffectTag>> = {
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
};

function tagOf(group: ChangeGroup): EffectTag {
  if (isNewName(group)) return "CHANGES";
  const worst = worstChange(group.words);
  // What is gone from the front of a plan is no other destination for those that follow.
  if (worst === "primary_changed" && gainsOf(group).length === 0 && losesOf(group).length > 0)
    return "NARROWS";
  return worst === "primary_changed" && gainsOf(group).length > 0 ? "WIDENS" : TAGS[worst];
}

/**
 * Whether a reader of the first screen has to see a group: names and reasons that changed are
 * counted instead.
 */
export function isCounted(group: ChangeGroup, { renamed_groups: renamed }: CauseReport): boolean {
  return renamed.includes(group.id) || group.words.every((kind) => kind === "reason_changed");
}

/** Groups of a cause under each view. */
export function groupsOfCause(
  { groups, promoted_groups: later }: CauseReport,
  { declared, promoted }: ReportModel,
): readonly { readonly group: ChangeGroup; readonly promoted: boolean }[] {
  const of = (all: readonly ChangeGroup[], ids: readonly string[], isLater: boolean) =>
    all.filter(({ id }) => ids.includes(id)).map((group) => ({ group, promoted: isLater }));
  return [...of(declared.groups, groups, false), ...of(promoted.groups, later, true)];
}

/**
 * The requests of one workspace and route that a cause changes in one way, by the plainest group of
 * them.
 */
interface Cell {
  readonly workspace: string;
  readonly route: string;
  readonly promoted: boolean;
  readonly group: ChangeGroup;
  readonly groups: ChangeGroup[];
}

/** The effects of a cause, the worst first, and how many groups they do not describe. */
export function effectsOf(
  cause: CauseReport,
  report: ReportModel,
): { readonly effects: readonly Effect[]; readonly variants: number } {
  const described = groupsOfCause(cause, report).filter(({ group }) => !isCounted(group, cause));
  const cells = cellsOf(described);
  const effects = effectsOfCells(shownCells(cells), cause, report);
  const shown = new Set(effects.flatMap(({ groups }) => groups.map(({ id }) => id)));
  return {
    effects: effects.toSorted(
      (left, right) =>
        EFFECT_TAGS.indexOf(left.tag) - EFFECT_TAGS.indexOf(right.tag) ||
        bySeen(left.seen, right.seen),
    ),
    variants: described.filter(({ group }) => !shown.has(group.id)).length,
  };
}

/**
 * Requests with conditions stand for themselves only where plain ones see no change, or none as bad
 * and the condition is no preference of the caller.
 */
function shownCells(cells: readonly Cell[]): readonly Cell[] {
  const isPlain = ({ group }: Cell): boolean => conditionCount(group.example) === 0;
  const plain = cells.filter(isPlain);
  if (plain.length === 0) return cells;
  const tags = new Set(plain.map(({ group }) => tagOf(group)));
  const worse = (["BREAKS", "WIDENS"] as const).filter((tag) => !tags.has(tag));
  const isWorse = ({ group }: Cell): boolean =>
    Object.keys(group.example.preferences ?? {}).length === 0 &&
    worse.some((tag) => tag === tagOf(group));
  return [...plain, ...cells.filter((cell) => !isPlain(cell) && isWorse(cell))];
}

function cellsOf(
  groups: readonly { readonly group: ChangeGroup; readonly promoted: boolean }[],
): readonly Cell[] {
  const cells = new Map<string, Cell>();
  const byConditions = groups.toSorted(
    ({ group: { example: left } }, { group: { example: right } }) =>
      conditionCount(left) - conditionCount(right) || keyCount(left) - keyCount(right),
  );
  for (const { group, promoted } of byConditions) {
    for (const workspace of group.workspaces) {
      for (const route of group.routes) {
        const key = [tagOf(group), promoted, workspace, route].join("\n");
        const known = cells.get(key);
        if (known === undefined)
          cells.set(key, { workspace, route, promoted, group, groups: [group] });
        else known.groups.push(group);
      }
    }
  }
  return [...cells.values()];
}

/** How much of a key is not what most keys have. */
function keyCount({
  key: { environment, workload, owner },
  time: { day, hour },
}: SampleRequest): number {
  return [
    environment !== "production" && environment !== "",
    workload !== "" && workload !== "other",
    owner !== undefined,
    day !== "weekday" || hour !== "morning",
  ].filter(Boolean).length;
}

/** What a cell says, with the conditions under which all its groups of the same change meet it. */
function cellText(
  { group, groups }: Cell,
  routes: readonly string[],
  cause: CauseReport,
  report: ReportModel,
): string {
  const bare = textOf(group, [], cause, "");
  const count = conditionCount(group.example);
  const alike = groups.filter(
    (other) =>
      other !== group &&
      conditionCount(other.example) === count &&
      textOf(other, [], cause, "") === bare,
  );
  return textOf(group, routes, cause, conditionsText([group, ...alike], report));
}

/** More lines that differ only in their routes become one. */
const MOST_ALIKE = 2;

/**
 * Cells that read the same but for their routes are one line for the workspaces with the same
 * routes; for all of them where there are many such lines.
 */
function effectsOfCells(
  cells: readonly Cell[],
  cause: CauseReport,
  report: ReportModel,
): readonly Effect[] {
  const alike = Map.groupBy(cells, (cell) =>
    JSON.stringify([
      tagOf(cell.group),
      cell.promoted,
      cellText(cell, [], cause, report),
      detailOf(cell.group, cell.workspace, cause, report),
    ]),
  );
  return [...alike.values()].flatMap((own) => {
    const byWorkspace = Map.groupBy(own, ({ workspace }) => workspace);
    const lines = [
      ...Map.groupBy(byWorkspace.values(), (some) => routesOf(some).join("\n")).values(),
    ];
    const shown = lines.length > MOST_ALIKE ? [own] : lines.map((line) => line.flat());
    return shown.flatMap((line) => effectOf(line, cause, report));
  });
}

function seenOf(groups: readonly ChangeGroup[]): SeenWeight {
  return {
    calls: groups.reduce((sum, { seen }) => sum + (seen ?? 0), 0),
    usage: groups.reduce(
      (sum, { seen_usage: used }) => (used === null ? sum : addedUsage(sum, used)),
      NOTHING_USED,
    ),
  };
}

function routesOf(cells: readonly Cell[]): readonly string[] {
  return [...new Set(cells.map(({ route }) => route))].toSorted();
}

function effectOf(
  cells: readonly Cell[],
  cause: CauseReport,
  report: ReportModel,
): readonly Effect[] {
  const [first] = cells;
  if (first === undefined) return [];
  const { group, promoted, workspace } = first;
  const met = new Set(cells.flatMap(({ groups }) => groups));
  return [
    {
      tag: tagOf(group),
      workspaces: [...new Set(cells.map((cell) => cell.workspace))].toSorted(),
      text: cellText(first, routesOf(cells), cause, report),
      detail: detailOf(group, workspace, cause, report),
      promoted,
      seen: group.seen === null ? null : seenOf([...met]),
      group,
      groups: [...new Set(cells.map((cell) => cell.group))],
    },
  ];
}

/** Whether the data of a workspace gets somewhere where it never got before. */
function detailOf(
  group: ChangeGroup,
  workspace: string,
  cause: CauseReport,
  report: ReportModel,
): string {
  const gains = gainsOf(group);
  const moved = movedOf(group, cause);
  if ((gains.length === 0 && moved === null) || group.head.denial !== null || isNewName(group))
    return "";
  const there = group.head.plan.filter(
    (candidate) => gains.includes(candidate.endpoint) || candidate === moved,
  );
  const paths = [...report.declared.new_data_paths, ...report.promoted.new_data_paths];
  const isNew = there.some(({ provider, region, host }) =>
    paths.some(
      (path) =>
        path.workspace === workspace &&
        path.provider === provider &&
        path.region === region &&
        path.host === host,
    ),
  );
  return isNew ? "a new data path" : gains.length === 0 ? "" : "no new data path";
}
