import { MODEL_OPERATION_OF, type Operation } from "../../canon/operation.ts";
import { isWithinCeilings, type RoutingTable } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import { nameTest, type CompiledPolicy } from "../../policy/compiled.ts";
import { policyData } from "../../policy/input-schema.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { hostOf } from "../compare/change-kinds.ts";
import type { SimulationTally } from "../compare/simulation-tally.ts";
import type { UsageTally } from "../compare/usage-tally.ts";
import { formerProviders } from "../renamed-table.ts";
import type { Member } from "../sample-request.ts";
import type { CompiledSide, CompiledSides, SideContent } from "../side-contents.ts";
import type { Job } from "../space/job-space.ts";
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

function remembered<Key>(known: Map<Key, boolean>, key: Key, find: () => boolean): boolean {
  const found = known.get(key) ?? find();
  known.set(key, found);
  return found;
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
interface LeftJob {
  readonly job: number;
  readonly isEnough: (() => boolean) | null;
  /** Whether only the policies' verdicts matter, not where requests go. */
  readonly onlyVerdicts?: boolean;
}

/**
 * Of jobs whose requests no change meets, those that have to be decided nevertheless: because a
 * report says what no request of head meets, whether another route reaches a destination already,
 * and whether an assertion means any request.
 */
export class LeftJobs {
  readonly #plan: PlannedSpace;
  readonly #head: CompiledSide;
  readonly #left: readonly number[];
  readonly #ambiguous: AmbiguousNames;

  /**
   * @param left unchanged jobs, about whose requests no assertion demands anything of head alone.
   */
  constructor(plan: PlannedSpace, head: CompiledSide, left: readonly number[]) {
    this.#plan = plan;
    this.#head = head;
    this.#left = left;
    this.#ambiguous = new AmbiguousNames(head.table);
  }

  /**
   * What has to be done, one after the other.
   *
   * @param tally of everything that was decided so far; what each item comes to has to be added to
   * it before the next one is taken.
   * @param needsUsage whether it matters what no request of head meets.
   */
  *needed(tally: SimulationTally, needsUsage: boolean): Generator<LeftJob> {
    // A destination is new, or lost, where no request reaches it on the other side.
    let open = differing(tally, allPaths(tally));
    for (const job of this.#left) {
      if (open.size === 0) break;
      if (!this.#reaches(job, open)) continue;
      yield { job, isEnough: () => !this.#reaches(job, (open = differing(tally, open))) };
      open = differing(tally, open);
    }
    for (const job of this.#left) if (this.#isAsserted(job, tally)) yield { job, isEnough: null };
    if (!needsUsage) return;
    const seen = this.#seenBy([...tally.live]);
    for (const job of this.#left) {
      const isSeen = (keys: readonly string[]): boolean => keys.every((key) => seen.has(key));
      const shown = this.#shows(job, tally.headUsage);
      if (isSeen(shown)) continue;
      yield {
        job,
        isEnough: () => isSeen(this.#shows(job, tally.headUsage)),
        onlyVerdicts: !shown.includes(routeKey(job)),
      };
      if (tally.live.has(job)) for (const key of shown) seen.add(key);
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
    const { table } = this.#head;
    return pair.members.some((member) =>
      (routeOf(table, member)?.tiers ?? []).some(({ endpoints }) =>
        endpoints.some((id) => {
          const endpoint = table.endpoints[id];
          if (endpoint === undefined) return false;
          const host = hostOf(table.providers[endpoint.provider]?.baseUrl ?? "");
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

  #seenBy(jobs: readonly number[]): Set<string> {
    const contents = this.#head.contents;
    return new Set(
      jobs.flatMap((job) =>
        contents.flatMap((content, index) => this.#sightOf(job, content, index)),
      ),
    );
  }

  /**
   * What a job may show that no request has shown: routes and endpoints, and verdicts of policies
   * that see something new.
   */
  #shows(index: number, usage: UsageTally): readonly string[] {
    const { pair, operation } = this.#jobAt(index);
    if (!pair.members.some((member) => this.#isOpen(member, operation))) return [];
    const routes = this.#missesRoutes(index, usage) ? [routeKey(index)] : [];
    const verdicts = this.#head.contents.flatMap((content, position) =>
      isMissing(content, usage) ? this.#sightOf(index, content, position) : [],
    );
    return [...routes, ...verdicts];
  }

  /** Whether requests of a job may be taken to an endpoint where none was taken before. */
  #missesRoutes(index: number, usage: UsageTally): boolean {
    const { pair, operation } = this.#jobAt(index);
    const { table } = this.#head;
    if (!pair.members.some((member) => this.#isOpen(member, operation))) return false;
    return pair.members.some((member) => {
      const [route, row] = [routeOf(table, member), table.workspaces[member.workspace]];
      if (route === null || row === undefined) return false;
      // Nothing that a request says changes what its workspace approves.
      const mayChoose = (id: string): boolean => {
        const endpoint = table.endpoints[id];
        return endpoint !== undefined && isApprovedEndpoint(table, row, endpoint);
      };
      const ids = route.tiers.flatMap(({ endpoints }) => endpoints).filter(mayChoose);
      return (
        (ids.length > 0 && !usage.routes.has(route.id)) ||
        ids.some((id) => !usage.endpoints.has(id)) ||
        (ids.length > 1 &&
          route.fallbacks.some(
            (id) => mayChoose(id) && !usage.fallbacks.has(`${route.id} → ${id}`),
          ))
      );
    });
  }

  #isOpen(member: Member, operation: Operation): boolean {
    const { table } = this.#head;
    const route = routeOf(table, member);
    if (route?.operations.includes(MODEL_OPERATION_OF[operation]) !== true) return false;
    return table.workspaces[member.workspace]?.approve.routes.includes(route.id) === true;
  }

  /**
   * Everything of a job that the verdicts of a content may depend on: jobs with the same text show
   * the same, where any of their requests is evaluated.
   */
  #sightOf(index: number, { contract, rules }: SideContent, position: number): readonly string[] {
    const { pair, operation } = this.#jobAt(index);
    const { table } = this.#head;
    if (rules === null || !contract.operations.includes(operation)) return [];
    const reads = (path: string): boolean => readsPath(rules, path);
    const [member] = pair.members;
    const row = table.workspaces[member.workspace];
    const isTouched =
      TABLE_PATHS.some(reads) ||
      contract.obligations.length > 0 ||
      contract.constraints.some(({ effect }) => effect !== "gate");
    const seen = [
      position,
      operation,
      reads("input.workspace.id") || reads("data.approved") ? member.workspace : "",
      reads("input.workspace.tier") ? row?.tier : "",
      reads("input.workspace.labels") ? row?.labels : "",
      reads("input.request.route") ? member.model : "",
      isTouched ? this.#candidatesOf(member, rules) : [],
    ];
    return [JSON.stringify(seen)];
  }

  /** The candidates that requests may leave, as a policy sees them. */
  #candidatesOf(member: Member, rules: CompiledPolicy): unknown {
    const { table } = this.#head;
    const row = table.workspaces[member.workspace];
    const route = routeOf(table, member);
    if (row === undefined || route === null) return null;
    const { approve } = row;
    const names = nameTest(rules.stringUse);
    const isNamed = rules.stringUse.inspects.length > 0;
    const candidates = routeCandidates(table, route).map(({ endpoint, rank, tier }) => {
      const { id, model, provider, region, dialect } = endpoint;
      const { retention, trainsOnData } = table.providers[provider] ?? {
        retention: "",
        trainsOnData: true,
      };
      const isId = isNamed || names(id) || this.#ambiguous.of(rules).has(id);
      const facts = [
        model,
        provider,
        region,
        dialect,
        retention,
        trainsOnData,
        endpoint.capabilities,
        endpoint.price,
        endpoint.latencyClass,
      ];
      const approved = [
        approve.providers.includes(provider),
        approve.regions.includes(region),
        isWithinCeilings(approve, table.providers[provider]),
      ];
      return [
        isId ? id : "",
        rank,
        tier,
        table.models[model]?.signatureFamily,
        endpoint.features,
        facts,
        approved,
      ];
    });
    // Callers reach every set of candidates by the names of their providers, unless several have
    // the same.
    const providers = new Set(
      candidates.map((_, index) => routeCandidates(table, route)[index]?.endpoint.provider),
    );
    const isFree = providers.size === candidates.length && !readsPath(rules, "input.request.needs");
    const narrowing = [approve.capabilities, approve.dimensions, route.onGap, route.emulateSchema];
    return [candidates, isFree ? [] : narrowing, route.operations];
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

function routeKey(job: number): string {
  return `route ${job}`;
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
