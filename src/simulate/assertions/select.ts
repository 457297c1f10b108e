import type { RoutingTable } from "../../canon/table.ts";
import type { Operation } from "../../canon/operation.ts";
import {
  PLAIN_SAMPLE,
  type Member,
  type PlannedEndpoint,
  type SampleRequest,
  type OfSides,
} from "../sample-request.ts";
import type { Aspect } from "../space/approval-state.ts";
import type { Assertion } from "./assertion.ts";
import type { EndpointSelector, RequestSelector, SetCondition } from "./schema-selectors.ts";
import { routeName, rowOf } from "../table-rows.ts";

type Test<Value> = (value: Value) => boolean;

/**
 * Whether an assertion means a request. A workspace that a side does not have makes no requests
 * there.
 *
 * @param sides the sides whose tables define workspaces. With both, a request is selected that is
 * selected on either: what a change does to a tier or a label must not take the workspace out of
 * what guards it.
 */
export function requestTest(
  selection: { readonly for: RequestSelector; readonly except: RequestSelector | null },
  tables: OfSides<RoutingTable>,
  sides: readonly (keyof OfSides<unknown>)[],
): Test<SampleRequest> {
  const tests = sides.map((side) => {
    const table = tables[side];
    const meant = selectorTest(selection.for, table);
    const excepted = selection.except === null ? null : selectorTest(selection.except, table);
    return (sample: SampleRequest): boolean =>
      Object.hasOwn(table.workspaces, sample.workspace) &&
      meant(sample) &&
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
  assertion: Assertion,
  tables: OfSides<RoutingTable>,
): (member: Member, operation: Operation) => boolean {
  if (assertion.kind === "cases") return () => false;
  const { workspaces, tiers, labels, routes, operations } = assertion.for;
  const whose: RequestSelector = {
    ...(workspaces !== undefined && { workspaces }),
    ...(tiers !== undefined && { tiers }),
    ...(labels !== undefined && { labels }),
    ...(routes !== undefined && { routes }),
    ...(operations !== undefined && { operations }),
  };
  const test = requestTest({ for: whose, except: null }, tables, ["base", "head"]);
  return (member, operation) => test({ ...PLAIN_SAMPLE, ...member, operation });
}

/** Members of a selector that look at what a request requires. */
const REQUIREMENTS = ["needs", "features", "signature_families"] as const;
/** Members of a selector that look at its preferences and the length of vectors. */
const PREFERENCES = ["dimensions", "allow_fallbacks", "data_collection", "zdr"] as const;

/**
 * How an assertion sees parts of a request: each part has to fit all conditions on it. No table has
 * a say in them.
 */
export interface SelectionAspects {
  readonly ofRequirements: (sample: SampleRequest) => Aspect;
  readonly ofPreferences: (sample: SampleRequest) => Aspect;
}

export function selectionAspects(
  selection: { readonly for: RequestSelector; readonly except: RequestSelector | null },
  table: RoutingTable,
): SelectionAspects {
  const aspectOf = (
    members: readonly (keyof RequestSelector)[],
  ): ((sample: SampleRequest) => Aspect) => {
    const meant = selectorTest(membersOf(selection.for, members), table);
    const excepted =
      selection.except === null ? null : selectorTest(membersOf(selection.except, members), table);
    return (sample) =>
      !meant(sample) ? "not meant" : excepted?.(sample) === true ? "excepted" : "meant";
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

/** A request as one table sees it: every member of the selector must match. */
function selectorTest(selector: RequestSelector, table: RoutingTable): Test<SampleRequest> {
  const workspaceOf = ({ workspace }: SampleRequest) => rowOf(table.workspaces, workspace);
  const { environments, workloads, owners = [], labels } = table.vocabulary;
  const tests: readonly (Test<SampleRequest> | null)[] = [
    valueTest(selector.workspaces, ({ workspace }) => workspace),
    valueTest(selector.tiers, (sample) => workspaceOf(sample)?.tier ?? ""),
    setTest(selector.labels, (sample) => workspaceOf(sample)?.labels ?? []),
    valueTest(selector.routes, (sample) =>
      sample.operation === "moderations" ? routeName(table, sample) : sample.model,
    ),
    valueTest(selector.operations, ({ operation }) => operation),
    setTest(selector.needs, ({ needs }) => needs),
    setTest(selector.features, ({ features }) => features),
    setTest(selector.signature_families, ({ signatureFamilies }) => signatureFamilies),
    valueTest(selector.environments, ({ key }) => listed(key.environment, environments)),
    valueTest(selector.workloads, ({ key }) => listed(key.workload, workloads)),
    valueTest(selector.owners, ({ key }) => listed(key.owner ?? "", owners)),
    setTest(selector.key_labels, ({ key }) => key.labels.filter((label) => labels.includes(label))),
    flagTest(selector.stream, ({ stream }) => stream),
    valueTest(selector.context, ({ context }) => context),
    valueTest(selector.max_output, ({ maxOutput }) => maxOutput),
    valueTest(selector.reasoning_effort, ({ reasoningEffort }) => reasoningEffort),
    valueTest(selector.dimensions, ({ dimensions }) => dimensions ?? 0),
    flagTest(selector.allow_fallbacks, ({ preferences }) => preferences?.allow_fallbacks !== false),
    flagTest(
      selector.data_collection,
      ({ preferences }): "allow" | "deny" => preferences?.data_collection ?? "deny",
    ),
    flagTest(selector.zdr, ({ preferences }) => preferences?.zdr === true),
    valueTest(selector.budgets, ({ budget }) => budget ?? "unlimited"),
    valueTest(selector.days, ({ time }) => time.day),
    valueTest(selector.hours, ({ time }) => time.hour),
  ];
  const given = tests.filter((test) => test !== null);
  return (sample) => given.every((test) => test(sample));
}

/** Endpoints of a plan that a selector matches, in the table that the plan was made with. */
export function endpointTest(
  selector: EndpointSelector,
  table: RoutingTable,
): Test<PlannedEndpoint> {
  const groups = selector.regions?.flatMap((name) => [
    name,
    ...(rowOf(table.regionGroups, name) ?? []),
  ]);
  const providerOf = ({ provider }: PlannedEndpoint) => rowOf(table.providers, provider);
  const tests: readonly (Test<PlannedEndpoint> | null)[] = [
    valueTest(selector.providers, ({ provider }: PlannedEndpoint) => provider),
    valueTest(groups, ({ region }: PlannedEndpoint) => region),
    valueTest(selector.models, ({ model }: PlannedEndpoint) => model),
    valueTest(selector.endpoints, ({ endpoint }: PlannedEndpoint) => endpoint),
    // An unknown fact counts as the strictest one, as in the compiler.
    valueTest(
      selector.retention,
      (endpoint: PlannedEndpoint) => providerOf(endpoint)?.retention ?? "unlimited",
    ),
    flagTest(
      selector.trains_on_data,
      (endpoint: PlannedEndpoint) => providerOf(endpoint)?.trainsOnData ?? true,
    ),
  ];
  const given = tests.filter((test) => test !== null);
  return (endpoint) => given.every((test) => test(endpoint));
}

/** A name of the key as policies see it. */
function listed(name: string, vocabulary: readonly string[]): string {
  return vocabulary.includes(name) ? name : "other";
}

function valueTest<Subject, Value>(
  values: readonly Value[] | undefined,
  read: (subject: Subject) => Value,
): Test<Subject> | null {
  if (values === undefined) return null;
  const known = new Set(values);
  return (subject) => known.has(read(subject));
}

function flagTest<Subject, Flag extends boolean | string>(
  flag: Flag | undefined,
  read: (subject: Subject) => Flag,
): Test<Subject> | null {
  return flag === undefined ? null : (subject) => read(subject) === flag;
}

function setTest<Subject>(
  condition: SetCondition | undefined,
  read: (subject: Subject) => readonly string[],
): Test<Subject> | null {
  if (condition === undefined) return null;
  const { all, any, none, only } = conditionsOf(condition);
  const allowed = only === undefined ? null : new Set(only);
  return (subject) => {
    const present = read(subject);
    return (
      all?.every((name) => present.includes(name)) !== false &&
      any?.some((name) => present.includes(name)) !== false &&
      none?.some((name) => present.includes(name)) !== true &&
      (allowed === null || present.every((name) => allowed.has(name)))
    );
  };
}

type Conditions = Exclude<SetCondition, readonly string[]>;

/** A list is short for `any`. */
export function conditionsOf(condition: SetCondition): Conditions {
  return isList(condition) ? { any: condition } : condition;
}

function isList(condition: SetCondition): condition is readonly string[] {
  return Array.isArray(condition);
}
