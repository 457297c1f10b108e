import type { RoutingTable } from "../../canon/table.ts";
import type { Operation } from "../../canon/operation.ts";
import {
  type Distinctions,
  type Member,
  NARROWED,
  type OfSides,
  PLAIN_SAMPLE,
  type PlannedEndpoint,
  type SampleRequest,
} from "../sample-request.ts";
import type { Aspect } from "../space/approval-walk.ts";
import {
  type ClassAssertion,
  type EndpointSelector,
  type RequestSelector,
  type SetCondition,
} from "./schema.ts";
import { routeName, rowOf } from "../table-rows.ts";

type Selection = Pick<ClassAssertion, "for" | "except">;
type Test<Subject> = (subject: Subject) => boolean;

/**
 * Whether an assertion means a request. A workspace that a side lacks has no requests there.
 *
 * @param sides the sides whose tables define workspaces. With both, a request is selected that is
 * selected on either: a changed tier or label must not take the workspace out of the assertion that
 * guards it.
 */
export function requestTest(
  selection: Selection,
  tables: OfSides<RoutingTable>,
  sides: readonly (keyof OfSides<unknown>)[],
): Test<SampleRequest> {
  const tests = sides.map((side) => {
    const table = tables[side];
    const isSelected = selectorTest(selection.for, table);
    const excepted = selection.except === null ? null : selectorTest(selection.except, table);
    return (sample: SampleRequest) =>
      Object.hasOwn(table.workspaces, sample.workspace) &&
      isSelected(sample) &&
      excepted?.(sample) !== true;
  });
  return (sample) => tests.some((test) => test(sample));
}

/**
 * Whether an assertion can select requests of a workspace for a route: `false` only where it
 * selects none of them. For these alone the engine has to distinguish requests as the assertion
 * does.
 */
export function concernTest(
  assertion: ClassAssertion,
  tables: OfSides<RoutingTable>,
): (member: Member, operation: Operation) => boolean {
  const selected = membersOf(assertion.for, ROUTING);
  const test = requestTest({ for: selected, except: null }, tables, ["base", "head"]);
  return (member, operation) => test({ ...PLAIN_SAMPLE, ...member, operation });
}

/** Members of a selector that test workspace, route and operation. */
const ROUTING = ["workspaces", "tiers", "labels", "routes", "operations"] as const;
/** Members of a selector that test the features a request requires. */
const REQUIREMENTS = ["needs", "features", "signature_families"] as const;
/** Members of a selector that test preferences and the length of vectors. */
const PREFERENCES = ["dimensions", "allow_fallbacks", "data_collection", "zdr"] as const;

/**
 * Tests of an assertion on parts of a request: each part has to meet all conditions on it. They do
 * not depend on the table.
 */
export function selectionAspects(selection: Selection, table: RoutingTable) {
  const aspectOf = (
    members: readonly (keyof RequestSelector)[],
  ): ((sample: SampleRequest) => Aspect) => {
    const isSelected = selectorTest(membersOf(selection.for, members), table);
    const excepted = selection.except && selectorTest(membersOf(selection.except, members), table);
    return (sample) =>
      !isSelected(sample) ? "not meant" : excepted?.(sample) === true ? "excepted" : "meant";
  };
  return { ofRequirements: aspectOf(REQUIREMENTS), ofPreferences: aspectOf(PREFERENCES) };
}

function membersOf(
  selector: RequestSelector,
  members: readonly (keyof RequestSelector)[],
): RequestSelector {
  return Object.fromEntries(
    Object.entries(selector).filter(([name]) => members.some((member) => member === name)),
  );
}

type Value = string | number | boolean | readonly string[];
type Reads<Subject, Name extends string = string> = Readonly<
  Record<Name, (subject: Subject, table: RoutingTable) => Value>
>;

/** The value of a request that each member of a selector tests, as one table sees it. */
const REQUEST: Reads<SampleRequest, keyof RequestSelector> = {
  workspaces: ({ workspace }) => workspace,
  tiers: ({ workspace }, { workspaces }) => rowOf(workspaces, workspace)?.tier ?? "",
  labels: ({ workspace }, { workspaces }) => rowOf(workspaces, workspace)?.labels ?? [],
  routes: (sample, table) =>
    sample.operation === "moderations" ? routeName(table, sample) : sample.model,
  operations: ({ operation }) => operation,
  needs: ({ needs }) => needs,
  features: ({ features }) => features,
  signature_families: ({ signatureFamilies }) => signatureFamilies,
  environments: ({ key }, { vocabulary }) => nameOrOther(key.environment, vocabulary.environments),
  workloads: ({ key }, { vocabulary }) => nameOrOther(key.workload, vocabulary.workloads),
  owners: ({ key }, { vocabulary }) => nameOrOther(key.owner ?? "", vocabulary.owners ?? []),
  key_labels: ({ key }, { vocabulary }) =>
    key.labels.filter((label) => vocabulary.labels.includes(label)),
  stream: ({ stream }) => stream,
  context: ({ context }) => context,
  max_output: ({ maxOutput }) => maxOutput,
  reasoning_effort: ({ reasoningEffort }) => reasoningEffort,
  dimensions: ({ dimensions }) => dimensions ?? 0,
  allow_fallbacks: ({ preferences }) => preferences?.allow_fallbacks !== false,
  data_collection: ({ preferences }) => preferences?.data_collection ?? "deny",
  zdr: ({ preferences }) => preferences?.zdr === true,
  budgets: ({ budget }) => budget ?? "unlimited",
  days: ({ time }) => time.day,
  hours: ({ time }) => time.hour,
};

/**
 * The same of a planned endpoint. An unknown fact counts as the strictest one, as in the compiler.
 */
const ENDPOINT: Reads<PlannedEndpoint, keyof EndpointSelector> = {
  providers: ({ provider }) => provider,
  regions: ({ region }, { regionGroups }) => [
    region,
    ...Object.keys(regionGroups).filter((group) => regionGroups[group]?.includes(region)),
  ],
  models: ({ model }) => model,
  endpoints: ({ endpoint }) => endpoint,
  retention: ({ provider }, { providers }) => rowOf(providers, provider)?.retention ?? "unlimited",
  trains_on_data: ({ provider }, { providers }) => rowOf(providers, provider)?.trainsOnData ?? true,
};

/** A name of the key as policies see it. */
function nameOrOther(name: string, vocabulary: readonly string[]) {
  return vocabulary.includes(name) ? name : "other";
}

/** A request as one table sees it. */
function selectorTest(selector: RequestSelector, table: RoutingTable) {
  return membersTest(selector, REQUEST, table);
}

/** Endpoints of a plan that a selector matches, in the table that the plan was made with. */
export function endpointTest(
  selector: EndpointSelector,
  table: RoutingTable,
): Test<PlannedEndpoint> {
  return membersTest(selector, ENDPOINT, table);
}

/** Every member of the selector must match. */
function membersTest<Subject>(
  selector: Readonly<Record<string, Condition | undefined>>,
  reads: Reads<Subject>,
  table: RoutingTable,
): Test<Subject> {
  const tests = Object.entries(selector).flatMap(
    ([member, condition]): readonly Test<Subject>[] => {
      const read = reads[member];
      if (condition === undefined || read === undefined) return [];
      const test = conditionTest(condition);
      return [(subject) => test(read(subject, table))];
    },
  );
  return (subject) => tests.every((test) => test(subject));
}

/** The condition of a member: one value, a list of which one must fit, or conditions on a set. */
type Condition = string | boolean | readonly (string | number)[] | SetCondition;

function conditionTest(condition: Condition): Test<Value> {
  if (typeof condition !== "object") return (value) => value === condition;
  const { all = [], any, none = [], only } = conditionsOf(condition);
  const [anyOf, allowed] = [any, only].map((names) => names && new Set<unknown>(names));
  return (value) => {
    const present: readonly unknown[] = isList(value) ? value : [value];
    return (
      all.every((name) => present.includes(name)) &&
      (anyOf === undefined || present.some((name) => anyOf.has(name))) &&
      !none.some((name) => present.includes(name)) &&
      (allowed === undefined || present.every((name) => allowed.has(name)))
    );
  };
}

type Conditions = Partial<Record<"all" | "any" | "none" | "only", readonly (string | number)[]>>;

/** A list is short for `any`. */
export function conditionsOf(condition: Exclude<Condition, string | boolean>): Conditions {
  return isList(condition) ? { any: condition } : condition;
}

export function isList(value: unknown): value is readonly (string | number)[] {
  return Array.isArray(value);
}

/**
 * The path of a selector's member in `PolicyInput`; others are members of `input.request`. Features
 * and families of signed reasoning are in no policy's input; they are named as if they were.
 */
const PATHS: Readonly<Partial<Record<keyof RequestSelector, string>>> = {
  workspaces: "input.workspace.id",
  tiers: "input.workspace.tier",
  labels: "input.workspace.labels",
  routes: "input.request.route",
  operations: "input.operation",
  environments: "input.key.environment",
  workloads: "input.key.workload",
  owners: "input.key.owner",
  key_labels: "input.key.labels",
  budgets: "input.budget.remaining",
  days: "input.time.day",
  hours: "input.time.hour",
};

/**
 * The distinctions that the engine must make so that an assertion selects a class as a whole or
 * not at all. Strings are those that the assertions name. Unnamed ones are equivalent to each
 * other, but not to a named one. In a set (needs, features, labels) they are not equivalent to
 * absence: `only` depends on whether there is anything else.
 *
 * Only requests must be distinguished, not endpoints: an assertion reads the plan of a class, and
 * all its requests have the same plan. The endpoints' names are listed nevertheless, for an engine
 * that merges endpoints which no decision distinguishes.
 */
export function distinctionsOf(
  assertion: ClassAssertion,
  tables: OfSides<RoutingTable>,
): Distinctions {
  const strings = new Set<string>();
  const reads = new Set<string>();
  const look = (selector: RequestSelector) => {
    for (const [member, condition] of Object.entries(selector)) {
      reads.add(rowOf<string>(PATHS, member) ?? `input.request.${member}`);
      for (const name of stringsOf(condition)) strings.add(name);
    }
  };
  look(assertion.for);
  look(assertion.except ?? {});
  // A caller that excludes endpoints has shortened the plan itself.
  if (assertion.kind === "always_routable") reads.add(NARROWED);
  for (const endpoint of selectorsOf(assertion)) {
    for (const name of endpointNames(endpoint, tables.head)) strings.add(name);
  }
  if (assertion.kind === "no_new_access") {
    // It distinguishes every provider in every region.
    for (const { providers, endpoints } of [tables.base, tables.head]) {
      for (const id of Object.keys(providers)) strings.add(id);
      for (const { region } of Object.values(endpoints)) strings.add(region);
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

function selectorsOf(assertion: ClassAssertion): readonly EndpointSelector[] {
  if ("to" in assertion) return [assertion.to];
  if (assertion.kind !== "implies") return [];
  const { if: condition, then: demand } = assertion;
  return [condition.reaches, demand.every_endpoint, demand.some_endpoint, demand.primary].filter(
    (endpoint) => endpoint !== undefined,
  );
}

function endpointNames(
  {
    providers = [],
    regions = [],
    models = [],
    endpoints = [],
    retention,
    trains_on_data: trains,
  }: EndpointSelector,
  head: RoutingTable,
): readonly string[] {
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
