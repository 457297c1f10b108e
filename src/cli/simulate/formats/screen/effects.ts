import { CHANGES, type ChangeKind } from "../../../../simulate/change-kind.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../../../canon/policy.ts";
import { conditionCount } from "../../../../simulate/causes/plain-requests.ts";
import type { CauseReport } from "../../../../simulate/report/cause-report.ts";
import type { CandidateReport, ChangeGroup } from "../../../../simulate/report/report.ts";
import type { ReportModel } from "../model.ts";
import { listText } from "../../../terminal/amounts.ts";
import { worstChange } from "../wording/change-wording.ts";
import { isNewName, newNameText } from "./new-names.ts";
import { destinationText, routesText } from "./words.ts";

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
  /** Calls of the evidence; `null` without evidence. */
  readonly calls: number | null;
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
  if (worst === "primary_changed" && gainsOf(group).length === 0 && losesOf(group).length > 0) return "NARROWS";
  return worst === "primary_changed" && gainsOf(group).length > 0 ? "WIDENS" : TAGS[worst];
}

function idsOf({ plan }: ChangeGroup["base"]): readonly string[] {
  return plan.map(({ endpoint }) => endpoint);
}

function gainsOf({ base, head }: ChangeGroup): readonly string[] {
  return idsOf(head).filter((id) => !idsOf(base).includes(id));
}

function losesOf({ base, head }: ChangeGroup): readonly string[] {
  return idsOf(base).filter((id) => !idsOf(head).includes(id));
}

/** Whether a reader of the first screen has to see a group: names and reasons that changed are counted instead. */
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

/** The requests of one workspace and route that a cause changes in one way, by the plainest group of them. */
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
  const described = groupsOfCause(cause, report).filter(
    ({ group }) => !isCounted(group, cause) && !isRenamedRoute(group, cause),
  );
  const cells = cellsOf(described);
  const plain = cells.filter(({ group }) => conditionCount(group.example) === 0);
  // Requests with conditions stand for themselves only where plain ones see no change.
  const effects = effectsOfCells(plain.length > 0 ? plain : cells, cause, report);
  const shown = new Set(effects.flatMap(({ groups }) => groups.map(({ id }) => id)));
  return {
    effects: effects.toSorted(
      (left, right) =>
        EFFECT_TAGS.indexOf(left.tag) - EFFECT_TAGS.indexOf(right.tag) || (right.calls ?? 0) - (left.calls ?? 0),
    ),
    variants: described.filter(({ group }) => !shown.has(group.id)).length,
  };
}

function cellsOf(groups: readonly { readonly group: ChangeGroup; readonly promoted: boolean }[]): readonly Cell[] {
  const cells = new Map<string, Cell>();
  const byConditions = groups.toSorted(
    (left, right) => conditionCount(left.group.example) - conditionCount(right.group.example),
  );
  for (const { group, promoted } of byConditions) {
    for (const workspace of group.workspaces) {
      for (const route of group.routes) {
        const key = [tagOf(group), promoted, workspace, route].join("\n");
        const known = cells.get(key);
        if (known === undefined) cells.set(key, { workspace, route, promoted, group, groups: [group] });
        else known.groups.push(group);
      }
    }
  }
  return [...cells.values()];
}

/** Cells of one workspace that read the same have their routes in one line; workspaces of equal lines share one. */
function effectsOfCells(cells: readonly Cell[], cause: CauseReport, report: ReportModel): readonly Effect[] {
  const lines = [
    ...Map.groupBy(cells, ({ workspace, group, promoted }) =>
      [workspace, tagOf(group), promoted, textOf(group, [], cause)].join("\n"),
    ).values(),
  ].flatMap((own) => {
    const [first] = own;
    if (first === undefined) return [];
    const text = textOf(
      first.group,
      own.map(({ route }) => route),
      cause,
    );
    return [
      {
        ...first,
        text,
        detail: detailOf(first.group, first.workspace, report),
        all: own.flatMap(({ groups }) => groups),
      },
    ];
  });
  const byText = Map.groupBy(lines, ({ group, promoted, text, detail }) =>
    [tagOf(group), promoted, text, detail].join("\n"),
  );
  return [...byText.values()].flatMap((same): readonly Effect[] => {
    const [first] = same;
    if (first === undefined) return [];
    const { group, promoted, text, detail } = first;
    const groups = [...new Set(same.flatMap((each) => each.group))];
    const met = new Set(same.flatMap(({ all }) => all));
    const calls = group.seen === null ? null : [...met].reduce((sum, each) => sum + (each.seen ?? 0), 0);
    const workspaces = [...new Set(same.map(({ workspace }) => workspace))].toSorted();
    return [{ tag: tagOf(group), workspaces, text, detail, promoted, calls, group, groups }];
  });
}

/** What is served under the new name of a renamed route or workspace, where the old name did the same. */
function isRenamedRoute(group: ChangeGroup, { renames }: CauseReport): boolean {
  if (group.base.denial === null) return false;
  return renames.some(
    ({ kind, to }) =>
      (kind === "route" && group.routes.every((route) => route === to)) ||
      (kind === "workspace" && group.workspaces.every((workspace) => workspace === to)),
  );
}

function textOf(group: ChangeGroup, routes: readonly string[], cause: CauseReport): string {
  const { base, head } = group;
  const names = routesText(routes.toSorted());
  const only = conditionsText(group);
  const gains = gainsOf(group);
  const loses = losesOf(group);
  if (head.denial !== null) {
    const { policy, constraint, reason } = head.denial;
    return `${names} refused: ${policy}/${constraint} (${reason})${only}${exceptionsText(group, cause)}`;
  }
  if (isNewName(group)) return `${names}: ${newNameText(group)}`;
  if (base.denial !== null) return `${names} served by ${idsOf(head).join(", then ")}${only}`;
  if (gains.length > 0) {
    const destination = cause.gains.find(({ endpoint }) => endpoint === gains[0]);
    // Where there is one, the headline has it.
    const known = destination === undefined || (cause.gains.length === 1 && cause.entries[0]?.kind === "route");
    const where = known ? gains.join(", ") : destinationText(destination);
    const position = idsOf(head).indexOf(gains[0] ?? "") + 1;
    const gone = loses.length === 0 ? "" : `, no longer to ${loses.join(", ")}`;
    return `${names} → ${where}, ${ordinal(position)} in order${gone}${only}`;
  }
  if (loses.length > 0)
    return `${names} no longer reaches ${loses.join(", ")}; left: ${idsOf(head).join(", then ")}${only}`;
  if (idsOf(base).join("\n") !== idsOf(head).join("\n")) {
    return `${names}: ${idsOf(base).join(", ")} → ${idsOf(head).join(", ")}${only}`;
  }
  const moved = movedOf(group, cause);
  const hosts = hostsText(group);
  if (moved !== null) {
    return `${names} uses ${moved}, ${ordinal(idsOf(head).indexOf(moved) + 1)} in order${hosts}${only}`;
  }
  const titles = group.words.map((kind) => CHANGES[kind].title).join(", ");
  return `${names}: ${titles} (${idsOf(head).join(", ")})${hosts}${only}`;
}

/** " (unless zdr, one endpoint, or openai-eu/mistral-eu alone)": which callers of a refused route are served still. */
function exceptionsText({ id }: ChangeGroup, { exceptions }: CauseReport): string {
  const preferences = exceptions.find(({ group }) => group === id)?.preferences ?? [];
  const providers = preferences.flatMap(({ only = [] }) => only);
  const parts = [
    ...(preferences.some(({ zdr }) => zdr === true) ? ["zdr"] : []),
    ...(preferences.some(({ allow_fallbacks: fallbacks }) => fallbacks === false) ? ["allow_fallbacks false"] : []),
    ...(providers.length === 0 ? [] : [`only ${providers.join("/")}`]),
  ];
  return parts.length === 0 ? "" : ` (unless ${parts.join(", ")})`;
}

/** The hosts of endpoints that have another one now: a reader must see where the data goes, whatever the cause. */
function hostsText({ base, head }: ChangeGroup): string {
  const changed = head.plan.flatMap(({ endpoint, host }) => {
    const before = base.plan.find((candidate) => candidate.endpoint === endpoint)?.host ?? host;
    return before === host ? [] : [`${before} → ${host}`];
  });
  return changed.length === 0 ? "" : `; host ${listText([...new Set(changed)])}`;
}

/** The first endpoint of a plan that a changed row is about. */
function movedOf({ words, head }: ChangeGroup, { entries }: CauseReport): string | null {
  if (!words.includes("destination_changed")) return null;
  const isAbout = ({ endpoint, model, provider }: CandidateReport): boolean =>
    entries.some(
      ({ kind, subject }) =>
        (kind === "endpoint" && subject === endpoint) ||
        (kind === "provider" && subject === provider) ||
        (kind === "model" && subject === model),
    );
  return head.plan.find(isAbout)?.endpoint ?? null;
}

/** What callers choose for one request: the example of a plain group chooses none of it. */
const PREFERENCES = new Set([
  "only",
  "region",
  "ignore",
  "max_price",
  "order",
  "sort",
  "allow_fallbacks",
  "data_collection",
  "zdr",
]);

function conditionsText(group: ChangeGroup): string {
  const isPlain = conditionCount(group.example) === 0;
  const conditions = group.conditions
    .filter(({ dimension }) => !isPlain || !PREFERENCES.has(dimension))
    .map(({ dimension, values }) =>
      dimension === "time" ? timesText(values) : `with ${dimension} ${listText(values, 3)}`,
    );
  return conditions.length === 0 ? "" : `; only ${conditions.slice(0, 2).join(", ")}`;
}

/** "on weekend", "weekday night": days whose hours are all there go by their name. */
function timesText(values: readonly string[]): string {
  const days = DAY_BUCKETS.filter((day) => HOUR_BUCKETS.every((hour) => values.includes(`${day} ${hour}`)));
  const hours = values.filter((value) => !days.some((day) => value.startsWith(`${day} `)));
  return `on ${[...days, ...hours].join(", ")}`;
}

function ordinal(position: number): string {
  return ["", "1st", "2nd", "3rd"][position] ?? `${position}th`;
}

/** Whether the data of a workspace gets somewhere where it never got before. */
function detailOf(group: ChangeGroup, workspace: string, { declared, promoted }: ReportModel): string {
  const gains = gainsOf(group);
  if (gains.length === 0 || group.head.denial !== null) return "";
  const there = group.head.plan.filter(({ endpoint }) => gains.includes(endpoint));
  const paths = [...declared.new_data_paths, ...promoted.new_data_paths];
  const isNew = there.some(({ provider, region }) =>
    paths.some((path) => path.workspace === workspace && path.provider === provider && path.region === region),
  );
  return isNew ? "a new data path" : "no new data path";
}
