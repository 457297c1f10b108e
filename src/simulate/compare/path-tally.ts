import type { Member, Outcome, SampleRequest } from "../sample-request.ts";
import type { Destinations } from "./change-kinds.ts";
import type { Order } from "./group-tally.ts";

/** A provider in a region under one host: what requests of a data path reach. */
interface ReachedHost {
  readonly provider: string;
  readonly region: string;
  readonly host: string;
}

/** The first request that takes a path. */
interface PathExample {
  readonly example: SampleRequest;
  readonly order: Order;
}

/**
 * A data path (docs/simulate.md#what-the-report-says): the requests of a workspace and an operation
 * that reach a destination, by route.
 */
export interface PathTally extends ReachedHost {
  readonly workspace: string;
  readonly operation: string;
  readonly routes: Map<string, PathExample>;
}

export type PathTallies = Map<string, PathTally>;

/** The endpoints of one job, until its members are written out. */
export class JobPaths {
  readonly #paths = new Map<string, ReachedHost & PathExample>();
  readonly #destinations: Destinations;

  constructor(destinations: Destinations) {
    this.#destinations = destinations;
  }

  add({ plan }: Outcome, sample: SampleRequest, order: Order): void {
    for (const { endpoint, provider, region } of plan) {
      const host = this.#destinations.get(endpoint)?.host ?? "";
      const key = `${provider}\n${region}\n${host}`;
      if (!this.#paths.has(key))
        this.#paths.set(key, { provider, region, host, example: sample, order });
    }
  }

  /** Every member of the job's pair class has the same paths. */
  writeTo(paths: PathTallies, members: readonly Member[], operation: string): void {
    for (const { provider, region, host, example, order } of this.#paths.values()) {
      for (const { workspace, model } of members) {
        const routes = new Map([[model, { example: { ...example, workspace, model }, order }]]);
        addPath(paths, { workspace, operation, provider, region, host, routes });
      }
    }
  }
}

export function mergePaths(into: PathTallies, from: PathTallies): void {
  for (const path of from.values()) addPath(into, path);
}

/** The first example of all routes of a path. */
export function firstExample({ routes }: Pick<PathTally, "routes">): SampleRequest {
  // Routes of one job have the same order; which of them was added first depends on the threads.
  const [first] = [...routes].toSorted(
    ([left, one], [right, other]) => one.order - other.order || (left < right ? -1 : 1),
  );
  if (first === undefined) throw new Error("simulation: a data path has no route");
  return first[1].example;
}

function addPath(paths: PathTallies, path: PathTally): void {
  const key = [path.workspace, path.operation, path.provider, path.region, path.host].join("\n");
  const known = paths.get(key);
  if (known === undefined) {
    paths.set(key, path);
    return;
  }
  for (const [route, found] of path.routes) {
    const own = known.routes.get(route);
    if (own === undefined || found.order < own.order) known.routes.set(route, found);
  }
}
