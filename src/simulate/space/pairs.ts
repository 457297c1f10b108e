import type { EndpointRow, RouteRow, RoutingTable, WorkspaceRow } from "../../canon/table.ts";
import type { Member } from "../point.ts";
import type { Reader } from "./readers.ts";
import { readsPath } from "./readers.ts";

/** Workspaces and routes that nothing tells apart, whatever is asked. */
export interface PairClass {
  /** The first one stands for all of them; in the order of workspaces, then of routes. */
  readonly members: readonly [Member, ...Member[]];
}

/** What destinations are made of, for comparing them with each other. */
export type DestinationOf = (endpoint: EndpointRow) => string;

export interface PairSide {
  readonly table: RoutingTable;
  readonly readers: readonly Reader[];
  readonly ambiguous: ReadonlySet<string>;
  readonly destinationOf: DestinationOf;
}

/**
 * Gathers pairs of workspace and route into classes. Two pairs are of one class when everything that both sides know of them is the same up to the
 * names of workspace, route, endpoints and models, and nobody can tell these names apart.
 */
export function pairClasses(
  workspaces: readonly string[],
  models: readonly string[],
  sides: readonly PairSide[],
  assertions: readonly Reader[],
): readonly PairClass[] {
  const readers = [...sides.flatMap((side) => side.readers), ...assertions];
  const names = new Names(readers, sides);
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

type Kind = "workspace" | "route" | "endpoint" | "model";

/** Which names may be taken for each other, and what stands in their place. */
class Names {
  readonly #fixed: ReadonlySet<string>;
  readonly #fixedKinds: ReadonlySet<Kind>;

  constructor(readers: readonly Reader[], sides: readonly PairSide[]) {
    this.#fixed = new Set([
      ...readers.flatMap(({ words }) => [...words]),
      ...sides.flatMap(({ ambiguous }) => [...ambiguous]),
    ]);
    const inspects = readers.some((reader) => reader.inspects.length > 0);
    // Who reads the approved routes sees in which place of a list a route stands, and what else is there.
    const readsRoutes = readers.some((reader) => readsPath(reader, "data.approved.routes"));
    this.#fixedKinds = new Set<Kind>([
      ...(inspects ? (["workspace", "route", "endpoint", "model"] as const) : []),
      ...(readsRoutes ? (["route"] as const) : []),
    ]);
  }

  /** Numbers names in the order in which a description comes upon them. */
  numbering(): (kind: Kind, name: string) => string {
    const numbers = new Map<string, number>();
    return (kind, name) => {
      if (this.#fixedKinds.has(kind) || this.#fixed.has(name)) return `=${name}`;
      const key = `${kind} ${name}`;
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      return `#${number}`;
    };
  }
}

function describe(member: Member, sides: readonly PairSide[], names: Names): string {
  const named = names.numbering();
  const facts = sides.map(({ table }) => {
    const workspace = rowOf(table.workspaces, member.workspace);
    const model = member.model === "" ? (workspace?.defaultModerationRoute ?? "") : member.model;
    const route = rowOf(table.routes, model);
    const isOpen = workspace !== null && route !== null && workspace.approve.routes.includes(route.id);
    return isOpen
      ? [member.model === "", workspaceFacts(workspace, named), routeFacts(table, route, named)]
      : [member.model === "", workspace?.defaultModerationRoute == null];
  });
  return JSON.stringify([facts, destinationChanges(member, sides)]);
}

function workspaceFacts({ id, tier, labels, approve }: WorkspaceRow, named: ReturnType<Names["numbering"]>): unknown {
  const { regions, providers, capabilities, dimensions, contextWindow } = approve;
  return [named("workspace", id), tier, labels, regions, providers, capabilities, dimensions, contextWindow];
}

function routeFacts(table: RoutingTable, route: RouteRow, named: ReturnType<Names["numbering"]>): unknown {
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

function endpointFacts(table: RoutingTable, id: string, named: ReturnType<Names["numbering"]>): unknown {
  const endpoint = rowOf(table.endpoints, id);
  if (endpoint === null) return id;
  const { provider, region, dialect, capabilities, features, nativeFeatures } = endpoint;
  const model = rowOf(table.models, endpoint.model);
  return [
    named("endpoint", id),
    named("model", endpoint.model),
    [provider, region, dialect, capabilities, features, nativeFeatures],
    model === null ? null : [model.signatureFamily, model.dimensions, model.defaultDimensions, model.contextWindow],
  ];
}

/** For each endpoint of either route, whether its name means the same place on both sides. */
function destinationChanges({ workspace, model }: Member, sides: readonly PairSide[]): readonly boolean[] {
  const routes = sides.map(({ table }) => {
    const row = rowOf(table.workspaces, workspace);
    return rowOf(table.routes, model === "" ? (row?.defaultModerationRoute ?? "") : model);
  });
  const ids = new Set(routes.flatMap((route) => route?.tiers.flatMap(({ endpoints }) => endpoints) ?? []));
  return [...ids].map((id) => {
    const places = sides.map(({ table, destinationOf }) => {
      const endpoint = rowOf(table.endpoints, id);
      return endpoint === null ? null : destinationOf(endpoint);
    });
    return new Set(places).size === 1;
  });
}

function rowOf<Row>(rows: Readonly<Record<string, Row>>, id: string): Row | null {
  return Object.hasOwn(rows, id) ? (rows[id] ?? null) : null;
}
