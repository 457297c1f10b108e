import { DENIED_FOR, type ComparisonTally, type GroupTally } from "../compare/comparison-tally.ts";
import type { Locations } from "../explain/positions.ts";
import { CHANGES, CHANGE_KINDS } from "../change-kind.ts";
import type { RoutingTable } from "../../canon/table.ts";
import {
  type Outcome,
  OTHER_SIDE,
  type OfSides,
  type PlannedEndpoint,
  preferenceValues,
} from "../sample-request.ts";
import { dataPathsWithout, routePathsWithout, type PathContext } from "./path-report.ts";
import { bySeen, type SeenWeight } from "../evidence/seen-usage.ts";
import type { SeenInGroup } from "../evidence/evidence-tally.ts";
import type { Universe, OperationUniverse } from "../space/universe.ts";
import type {
  ChangeGroup,
  ComparisonReport,
  ResultReport,
  SideLocation,
  SourceLocation,
} from "./report.ts";
import { rowOf } from "../table-rows.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { perScalar } from "../request-scalars.ts";
import { textDigest } from "../text-digest.ts";

/** Input of a comparison besides its tally. */
export interface ComparisonContext extends PathContext {
  readonly universe: Universe;
  readonly tables: OfSides<RoutingTable>;
  /** Policies whose enforced content head has from base, under this view. */
  readonly kept: ReadonlySet<string>;
  /**
   * Requests of the evidence in a group, by its key, where there are any; `null` without evidence.
   */
  readonly seenInGroup: ((key: string) => SeenInGroup | null) | null;
}

export function comparisonReport(
  tally: ComparisonTally,
  context: ComparisonContext,
): ComparisonReport {
  return {
    access: accessOf(tally),
    changed_classes: tally.changedClasses,
    changed_shapes: String(tally.changedShapes),
    kinds: CHANGE_KINDS.flatMap((kind) => {
      const count = tally.kinds.get(kind);
      return count === undefined
        ? []
        : [{ kind, classes: count.classes, shapes: String(count.shapes) }];
    }),
    groups: [...tally.groups]
      .toSorted(bySeverity(context))
      .map(([key, group]) => groupReport(key, group, context)),
    new_route_paths: routePathsWithout(tally.headPaths, tally.basePaths, "head", context),
    new_data_paths: dataPathsWithout(tally.headPaths, tally.basePaths, "head", context),
    lost_data_paths: dataPathsWithout(tally.basePaths, tally.headPaths, "base", context),
  };
}

function accessOf({ gains, loses }: ComparisonTally): ComparisonReport["access"] {
  if (gains) return loses ? "incomparable" : "more_permissive";
  return loses ? "less_permissive" : "equivalent";
}

type Entry = readonly [string, GroupTally];

/**
 * Groups with recorded calls come first; then by the worst change, recorded use, shapes and key: the
 * same order for the same trees and evidence.
 */
function bySeverity({ seenInGroup }: ComparisonContext): (left: Entry, right: Entry) => number {
  const seen = (key: string) => seenInGroup?.(key) ?? null;
  return ([leftKey, left], [rightKey, right]) => {
    const [leftSeen, rightSeen] = [seen(leftKey), seen(rightKey)];
    if ((leftSeen === null) !== (rightSeen === null)) return leftSeen === null ? 1 : -1;
    const worst = rankOf(left) - rankOf(right);
    if (worst !== 0) return worst;
    const more = bySeen(weightOf(leftSeen), weightOf(rightSeen));
    if (more !== 0) return more;
    if (left.shapes !== right.shapes) return left.shapes > right.shapes ? -1 : 1;
    return leftKey < rightKey ? -1 : 1;
  };
}

function weightOf(seen: SeenInGroup | null): SeenWeight | null {
  return seen === null ? null : { calls: seen.decisions, usage: seen };
}

function rankOf({ kinds, base, head }: GroupTally): number {
  const isMisnamed = [base, head].some(({ denial }) => denial?.reason === "unknown_preference");
  // That a name is new or gone shows itself in what its requests reach; that who writes it is
  // refused matters least.
  if (isMisnamed) return CHANGES.reason_changed.rank;
  return Math.min(...kinds.map((kind) => CHANGES[kind].rank));
}

function groupReport(key: string, group: GroupTally, context: ComparisonContext): ChangeGroup {
  const { kinds, classes, shapes, example } = group;
  const conditions = conditionsOf(group, context);
  return {
    id: textDigest(key),
    kinds,
    ...membersOf(group),
    operations: [...group.operations].toSorted(),
    conditions,
    classes,
    shapes: String(shapes),
    base: resultReport(group.base, context.hostOf.base),
    head: resultReport(group.head, context.hostOf.head),
    example,
    explain: context.explain(example),
    location: locationOf(group, context),
    ...seenOf(key, context),
    ...plainOf(group, conditions),
  };
}

/** Which plain requests are in a group, where its conditions do not describe them. */
function plainOf(
  { plain, members, example }: GroupTally,
  known: ChangeGroup["conditions"],
): Pick<ChangeGroup, "plain_requests" | "plain_members"> {
  if (plain.size === 0) return {};
  // The example is the simplest request of the first workspace and route.
  if (example.preferences !== null || example.needs.length > 0) {
    const whole = [...plain].filter(([, texts]) =>
      [...texts.values()].every(({ any, conditions }) => !any && conditions?.length === 0),
    );
    const keys = whole.map(([member]) => member.split("\n"));
    const byWorkspace = Map.groupBy(keys, ([workspace = ""]) => workspace);
    const rows = [...byWorkspace].map(([workspace, own]) => {
      return { workspace, routes: own.map(([, route = ""]) => route).toSorted() };
    });
    return rows.length === 0 ? {} : { plain_members: rows };
  }
  const found = new Map([...plain.values()].flatMap((texts) => [...texts]));
  const amount = [...members.values()].reduce((sum, { size }) => sum + size, 0);
  const [first] = found.values();
  const { any = true, conditions = null } = first ?? {};
  // Workspaces, routes or operations may differ.
  if (found.size > 1 || plain.size < amount || conditions === null)
    return { plain_requests: { any: true, conditions: [] } };
  const isKnown = ({ dimension, values }: ChangeGroup["conditions"][number]) =>
    known.some((one) => one.dimension === dimension && one.values.join() === values.join());
  return !any && conditions.every(isKnown) ? {} : { plain_requests: { any, conditions } };
}

/** With the routes of each workspace where not every workspace requests every route. */
function membersOf({
  members,
}: GroupTally): Pick<ChangeGroup, "routes" | "workspaces" | "members"> {
  const byWorkspace = [...members]
    .map(([workspace, routes]) => ({ workspace, routes: [...routes].toSorted() }))
    .toSorted((left, right) => (left.workspace < right.workspace ? -1 : 1));
  const routes = [...new Set(byWorkspace.flatMap((member) => member.routes))].toSorted();
  return {
    routes,
    workspaces: byWorkspace.map(({ workspace }) => workspace),
    ...(byWorkspace.some((member) => member.routes.length < routes.length) && {
      members: byWorkspace,
    }),
  };
}

function seenOf(
  key: string,
  { seenInGroup }: ComparisonContext,
): Pick<ChangeGroup, "seen" | "seen_usage"> {
  if (seenInGroup === null) return { seen: null, seen_usage: null };
  const found = seenInGroup(key);
  if (found === null) return { seen: 0, seen_usage: null };
  const { decisions, ...usage } = found;
  return { seen: decisions, seen_usage: usage };
}

function resultReport(
  { plan, denial, edits }: Outcome,
  hostOf: (provider: string) => string,
): ResultReport {
  return {
    outcome: denial === null ? "route" : "deny",
    plan: plan.map(({ endpoint, model, provider, region, tier, balance, weight }) => {
      return { endpoint, model, provider, region, tier, balance, weight, host: hostOf(provider) };
    }),
    denial,
    edits:
      edits === null
        ? null
        : { max_output_tokens: edits.maxOutputTokens, strip_fields: edits.stripFields },
  };
}

/**
 * The rule that denies now or denied before; the row that makes an endpoint another destination;
 * otherwise the route. In base's files if head has removed it, or if a rule of base stays enforced:
 * what head's file has instead is another rule, whatever it is called.
 */
function locationOf(
  { kinds, base, head, example }: GroupTally,
  { locations, kept, tables }: ComparisonContext,
): SideLocation | null {
  const denial = head.denial ?? base.denial;
  const look = (
    find: (of: Locations) => SourceLocation | null,
    first: SideLocation["side"],
  ): SideLocation | null => {
    for (const side of [first, OTHER_SIDE[first]]) {
      const found = find(locations[side]);
      if (found !== null) return { ...found, side };
    }
    return null;
  };
  const isKept = head.denial !== null && kept.has(head.denial.policy);
  const rule =
    denial === null
      ? null
      : look(
          ({ constraint }) => constraint(denial.policy, denial.constraint),
          isKept ? "base" : "head",
        );
  const moved = kinds.includes("destination_changed")
    ? movedLocation(head.plan, tables, locations.head)
    : null;
  if (rule === null && moved !== null) return { ...moved, side: "head" };
  return rule ?? look(({ route }) => route(example.model), "head");
}

/**
 * Where the first endpoint of a plan that both sides have became another destination: the
 * provider's address or row, the endpoint's or the model's row.
 *
 * @returns `null` where no endpoint of the plan did, or head's files are not known.
 */
export function movedLocation(
  plan: readonly Pick<PlannedEndpoint, "endpoint">[],
  { base, head }: OfSides<RoutingTable>,
  locations: Locations,
): SourceLocation | null {
  for (const { endpoint: id } of plan) {
    const [before, after] = [rowOf(base.endpoints, id), rowOf(head.endpoints, id)];
    if (before === undefined || after === undefined) continue;
    const [was, is] = [
      rowOf(base.providers, before.provider),
      rowOf(head.providers, after.provider),
    ];
    if (was !== undefined && is?.id === was.id) {
      if (was.baseUrl !== is.baseUrl) return locations.providerAddress(is.id);
      const members = [
        "region",
        "network",
        "plaintext",
        "apiVersion",
        "retention",
        "trainsOnData",
        "dialect",
      ] as const;
      if (members.some((member) => was[member] !== is[member])) return locations.provider(is.id);
    }
    const members = ["model", "provider", "region", "upstreamModel"] as const;
    if (members.some((member) => before[member] !== after[member])) return locations.endpoint(id);
    const [length, now] = [rowOf(base.models, before.model), rowOf(head.models, after.model)];
    if (length?.defaultDimensions !== now?.defaultDimensions) return locations.model(after.model);
  }
  return null;
}

/**
 * What all requests of a group have in common and not all requests have: features and needs that
 * each of them has, and the values of a dimension where the group does not take all of them.
 */
function conditionsOf(
  group: GroupTally,
  { universe, tables }: ComparisonContext,
): ChangeGroup["conditions"] {
  const { common, taken } = group;
  const sets = [
    { dimension: "needs", values: common.needs },
    {
      dimension: "features",
      values: common.features.filter((feature) => !isAlways(group, universe, feature)),
    },
    { dimension: "key_labels", values: common.labels },
  ].filter(({ values }) => values.length > 0);
  const all = valuesOf(group, universe);
  const narrowed = [...taken].flatMap(([dimension, values]) => {
    if (dimension === DENIED_FOR)
      return values.size === 0 ? [] : [{ dimension, values: [...values].toSorted() }];
    const possible = all.get(dimension);
    const isWhole = possible === undefined || possible.every((value) => values.has(value));
    if (isWhole) return [];
    const own = dimension === "max_price" ? withUpperEnds(values, tables) : [...values];
    return [{ dimension, values: own.toSorted() }];
  });
  return [
    ...sets,
    ...narrowed.toSorted((left, right) => (left.dimension < right.dimension ? -1 : 1)),
  ];
}

/** "output 2" → "output from 2 up to 20": nothing changes before the next price of either table. */
function withUpperEnds(
  values: ReadonlySet<string>,
  { base, head }: OfSides<RoutingTable>,
): readonly string[] {
  const prices = [base, head].flatMap(({ endpoints }) =>
    Object.values(endpoints).flatMap(({ price }) => price ?? []),
  );
  return [...values].map((value) =>
    value.replaceAll(/(input|output|request) ([\d.e-]+)/g, (_, part: "input", text: string) => {
      const next = Math.min(
        ...prices.map((price) => price[part]).filter((price) => price > Number(text)),
      );
      return `${part} from ${text}${next === Infinity ? "" : ` up to ${next}`}`;
    }),
  );
}

function isAlways(group: GroupTally, universe: Universe, feature: string) {
  return operationsOf(group, universe).every(({ always }) =>
    always.some((name) => name === feature),
  );
}

function operationsOf(
  { operations }: GroupTally,
  universe: Universe,
): readonly OperationUniverse[] {
  return OPERATIONS.filter((operation) => operations.has(operation)).flatMap(
    (operation) => universe.operations.get(operation) ?? [],
  );
}

/**
 * Dimension → the values that requests of the group's operations could take, as text; without those
 * that differ from route to route.
 */
function valuesOf(group: GroupTally, universe: Universe): ReadonlyMap<string, readonly string[]> {
  const own = operationsOf(group, universe);
  const { preferences, times } = universe;
  const distinct = (
    of: (operation: OperationUniverse) => readonly unknown[],
  ): readonly string[] => [...new Set(own.flatMap((operation) => of(operation).map(String)))];
  return new Map<string, readonly string[]>([
    // If a request without a preference is in the group, the preference is no condition of it.
    ...preferenceValues(null),
    ["allow_fallbacks", preferences.allowFallbacks.map(String)],
    ["data_collection", preferences.dataCollection],
    ["zdr", preferences.zdr.map(String)],
    [
      "dimensions",
      [
        ...new Set(
          own.flatMap(({ dimensions }) => dimensions.map((length) => String(length ?? "none"))),
        ),
      ],
    ],
    ...perScalar((member, { name }) => [name, distinct((operation) => operation[member])] as const),
    ["environment", universe.environments],
    ["workload", universe.workloads],
    ["owner", universe.owners],
    ["budget", universe.budgets],
    ["time", times.map(({ day, hour }) => `${day} ${hour}`)],
  ]);
}
