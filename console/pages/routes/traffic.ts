import { withQuery } from "../../api/client.ts";
import { hasScope, inWorkspaces, showsAll } from "../../api/session-state.ts";
import type { EndpointHealth, Spend, Summary } from "../../api/types.ts";
import { useResource } from "../../api/use-resource.ts";
import { groupLabel } from "../group-label.ts";

/** Requests of the last 24 hours. */
export interface Traffic {
  /** By route, and by `workspace route` where all workspaces are shown. */
  readonly requests: ReadonlyMap<string, number>;
  /** By `route endpoint`, an estimate: see {@link estimate}. */
  readonly calls: ReadonlyMap<string, number>;
  /** When the numbers came, milliseconds since the epoch. */
  readonly at: number | null;
}

interface Line extends Pick<EndpointHealth, "id" | "provider" | "region" | "model"> {
  readonly route: string;
}

/** Nothing for who may not see it. @param lines endpoints of the routes. */
export function useTraffic(lines: readonly Line[]): Traffic {
  const query = (path: string, groupBy: string): string =>
    withQuery(path, { group_by: groupBy, ...inWorkspaces() });
  const byRoute = useResource<Summary>(
    hasScope("governance:read")
      ? query("/v1/governance/summary", showsAll.value ? "workspace,route" : "route")
      : null,
  );
  const maySpend = hasScope("spend:read");
  const byModel = useResource<Spend>(maySpend ? query("/v1/spend", "route,model") : null);
  const byLocation = useResource<Spend>(
    maySpend ? query("/v1/spend", "provider,region,model") : null,
  );
  const requests = new Map<string, number>();
  for (const { group, requests: count } of byRoute.value?.groups ?? []) {
    const route = groupLabel(group, "route") ?? "";
    for (const name of [route, `${groupLabel(group, "workspace")} ${route}`])
      requests.set(name, (requests.get(name) ?? 0) + count);
  }
  const named = (spend: Spend | null, dimensions: readonly string[]) =>
    new Map(
      (spend?.groups ?? []).map(({ group, requests: count }) => [
        dimensions.map((dimension) => groupLabel(group, dimension)).join(" "),
        count,
      ]),
    );
  const calls = estimate(
    lines,
    named(byModel.value, ["route", "model"]),
    named(byLocation.value, ["provider", "region", "model"]),
  );
  return { requests, calls, at: byRoute.at };
}

/** Enough for the sums to settle: the drawing shows widths, not numbers. */
const ROUNDS = 12;

/**
 * Requests of each route to each endpoint. The API counts routes by model, and endpoints by
 * provider, region and model, but not both together: scaled by turns to both sums (iterative
 * proportional fitting).
 */
function estimate(
  lines: readonly Line[],
  ofRoutes: ReadonlyMap<string, number>,
  ofLocations: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const keyOf = ({ route, id }: Line): string => `${route} ${id}`;
  let flows = new Map(lines.map((line) => [keyOf(line), 1]));
  const scale = (nameOf: (line: Line) => string, wanted: ReadonlyMap<string, number>): void => {
    const sums = new Map<string, number>();
    for (const line of lines) {
      const name = nameOf(line);
      sums.set(name, (sums.get(name) ?? 0) + (flows.get(keyOf(line)) ?? 0));
    }
    flows = new Map(
      lines.map((line) => {
        const name = nameOf(line);
        const share = (flows.get(keyOf(line)) ?? 0) / (sums.get(name) || 1);
        return [keyOf(line), share * (wanted.get(name) ?? 0)];
      }),
    );
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    scale(({ provider, region, model }) => `${provider} ${region} ${model}`, ofLocations);
    scale(({ route, model }) => `${route} ${model}`, ofRoutes);
  }
  return flows;
}
