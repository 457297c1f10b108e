import { DENIED_FOR, type GroupTally } from "../compare/group-tally.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import { perScalar } from "../request-scalars.ts";
import type { OperationUniverse, Universe } from "../space/universe.ts";
import type { ChangeGroup } from "./report.ts";

/**
 * What all requests of a group have in common and not all requests have: features and needs that each of them has, and the values of a dimension
 * where the group does not take all of them.
 */
export function conditionsOf(group: GroupTally, universe: Universe): ChangeGroup["conditions"] {
  const { common, taken } = group;
  const sets = [
    { dimension: "needs", values: common.needs },
    { dimension: "features", values: common.features.filter((feature) => !isAlways(group, universe, feature)) },
    { dimension: "key_labels", values: common.labels },
  ].filter(({ values }) => values.length > 0);
  const all = valuesOf(group, universe);
  const narrowed = [...taken].flatMap(([dimension, values]) => {
    if (dimension === DENIED_FOR) return values.size === 0 ? [] : [{ dimension, values: [...values].toSorted() }];
    const possible = all.get(dimension);
    const isWhole = possible === undefined || possible.every((value) => values.has(value));
    return isWhole ? [] : [{ dimension, values: [...values].toSorted() }];
  });
  return [...sets, ...narrowed.toSorted((left, right) => (left.dimension < right.dimension ? -1 : 1))];
}

function isAlways(group: GroupTally, universe: Universe, feature: string): boolean {
  return operationsOf(group, universe).every(({ always }) => always.some((name) => name === feature));
}

function operationsOf({ operations }: GroupTally, universe: Universe): readonly OperationUniverse[] {
  return OPERATIONS.filter((operation) => operations.has(operation)).flatMap(
    (operation) => universe.operations.get(operation) ?? [],
  );
}

/** Dimension → the values that requests of the group's operations could take, as text; without those that differ from route to route. */
function valuesOf(group: GroupTally, universe: Universe): ReadonlyMap<string, readonly string[]> {
  const own = operationsOf(group, universe);
  const { preferences, times } = universe;
  const distinct = (of: (operation: OperationUniverse) => readonly unknown[]): readonly string[] => [
    ...new Set(own.flatMap((operation) => of(operation).map(String))),
  ];
  return new Map<string, readonly string[]>([
    // If a request without an only-provider preference is in the group, the preference is no condition of it.
    ["only", ["any"]],
    ["region", ["any"]],
    ["ignore", ["none"]],
    ["max_price", ["any"]],
    ["order", ["any"]],
    ["sort", ["any"]],
    ["allow_fallbacks", preferences.allowFallbacks.map(String)],
    ["data_collection", preferences.dataCollection],
    ["zdr", preferences.zdr.map(String)],
    ["dimensions", [...new Set(own.flatMap(({ dimensions }) => dimensions.map((length) => String(length ?? "none"))))]],
    ...perScalar((member, { name }) => [name, distinct((operation) => operation[member])] as const),
    ["environment", universe.environments],
    ["workload", universe.workloads],
    ["owner", universe.owners],
    ["budget", universe.budgets],
    ["time", times.map(({ day, hour }) => `${day} ${hour}`)],
  ]);
}
