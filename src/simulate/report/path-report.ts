import type { ExplainArguments } from "../assertions/run.ts";
import { firstExample, type PathTallies, type PathTally } from "../compare/comparison-tally.ts";
import type { Locations } from "../explain/positions.ts";
import { OPERATIONS } from "../../canon/operation.ts";
import type { DataPath, RoutePath } from "./report.ts";
import { OTHER_SIDE, type OfSides, type SideName } from "../sample-request.ts";

/** Input of path reports besides their tallies. */
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
  return inOrder(paths).flatMap(([key, path]) =>
    others.has(key)
      ? []
      : [
          {
            operation: path.operation,
            routes: [...path.routes.keys()].toSorted(),
            ...reached(path, side, context),
          },
        ],
  );
}

/** The same by route: also where another route of the workspace leads there on the other side. */
export function routePathsWithout(
  paths: PathTallies,
  others: PathTallies,
  side: SideName,
  context: PathContext,
): readonly RoutePath[] {
  const found = inOrder(paths).flatMap(([key, path]) =>
    [...path.routes].flatMap(([route, example]) =>
      others.get(key)?.routes.has(route) === true
        ? []
        : [{ ...path, route, order: example.order, routes: new Map([[route, example]]) }],
    ),
  );
  const byEnd = Map.groupBy(found, ({ route, workspace, provider, region, host }) =>
    [route, workspace, provider, region, host].join("\n"),
  );
  return inOrder(byEnd).flatMap(([, same]) =>
    same
      .toSorted((left, right) => left.order - right.order)
      .slice(0, 1)
      .map((path) => ({
        route: path.route,
        operations: OPERATIONS.filter((operation) =>
          same.some((one) => one.operation === operation),
        ),
        ...reached(path, side, context),
      })),
  );
}

function inOrder<Value>(rows: ReadonlyMap<string, Value>): readonly (readonly [string, Value])[] {
  return [...rows].toSorted(([left], [right]) => (left < right ? -1 : 1));
}

/** Where a path leads, with its first example. */
function reached(
  path: PathTally,
  side: SideName,
  { locations, hostOf, explain }: PathContext,
): Pick<DataPath & RoutePath, keyof DataPath & keyof RoutePath> {
  const { workspace, provider, region, host } = path;
  const example = firstExample(path);
  const other = hostOf[OTHER_SIDE[side]](provider);
  const moved = other !== "" && other !== host;
  const location = moved
    ? locations[side].providerAddress(provider)
    : locations[side].route(example.model);
  return {
    workspace,
    provider,
    region,
    host,
    other_host: moved ? other : null,
    location: location === null ? null : { ...location, side },
    example,
    explain: explain(example),
  };
}
