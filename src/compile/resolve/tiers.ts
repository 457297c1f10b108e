import type { Balance, TierRow } from "../../canon/table.ts";
import type { NormalisedRoute } from "../normalised/normalise.ts";
import type { CompileContext } from "../compile-context.ts";
import type { ResolvedEndpoint } from "./endpoints.ts";

/** Most routes of which each is among the fallbacks of the one before it. */
export const LONGEST_CHAIN = 16;

/** One endpoint of a route, and the item of the file that brought it in. */
export interface ResolvedCandidate {
  readonly endpoint: ResolvedEndpoint;
  /** The load-balanced group of a route among the fallbacks are fallbacks here. */
  readonly rank: "primary" | "peer" | "fallback";
  /** Index in the authored `peers` or `fallbacks`; without meaning for the primary. */
  readonly index: number;
}

interface ResolvedTier {
  readonly row: TierRow;
  readonly candidates: readonly ResolvedCandidate[];
}

/**
 * A route's endpoints by rank, the routes among its fallbacks written out with their own ranks. An
 * endpoint that comes up twice is kept where it comes up first; a tier that loses all of its
 * endpoints that way is none. Endpoints that do not exist have been reported, and so have circles
 * and chains that are too long: it ends in them.
 */
export function resolveTiers(
  { normalised }: CompileContext,
  route: NormalisedRoute,
  endpoints: ReadonlyMap<string, ResolvedEndpoint>,
): readonly ResolvedTier[] {
  const taken = new Set<string>();
  const opened = new Set<string>();
  const tiers: ResolvedTier[] = [];
  const take = (
    id: string,
    rank: ResolvedCandidate["rank"],
    index: number,
  ): readonly ResolvedCandidate[] => {
    const endpoint = endpoints.get(id);
    if (endpoint === undefined || taken.has(id)) return [];
    taken.add(id);
    return [{ endpoint, rank, index }];
  };
  const add = (
    candidates: readonly ResolvedCandidate[],
    balance: Balance,
    weights: ReadonlyMap<string, number>,
  ): void => {
    if (candidates.length > 0)
      tiers.push({ row: tierRow(candidates, balance, weights), candidates });
  };
  /** @param item index among the fallbacks of `route`; `null` for `route` itself. */
  const open = (other: NormalisedRoute, item: number | null, depth: number): void => {
    opened.add(other.id);
    const { primary, peers, balance, weights } = other;
    const first = item === null ? take(primary, "primary", 0) : take(primary, "fallback", item);
    const equals = peers.flatMap((id, index) =>
      item === null ? take(id, "peer", index) : take(id, "fallback", item),
    );
    add([...first, ...equals], balance, weights);
    for (const [index, fallback] of other.fallbacks.entries()) {
      const from = item ?? index;
      if (typeof fallback === "string") {
        add(take(fallback, "fallback", from), "order", NO_WEIGHTS);
        continue;
      }
      const next = normalised.routes.get(fallback.route);
      if (next !== undefined && !opened.has(next.id) && depth < LONGEST_CHAIN)
        open(next, from, depth + 1);
    }
  };
  open(route, null, 1);
  return tiers;
}

const NO_WEIGHTS: ReadonlyMap<string, number> = new Map();

function tierRow(
  candidates: readonly ResolvedCandidate[],
  balance: Balance,
  authored: ReadonlyMap<string, number>,
): TierRow {
  const ids = candidates.map(({ endpoint }) => endpoint.row.id);
  const weights = ids.map((id) => authored.get(id) ?? 1);
  // Those that had a share may stand in an earlier tier: the rest of their route share alike.
  const shares = weights.some((weight) => weight > 0) ? weights : weights.map(() => 1);
  return { endpoints: ids, balance, weights: shares };
}
