import { MODEL_OPERATION_OF, type Operation } from "../../canon/operation.ts";
import { isWithinCeilings } from "../../canon/table.ts";
import { routeCandidates } from "../../decide/candidates.ts";
import type { CompiledPolicy } from "../../policy/compiled.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { isApprovedEndpoint, routeOf } from "../table-rows.ts";
import { hostOf } from "../compare/change-kinds.ts";
import type { SimulationTally } from "../compare/simulation-tally.ts";
import type { UsageTally } from "../compare/usage-tally.ts";
import type { Member } from "../sample-request.ts";
import type { CompiledSide, SideContent } from "../side-contents.ts";
import type { PlannedSpace } from "../space/make-space.ts";
import type { Job } from "../space/job-space.ts";
import { AmbiguousNames } from "../space/readers.ts";

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
    const isNamed = rules.stringUse.inspects.length > 0;
    const candidates = routeCandidates(table, route).map(({ endpoint, rank, tier }) => {
      const { id, model, provider, region, dialect } = endpoint;
      const { retention, trainsOnData } = table.providers[provider] ?? {
        retention: "",
        trainsOnData: true,
      };
      const isId =
        isNamed || rules.stringUse.strings.includes(id) || this.#ambiguous.of(rules).has(id);
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
