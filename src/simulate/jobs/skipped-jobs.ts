import { numbered, remembered } from "../remembered.ts";
import { MODEL_OPERATION_OF, type Operation } from "../../canon/operation.ts";
import { isWithinCeilings, type RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { nameTest } from "../../policy/compiled.ts";
import { policyData } from "../../policy/input-schema.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { destinationsOf, type Destinations } from "../compare/change-kinds.ts";
import { emptyUsage, type SimulationTally, type UsageTally } from "../compare/simulation-tally.ts";
import { hasFormerProviders, withFormerNames } from "../renamed-table.ts";
import type { Member } from "../sample-request.ts";
import {
  slotsOf,
  type CompiledSide,
  type CompiledSides,
  type SideContent,
} from "../side-contents.ts";
import { concernsJob, type Job, type PairClass, type Space } from "../space/job-space.ts";
import { ambiguousNames } from "../space/readers.ts";
import { isApprovedEndpoint, routeName, routeOf, rowOf } from "../table-rows.ts";

/**
 * Tests whether both sides of a job have the same rows and policies: then all its requests are
 * decided alike, and none has to be decided. Rows are compared whole, including members that no
 * decision reads.
 *
 * @param promoted policies of head that count as promoted, and none of base's; `null`: every
 * candidate.
 */
export function unchangedTest(
  { base, head }: CompiledSides,
  promoted: readonly string[] | null,
): (job: Job) => boolean {
  const tables = [base.table, head.table];
  const isSameForAll = allEqual(tables.map(factsOfAll));
  const operations = new Map<Operation, boolean>();
  const workspaces = new Map<string, boolean>();
  const routes = new Map<string, boolean>();
  const hasSamePolicies = (operation: Operation): boolean => {
    const applying = ({ contents }: CompiledSide) =>
      contents.filter(({ contract }) => contract.operations.includes(operation));
    const [before, after] = [applying(base), applying(head)];
    if (slotsOf(before) !== slotsOf(after)) return false;
    const isPromoted = ({ slot, contract }: SideContent) =>
      slot === "candidate" && promoted?.includes(contract.id) === true;
    return !after.some(isPromoted) && dataRead(base, before) === dataRead(head, after);
  };
  const isUnchanged = (member: Member): boolean => {
    const { workspace } = member;
    const [before, route] = [routeName(base.table, member), routeName(head.table, member)];
    return (
      !(hasFormerProviders(base.table) && mayNameFormerProvider(base.table, workspace, before)) &&
      before === route &&
      remembered(workspaces, workspace, () =>
        allEqual(tables.map((table) => workspaceFacts(table, workspace))),
      ) &&
      remembered(routes, route, () => allEqual(tables.map((table) => routeFacts(table, route))))
    );
  };
  return ({ pair, operation }) =>
    isSameForAll &&
    remembered(operations, operation, () => hasSamePolicies(operation)) &&
    pair.members.every(isUnchanged);
}

/** Requests that name a provider as it was called in base are refused in head. */
function mayNameFormerProvider(table: RoutingTable, workspace: string, route: string) {
  const endpoints = rowOf(table.routes, route)?.tiers.flatMap((tier) => tier.endpoints) ?? [];
  const providers = [
    ...(rowOf(table.workspaces, workspace)?.approve.providers ?? []),
    ...endpoints.flatMap((id) => rowOf(table.endpoints, id)?.provider ?? []),
  ];
  return withFormerNames(table, providers).length > providers.length;
}

function allEqual(values: readonly unknown[]) {
  return new Set(values.map((value) => JSON.stringify(value))).size === 1;
}

/** The parts of a table that any decision may depend on. */
function factsOfAll({ vocabulary, regionGroups, providers, models }: RoutingTable): unknown {
  const regions = new Set(Object.values(providers).map(({ region }) => region));
  const lengths = new Set(Object.values(models).flatMap(({ dimensions }) => dimensions));
  return [
    vocabulary,
    regionGroups,
    [...regions].toSorted(),
    [...lengths].toSorted((left, right) => left - right),
  ];
}

function workspaceFacts({ workspaces }: RoutingTable, id: string): unknown {
  const row = rowOf(workspaces, id);
  return row === undefined ? null : [row.tier, row.labels, row.approve, row.defaultModerationRoute];
}

function routeFacts(table: RoutingTable, id: string): unknown {
  const route = rowOf(table.routes, id);
  if (route === undefined) return null;
  const endpoints = route.tiers
    .flatMap((tier) => tier.endpoints)
    .map((name) => rowOf(table.endpoints, name));
  return [
    [route.primary, route.tiers, route.onGap, route.emulateSchema, route.operations],
    endpoints.map(
      (endpoint) =>
        endpoint && [
          endpoint,
          rowOf(table.models, endpoint.model),
          rowOf(table.providers, endpoint.provider),
        ],
    ),
  ];
}

/**
 * The data that policies read besides region groups, of all workspaces: a policy may compare one
 * with another.
 */
function dataRead({ table }: CompiledSide, contents: readonly SideContent[]): string {
  const { approved } = policyData(table);
  const read = Object.entries(approved).filter(([name]) =>
    contents.some(({ rules }) => rules !== null && readsPath(rules, `data.approved.${name}`)),
  );
  return JSON.stringify(read);
}

/** A job to decide whole; or only until its requests have shown enough. */
interface SkippedJob {
  readonly job: Job;
  readonly isComplete: (() => boolean) | null;
  /** Whether only the policies' verdicts matter, not where requests go. */
  readonly onlyVerdicts: boolean;
}

/**
 * Of unchanged jobs, those that have to be decided nevertheless: because a report lists rules that
 * no request of head meets, whether another route reaches a destination already, and whether an
 * assertion selects any request. One after the other.
 *
 * @param skipped unchanged jobs, about whose requests no assertion demands anything of head alone.
 * @param tally of everything that was decided so far; the result of each item has to be added to it
 * before the next one is taken.
 * @param needsUsage whether the report lists unused rules of head.
 */
export function* neededJobs(
  space: Space,
  { table, contents }: CompiledSide,
  skipped: readonly Job[],
  tally: SimulationTally,
  needsUsage: boolean,
): Generator<SkippedJob> {
  const { live, assertions } = tally;
  const usage = tally.usage.head;
  const destinations = destinationsOf(table);
  // A destination is new, or lost, where no request reaches it on the other side.
  let open = differing(tally, allPaths(tally));
  for (const job of skipped) {
    if (open.size === 0) break;
    const isReached = () => reaches(job, open, table, destinations);
    if (!isReached()) continue;
    yield {
      job,
      isComplete: () => {
        open = differing(tally, open);
        return !isReached();
      },
      onlyVerdicts: false,
    };
    open = differing(tally, open);
  }

  for (const job of skipped) {
    const met = new Set(
      [...assertions.values()].flat().flatMap(({ id, classes }) => (classes > 0 ? [id] : [])),
    );
    const isAsserted = space.assertions.some(
      (assertion) => !met.has(assertion.id) && concernsJob(assertion, job),
    );
    if (isAsserted) yield { job, isComplete: null, onlyVerdicts: false };
  }

  if (!needsUsage) return;
  const routeUses = new WeakMap<PairClass, RouteUses>();
  /** Whether requests of a pair may reach a route or an endpoint that none has reached before. */
  const hasUnusedRoutes = (pair: PairClass) => {
    const uses = remembered(routeUses, pair, () => usesOf(pair, table));
    return ROUTE_USES.some((kind) => !uses[kind].isSubsetOf(usage[kind]));
  };
  const isUnused = ({ content }: VerdictReader) => isMissing(content, usage);
  let readers = verdictReaders(contents, table).filter(isUnused);
  const seenKeys = new Set(
    space.jobs.flatMap((job) =>
      live.has(job.index) ? readers.map(({ keyOf }) => keyOf(job)) : [],
    ),
  ).add(null);
  for (const job of skipped) {
    // Members of a pair class are open alike.
    if (!isRequestable(table, job.pair.members[0], job.operation)) continue;
    readers = readers.filter(isUnused);
    const unseen = readers
      .map((reader) => ({ reader, key: reader.keyOf(job) }))
      .filter(({ key }) => !seenKeys.has(key));
    const showsRoutes = hasUnusedRoutes(job.pair);
    if (!showsRoutes && unseen.length === 0) continue;
    yield {
      job,
      isComplete: () =>
        !unseen.some(({ reader }) => isUnused(reader)) && !hasUnusedRoutes(job.pair),
      onlyVerdicts: !showsRoutes,
    };
    if (live.has(job.index)) for (const { key } of unseen) seenKeys.add(key);
  }
}

/** Whether a route of a job leads to a destination that some other job reaches on one side only. */
function reaches(
  { pair, operation }: Job,
  paths: ReadonlySet<string>,
  table: RoutingTable,
  destinations: Destinations,
) {
  return pair.members.some((member) =>
    (routeOf(table, member)?.tiers ?? []).some(({ endpoints }) =>
      endpoints.some((id) => {
        const endpoint = table.endpoints[id];
        if (endpoint === undefined) return false;
        const { provider, region } = endpoint;
        const host = destinations.get(id)?.host;
        return paths.has([member.workspace, operation, provider, region, host].join("\n"));
      }),
    ),
  );
}

const ROUTE_USES = ["routes", "endpoints", "fallbacks"] as const;
type RouteUses = Pick<UsageTally, (typeof ROUTE_USES)[number]>;

/** Routes, endpoints and fallbacks that requests of a pair may reach. */
function usesOf({ members }: PairClass, table: RoutingTable): RouteUses {
  const uses = emptyUsage();
  for (const member of members) {
    const [route, row] = [routeOf(table, member), rowOf(table.workspaces, member.workspace)];
    if (route === null || row === undefined) continue;
    const ids = route.tiers
      .flatMap(({ endpoints }) => endpoints)
      .filter((id) => {
        const endpoint = rowOf(table.endpoints, id);
        // Preferences do not widen approvals.
        return endpoint !== undefined && isApprovedEndpoint(table, row, endpoint);
      });
    if (ids.length > 0) uses.routes.add(route.id);
    for (const id of ids) {
      uses.endpoints.add(id);
      if (ids.length > 1 && route.fallbacks.includes(id)) uses.fallbacks.add(`${route.id} → ${id}`);
    }
  }
  return uses;
}

function isRequestable(table: RoutingTable, member: Member, operation: Operation): boolean {
  const route = routeOf(table, member);
  if (route?.operations.includes(MODEL_OPERATION_OF[operation]) !== true) return false;
  return table.workspaces[member.workspace]?.approve.routes.includes(route.id) === true;
}

/** A content, with a key of the facts of a job that its verdicts may depend on. */
interface VerdictReader {
  readonly content: SideContent;
  /**
   * Jobs with the same key show the same verdicts, where any of their requests is evaluated; `null`
   * where the content does not apply.
   */
  readonly keyOf: (job: Job) => string | null;
}

function verdictReaders(
  contents: readonly SideContent[],
  table: RoutingTable,
): readonly VerdictReader[] {
  const ambiguous = ambiguousNames(table);
  const textOf = candidateTexts(table);
  return contents.flatMap((content, index): readonly VerdictReader[] => {
    const { rules } = content;
    if (rules === null || content.isKept) return [];
    const { operations, obligations, constraints } = content.contract;
    const reads = (path: string) => readsPath(rules, path);
    const readsNeeds = reads("input.request.needs");
    // Approvals or the route can change the evaluation.
    const seesCandidates =
      TABLE_PATHS.some(reads) ||
      obligations.length > 0 ||
      constraints.some(({ effect }) => effect !== "gate");
    const isNamed = nameTest(rules.stringUse);
    const repeated = ambiguous.of(rules);
    const namesEndpoint = (id: string) =>
      rules.stringUse.inspects.length > 0 || isNamed(id) || repeated.has(id);
    const candidatesOf = (member: Member): unknown => {
      const text = textOf(member);
      if (text === null) return null;
      const usedIds = text.ids.map((id) => (namesEndpoint(id) ? id : ""));
      return [usedIds, text.facts, text.isFree && !readsNeeds ? "" : text.narrowing];
    };
    const readsId = reads("input.workspace.id") || reads("data.approved");
    const readsTier = reads("input.workspace.tier");
    const readsLabels = reads("input.workspace.labels");
    const readsRoute = reads("input.request.route");
    const keyOf: VerdictReader["keyOf"] = ({ pair, operation }) => {
      if (!operations.includes(operation)) return null;
      const [member] = pair.members;
      const row = rowOf(table.workspaces, member.workspace);
      return JSON.stringify([
        index,
        operation,
        readsId && member.workspace,
        readsTier && row?.tier,
        readsLabels && row?.labels,
        readsRoute && member.model,
        seesCandidates && candidatesOf(member),
      ]);
    };
    return [{ content, keyOf }];
  });
}

/** The candidates that requests of a member may leave, as policies see them. */
function candidateTexts(table: RoutingTable) {
  const numbers = numbered<null>();
  const numberOf = (value: unknown) => numbers.numberOf(JSON.stringify(value), () => null);
  const textOf = (member: Member) => {
    const row = rowOf(table.workspaces, member.workspace);
    const route = routeOf(table, member);
    if (row === undefined || route === null) return null;
    const { approve } = row;
    const candidates = routeCandidates(table, route);
    const facts = candidates.map(({ endpoint, rank, tier }) => {
      const { model, provider, region, dialect, capabilities, features } = endpoint;
      const terms = table.providers[provider];
      return [
        [rank, tier, model, table.models[model]?.signatureFamily, provider, region, dialect],
        [terms?.retention, terms?.trainsOnData, endpoint.price, endpoint.latencyClass],
        [capabilities, features],
        [approve.providers.includes(provider), approve.regions.includes(region)],
        isWithinCeilings(approve, terms),
      ];
    });
    const { size } = new Set(candidates.map(({ endpoint }) => endpoint.provider));
    const { capabilities, dimensions } = approve;
    return {
      ids: candidates.map(({ endpoint }) => endpoint.id),
      facts: numberOf([facts, route.operations]),
      /** All else by which requests of the member leave some of them. */
      narrowing: numberOf([capabilities, dimensions, route.onGap, route.emulateSchema]),
      /** Whether callers reach every set of candidates by the names of their providers. */
      isFree: size === candidates.length,
    };
  };
  const cache = new Map<string, ReturnType<typeof textOf>>();
  return (member: Member) =>
    remembered(cache, `${member.workspace}\n${member.model}`, () => textOf(member));
}

/** Members of the input that depend on approvals or on the route. */
const TABLE_PATHS = [
  "input.candidates",
  "input.request.needs",
  "input.request.dimensions",
  "input.request.allow_fallbacks",
  "input.request.data_collection",
  "input.request.zdr",
];

type Compared = Pick<SimulationTally, "declared" | "promoted">;

function allPaths({ declared, promoted }: Compared): ReadonlySet<string> {
  return new Set(
    [declared, promoted].flatMap(({ basePaths, headPaths }) => [
      ...basePaths.keys(),
      ...headPaths.keys(),
    ]),
  );
}

/** Paths that only one side has, in some view. */
function differing(
  { declared, promoted }: Compared,
  paths: ReadonlySet<string>,
): ReadonlySet<string> {
  const differs = (key: string) =>
    [declared, promoted].some(
      ({ basePaths, headPaths }) => basePaths.has(key) !== headPaths.has(key),
    );
  return new Set([...paths].filter(differs));
}

/** Whether a report would list a part of a content as unused. */
function isMissing({ contract }: SideContent, usage: UsageTally): boolean {
  return (
    !usage.effective.has(contract.id) ||
    contract.constraints.some(({ name, reasons }) => {
      const id = `${contract.id}/${name}`;
      return !usage.passed.has(id) || reasons.some((one) => !usage.reasons.has(`${id}/${one}`));
    })
  );
}
