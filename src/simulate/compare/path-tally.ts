import type { Member, Outcome, SampleRequest } from "../sample-request.ts";
import type { Order } from "./group-tally.ts";

/** A data path (docs/simulate.md#what-the-report-says): the requests of a workspace and an operation that reach a provider in a region. */
export interface PathTally {
  readonly workspace: string;
  readonly operation: string;
  readonly provider: string;
  readonly region: string;
  readonly routes: Set<string>;
  example: SampleRequest;
  order: Order;
}

export type PathTallies = Map<string, PathTally>;

/** The endpoints of one job, until its members are written out. */
export class JobPaths {
  readonly #paths = new Map<string, { provider: string; region: string; example: SampleRequest; order: Order }>();

  add({ plan }: Outcome, sample: SampleRequest, order: Order): void {
    for (const { provider, region } of plan) {
      const key = `${provider}\n${region}`;
      if (!this.#paths.has(key)) this.#paths.set(key, { provider, region, example: sample, order });
    }
  }

  /** Every member of the job's pair class has the same paths. */
  writeTo(paths: PathTallies, members: readonly Member[], operation: string): void {
    for (const { provider, region, example, order } of this.#paths.values()) {
      for (const { workspace, model } of members) {
        const own = { ...example, workspace, model };
        addPath(paths, { workspace, operation, provider, region, routes: new Set([model]), example: own, order });
      }
    }
  }
}

export function mergePaths(into: PathTallies, from: PathTallies): void {
  for (const path of from.values()) addPath(into, path);
}

function addPath(paths: PathTallies, path: PathTally): void {
  const key = [path.workspace, path.operation, path.provider, path.region].join("\n");
  const known = paths.get(key);
  if (known === undefined) {
    paths.set(key, path);
    return;
  }
  for (const route of path.routes) known.routes.add(route);
  if (path.order < known.order) Object.assign(known, { witness: path.example, order: path.order });
}
