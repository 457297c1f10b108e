import { type Operation, OPERATIONS } from "../../canon/operation.ts";
import { readsPath } from "../../policy/policy-set.ts";
import { destinationsOf } from "../compare/change-kinds.ts";
import type { Distinctions, Member } from "../sample-request.ts";
import { type CompiledSide, zonesOfSides } from "../side-contents.ts";
import type { AssertionReader, Job, Space } from "./job-space.ts";
import { Recent, remembered } from "../remembered.ts";
import {
  AmbiguousNames,
  distinctionReader,
  policyReader,
  Projection,
  type Reader,
} from "./readers.ts";
import { timesOf } from "./times.ts";
import { type Universe, universeOf } from "./universe.ts";
import type { EndpointRow, RouteRow, RoutingTable, WorkspaceRow } from "../../canon/table.ts";
import { routeName, routeOf, rowOf } from "../table-rows.ts";

/**
 * The space of two sides, and the jobs that enumerate it. The same sides give the same jobs in the
 * same order, in every thread.
 */
export interface PlannedSpace {
  readonly space: Space;
  readonly jobs: readonly Job[];
  readonly readers: readonly Reader[];
}

/**
 * Jobs that are alike are decided one after the other. Each has hundreds of states, with the parts
 * that they were made of.
 */
const KEPT_STATES = 4;
const KEPT_PREFERENCES = 256;

/** The distinctions of one assertion, and the requests that it concerns. */
export interface AssertionDistinctions extends Distinctions, Omit<AssertionReader, "reader"> {}

/**
 * @param narrowed makes the universe smaller; every value that it leaves out is one that is not
 * decided.
 */
export function planSpace(
  base: CompiledSide,
  head: CompiledSide,
  distinctions: readonly AssertionDistinctions[],
  narrowed: (universe: Universe) => Universe = (universe) => universe,
): PlannedSpace {
  const assertions = distinctions.map(({ strings, reads, ...rest }): AssertionReader => {
    return { ...rest, reader: distinctionReader({ strings, reads }) };
  });
  const sides = [base, head].map(({ table, contents }): PairSide => {
    const destinations = destinationsOf(table);
    return {
      table,
      readers: contents.flatMap(({ rules }) => (rules === null ? [] : [policyReader(rules)])),
      ambiguous: new AmbiguousNames(table),
      destinationOf: ({ id }) => destinations.get(id)?.identity ?? id,
    };
  });
  const readers = [
    ...sides.flatMap((side) => side.readers),
    ...assertions.map(({ reader }) => reader),
  ];
  const readsBudget = readers.some((reader) => readsPath(reader, "input.budget"));
  const times = timesOf(readers, zonesOfSides([base, head]));
  const universe = narrowed(universeOf(base.table, head.table, readsBudget, times));
  const pairs = pairClasses(
    universe.workspaces,
    universe.models,
    sides,
    assertions.map(({ reader }) => reader),
  );
  const none = new AmbiguousNames(null);
  const concerning = ({ pair, operation }: Job): readonly AssertionReader[] =>
    assertions.filter(({ concerns }) => pair.members.some((member) => concerns(member, operation)));
  const space: Space = {
    universe,
    assertions,
    sides: sides.map(({ table, readers: own, ambiguous }) => {
      const projections = new Map<Operation, Projection>();
      const projectionOf = (operation: Operation): Projection =>
        remembered(projections, operation, () => new Projection(own, operation, ambiguous));
      return { table, ambiguous, projectionOf };
    }),
    prefersRegion: [base, head].some(({ contents }) =>
      contents.some(({ contract }) =>
        contract.obligations.some(({ kind }) => kind === "prefer_region"),
      ),
    ),
    recent: { states: new Recent(KEPT_STATES), preferences: new Recent(KEPT_PREFERENCES) },
    concerning,
    assertionsOf: (job) =>
      new Projection(
        concerning(job).map(({ reader }) => reader),
        job.operation,
        none,
      ),
  };
  const jobs = pairs.flatMap((pair) =>
    OPERATIONS.filter((operation) => universe.operations.has(operation))
      .filter((operation) => pair.members[0].model !== "" || operation === "moderations")
      .map((operation): Job => ({ pair, operation })),
  );
  return { space, jobs, readers };
}

/** Workspaces and routes that no rule distinguishes for any request. */
export interface PairClass {
  /** The first one represents all of them; in the order of workspaces, then of routes. */
  readonly members: readonly [Member, ...Member[]];
}

/** A destination as text, for comparison. */
type DestinationOf = (endpoint: EndpointRow) => string;

interface PairSide {
  readonly table: RoutingTable;
  readonly readers: readonly Reader[];
  readonly ambiguous: AmbiguousNames;
  readonly destinationOf: DestinationOf;
}

/**
 * Gathers pairs of workspace and route into classes. Two pairs are of one class when everything
 * that both sides know of them is the same up to the names of workspace, route, endpoints and
 * models, and nothing can distinguish these names.
 */
function pairClasses(
  workspaces: readonly string[],
  models: readonly string[],
  sides: readonly PairSide[],
  assertions: readonly Reader[],
): readonly PairClass[] {
  const readers = [...sides.flatMap((side) => side.readers), ...assertions];
  const names = {
    open: new Names(readers, sides),
    // Requests without a route are seen by assertions only.
    closed: assertions.length === 0 ? null : new Names(assertions, []),
  };
  const classes = new Map<string, { members: [Member, ...Member[]] }>();
  for (const workspace of workspaces) {
    for (const model of models) {
      const member = { workspace, model };
      const key = describe(member, sides, names);
      const known = classes.get(key);
      if (known === undefined) classes.set(key, { members: [member] });
      else known.members.push(member);
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

/** The name as a description has it: itself, or a number where it is interchangeable. */
type Naming = (kind: Kind, name: string) => string;

/** Which names are interchangeable, and the numbers that replace them. */
class Names {
  readonly #isFixed: (name: string) => boolean;
  readonly #fixedKinds: ReadonlySet<Kind>;
  /** Whether a reader depends on the lists of routes that workspaces approve. */
  readonly readsRoutes: boolean;

  constructor(readers: readonly Reader[], sides: readonly PairSide[]) {
    const ambiguous = new Set(sides.flatMap((side) => [...side.ambiguous.all]));
    const known = new Map<string, boolean>();
    this.#isFixed = (name) => {
      return remembered(
        known,
        name,
        () => ambiguous.has(name) || readers.some(({ names }) => names(name)),
      );
    };
    const inspecting = readers.filter((reader) => reader.inspects.length > 0);
    // A reader of the approved routes sees the position of a route in the list, and the other
    // routes.
    this.readsRoutes = readers.some((reader) => readsPath(reader, "data.approved.routes"));
    this.#fixedKinds = new Set<Kind>([
      ...KINDS.filter((kind) =>
        inspecting.some((reader) => PATHS[kind].some((path) => readsPath(reader, path))),
      ),
      ...(this.readsRoutes ? (["route"] as const) : []),
    ]);
  }

  /** Numbers names in the order in which a description comes upon them. */
  numbering(): Naming {
    const numbers = new Map<string, number>();
    return (kind, name) => {
      if (this.#fixedKinds.has(kind) || this.#isFixed(name)) return `=${name}`;
      const key = `${kind} ${name}`;
      const number = remembered(numbers, key, () => numbers.size);
      return `#${number}`;
    };
  }
}

function describe(
  member: Member,
  sides: readonly PairSide[],
  names: { readonly open: Names; readonly closed: Names | null },
): string {
  const named = names.open.numbering();
  const namedClosed = names.closed?.numbering();
  const facts = sides.map(({ table }) => {
    const workspace = rowOf(table.workspaces, member.workspace);
    const model = routeName(table, member);
    const route = rowOf(table.routes, model);
    const isOpen =
      workspace !== undefined && route !== undefined && workspace.approve.routes.includes(route.id);
    const asserted =
      namedClosed === undefined
        ? null
        : assertedFacts(member.workspace, workspace, model, namedClosed);
    if (!isOpen) return [member.model === "", workspace?.defaultModerationRoute == null, asserted];
    const routes = names.open.readsRoutes ? workspace.approve.routes : null;
    return [
      member.model === "",
      workspaceFacts(workspace, named),
      routes,
      routeFacts(table, route, named),
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
  named: Naming,
): unknown {
  const row = workspace === undefined ? null : [workspace.tier, workspace.labels];
  return [named("workspace", id), named("route", model), row];
}

function workspaceFacts({ id, tier, labels, approve }: WorkspaceRow, named: Naming): unknown {
  const { routes: _routes, ...approved } = approve;
  return [named("workspace", id), tier, labels, approved];
}

function routeFacts(table: RoutingTable, route: RouteRow, named: Naming): unknown {
  return [
    named("route", route.id),
    route.onGap,
    route.emulateSchema,
    route.operations,
    named("endpoint", route.primary),
    route.tiers.map(({ endpoints, balance, weights }) => [
      endpoints.map((id) => endpointFacts(table, id, named)),
      balance,
      weights,
    ]),
  ];
}

function endpointFacts(table: RoutingTable, id: string, named: Naming): unknown {
  const endpoint = rowOf(table.endpoints, id);
  if (endpoint === undefined) return id;
  const { provider, region, dialect, price, latencyClass, capabilities, features, nativeFeatures } =
    endpoint;
  const model = rowOf(table.models, endpoint.model);
  return [
    named("endpoint", id),
    named("model", endpoint.model),
    [provider, region, dialect, price, latencyClass, capabilities, features, nativeFeatures],
    model === undefined
      ? null
      : [model.signatureFamily, model.dimensions, model.defaultDimensions, model.contextWindow],
  ];
}

/**
 * For each endpoint of either route, its destination on each side: the same number is the same
 * destination, under any id.
 */
function destinationNumbers(member: Member, sides: readonly PairSide[]): unknown {
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
