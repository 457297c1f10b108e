import {
  type ComparisonTally,
  DENIED_FOR,
  firstExample,
  type GroupTally,
  type PathTallies,
  type PathTally,
} from "../compare/comparison-tally.ts";
import type { Locations } from "../explain/positions.ts";
import { CHANGE_KINDS, CHANGES } from "../change-kind.ts";
import type { RoutingTable } from "../../canon/table.ts";
import {
  type OfSides,
  OTHER_SIDE,
  type Outcome,
  type PlannedEndpoint,
  preferenceValues,
  type SideName,
} from "../sample-request.ts";
import { bySeen, type SeenWeight } from "../evidence/seen-usage.ts";
import { NOT_SEEN, type SeenInGroup } from "../evidence/evidence-tally.ts";
import type { OperationUniverse, Universe } from "../space/universe.ts";
import type {
  ChangeGroup,
  ComparisonReport,
  DataPath,
  ResultReport,
  RoutePath,
  SideLocation,
  SourceLocation,
} from "./report.ts";
import { rowOf } from "../table-rows.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { perScalar } from "../request-scalars.ts";
import { textDigest } from "../text-digest.ts";
import type { ExplainArguments } from "../assertions/run.ts";

/** Input of a comparison besides its tally. */
export interface ComparisonContext {
  readonly locations: OfSides<Locations>;
  /** The host of a provider on a side; empty where the side has no such provider. */
  readonly hostOf: OfSides<(provider: string) => string>;
  /** The command line that explains a request on head. */
  readonly explain: ExplainArguments;
  readonly universe: Universe;
  readonly tables: OfSides<RoutingTable>;
  /** Policies whose enforced content head has from base, under this view. */
  readonly keptPolicies: ReadonlySet<string>;
  /** Requests of the evidence, by the key of their group; `null` without evidence. */
  readonly seenInGroup: ReadonlyMap<string, SeenInGroup> | null;
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
      .map(([key, group]) => ({ key, group, seen: context.seenInGroup?.get(key) ?? null }))
      .toSorted(bySeverity)
      .map((entry) => groupReport(entry, context)),
    new_route_paths: newRoutePaths(tally, context),
    new_data_paths: dataPathsWithout(tally.headPaths, tally.basePaths, "head", context),
    lost_data_paths: dataPathsWithout(tally.basePaths, tally.headPaths, "base", context),
  };
}

function accessOf({ gains, loses }: ComparisonTally): ComparisonReport["access"] {
  if (gains) return loses ? "incomparable" : "more_permissive";
  return loses ? "less_permissive" : "equivalent";
}

/** A group by its key, with its requests of the evidence; `null`: none was seen. */
interface Entry {
  readonly key: string;
  readonly group: GroupTally;
  readonly seen: SeenInGroup | null;
}

/**
 * Groups with recorded calls come first; then by the worst change, recorded use, shapes and key:
 * the same order for the same trees and evidence.
 */
function bySeverity(left: Entry, right: Entry) {
  return (
    Number(left.seen === null) - Number(right.seen === null) ||
    rankOf(left.group) - rankOf(right.group) ||
    bySeen(weightOf(left.seen), weightOf(right.seen)) ||
    Number(right.group.shapes - left.group.shapes) ||
    (left.key < right.key ? -1 : 1)
  );
}

function weightOf(seen: SeenInGroup | null): SeenWeight | null {
  return seen && { calls: seen.decisions, usage: seen };
}

function rankOf({ kinds, base, head }: GroupTally): number {
  const hasUnknownName = [base, head].some(({ denial }) => denial?.reason === "unknown_preference");
  // That a name is new or gone shows itself in what its requests reach; that who writes it is
  // refused matters least.
  if (hasUnknownName) return CHANGES.reason_changed.rank;
  return Math.min(...kinds.map((kind) => CHANGES[kind].rank));
}

function groupReport({ key, group, seen }: Entry, context: ComparisonContext): ChangeGroup {
  const { decisions, ...usage } = seen ?? NOT_SEEN;
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
    seen: context.seenInGroup && decisions,
    seen_usage: seen && usage,
    ...plainOf(group, conditions),
  };
}

/** The plain requests of a group, where its conditions do not describe them. */
function plainOf(
  { plain, members, example }: GroupTally,
  reported: ChangeGroup["conditions"],
): Pick<ChangeGroup, "plain_requests" | "plain_members"> {
  if (plain.size === 0) return {};
  // The example is the simplest request of the first workspace and route.
  if (example.preferences !== null || example.needs.length > 0) {
    const whole = [...plain].filter(([, texts]) =>
      [...texts.values()].every(({ any, conditions }) => !any && conditions?.length === 0),
    );
    const keys = whole.map(([member]) => member.split("\n"));
    const byWorkspace = Map.groupBy(keys, ([workspace = ""]) => workspace);
    const rows = [...byWorkspace].map(([workspace, pairs]) => {
      return { workspace, routes: pairs.map(([, route = ""]) => route).toSorted() };
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
  const isGroupCondition = ({ dimension, values }: ChangeGroup["conditions"][number]) =>
    reported.some((one) => one.dimension === dimension && one.values.join() === values.join());
  return !any && conditions.every(isGroupCondition) ? {} : { plain_requests: { any, conditions } };
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
  { locations, keptPolicies, tables }: ComparisonContext,
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
  const isKept = head.denial !== null && keptPolicies.has(head.denial.policy);
  const rule =
    denial === null
      ? null
      : look(
          ({ constraint }) => constraint(denial.policy, denial.constraint),
          isKept ? "base" : "head",
        );
  const movedTo = kinds.includes("destination_changed")
    ? movedLocation(head.plan, tables, locations.head)
    : null;
  if (rule === null && movedTo !== null) return { ...movedTo, side: "head" };
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
 * The conditions that all requests of a group meet and others do not: features and needs that
 * each of them has, and the values of a dimension where the group does not take all of them.
 */
function conditionsOf(
  group: GroupTally,
  { universe, tables }: ComparisonContext,
): ChangeGroup["conditions"] {
  const { common, valuesByDimension } = group;
  const sets = [
    { dimension: "needs", values: common.needs },
    {
      dimension: "features",
      values: common.features.filter((feature) => !isAlwaysUsed(group, universe, feature)),
    },
    { dimension: "key_labels", values: common.labels },
  ].filter(({ values }) => values.length > 0);
  const all = valuesOf(group, universe);
  const narrowed = [...valuesByDimension].flatMap(([dimension, values]) => {
    if (dimension === DENIED_FOR)
      return values.size === 0 ? [] : [{ dimension, values: [...values].toSorted() }];
    const possible = all.get(dimension);
    const coversAll = possible === undefined || possible.every((value) => values.has(value));
    if (coversAll) return [];
    const dimensionValues = dimension === "max_price" ? withUpperEnds(values, tables) : [...values];
    return [{ dimension, values: dimensionValues.toSorted() }];
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

function isAlwaysUsed(group: GroupTally, universe: Universe, feature: string) {
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
  const operations = operationsOf(group, universe);
  const { preferences, times } = universe;
  const distinct = (
    of: (operation: OperationUniverse) => readonly unknown[],
  ): readonly string[] => [
    ...new Set(operations.flatMap((operation) => of(operation).map(String))),
  ];
  return new Map<string, readonly string[]>([
    // If a request without a preference is in the group, the preference is no condition of it.
    ...preferenceValues(null),
    ["allow_fallbacks", preferences.allowFallbacks.map(String)],
    ["data_collection", preferences.dataCollection],
    ["zdr", preferences.zdr.map(String)],
    ["dimensions", distinct(({ dimensions }) => dimensions.map((length) => length ?? "none"))],
    ...perScalar((member, { name }) => [name, distinct((operation) => operation[member])] as const),
    ["environment", universe.environments],
    ["workload", universe.workloads],
    ["owner", universe.owners],
    ["budget", universe.budgets],
    ["time", times.map(({ day, hour }) => `${day} ${hour}`)],
  ]);
}

/** Paths of one side that the other does not have, by any route. @param side of the paths. */
function dataPathsWithout(
  paths: PathTallies,
  others: PathTallies,
  side: SideName,
  context: ComparisonContext,
): readonly DataPath[] {
  return inOrder(paths).flatMap(([key, path]) =>
    others.has(key)
      ? []
      : [
          {
            operation: path.operation,
            routes: [...path.routes.keys()].toSorted(),
            ...reached(path, side, context),
          },
        ],
  );
}

/** By route: also where another route of the workspace leads there in base. */
function newRoutePaths(
  { headPaths, basePaths }: ComparisonTally,
  context: ComparisonContext,
): readonly RoutePath[] {
  const found = inOrder(headPaths).flatMap(([key, path]) =>
    [...path.routes].flatMap(([route, example]) =>
      basePaths.get(key)?.routes.has(route) === true
        ? []
        : [{ ...path, route, order: example.order, routes: new Map([[route, example]]) }],
    ),
  );
  const byEnd = Map.groupBy(found, ({ route, workspace, provider, region, host }) =>
    [route, workspace, provider, region, host].join("\n"),
  );
  return inOrder(byEnd).flatMap(([, same]) =>
    same
      .toSorted((left, right) => left.order - right.order)
      .slice(0, 1)
      .map((path) => ({
        route: path.route,
        operations: OPERATIONS.filter((operation) =>
          same.some((one) => one.operation === operation),
        ),
        ...reached(path, "head", context),
      })),
  );
}

function inOrder<Value>(rows: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] {
  return [...rows].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

/** Where a path leads, with its first example. */
function reached(
  path: PathTally,
  side: SideName,
  { locations, hostOf, explain }: ComparisonContext,
) {
  const { workspace, provider, region, host } = path;
  const example = firstExample(path);
  const other = hostOf[OTHER_SIDE[side]](provider);
  const hostChanged = other !== "" && other !== host;
  const location = hostChanged
    ? locations[side].providerAddress(provider)
    : locations[side].route(example.model);
  return {
    workspace,
    provider,
    region,
    host,
    other_host: hostChanged ? other : null,
    location: location && { ...location, side },
    example,
    explain: explain(example),
  };
}
