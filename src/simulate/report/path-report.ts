import type { ExplainArguments } from "../assertions/results.ts";
import { firstExample, type PathTallies, type PathTally } from "../compare/comparison-tally.ts";
import type { Locations } from "../explain/positions.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import type { DataPath, ReachedDestination, RoutePath } from "./report.ts";
import { OTHER_SIDE, type OfSides, type SideName } from "../sample-request.ts";

/** What the paths of a report need besides their tallies. */
export interface PathContext {
  readonly locations: OfSides<Locations>;
  /** The host of a provider on a side; empty where the side has no such provider. */
  readonly hostOf: OfSides<(provider: string) => string>;
  /** The command line that explains a request on head. */
  readonly explain: ExplainArguments;
}

/** Paths of one side that the other does not have, by whatever route. @param side of the paths. */
export function dataPathsWithout(
  paths: PathTallies,
  others: PathTallies,
  side: SideName,
  context: PathContext,
): readonly DataPath[] {
  return inOrder(paths)
    .filter(([key]) => !others.has(key))
    .map(([, path]): DataPath => {
      const example = firstExample(path);
      return {
        workspace: path.workspace,
        operation: path.operation,
        ...reached(path, example.model, side, context),
        routes: [...path.routes.keys()].toSorted(),
        example,
        explain: context.explain(example),
      };
    });
}

/** The same by route: also where another route of the workspace leads there on the other side. */
export function routePathsWithout(
  paths: PathTallies,
  others: PathTallies,
  side: SideName,
  context: PathContext,
): readonly RoutePath[] {
  const found = new Map<string, PathTally[]>();
  for (const [key, path] of inOrder(paths)) {
    for (const [route, example] of path.routes) {
      if (others.get(key)?.routes.has(route) === true) continue;
      const { workspace, provider, region, host } = path;
      const where = [route, workspace, provider, region, host].join("\n");
      const known = found.get(where) ?? [];
      known.push({ ...path, routes: new Map([[route, example]]) });
      found.set(where, known);
    }
  }
  return [...found]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .flatMap(([, same]): readonly RoutePath[] => {
      const path = same.toSorted((left, right) => orderOf(left) - orderOf(right))[0];
      if (path === undefined) return [];
      const example = firstExample(path);
      return [
        {
          workspace: path.workspace,
          route: example.model,
          operations: OPERATIONS.filter((operation) =>
            same.some((one) => one.operation === operation),
          ),
          ...reached(path, example.model, side, context),
          example,
          explain: context.explain(example),
        },
      ];
    });
}

function orderOf({ routes }: PathTally): number {
  return Math.min(...[...routes.values()].map(({ order }) => order));
}

function inOrder(paths: PathTallies): readonly (readonly [string, PathTally])[] {
  return [...paths].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

function reached(
  { provider, region, host }: PathTally,
  route: string,
  side: SideName,
  { locations, hostOf }: PathContext,
): ReachedDestination {
  const other = hostOf[OTHER_SIDE[side]](provider);
  const moved = other !== "" && other !== host;
  const location = moved ? locations[side].providerAddress(provider) : locations[side].route(route);
  return {
    provider,
    region,
    host,
    other_host: moved ? other : null,
    location: location === null ? null : { ...location, side },
  };
}
