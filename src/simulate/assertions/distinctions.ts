import type { RoutingTable } from "../../canon/table.ts";
import { NARROWED, type Distinctions, type OfSides } from "../sample-request.ts";
import type { Assertion } from "./assertion.ts";
import type { EndpointSelector, RequestSelector } from "./schema-selectors.ts";
import { conditionsOf, type Condition } from "./select.ts";
import { rowOf } from "../table-rows.ts";

/**
 * The path of a selector's member in `PolicyInput`. Features and families of signed reasoning are
 * in no policy's input; they are named as if they did.
 */
const PATHS: Readonly<Record<keyof RequestSelector, string>> = {
  workspaces: "input.workspace.id",
  tiers: "input.workspace.tier",
  labels: "input.workspace.labels",
  routes: "input.request.route",
  operations: "input.operation",
  needs: "input.request.needs",
  features: "input.request.features",
  signature_families: "input.request.signature_families",
  environments: "input.key.environment",
  workloads: "input.key.workload",
  owners: "input.key.owner",
  key_labels: "input.key.labels",
  stream: "input.request.stream",
  context: "input.request.context",
  max_output: "input.request.max_output",
  reasoning_effort: "input.request.reasoning_effort",
  dimensions: "input.request.dimensions",
  allow_fallbacks: "input.request.allow_fallbacks",
  data_collection: "input.request.data_collection",
  zdr: "input.request.zdr",
  budgets: "input.budget.remaining",
  days: "input.time.day",
  hours: "input.time.hour",
};

/**
 * The distinctions that the engine must make so that an assertion selects a class as a whole or
 * not at all. Strings are those that the assertions name. Unnamed ones are equivalent to each other,
 * but not to a named one. In a set (needs, features, labels) they are not equivalent to absence:
 * `only` depends on whether there is anything else. Cases need no classes.
 *
 * Only requests must be distinguished, not endpoints: an assertion reads the plan of a class, and
 * all its requests have the same plan. The endpoints' names are listed nevertheless, for an engine
 * that merges endpoints which no decision distinguishes.
 */
export function distinctionsOf(
  assertions: readonly Assertion[],
  tables: OfSides<RoutingTable>,
): Distinctions {
  const strings = new Set<string>();
  const reads = new Set<string>();
  const look = (selector: RequestSelector): void => {
    for (const [member, condition] of Object.entries(selector)) {
      reads.add(rowOf<string>(PATHS, member) ?? "");
      for (const name of stringsOf(condition)) strings.add(name);
    }
  };
  for (const assertion of assertions) {
    if (assertion.kind === "cases") continue;
    look(assertion.for);
    look(assertion.except ?? {});
    // A caller that excludes endpoints has shortened the plan itself.
    if (assertion.kind === "always_routable") reads.add(NARROWED);
    for (const endpoint of selectorsOf(assertion)) {
      for (const name of endpointNames(endpoint, tables)) strings.add(name);
    }
    if (assertion.kind === "no_new_access") {
      // It distinguishes every provider in every region.
      for (const { providers, endpoints } of [tables.base, tables.head]) {
        for (const id of Object.keys(providers)) strings.add(id);
        for (const { region } of Object.values(endpoints)) strings.add(region);
      }
    }
  }
  return { strings: [...strings].toSorted(), reads: [...reads].toSorted() };
}

/** The strings of a list or of all lists of a condition; a flag has none. */
function stringsOf(condition: Condition): readonly string[] {
  return typeof condition === "object"
    ? Object.values(conditionsOf(condition)).flat().map(String)
    : [];
}

function selectorsOf(assertion: Assertion): readonly EndpointSelector[] {
  switch (assertion.kind) {
    case "no_new_access":
    case "access_not_granted":
      return [assertion.to];
    case "implies": {
      const { if: condition, then: demand } = assertion;
      return [condition.reaches, demand.every_place, demand.some_place, demand.primary].filter(
        (endpoint) => endpoint !== undefined,
      );
    }
    case "always_routable":
    case "equivalent":
    case "cases":
      return [];
  }
}

function endpointNames(
  endpoint: EndpointSelector,
  { head }: OfSides<RoutingTable>,
): readonly string[] {
  const {
    providers = [],
    regions = [],
    models = [],
    endpoints = [],
    retention,
    trains_on_data: trains,
  } = endpoint;
  const grouped = regions.flatMap((name) => rowOf(head.regionGroups, name) ?? []);
  // Contract facts are read by provider: providers that fit must be distinguished from those that
  // do not.
  const fitting = Object.values(head.providers).filter(
    (row) => retention?.includes(row.retention) === true || row.trainsOnData === trains,
  );
  return [
    ...providers,
    ...regions,
    ...grouped,
    ...models,
    ...endpoints,
    ...fitting.map(({ id }) => id),
  ];
}
