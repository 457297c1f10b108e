import { OPERATIONS } from "../../canon/operation.ts";
import type { SimulationTally } from "../compare/simulation-tally.ts";
import { KEY_LABELS, seenDimensions } from "../space/levels.ts";
import type { RoutingTable } from "../../canon/table.ts";
import type { CostliestPolicy, WidestRoute } from "../report/report.ts";
import { policyReader, Sight } from "../space/readers.ts";
import type { Job, Space } from "../space/job-space.ts";
import type { CompiledSides, SideContent } from "../side-contents.ts";

/** What a simulation used its time for; `null` where no policy was evaluated. */
export function costliestPolicy(
  { evaluations }: Pick<SimulationTally, "evaluations">,
  { base, head }: CompiledSides,
  space: Space,
): CostliestPolicy | null {
  const [most] = [...evaluations].toSorted(([, left], [, right]) => right - left);
  if (most === undefined) return null;
  const [policy, count] = most;
  const content = [...head.contents, ...base.contents].find(
    ({ contract, rules }) => contract.id === policy && rules !== null,
  );
  const dimensions = content === undefined ? [] : dimensionsOf(content, space);
  const [widest] = dimensions.toSorted((left, right) => right.distinguished - left.distinguished);
  return widest === undefined ? null : { policy, evaluations: count, ...widest };
}

/**
 * The route with most providers, where callers can leave more sets of its candidates than a policy distinguishes values: then it is the route that takes
 * the time. `null` where it is not.
 */
export function widestRoute(
  jobs: readonly Job[],
  { routes, endpoints }: RoutingTable,
  costliest: Pick<CostliestPolicy, "distinguished"> | null,
): WidestRoute | null {
  const names = new Set(jobs.flatMap(({ pair }) => pair.members.map(({ model }) => model)));
  let widest: WidestRoute | null = null;
  for (const { id, tiers } of Object.values(routes)) {
    if (!names.has(id)) continue;
    const { size: providers } = new Set(
      tiers.flatMap((tier) => tier.endpoints.map((name) => endpoints[name]?.provider)),
    );
    if (providers > (widest?.providers ?? 0)) widest = { route: id, providers, sets: 2 ** providers - 1 };
  }
  return widest !== null && widest.sets > (costliest?.distinguished ?? 0) ? widest : null;
}

function dimensionsOf(
  { rules, contract }: SideContent,
  { universe, sides }: Space,
): readonly Pick<CostliestPolicy, "dimension" | "distinguished">[] {
  const [, side] = sides;
  const operation = OPERATIONS.find((one) => contract.operations.includes(one));
  const own = operation === undefined ? undefined : universe.operations.get(operation);
  if (rules === null || side === undefined || operation === undefined || own === undefined) return [];
  const sight = new Sight([policyReader(rules)], operation, side.ambiguous);
  const open = seenDimensions(universe, own, [{ sight, table: side.table }]).map(({ name, distinguished }) => ({
    dimension: name,
    distinguished: name === KEY_LABELS ? Math.round(2 ** distinguished) : distinguished,
  }));
  const path = "input.request.needs";
  const named = sight.sees(path) ? own.needs.filter((need) => sight.distinguishes(path, need)).length : 0;
  const others = sight.seesAllOf(path) ? own.needs.length - named + 1 : 1;
  return [...open, { dimension: "needs", distinguished: 2 ** named * others }];
}
