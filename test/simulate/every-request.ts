import { MODEL_OPERATION_OF } from "../../src/canon/operation.ts";
import type { PolicyIdentity, PolicySet } from "../../src/canon/policy.ts";
import type { ProviderPreferences } from "../../src/canon/request.ts";
import type { EndpointRow, RoutingTable } from "../../src/canon/table.ts";
import type { Assertion } from "../../src/simulate/assertions/schema.ts";
import { requestedRoute } from "../../src/decide/decide.ts";
import { initialMode, policyData } from "../../src/policy/input-schema.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import { runAssertions } from "../../src/simulate/assertions/run.ts";
import { emptyUsage, type UsageTally } from "../../src/simulate/compare/simulation-tally.ts";
import { budgetUntil } from "../../src/simulate/diagram/budget.ts";
import { decidedClasses } from "../../src/simulate/diagram/decided-classes.ts";
import { assertionReaders } from "../../src/simulate/jobs/job-runner.ts";
import {
  changeKinds,
  destinationsOf,
  type Destinations,
} from "../../src/simulate/compare/change-kinds.ts";
import type {
  ClassComparison,
  Member,
  OfSides,
  Outcome,
  SampleRequest,
} from "../../src/simulate/sample-request.ts";
import { PLAIN_SCALARS, perScalar, type Scalars } from "../../src/simulate/request-scalars.ts";
import { compiledSides, type CompiledTree } from "../../src/simulate/side-contents.ts";
import {
  sideDecider,
  type SideDecider,
  decideSample,
  identityOf,
  type SideOutcomes,
} from "../../src/simulate/decide-sample.ts";
import type { Decision } from "../../src/canon/decision.ts";
import { jobSpace } from "../../src/simulate/space/job-space.ts";
import { comparedPreferences } from "../../src/simulate/space/preference-effects.ts";
import { type OpenedSide, preferredSide } from "../../src/simulate/space/side-walk.ts";
import { planSpace } from "../../src/simulate/space/job-space.ts";
import type { OperationUniverse, Universe } from "../../src/simulate/space/universe.ts";
import { sideViews } from "../../src/simulate/views.ts";

/** Every subset, in no order that matters. */
export function subsets<Value>(values: readonly Value[]): readonly (readonly Value[])[] {
  return values.reduce<readonly (readonly Value[])[]>(
    (all, value) => [...all, ...all.map((set) => [...set, value])],
    [[]],
  );
}

/** The whole product, written out without any of the engine's shortcuts. */
export function* everyRequest(
  universe: Universe,
  sides: readonly CompiledTree[],
): Generator<SampleRequest> {
  for (const workspace of universe.workspaces)
    for (const model of universe.models)
      for (const [operation, own] of universe.operations) {
        if (model === "" && operation !== "moderations") continue;
        const requested = { workspace, model, operation };
        for (const part of everyShape(own))
          for (const preferences of everyPreference(universe, sides, requested))
            for (const environment of universe.environments)
              for (const workload of universe.workloads)
                for (const owner of universe.owners)
                  for (const labels of subsets(universe.labels))
                    for (const time of universe.times) {
                      const key = {
                        environment,
                        workload,
                        labels,
                        ...(owner !== "other" && { owner }),
                      };
                      for (const budget of universe.budgets) {
                        const left = budget === "unlimited" ? {} : { budget };
                        yield { ...requested, ...part, preferences, key, time, ...left };
                      }
                    }
      }
}

type Requested = Pick<SampleRequest, "workspace" | "model" | "operation">;
type Shape = Omit<
  SampleRequest,
  "workspace" | "model" | "operation" | "preferences" | "key" | "time"
>;

function* everyShape(own: OperationUniverse): Generator<Shape> {
  for (const needs of subsets(own.needs))
    for (const features of subsets(own.features))
      for (const signatureFamilies of features.includes("signed_reasoning")
        ? own.signatureFamilies
        : [[]])
        for (const scalars of everyScalar(own))
          for (const dimensions of own.dimensions)
            yield {
              needs: needs.toSorted(),
              features: [...features, ...own.always].toSorted(),
              signatureFamilies,
              ...scalars,
              dimensions,
            };
}

/** The product of the members that have one value each. */
function everyScalar(own: OperationUniverse): readonly Scalars[] {
  return perScalar((member) => member).reduce<readonly Scalars[]>(
    (all, member) =>
      all.flatMap((scalars) => own[member].map((value) => ({ ...scalars, [member]: value }))),
    [PLAIN_SCALARS],
  );
}

function everyPreference(
  { preferences }: Universe,
  sides: readonly CompiledTree[],
  requested: Requested,
): readonly ProviderPreferences[] {
  const opened = sides.flatMap(({ table }) => openedOn(table, requested));
  let all: readonly ProviderPreferences[] = [{}];
  const vary = (values: readonly ProviderPreferences[]): void => {
    all = all.flatMap((one) => values.map((value) => ({ ...one, ...value })));
  };
  const isVaried = (member: (typeof preferences.narrowing)[number]): boolean =>
    opened.length > 0 && preferences.narrowing.includes(member);
  const providers = sorted(
    opened.flatMap(({ approved, endpoints }) => [
      ...approved,
      ...endpoints.map(({ provider }) => provider),
    ]),
  );
  const lists = subsets(providers).filter(({ length }) => length > 0);
  if (isVaried("only")) vary([{}, ...lists.map((only) => ({ only }))]);
  if (isVaried("ignore")) vary([{}, ...lists.map((ignore) => ({ ignore }))]);
  if (isVaried("region")) {
    const regions = sorted(
      sides.flatMap(({ table: { regionGroups, providers: rows } }) => [
        ...Object.entries(regionGroups).flat(2),
        ...Object.values(rows).map((row) => row.region),
      ]),
    );
    const named = subsets(regions).filter(({ length }) => length > 0);
    vary([{}, ...named.map((region) => ({ region }))]);
  }
  if (isVaried("max_price")) {
    const prices = opened.flatMap(({ endpoints }) => endpoints.flatMap(({ price }) => price ?? []));
    const steps = (part: "input" | "output" | "request"): readonly object[] => [
      {},
      ...[...new Set([0, ...prices.map((price) => price[part])])].map((most) => ({ [part]: most })),
    ];
    const maximums = steps("input").flatMap((input) =>
      steps("output").flatMap((output) =>
        steps("request").map((request) => ({ ...input, ...output, ...request })),
      ),
    );
    vary([{}, ...maximums.map((most) => ({ max_price: most }))]);
  }
  vary(preferences.allowFallbacks.map((allow_fallbacks) => ({ allow_fallbacks })));
  vary(preferences.dataCollection.map((data_collection) => ({ data_collection })));
  vary(preferences.zdr.map((zdr) => ({ zdr })));
  return all;
}

interface Opened {
  readonly approved: readonly string[];
  readonly endpoints: readonly EndpointRow[];
}

/** The route that a side gives a request; none where the side refuses every request. */
function openedOn(
  table: RoutingTable,
  { workspace, model, operation }: Requested,
): readonly Opened[] {
  const row = table.workspaces[workspace];
  const name = model === "" ? (row?.defaultModerationRoute ?? "") : model;
  const route = table.routes[name];
  if (
    row?.approve.routes.includes(name) !== true ||
    route?.operations.includes(MODEL_OPERATION_OF[operation]) !== true
  )
    return [];
  const endpoints = route.tiers.flatMap(({ endpoints: ids }) =>
    ids.flatMap((id) => table.endpoints[id] ?? []),
  );
  return [{ approved: row.approve.providers, endpoints }];
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].toSorted();
}

/**
 * What deciding every request says, and what deciding every class says; with the same lines the
 * classes stand for the requests.
 */
export interface BothWays {
  readonly expected: readonly string[];
  readonly found: readonly string[];
  readonly requests: number;
  readonly classes: number;
  /** Lines of requests that change. */
  readonly changed: number;
  /** Requests that violate some assertion. */
  readonly violating: number;
  /** Classes of several workspaces or routes. */
  readonly shared: number;
}

/** How the sides of a comparison hang together. */
export interface Relation {
  /** Whether neither store has seen anything before. */
  readonly fresh: boolean;
  /**
   * Policies of head that are promoted, and none of base's; `null`: every candidate of both sides.
   */
  readonly promoted: readonly string[] | null;
}

export const FOLLOWING: Relation = { fresh: false, promoted: null };

/** From where a policy acts, and `null` where it does not. */
type ActsFrom = (id: string) => "base" | "head" | null;

/**
 * Decides with the policies as a server loads them, without anything that the engine remembers, and
 * with nothing but what acts: what is watched decides nothing.
 */
async function plainDeciders(
  base: CompiledTree,
  head: CompiledTree,
  { fresh, promoted }: Relation,
): Promise<{ readonly base: SideDecider; readonly head: SideDecider }> {
  const idsOf = ({ policies }: CompiledTree) =>
    new Set(policies.policies.map(({ contract }) => contract.id));
  const [ofBase, ofHead] = [idsOf(base), idsOf(head)];
  const before: ActsFrom = (id) =>
    ofBase.has(id) && initialMode(base.table, id) === "enforce" ? "base" : null;
  const started: ActsFrom = (id) =>
    ofHead.has(id) && initialMode(head.table, id) === "enforce" ? "head" : null;
  // What is not promoted has the same effect than before.
  const after: ActsFrom = fresh ? started : (id) => (ofBase.has(id) ? before(id) : started(id));
  const isPromoted = (id: string): boolean => promoted === null || promoted.includes(id);
  const afterPromotion: ActsFrom = (id) =>
    isPromoted(id) ? (ofHead.has(id) ? "head" : null) : after(id);
  const everything: ActsFrom = (id) => (ofBase.has(id) ? "base" : null);
  const viewsOf = async (table: RoutingTable, acts: ActsFrom, promotedActs: ActsFrom) => {
    const declared = await actingSet({ base, head }, table, acts);
    const isSame = [...ofBase.union(ofHead)].every((id) => acts(id) === promotedActs(id));
    return {
      declared,
      promoted: isSame ? declared : await actingSet({ base, head }, table, promotedActs),
    };
  };
  return {
    base: sideDecider(
      base.table,
      await viewsOf(base.table, before, promoted === null ? everything : before),
    ),
    head: sideDecider(head.table, await viewsOf(head.table, after, afterPromotion)),
  };
}

/** Policies of two trees that act together, by id. */
async function actingSet(
  of: { readonly base: CompiledTree; readonly head: CompiledTree },
  table: RoutingTable,
  acts: ActsFrom,
): Promise<PolicySet> {
  // A tree of which nothing acts costs no module.
  const trees = (["base", "head"] as const).filter((from) =>
    of[from].policies.policies.some(({ contract }) => acts(contract.id) === from),
  );
  const parts = await Promise.all(
    trees.map((from) =>
      createPolicySet(of[from].policies, [], policyData(table), (id) =>
        acts(id) === from ? "enforce" : "shadow",
      ),
    ),
  );
  const acting = <Said extends { readonly policy: PolicyIdentity }>(
    said: readonly Said[],
  ): readonly Said[] =>
    said
      .filter(({ policy }) => policy.slot === "enforced")
      .toSorted((one, other) => byText(one.policy.id, other.policy.id));
  return {
    id: "",
    policies: [],
    readsTime: parts.some(({ readsTime }) => readsTime),
    readsBudget: parts.some(({ readsBudget }) => readsBudget),
    zones: [...new Set(parts.flatMap(({ zones }) => zones))],
    evaluate: (input) => {
      const said = parts.map((part) => part.evaluate(input));
      return {
        verdicts: acting(said.flatMap(({ verdicts }) => verdicts)),
        obligations: acting(said.flatMap(({ obligations }) => obligations)),
      };
    },
  };
}

function byText(left: string, right: string): number {
  return left === right ? 0 : left < right ? -1 : 1;
}

export async function decideBothWays(
  base: CompiledTree,
  head: CompiledTree,
  narrow: (universe: Universe) => Universe = (universe) => universe,
  assertions: readonly Assertion[] = [],
  relation: Relation = FOLLOWING,
): Promise<BothWays> {
  const sides = compiledSides(base, head, relation.fresh);
  const tables = { base: base.table, head: head.table };
  const space = planSpace(sides.base, sides.head, assertionReaders(assertions, sides), narrow);
  const { promoted } = relation;
  const before = await sideViews(sides.base, () => promoted === null);
  const isPromoted = (id: string): boolean => promoted === null || promoted.includes(id);
  const after = await sideViews(sides.head, isPromoted);
  const engine = decidedClasses(
    space,
    {
      base: { decider: sideDecider(base.table, before), views: before },
      head: { decider: sideDecider(head.table, after), views: after },
    },
    budgetUntil(Infinity),
  );
  const plain = await plainDeciders(base, head, relation);
  const destinations = { base: destinationsOf(base.table), head: destinationsOf(head.table) };
  const reachedBy = (sample: SampleRequest, left: SideOutcomes): SideOutcomes | null => {
    const isMisnamed = left.declared.denial?.reason === "unknown_preference";
    const preferences = comparedPreferences(
      openedSide(base.table, sample),
      sample.preferences,
      isMisnamed,
      takenBy(head.table, sample),
    );
    return preferences === sample.preferences
      ? null
      : plain.base.decideSample({ ...sample, preferences });
  };
  const compare = (
    sample: SampleRequest,
    left: SideOutcomes,
    right: SideOutcomes,
    reached: SideOutcomes | null,
  ): ClassComparison => {
    const pair = (at: "declared" | "promoted") => ({
      base: left[at],
      head: right[at],
      kinds: changeKinds(left[at], right[at], destinations),
    });
    const members: readonly [Member] = [{ workspace: sample.workspace, model: sample.model }];
    const known = reached ?? left;
    const reaching = (at: "declared" | "promoted") => ({
      base: known[at],
      head: right[at],
      kinds: changeKinds(known[at], right[at], destinations),
    });
    return {
      sample,
      members,
      shapes: 1n,
      declared: pair("declared"),
      promoted: pair("promoted"),
      reaching:
        reached === null
          ? null
          : { declared: reaching("declared"), promoted: reaching("promoted") },
    };
  };
  const reached = {
    base: (outcome: Outcome) => reachedOf(outcome, destinations.base),
    head: (outcome: Outcome) => reachedOf(outcome, destinations.head),
  };
  const expected = new Lines(assertions, tables, reached);
  const verdicts = { base: emptyUsage(), head: emptyUsage() };
  const kept = new Set(
    sides.head.contents.flatMap(({ isKept, contract }) => (isKept ? [contract.id] : [])),
  );
  let requests = 0;
  for (const sample of everyRequest(space.universe, [base, head])) {
    noteVerdicts(verdicts.base, decideSample(base.table, before.declared, sample), new Set());
    noteVerdicts(verdicts.head, decideSample(head.table, after.declared, sample), kept);
    const left = plain.base.decideSample(sample);
    expected.add(
      compare(sample, left, plain.head.decideSample(sample), reachedBy(sample, left)),
      [sample],
      1n,
    );
    requests += 1;
  }
  const found = new Lines(assertions, tables, reached);
  let classes = 0;
  let shared = 0;
  const usage = { base: emptyUsage(), head: emptyUsage() };
  for (const job of space.jobs) {
    for (const one of engine.ofOperation(job.operation).of(jobSpace(space, job), usage)) {
      found.add(compare(one.sample, one.base, one.head, one.reached), job.pair.members, one.size);
      classes += 1;
      if (job.pair.members.length > 1) shared += 1;
    }
  }
  return {
    expected: [...expected.sorted(), ...usageLines(verdicts)],
    found: [...found.sorted(), ...usageLines(usage)],
    requests,
    classes,
    changed: expected.changed(),
    violating: expected.violating,
    shared,
  };
}

const BY_TABLE = ["approvals", "preferences"];

/**
 * Counts the policies' verdicts in one decision. Where the table denies, they are about endpoints
 * without traffic and do not count. Nor do those of content that head keeps from base.
 */
function noteVerdicts(tally: UsageTally, decision: Decision, kept: ReadonlySet<string>): void {
  if (decision.outcome === "deny" && BY_TABLE.includes(decision.denial.policy)) return;
  const isKept = (slot: string, id: string) => slot === "enforced" && kept.has(id);
  for (const { policy, slot, constraint, verdict, reason, effect } of decision.trace) {
    if (BY_TABLE.includes(policy) || isKept(slot, policy)) continue;
    const name = `${policy}/${constraint}`;
    if (verdict === "pass") tally.passed.add(name);
    else if (verdict === "fail") tally.failed.add(name);
    else tally.indeterminate.add(name);
    if (verdict === "fail" && reason !== null) tally.reasons.add(`${name}/${reason}`);
    if (effect !== "none") tally.effective.add(policy);
  }
  for (const { policy, slot, effect } of decision.obligations)
    if (effect !== "none" && !isKept(slot, policy)) tally.effective.add(policy);
}

function usageLines(usage: OfSides<UsageTally>): readonly string[] {
  return Object.entries(usage).flatMap(([side, tally]: [string, UsageTally]) =>
    Object.entries(tally).map(([name, ids]) => `${side} ${name} ${[...ids].toSorted().join()}`),
  );
}

/** What a side's plan reaches, by what it is and not by what it is called. */
type Reached = Readonly<Record<"base" | "head", (outcome: Outcome) => ReadonlySet<string>>>;

function reachedOf({ plan }: Outcome, destinations: Destinations): ReadonlySet<string> {
  return new Set(plan.map(({ endpoint }) => destinations.get(endpoint)?.identity ?? endpoint));
}

/**
 * How many requests have each fate, and how many of them each assertion is held against and
 * violated by.
 */
class Lines {
  readonly #run: ReturnType<typeof runAssertions>;
  readonly #reached: Reached;
  readonly #counts = new Map<string, bigint>();
  violating = 0;

  constructor(
    assertions: readonly Assertion[],
    tables: { base: RoutingTable; head: RoutingTable },
    reached: Reached,
  ) {
    this.#run = runAssertions(assertions, tables);
    this.#reached = reached;
  }

  add(
    comparison: ClassComparison,
    members: readonly Pick<Member, "workspace" | "model">[],
    size: bigint,
  ): void {
    const earlier = this.#run.snapshot();
    this.#run.visit(comparison);
    const verdicts = this.#run.snapshot().map(({ id, classes, violations }, index) => {
      const isMet = classes !== earlier[index]?.classes;
      const isViolated = violations !== earlier[index]?.violations;
      if (isViolated) this.violating += 1;
      return [id, isMet, isViolated];
    });
    const [left, right] = [
      this.#reached.base(comparison.declared.base),
      this.#reached.head(comparison.declared.head),
    ];
    const gains = [right.isSubsetOf(left), left.isSubsetOf(right)];
    for (const { workspace, model } of members) {
      const line = lineOf({ ...comparison, sample: { ...comparison.sample, workspace, model } }, [
        gains,
        ...verdicts,
      ]);
      this.#counts.set(line, (this.#counts.get(line) ?? 0n) + size);
    }
  }

  changed(): number {
    return [...this.#counts.keys()].filter((key) => !key.startsWith("[[[],[]]")).length;
  }

  sorted(): readonly string[] {
    return [...this.#counts].map(([key, size]) => `${size} ${key}`).toSorted();
  }
}

/**
 * What a comparison says of a request, without the names that a class of several routes may have in
 * another order.
 */
function lineOf(
  { sample, declared, promoted }: ClassComparison,
  verdicts: readonly unknown[],
): string {
  const shown = ({ plan, maxCandidates, denial, edits, indeterminate }: Outcome): unknown => [
    plan.map(({ provider, region, tier, balance, weight }) => [
      provider,
      region,
      tier,
      balance,
      weight,
    ]),
    maxCandidates,
    denial,
    edits,
    indeterminate,
  ];
  const outcomes = [declared.base, declared.head, promoted.base, promoted.head].map(shown);
  const kinds = [declared.kinds, promoted.kinds];
  return JSON.stringify([
    kinds,
    sample.workspace,
    sample.model,
    sample.operation,
    outcomes,
    verdicts,
  ]);
}

/** Providers of the candidates that a table leaves of a request's preferences. */
function takenBy(table: RoutingTable, sample: SampleRequest): readonly string[] {
  const { candidates } = preferredSide(openedSide(table, sample), sample.preferences);
  return candidates.map(({ endpoint }) => endpoint.provider);
}

function openedSide(table: RoutingTable, sample: SampleRequest): OpenedSide {
  const route = requestedRoute(table, identityOf(sample), sample.model, sample.operation);
  return { table, opened: "reason" in route ? null : route };
}
