import { RETENTIONS } from "../../../../canon/table.ts";
import { conditionCount, type SampleRequest } from "../../../../simulate/sample-request.ts";
import { sampleDefaults } from "../../../../simulate/explain/explain-arguments.ts";
import type {
  CandidateReport,
  CauseReport,
  ChangedEntry,
  ChangeGroup,
  DataPath,
  RoutePath,
} from "../../../../simulate/report/report.ts";
import {
  addedUsage,
  bySeen,
  NOTHING_USED,
  type SeenWeight,
} from "../../../../simulate/evidence/seen-usage.ts";
import { groupsOfCause, membersOf, withExample } from "../../../../simulate/report/cause-parts.ts";
import { remembered } from "../../../../simulate/remembered.ts";
import type { ReportModel } from "../model.ts";
import {
  changeWording,
  type EffectTag,
  ROW_KINDS,
  type ScreenTag,
  worstChange,
} from "../wording/comparison.ts";
import { areJoined, conditionsText, isWithin } from "./conditions.ts";
import { gainsOf, losesOf, movedOf, textOf, introducesName } from "./effect-text.ts";

const IMPORTANCE = Object.keys(ROW_KINDS);
/** The effect of a cause on the requests of some workspaces, described by the simplest of them. */
export type Effect = ReturnType<typeof effectOf>;

function tagOf(group: ChangeGroup, cause: CauseReport): EffectTag {
  if (introducesName(group)) return "CHANGES";
  const tag = changeWording(worstChange(group.kinds)).tag;
  if (tag !== "MOVES") return tag;
  const { base, head } = group;
  const before = new Set(base.plan.map(processorOf));
  const hasNewProcessor = head.plan.some((candidate) => !before.has(processorOf(candidate)));
  if (
    hasNewProcessor ||
    (movedOf(group, cause) !== null && cause.entries.some(loosensDataHandling))
  )
    return "WIDENS";
  // Without its former primary a plan reaches no new destination.
  return losesOf(group).length > 0 ? "NARROWS" : "MOVES";
}

/** Whether a provider may keep data longer than before, or train on it. */
function loosensDataHandling({ path, before, after }: ChangedEntry): boolean {
  if (path.endsWith(".trains_on_data")) return after === "true";
  const rank = (text: string | null) => RETENTIONS.findIndex((each) => each === text);
  return path.endsWith(".retention") && rank(before) >= 0 && rank(before) < rank(after);
}

function processorOf({ endpoint, provider, region, host }: CandidateReport) {
  return [endpoint, provider, region, host].join("\n");
}

/**
 * Whether only callers with preferences are refused: plain requests that get elsewhere matter more.
 */
export function refusesPreferencesOnly({ tag, group }: Pick<Effect, "tag" | "group">): boolean {
  return tag === "BREAKS" && Object.keys(group.example.preferences ?? {}).length > 0;
}

export function rankOf(tag: ScreenTag, effect?: Effect): number {
  return effect !== undefined && refusesPreferencesOnly(effect)
    ? IMPORTANCE.indexOf("NARROWS") + 0.5
    : IMPORTANCE.indexOf(tag);
}

/** Changed names and reasons are only counted on the first screen. */
export function isOnlyCounted(
  group: ChangeGroup,
  { renamed_groups: renamed }: CauseReport,
): boolean {
  return renamed.includes(group.id) || group.kinds.every((kind) => kind === "reason_changed");
}

/**
 * The requests of one workspace and route that a cause changes in one way, by the simplest group of
 * them.
 */
interface Cell {
  readonly tag: EffectTag;
  readonly workspace: string;
  readonly route: string;
  readonly promoted: boolean;
  readonly group: ChangeGroup;
  readonly groups: ChangeGroup[];
}

/** The failing gates that the change of a cell meets. */
type GateTest = (cell: Cell) => readonly string[];

/** Of the values of `--fail-on`; assertions, coverage and settings are no change of a request. */
export function gateTest(
  report: ReportModel,
  failing: readonly string[],
  promoting: boolean,
): GateTest {
  return (cell) =>
    cell.promoted && !promoting
      ? []
      : failing.filter((gate) => cell.groups.some((group) => meets(gate, group, cell, report)));
}

function meets(gate: string, group: ChangeGroup, cell: Cell, report: ReportModel): boolean {
  const { new_data_paths: data, new_route_paths: routes } =
    report[cell.promoted ? "promoted" : "declared"];
  const { base, head, kinds } = group;
  const loses = head.denial !== null || losesOf(group).length > 0;
  const gains = head.denial === null && (base.denial !== null || gainsOf(group).length > 0);
  switch (gate) {
    case "new_destination":
      return hasPath(data, head.plan, cell);
    case "new_region_for_route":
      return hasPath(routes, head.plan, cell);
    case "more_permissive":
      return gains;
    case "less_permissive":
      return loses;
    case "incomparable":
      return gains || loses;
    default:
      return gate === "any" || kinds.some((kind) => kind === gate);
  }
}

type Path = DataPath | RoutePath;
const pathsByWorkspace = new WeakMap<readonly Path[], ReadonlyMap<string, readonly Path[]>>();

/** Whether one of these endpoints is where a path of the workspace and route ends. */
function hasPath(
  paths: readonly Path[],
  plan: ChangeGroup["head"]["plan"],
  { workspace, route }: Cell,
): boolean {
  const byWorkspace = remembered(pathsByWorkspace, paths, () =>
    Map.groupBy(paths, (path) => path.workspace),
  );
  return (byWorkspace.get(workspace) ?? []).some(
    (path) =>
      ("routes" in path ? path.routes : [path.route]).includes(route) &&
      plan.some(
        ({ provider, region, host }) =>
          path.provider === provider && path.region === region && path.host === host,
      ),
  );
}

/**
 * The effects of a cause, the worst first. Requests that change only because their caller chooses
 * by price are no effect of it.
 */
export function effectsOf(cause: CauseReport, report: ReportModel, gatesOf: GateTest = () => []) {
  const all = groupsOfCause(cause, report).filter(({ group }) => !isOnlyCounted(group, cause));
  const priced = all.filter(({ group }) => dependsOnPrice(group, cause));
  const described = all.filter((one) => !priced.includes(one));
  const cells = shownCells(cellsOf(described, cause, report), gatesOf);
  const effects = effectsOfCells(cells, cause, report, gatesOf);
  const shown = new Set(effects.flatMap(({ groups }) => groups.map(({ id }) => id)));
  return {
    effects: effects.toSorted(
      (left, right) =>
        rankOf(left.tag, left) - rankOf(right.tag, right) || bySeen(left.seen, right.seen),
    ),
    /** Number of groups that no effect describes. */
    variants: described.filter(({ group }) => !shown.has(group.id)).length,
    /** Groups of requests that choose by price. */
    priced: priced.map(({ group }) => group),
  };
}

/** Policies that read prices change plain requests too, which have lines of their own. */
function dependsOnPrice({ example }: ChangeGroup, { entries }: CauseReport): boolean {
  const { max_price: most, sort } = example.preferences ?? {};
  return (
    (most !== undefined || sort?.by === "price") &&
    entries.some(({ path }) => path.endsWith(".price"))
  );
}

/**
 * Requests with conditions have a line where they are refused, where plain ones see no change,
 * where plain ones do not gain as they do and the condition is no preference of the caller, and
 * where they alone meet a failing gate.
 */
function shownCells(cells: readonly Cell[], gatesOf: GateTest): readonly Cell[] {
  const isUnconditional = ({ group }: Cell) => conditionCount(group.example) === 0;
  const plain = cells.filter(isUnconditional);
  if (plain.length === 0) return cells;
  const widensPlainly = plain.some(({ tag }) => tag === "WIDENS");
  const isAlwaysShown = ({ tag, group }: Cell) =>
    tag === "BREAKS" ||
    (!widensPlainly &&
      tag === "WIDENS" &&
      Object.keys(group.example.preferences ?? {}).length === 0);
  const met = new Set<string>();
  return cells.filter((cell) => {
    const gates = gatesOf(cell).map((gate) => `${gate}\n${cell.workspace}`);
    const isShown =
      isUnconditional(cell) || isAlwaysShown(cell) || gates.some((gate) => !met.has(gate));
    if (isShown) for (const gate of gates) met.add(gate);
    return isShown;
  });
}

function cellsOf(
  groups: readonly { readonly group: ChangeGroup; readonly promoted: boolean }[],
  cause: CauseReport,
  report: ReportModel,
): readonly Cell[] {
  const cells = new Map<string, Cell[]>();
  const all = groups.flatMap(({ group, promoted }) => {
    const parts = group.plain_members === undefined ? [group] : [group, plainPart(group)];
    return parts.map((part) => ({ part, promoted }));
  });
  const byConditions = all.toSorted(
    ({ part: { example: left } }, { part: { example: right } }) =>
      conditionCount(left) - conditionCount(right) || keyCount(left) - keyCount(right),
  );
  for (const { part: group, promoted } of byConditions) {
    const tag = tagOf(group, cause);
    for (const { workspace, routes } of membersOf(group)) {
      for (const route of routes) {
        const key = [tag, promoted, workspace, route].join("\n");
        const same = remembered(cells, key, () => []);
        const found = same.find((cell) => covers(cell, group, report));
        if (found === undefined)
          same.push({ tag, workspace, route, promoted, group, groups: [group] });
        else found.groups.push(group);
      }
    }
  }
  return [...cells.values()].flat();
}

/**
 * The plain requests of a group whose example has conditions: they are of other workspaces or
 * routes than the example.
 */
function plainPart(group: ChangeGroup): ChangeGroup {
  const members = group.plain_members ?? [];
  const [first] = members;
  const { operation, key, time } = group.example;
  const example = {
    ...sampleDefaults(operation),
    workspace: first?.workspace ?? "",
    model: first?.routes[0] ?? "",
    operation,
    key: { ...key, labels: [] },
    time,
  };
  return {
    ...withExample(group, example),
    // Features that every request of the operation has are no condition.
    example: { ...example, features: [] },
    workspaces: members.map(({ workspace }) => workspace),
    members,
    conditions: [],
  };
}

/** Whether the line of a cell describes a group too; a refusal without a line would be missed. */
function covers(
  { tag, group: first, groups }: Cell,
  group: ChangeGroup,
  report: ReportModel,
): boolean {
  if (tag !== "BREAKS") return true;
  return conditionCount(first.example) === 0
    ? isWithin(group, first)
    : JSON.stringify(first.head.denial) === JSON.stringify(group.head.denial) &&
        areJoined([...groups, group], report);
}

/** Number of attributes of a key that are not those of most keys. */
function keyCount({ key: { environment, workload, owner }, time: { day, hour } }: SampleRequest) {
  return [
    environment !== "production" && environment !== "",
    workload !== "" && workload !== "other",
    owner !== undefined,
    day !== "weekday" || hour !== "morning",
  ].filter(Boolean).length;
}

/** The change of a cell, with the conditions of all its groups that change alike. */
function cellText(
  { tag, group, groups }: Cell,
  routes: readonly string[],
  cause: CauseReport,
  report: ReportModel,
): string {
  const isOnlyChange = report.changing.length === 1;
  const bare = textOf(group, [], cause, "", isOnlyChange);
  const count = conditionCount(group.example);
  const isConditionalRefusal = count > 0 && tag === "BREAKS";
  const alike = groups.filter(
    (other) =>
      other !== group &&
      (isConditionalRefusal ||
        (conditionCount(other.example) === count &&
          textOf(other, [], cause, "", isOnlyChange) === bare)),
  );
  return textOf(group, routes, cause, conditionsText([group, ...alike], report), isOnlyChange);
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
  gatesOf: GateTest,
): readonly Effect[] {
  const alike = Map.groupBy(cells, (cell) =>
    JSON.stringify([
      cell.tag,
      cell.promoted,
      cellText(cell, [], cause, report),
      detailOf(cell, cause, report),
      gatesOf(cell),
    ]),
  );
  return [...alike.values()].flatMap((some) => {
    const byWorkspace = Map.groupBy(some, ({ workspace }) => workspace);
    const lines = [
      ...Map.groupBy(byWorkspace.values(), (row) => routesOf(row).join("\n")).values(),
    ];
    const shown = lines.length > MOST_ALIKE ? [some] : lines.map((line) => line.flat());
    return shown.flatMap((line) => {
      const [first] = line;
      return first === undefined ? [] : [effectOf(first, line, cause, report, gatesOf)];
    });
  });
}

export function seenOf(groups: readonly ChangeGroup[]): SeenWeight {
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
  first: Cell,
  cells: readonly Cell[],
  cause: CauseReport,
  report: ReportModel,
  gatesOf: GateTest,
) {
  const { tag, group, promoted } = first;
  const met = new Map(cells.flatMap(({ groups }) => groups).map((one) => [one.id, one]));
  const routes = routesOf(cells);
  return {
    tag,
    workspaces: [...new Set(cells.map((cell) => cell.workspace))].toSorted(),
    routes,
    text: cellText(first, routes, cause, report),
    /** A second sentence; empty for most. */
    detail: detailOf(first, cause, report),
    /** Failing values of `--fail-on` that the change meets. */
    gates: gatesOf(first),
    promoted,
    /** Calls of the evidence, and what their answers used; `null` without evidence. */
    seen: group.seen === null ? null : seenOf([...met.values()]),
    /** The simplest group, whose example is explained. */
    group,
    /** Every group that the line stands for. */
    groups: [...new Set(cells.map((cell) => cell.group))],
  };
}

export const NEW_PATH = "a new data path";

/** Whether the data of a workspace gets somewhere where it never got before. */
function detailOf(cell: Cell, cause: CauseReport, report: ReportModel): string {
  const { group } = cell;
  const gains = gainsOf(group);
  const movedCandidate = movedOf(group, cause);
  if (
    (gains.length === 0 && movedCandidate === null) ||
    group.head.denial !== null ||
    introducesName(group)
  )
    return "";
  const there = group.head.plan.filter(
    (candidate) => gains.includes(candidate.endpoint) || candidate === movedCandidate,
  );
  return [report.declared, report.promoted].some((one) => hasPath(one.new_data_paths, there, cell))
    ? NEW_PATH
    : gains.length === 0
      ? ""
      : "no new data path";
}
