import { type Recent, recent, remembered } from "../remembered.ts";
import { type Operation, OPERATIONS } from "../../canon/operation.ts";
import { perScalar } from "../request-scalars.ts";
import { type Member, PLAIN_SAMPLE, type SampleRequest } from "../sample-request.ts";
import {
  type ApprovalState,
  approvalStates,
  type Common,
  type ValuesByDimension,
} from "./approval-states.ts";
import type { Aspect } from "./approval-walk.ts";
import type { Level } from "./levels.ts";
import {
  type AmbiguousNames,
  ambiguousNames,
  policyReader,
  type Projection,
  projectionFor,
  type Reader,
} from "./readers.ts";
import { openSide, type SideView } from "./side-walk.ts";
import { OUTSIDE_VOCABULARY, type Universe, universeOf, valuesOf } from "./universe.ts";
import { type PreferenceEffect, preferenceEffects, withReach } from "./preference-effects.ts";
import type { EndpointRow, RouteRow, RoutingTable, WorkspaceRow } from "../../canon/table.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { routeName, routeOf, rowOf } from "../table-rows.ts";
import { destinationsOf } from "../compare/change-kinds.ts";
import { type CompiledSide, zonesOfSides } from "../side-contents.ts";
import { timesOf } from "./times.ts";

/** One class of pairs under one operation: the unit of enumeration. */
export interface Job {
  /** Among the jobs of its space. */
  readonly index: number;
  readonly pair: PairClass;
  readonly operation: Operation;
}

export interface ClassDetails {
  /** Names that all requests of the class have. */
  readonly common: Common & { readonly labels: readonly string[] };
  /**
   * Of the dimensions that have one value each: those that requests of the class take. A dimension
   * is in one of the parts, which many classes share.
   */
  readonly valuesByDimension: readonly ValuesByDimension[];
  /** Of a class of plain requests: their other members. */
  readonly plain: PlainRequests | null;
}

/** Requests without preferences, needs, features and dimensions. */
export interface PlainRequests {
  readonly levels: readonly Pick<Level, "name" | "values">[];
  /** How many of them have each value of each level. */
  readonly counts: readonly (readonly bigint[])[];
}

/** The parts of a side that classes depend on. */
interface SpaceSide {
  readonly table: RoutingTable;
  /** Its policies. */
  readonly readers: readonly Reader[];
  /** Names that mean two things in the table. */
  readonly ambiguous: AmbiguousNames;
  readonly projectionOf: (operation: Operation) => Projection;
  /** A destination as text, for comparison. */
  readonly destinationOf: (endpoint: EndpointRow) => string;
}

/** The distinctions of one assertion, and the requests that it concerns. */
export interface AssertionReader {
  readonly id: string;
  readonly reader: Reader;
  /** Whether it may mean a request of a member and an operation. */
  readonly concerns: (member: Member, operation: Operation) => boolean;
  /** Whether it means a request. */
  readonly means: (sample: SampleRequest) => boolean;
  /** How it sees parts of a request. */
  readonly aspects: {
    readonly [Part in "ofRequirements" | "ofPreferences"]: (sample: SampleRequest) => Aspect;
  };
  /** Whether it passes for every request with the same result on both sides. */
  readonly comparesSides: boolean;
  /** Whether it compares the destinations of requests on both sides. */
  readonly comparesReach: boolean;
}

/** The requests that both sides can decide, and the jobs that enumerate them. */
export interface Space {
  readonly universe: Universe;
  readonly jobs: readonly Job[];
  /** Policies of both sides, and assertions. */
  readonly readers: readonly Reader[];
  readonly assertions: readonly AssertionReader[];
  readonly sides: readonly SpaceSide[];
  /** Whether an obligation of either side puts candidates of a region first. */
  readonly prefersRegion: boolean;
  readonly recent: RecentSpaces;
}

/** Whether an assertion may mean a request of the job. */
export function concernsJob({ concerns }: AssertionReader, { pair, operation }: Job): boolean {
  return pair.members.some((member) => concerns(member, operation));
}

function concerning({ assertions }: Space, job: Job) {
  return assertions.filter((assertion) => concernsJob(assertion, job));
}

/** Results of recent jobs: many jobs differ only in facts of the workspace that policies read. */
interface RecentSpaces {
  readonly states: Recent<ReturnType<typeof approvalStates>>;
  readonly preferences: Recent<readonly PreferenceEffect[]>;
}

/** Jobs in an order in which most come behind one that is {@link RecentSpaces alike}. */
export function jobsTogether(space: Space, jobs: readonly Job[]): readonly Job[] {
  const alike = Map.groupBy(jobs, (job) =>
    alikeKey(space, job, openedSides(space, job, startSample(job, space.universe))),
  );
  return [...alike.values()].flat();
}

function openedSides(space: Space, { operation }: Job, start: SampleRequest): readonly SideView[] {
  return space.sides.map(({ table, projectionOf }) =>
    openSide(table, projectionOf(operation), start),
  );
}

/** Everything that the states of a job depend on. */
function alikeKey(space: Space, job: Job, sides: readonly SideView[]): string {
  const facts = sides.map(({ opened }) => {
    if (opened === null) return null;
    const { routes: _routes, ...approve } = opened.workspace.approve;
    const { tiers, primary, onGap, emulateSchema } = opened.route;
    return [approve, tiers, primary, onGap, emulateSchema];
  });
  return JSON.stringify([job.operation, facts, concerning(space, job).map(({ id }) => id)]);
}

/** Effects of callers' preferences on the requests of a job. */
function preferencesOf(
  space: Space,
  sides: readonly SideView[],
  check: () => void,
): readonly PreferenceEffect[] {
  const readers = {
    seesOrder: sides.some(({ projection }) => projection.seesOrder),
    prefersRegion: space.prefersRegion,
  };
  const facts = sides.map(({ opened }) => {
    if (opened === null) return null;
    const {
      routes: _,
      capabilities: _capabilities,
      dimensions: _dimensions,
      ...approve
    } = opened.workspace.approve;
    return [approve, opened.route.tiers, opened.route.primary];
  });
  return space.recent.preferences(JSON.stringify([readers.seesOrder, facts]), () =>
    preferenceEffects(space.universe.preferences, sides, readers, check),
  );
}

export type JobSpace = ReturnType<typeof jobSpace>;

/**
 * The requests of one job, as the table treats them. Members that only policies and assertions read
 * are left open.
 *
 * @param check called repeatedly; its errors end the walk.
 */
export function jobSpace(space: Space, job: Job, check: () => void = () => {}) {
  const start = startSample(job, space.universe);
  const sides = openedSides(space, job, start);
  const { states, matters } = space.recent.states(alikeKey(space, job, sides), () => {
    const assertions = concerning(space, job);
    const effects = preferencesOf(space, sides, check);
    const [base] = sides;
    const reached = assertions.some(({ comparesReach }) => comparesReach) ? base : undefined;
    return approvalStates(
      start,
      valuesOf(space.universe, job.operation),
      reached === undefined ? effects : withReach(effects, reached),
      reached === undefined ? sides : [...sides, reached],
      {
        projection: projectionFor(
          assertions.map(({ reader }) => reader),
          job.operation,
          null,
        ),
        ofRequirements: (sample) => assertions.map(({ aspects }) => aspects.ofRequirements(sample)),
        ofPreferences: (sample) => assertions.map(({ aspects }) => aspects.ofPreferences(sample)),
      },
      check,
    );
  });
  const sampleOf = ({ part }: ApprovalState): SampleRequest => ({ ...start, ...part });
  return {
    job,
    /**
     * Of base and head; where an assertion compares reach, also of base with the preferences that
     * show it.
     */
    states,
    /** `needs tools`, `features sampling`: names that distinguish requests. */
    matters,
    /** One request of a state. */
    sampleOf,
    /** The same for the third side of a state: base with the preferences that show reach. */
    reachingSampleOf: (state: ApprovalState): SampleRequest => ({
      ...sampleOf(state),
      preferences: state.reachingPreferences,
    }),
  };
}

/** The simplest request of a job. */
function startSample(
  { pair, operation }: Job,
  { environments, workloads }: Universe,
): SampleRequest {
  return {
    ...PLAIN_SAMPLE,
    ...pair.members[0],
    operation,
    key: {
      environment: environments[0] ?? OUTSIDE_VOCABULARY,
      workload: workloads[0] ?? "",
      labels: [],
    },
  };
}

/** How many requests one member of a job has, without looking at any. */
export function shapesOfJob(space: Space, job: Job): bigint {
  const { universe } = space;
  const effects = preferencesOf(
    space,
    openedSides(space, job, startSample(job, universe)),
    () => {},
  );
  const preferences = remembered(sizes, effects, () =>
    effects.reduce((sum, { size }) => sum + size, 0n),
  );
  return preferences * shapesWithoutPreferences(universe, job.operation);
}

const sizes = new WeakMap<readonly PreferenceEffect[], bigint>();

/** Everything besides preferences. A request with signed reasoning is one for each family. */
function shapesWithoutPreferences(universe: Universe, operation: Operation): bigint {
  const values = valuesOf(universe, operation);
  const { needs, features, dimensions, signatureFamilies } = values;
  const signed = features.includes("signed_reasoning") ? 1n + BigInt(signatureFamilies.length) : 1n;
  const free = features.filter((name) => name !== "signed_reasoning").length;
  const counts = [
    dimensions.length,
    ...perScalar((member) => values[member].length),
    universe.environments.length,
    universe.workloads.length,
    universe.owners.length,
    universe.budgets.length,
    universe.times.length,
  ];
  return counts.reduce(
    (all, count) => all * BigInt(count),
    signed << BigInt(needs.length + free + universe.labels.length),
  );
}

/** Workspaces and routes that no rule distinguishes for any request. */
export interface PairClass {
  /** The first one represents all of them; in the order of workspaces, then of routes. */
  readonly members: readonly [Member, ...Member[]];
}

/**
 * Gathers pairs of workspace and route into classes. Two pairs are of one class when everything
 * that both sides know of them is the same up to the names of workspace, route, endpoints and
 * models, and nothing can distinguish these names.
 */
function pairClasses(
  { workspaces, models }: Universe,
  sides: readonly SpaceSide[],
  assertions: readonly Reader[],
): readonly PairClass[] {
  const readers = [...sides.flatMap((side) => side.readers), ...assertions];
  const names = {
    open: namesFor(readers, sides),
    // Requests without a route are seen by assertions only.
    closed: assertions.length === 0 ? null : namesFor(assertions, []),
  };
  const classes = new Map<string, { members: [Member, ...Member[]] }>();
  for (const workspace of workspaces) {
    for (const model of models) {
      const member = { workspace, model };
      const key = describe(member, sides, names);
      const existing = classes.get(key);
      if (existing === undefined) classes.set(key, { members: [member] });
      else existing.members.push(member);
    }
  }
  return [...classes.values()];
}

const KINDS = ["workspace", "route", "endpoint", "model"] as const;
type Kind = (typeof KINDS)[number];

/** Where policies read the names. */
const PATHS: Readonly<Record<Kind, readonly string[]>> = {
  workspace: ["input.workspace.id", "data.approved"],
  route: ["input.request.route", "data.approved.routes"],
  endpoint: ["input.candidates"],
  model: ["input.candidates"],
};

/** The name in a description: itself, or a number where it is interchangeable. */
type Naming = (kind: Kind, name: string) => string;

type Names = ReturnType<typeof namesFor>;

/** Which names are interchangeable, and the numbers that replace them. */
function namesFor(readers: readonly Reader[], sides: readonly SpaceSide[]) {
  const ambiguous = new Set(sides.flatMap((side) => [...side.ambiguous.all()]));
  const cache = new Map<string, boolean>();
  const isFixed = (name: string) =>
    remembered(cache, name, () => ambiguous.has(name) || readers.some(({ names }) => names(name)));
  const inspecting = readers.filter((reader) => reader.inspects.length > 0);
  // A reader of the approved routes sees the position of a route in the list, and the other routes.
  const readsRoutes = readers.some((reader) => readsPath(reader, "data.approved.routes"));
  const fixedKinds = new Set<Kind>(
    KINDS.filter(
      (kind) =>
        (kind === "route" && readsRoutes) ||
        inspecting.some((reader) => PATHS[kind].some((path) => readsPath(reader, path))),
    ),
  );
  return {
    /** Whether a reader depends on the lists of routes that workspaces approve. */
    readsRoutes,
    /** Numbers names in the order in which a description comes upon them. */
    numbering(): Naming {
      const numbers = new Map<string, number>();
      return (kind, name) =>
        fixedKinds.has(kind) || isFixed(name)
          ? `=${name}`
          : `#${remembered(numbers, `${kind} ${name}`, () => numbers.size)}`;
    },
  };
}

function describe(
  member: Member,
  sides: readonly SpaceSide[],
  names: { readonly open: Names; readonly closed: Names | null },
): string {
  const naming = names.open.numbering();
  const namedClosed = names.closed?.numbering();
  const facts = sides.map(({ table }) => {
    const workspace = rowOf(table.workspaces, member.workspace);
    const model = routeName(table, member);
    const route = rowOf(table.routes, model);
    const isApproved =
      workspace !== undefined && route !== undefined && workspace.approve.routes.includes(route.id);
    const asserted = namedClosed && assertedFacts(member.workspace, workspace, model, namedClosed);
    if (!isApproved)
      return [member.model === "", workspace?.defaultModerationRoute == null, asserted];
    const routes = names.open.readsRoutes ? workspace.approve.routes : null;
    return [
      member.model === "",
      workspaceFacts(workspace, naming),
      routes,
      routeFacts(table, route, naming),
      asserted,
    ];
  });
  return JSON.stringify([facts, destinationNumbers(member, sides)]);
}

/** The facts of a pair that assertions can read, even where no request of it is routed. */
function assertedFacts(
  id: string,
  workspace: WorkspaceRow | undefined,
  model: string,
  naming: Naming,
): unknown {
  const row = workspace && [workspace.tier, workspace.labels];
  return [naming("workspace", id), naming("route", model), row];
}

function workspaceFacts({ id, tier, labels, approve }: WorkspaceRow, naming: Naming): unknown {
  const { routes: _routes, ...approved } = approve;
  return [naming("workspace", id), tier, labels, approved];
}

function routeFacts(table: RoutingTable, route: RouteRow, naming: Naming): unknown {
  return [
    naming("route", route.id),
    route.onGap,
    route.emulateSchema,
    route.operations,
    naming("endpoint", route.primary),
    route.tiers.map(({ endpoints, balance, weights }) => [
      endpoints.map((id) => endpointFacts(table, id, naming)),
      balance,
      weights,
    ]),
  ];
}

function endpointFacts(table: RoutingTable, id: string, naming: Naming): unknown {
  const endpoint = rowOf(table.endpoints, id);
  if (endpoint === undefined) return id;
  const { provider, region, dialect, price, latencyClass, capabilities, features, nativeFeatures } =
    endpoint;
  const model = rowOf(table.models, endpoint.model);
  return [
    naming("endpoint", id),
    naming("model", endpoint.model),
    [provider, region, dialect, price, latencyClass, capabilities, features, nativeFeatures],
    model && [
      model.signatureFamily,
      model.dimensions,
      model.defaultDimensions,
      model.contextWindow,
    ],
  ];
}

/**
 * For each endpoint of either route, its destination on each side: the same number is the same
 * destination, under any id.
 */
function destinationNumbers(member: Member, sides: readonly SpaceSide[]): unknown {
  const routes = sides.map(({ table }) => routeOf(table, member));
  const ids = new Set(
    routes.flatMap((route) => route?.tiers.flatMap(({ endpoints }) => endpoints) ?? []),
  );
  const numbers = new Map<string, number>();
  return [...ids].map((id) =>
    sides.map(({ table, destinationOf }) => {
      const endpoint = rowOf(table.endpoints, id);
      if (endpoint === undefined) return null;
      const destination = destinationOf(endpoint);
      return remembered(numbers, destination, () => numbers.size);
    }),
  );
}

/**
 * Jobs that are alike are decided one after the other. Each has hundreds of states, with the parts
 * that they were made of.
 */
const KEPT_STATES = 4;
const KEPT_PREFERENCES = 256;

/**
 * The space of two sides. The same sides give the same jobs in the same order, in every thread.
 *
 * @param narrowed makes the universe smaller; every value that it leaves out is one that is not
 * decided.
 */
export function planSpace(
  base: CompiledSide,
  head: CompiledSide,
  assertions: readonly AssertionReader[],
  narrowed: (universe: Universe) => Universe = (universe) => universe,
): Space {
  const sides = [base, head].map(({ table, contents }): SpaceSide => {
    const destinations = destinationsOf(table);
    const readers = contents.flatMap(({ rules }) => rules ?? []).map(policyReader);
    const ambiguous = ambiguousNames(table);
    const projections = new Map<Operation, Projection>();
    return {
      table,
      readers,
      ambiguous,
      projectionOf: (operation) =>
        remembered(projections, operation, () => projectionFor(readers, operation, ambiguous)),
      destinationOf: ({ id }) => destinations.get(id)?.identity ?? id,
    };
  });
  const assertionReaders = assertions.map(({ reader }) => reader);
  const readers = [...sides.flatMap((side) => side.readers), ...assertionReaders];
  const readsBudget = readers.some((reader) => readsPath(reader, "input.budget"));
  const times = timesOf(readers, zonesOfSides([base, head]));
  const universe = narrowed(universeOf(base.table, head.table, readsBudget, times));
  const jobs = pairClasses(universe, sides, assertionReaders)
    .flatMap((pair) =>
      OPERATIONS.filter((operation) => universe.operations.has(operation))
        .filter((operation) => pair.members[0].model !== "" || operation === "moderations")
        .map((operation) => ({ pair, operation })),
    )
    .map((job, index): Job => ({ index, ...job }));
  return {
    universe,
    jobs,
    readers,
    assertions,
    sides,
    prefersRegion: [base, head].some(({ contents }) =>
      contents.some(({ contract }) =>
        contract.obligations.some(({ kind }) => kind === "prefer_region"),
      ),
    ),
    recent: { states: recent(KEPT_STATES), preferences: recent(KEPT_PREFERENCES) },
  };
}
