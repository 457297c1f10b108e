import { Numbered, remembered } from "../remembered.ts";
import { MODEL_OPERATION_OF, type Operation } from "../../canon/operation.ts";
import { isWithinCeilings, type RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { nameTest, type CompiledPolicy } from "../../policy/compiled.ts";
import { policyData } from "../../policy/input-schema.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { destinationsOf, type Destinations } from "../compare/change-kinds.ts";
import type { SimulationTally } from "../compare/simulation-tally.ts";
import type { UsageTally } from "../compare/usage-tally.ts";
import { formerProviders } from "../renamed-table.ts";
import type { Member } from "../sample-request.ts";
import type { CompiledSide, CompiledSides, SideContent } from "../side-contents.ts";
import type { Job } from "../space/job-space.ts";
import type { PairClass } from "../space/pairs.ts";
import type { PlannedSpace } from "../space/make-space.ts";
import { AmbiguousNames } from "../space/readers.ts";
import { isApprovedEndpoint, routeName, routeOf, rowOf } from "../table-rows.ts";

/**
 * Finds jobs of which both sides are made of the same rows and policies: every request of them is
 * decided alike, without deciding any. Rows are compared whole, also by members that no decision
 * reads.
 */
export class UnchangedJobs {
  readonly #sides: CompiledSides;
  readonly #isSameForAll: boolean;
  readonly #operations = new Map<Operation, boolean>();
  readonly #workspaces = new Map<string, boolean>();
  readonly #routes = new Map<string, boolean>();
  readonly #promoted: readonly string[] | null;

  /**
   * @param promoted policies of head that are taken for promoted, and none of base's; `null`: every
   * candidate.
   */
  constructor(sides: CompiledSides, promoted: readonly string[] | null) {
    this.#sides = sides;
    this.#promoted = promoted;
    const [base, head] = [sides.base.table, sides.head.table].map(factsOfAll);
    this.#isSameForAll = base === head;
  }

  has({ pair, operation }: Job): boolean {
    return (
      this.#isSameForAll &&
      remembered(this.#operations, operation, () => this.#hasSamePolicies(operation)) &&
      pair.members.every((member) => this.#isSame(member))
    );
  }

  /** Requests that name a provider as it was called in base are refused in head. */
  #mayNameFormerProvider(workspace: string, route: string): boolean {
    const { table } = this.#sides.base;
    const names = formerProviders(table).map(([, name]) => name);
    if (names.length === 0) return false;
    const endpoints = rowOf(table.routes, route)?.tiers.flatMap((tier) => tier.endpoints) ?? [];
    const known = [
      ...(rowOf(table.workspaces, workspace)?.approve.providers ?? []),
      ...endpoints.flatMap((id) => rowOf(table.endpoints, id)?.provider ?? []),
    ];
    return names.some((name) => known.includes(name));
  }

  #hasSamePolicies(operation: Operation): boolean {
    const { base, head } = this.#sides;
    const [before, after] = [base, head].map(({ contents }) =>
      contents.filter((content) => applies(content, operation)),
    );
    if (before === undefined || after === undefined || slotsOf(before) !== slotsOf(after))
      return false;
    const isPromoted = ({ slot, contract }: SideContent): boolean =>
      slot === "candidate" && this.#promoted?.includes(contract.id) === true;
    return !after.some(isPromoted) && dataRead(base, before) === dataRead(head, after);
  }

  #isSame(member: Member): boolean {
    const { base, head } = this.#sides;
    const { workspace } = member;
    const [before, route] = [routeName(base.table, member), routeName(head.table, member)];
    return (
      !this.#mayNameFormerProvider(workspace, before) &&
      before === route &&
      remembered(this.#workspaces, workspace, () =>
        isSameText([base, head].map(({ table }) => workspaceFacts(table, workspace))),
      ) &&
      remembered(this.#routes, route, () =>
        isSameText([base, head].map(({ table }) => routeFacts(table, route))),
      )
    );
  }
}

function isSameText(values: readonly unknown[]): boolean {
  return new Set(values.map((value) => JSON.stringify(value))).size === 1;
}

/** What of a table any decision may look at. */
function factsOfAll({ vocabulary, regionGroups, providers, models }: RoutingTable): string {
  const regions = new Set(Object.values(providers).map(({ region }) => region));
  const lengths = new Set(Object.values(models).flatMap(({ dimensions }) => dimensions));
  return JSON.stringify([
    vocabulary,
    regionGroups,
    [...regions].toSorted(),
    [...lengths].toSorted((a, b) => a - b),
  ]);
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
    endpoints.map((endpoint) =>
      endpoint === undefined
        ? null
        : [
            endpoint,
            rowOf(table.models, endpoint.model),
            rowOf(table.providers, endpoint.provider),
          ],
    ),
  ];
}

function applies({ contract }: SideContent, operation: Operation): boolean {
  return contract.operations.includes(operation);
}

function slotsOf(contents: readonly SideContent[]): string {
  return JSON.stringify(contents.map(({ contract, digest, slot }) => [contract.id, digest, slot]));
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

/** A job to decide; or to look at for what its requests meet, until that is enough. */
interface SkippedJob {
  readonly job: number;
  readonly isEnough: (() => boolean) | null;
  /** Whether only the policies' verdicts matter, not where requests go. */
  readonly onlyVerdicts?: boolean;
}

/**
 * Of unchanged jobs, those that have to be decided nevertheless: because a report lists what no
 * request of head meets, whether another route reaches a destination already, and whether an
 * assertion means any request.
 */
export class SkippedJobs {
  readonly #plan: PlannedSpace;
  readonly #table: RoutingTable;
  readonly #destinations: Destinations;
  readonly #skipped: readonly number[];
  readonly #readers: readonly VerdictReader[];
  readonly #routeUses = new WeakMap<PairClass, readonly RouteUse[]>();

  /**
   * @param skipped unchanged jobs, about whose requests no assertion demands anything of head
   * alone.
   */
  constructor(plan: PlannedSpace, { table, contents }: CompiledSide, skipped: readonly number[]) {
    this.#plan = plan;
    this.#table = table;
    this.#destinations = destinationsOf(table);
    this.#skipped = skipped;
    const candidates = new CandidateTexts(table);
    this.#readers = contents.flatMap((content, index) =>
      content.rules === null ? [] : [new VerdictReader(content, content.rules, index, candidates)],
    );
  }

  /**
   * Jobs to decide, one after the other.
   *
   * @param tally of everything that was decided so far; the result of each item has to be added to
   * it before the next one is taken.
   * @param needsUsage whether it matters what no request of head meets.
   */
  *needed(tally: SimulationTally, needsUsage: boolean): Generator<SkippedJob> {
    // A destination is new, or lost, where no request reaches it on the other side.
    let open = differing(tally, allPaths(tally));
    for (const job of this.#skipped) {
      if (open.size === 0) break;
      if (!this.#reaches(job, open)) continue;
      yield { job, isEnough: () => !this.#reaches(job, (open = differing(tally, open))) };
      open = differing(tally, open);
    }
    for (const job of this.#skipped)
      if (this.#isAsserted(job, tally)) yield { job, isEnough: null };
    if (needsUsage) yield* this.#unmet(tally);
  }

  /** Jobs that may show routes, endpoints and verdicts that no request has shown. */
  *#unmet({ headUsage: usage, live }: SimulationTally): Generator<SkippedJob> {
    const isUnmet = ({ content }: VerdictReader): boolean => isMissing(content, usage);
    let readers = this.#readers.filter(isUnmet);
    const seen = new Set(
      [...live].flatMap((job) => readers.map((one) => one.keyOf(this.#jobAt(job)))),
    ).add(null);
    for (const index of this.#skipped) {
      const job = this.#jobAt(index);
      // Members of a pair class are open alike.
      if (!this.#isOpen(job.pair.members[0], job.operation)) continue;
      readers = readers.filter(isUnmet);
      const unseen = readers
        .map((reader) => ({ reader, key: reader.keyOf(job) }))
        .filter(({ key }) => !seen.has(key));
      const showsRoutes = this.#hasUnusedRoutes(job.pair, usage);
      if (!showsRoutes && unseen.length === 0) continue;
      yield {
        job: index,
        isEnough: () =>
          !unseen.some(({ reader }) => isUnmet(reader)) && !this.#hasUnusedRoutes(job.pair, usage),
        onlyVerdicts: !showsRoutes,
      };
      if (live.has(index)) for (const { key } of unseen) seen.add(key);
    }
  }

  #jobAt(index: number): Job {
    const job = this.#plan.jobs[index];
    if (job === undefined) throw new RangeError(`simulation: there is no job ${index}`);
    return job;
  }

  /**
   * Whether a route of the job leads to a destination that some other job reaches on one side only.
   */
  #reaches(index: number, paths: ReadonlySet<string>): boolean {
    const { pair, operation } = this.#jobAt(index);
    return pair.members.some((member) =>
      (routeOf(this.#table, member)?.tiers ?? []).some(({ endpoints }) =>
        endpoints.some((id) => {
          const endpoint = this.#table.endpoints[id];
          if (endpoint === undefined) return false;
          const host = this.#destinations.get(id)?.host;
          return paths.has(
            [member.workspace, operation, endpoint.provider, endpoint.region, host].join("\n"),
          );
        }),
      ),
    );
  }

  /** Whether an assertion that has met no request yet may mean one of the job. */
  #isAsserted(index: number, { assertions }: SimulationTally): boolean {
    const { pair, operation } = this.#jobAt(index);
    const met = new Set(
      [...assertions.values()].flat().flatMap(({ id, classes }) => (classes > 0 ? [id] : [])),
    );
    return this.#plan.space.assertions.some(
      ({ id, concerns }) =>
        !met.has(id) && pair.members.some((member) => concerns(member, operation)),
    );
  }

  /** Whether requests of a pair may reach a route or an endpoint that none has reached before. */
  #hasUnusedRoutes(pair: PairClass, usage: UsageTally): boolean {
    const uses = this.#routeUses.get(pair) ?? this.#usesOf(pair);
    const unused = uses.filter(({ kind, id }) => !usage[kind].has(id));
    this.#routeUses.set(pair, unused);
    return unused.length > 0;
  }

  #usesOf({ members }: PairClass): readonly RouteUse[] {
    const table = this.#table;
    const uses = members.flatMap((member): readonly RouteUse[] => {
      const [route, row] = [routeOf(table, member), rowOf(table.workspaces, member.workspace)];
      if (route === null || row === undefined) return [];
      const ids = route.tiers
        .flatMap(({ endpoints }) => endpoints)
        .filter((id) => {
          const endpoint = rowOf(table.endpoints, id);
          // No preference changes what a workspace approves.
          return endpoint !== undefined && isApprovedEndpoint(table, row, endpoint);
        });
      if (ids.length === 0) return [];
      const behind = ids.length > 1 ? route.fallbacks.filter((id) => ids.includes(id)) : [];
      return [
        { kind: "routes", id: route.id },
        ...ids.map((id) => ({ kind: "endpoints", id }) as const),
        ...behind.map((id) => ({ kind: "fallbacks", id: `${route.id} → ${id}` }) as const),
      ];
    });
    return [...new Map(uses.map((use) => [`${use.kind} ${use.id}`, use])).values()];
  }

  #isOpen(member: Member, operation: Operation): boolean {
    const route = routeOf(this.#table, member);
    if (route?.operations.includes(MODEL_OPERATION_OF[operation]) !== true) return false;
    return this.#table.workspaces[member.workspace]?.approve.routes.includes(route.id) === true;
  }
}

/** A route, an endpoint or a fallback, as a usage tally has it. */
interface RouteUse {
  readonly kind: "routes" | "endpoints" | "fallbacks";
  readonly id: string;
}

/** What the verdicts of one content may depend on, as far as a job fixes it. */
class VerdictReader {
  readonly content: SideContent;
  readonly #index: number;
  readonly #candidates: CandidateTexts;
  readonly #reads: Readonly<Record<"id" | "tier" | "labels" | "route" | "needs", boolean>>;
  /** Whether approvals or the route can change what the content evaluates. */
  readonly #seesCandidates: boolean;
  readonly #namesEndpoint: (id: string) => boolean;

  constructor(
    content: SideContent,
    rules: CompiledPolicy,
    index: number,
    candidates: CandidateTexts,
  ) {
    const reads = (path: string): boolean => readsPath(rules, path);
    this.content = content;
    this.#index = index;
    this.#candidates = candidates;
    this.#reads = {
      id: reads("input.workspace.id") || reads("data.approved"),
      tier: reads("input.workspace.tier"),
      labels: reads("input.workspace.labels"),
      route: reads("input.request.route"),
      needs: reads("input.request.needs"),
    };
    this.#seesCandidates =
      TABLE_PATHS.some(reads) ||
      content.contract.obligations.length > 0 ||
      content.contract.constraints.some(({ effect }) => effect !== "gate");
    const names = nameTest(rules.stringUse);
    const ambiguous = candidates.ambiguous.of(rules);
    this.#namesEndpoint = (id) =>
      rules.stringUse.inspects.length > 0 || names(id) || ambiguous.has(id);
  }

  /**
   * Jobs with the same key show the same verdicts, where any of their requests is evaluated; `null`
   * where the content does not apply.
   */
  keyOf({ pair, operation }: Job): string | null {
    if (!this.content.contract.operations.includes(operation)) return null;
    const { id, tier, labels, route, needs } = this.#reads;
    const [member] = pair.members;
    const row = rowOf(this.#candidates.table.workspaces, member.workspace);
    return JSON.stringify([
      this.#index,
      operation,
      id ? member.workspace : "",
      tier ? row?.tier : "",
      labels ? row?.labels : "",
      route ? member.model : "",
      this.#seesCandidates ? this.#candidates.of(member, needs, this.#namesEndpoint) : "",
    ]);
  }
}

interface CandidateText {
  readonly ids: readonly string[];
  /** Number of the facts of the candidates. */
  readonly facts: number;
  /** Number of all else by which requests of the member leave some of them. */
  readonly narrowing: number;
  /** Whether callers reach every set of candidates by the names of their providers. */
  readonly isFree: boolean;
}

/** The candidates that requests of a member may leave, as policies see them. */
class CandidateTexts {
  readonly table: RoutingTable;
  readonly ambiguous: AmbiguousNames;
  readonly #known = new Map<string, CandidateText | null>();
  readonly #facts = new Numbered<null>();

  constructor(table: RoutingTable) {
    this.table = table;
    this.ambiguous = new AmbiguousNames(table);
  }

  /** @param names whether a policy distinguishes an endpoint by its name. */
  of(member: Member, readsNeeds: boolean, names: (id: string) => boolean): unknown {
    const key = `${member.workspace}\n${member.model}`;
    let known = this.#known.get(key);
    if (known === undefined) this.#known.set(key, (known = this.#textOf(member)));
    if (known === null) return null;
    const { ids, facts, narrowing, isFree } = known;
    const named = ids.map((id) => (names(id) ? id : ""));
    return [named, facts, isFree && !readsNeeds ? "" : narrowing];
  }

  #textOf(member: Member): CandidateText | null {
    const { table } = this;
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
      facts: this.#numberOf([facts, route.operations]),
      narrowing: this.#numberOf([capabilities, dimensions, route.onGap, route.emulateSchema]),
      isFree: size === candidates.length,
    };
  }

  #numberOf(value: unknown): number {
    return this.#facts.numberOf(JSON.stringify(value), () => null);
  }
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

/** Those of some paths that one side has and the other has not, in some view. */
function differing(
  { declared, promoted }: Compared,
  paths: ReadonlySet<string>,
): ReadonlySet<string> {
  const differs = (key: string): boolean =>
    [declared, promoted].some(
      ({ basePaths, headPaths }) => basePaths.has(key) !== headPaths.has(key),
    );
  return new Set([...paths].filter(differs));
}

/** Whether a report would say of a content that something of it is never met. */
function isMissing({ contract, rules, isKept }: SideContent, usage: UsageTally): boolean {
  if (rules === null || isKept) return false;
  return (
    !usage.effective.has(contract.id) ||
    contract.constraints.some(({ name, reasons }) => {
      const id = `${contract.id}/${name}`;
      return (
        !usage.passed.has(id) ||
        !usage.failed.has(id) ||
        reasons.some((one) => !usage.reasons.has(`${id}/${one}`))
      );
    })
  );
}
