import type { Candidate, ConstraintTrace } from "../canon/decision.ts";
import type { ReasonCode } from "../canon/reasons.ts";
import type { ProviderPreferences, SortPreference } from "../canon/request.ts";
import type { RoutingTable, WorkspaceRow } from "../canon/table.ts";
import { endpointIds, planOf, tiersOf } from "./candidates.ts";
import type { Trace } from "./trace.ts";

type Filter = (candidate: Candidate) => boolean;

/**
 * Leaves out the candidates that the caller excludes, before the approvals: an excluded endpoint is
 * not eligible and needs no approval. Preferences never add a candidate
 * (docs/dispatch.md#preferences-of-the-caller).
 *
 * @example applyPreferences(table, workspace, { only: ["openai-eu"] }, candidates, new Trace())
 */
export function applyPreferences(
  table: RoutingTable,
  workspace: WorkspaceRow,
  preferences: ProviderPreferences | null,
  candidates: readonly Candidate[],
  trace: Trace,
): readonly Candidate[] {
  const { revision } = table;
  const deny = (member: string, reason: ReasonCode): readonly Candidate[] => {
    trace.deny({
      policy: "preferences",
      revision,
      constraint: member,
      reason,
      subject: member,
      failing: [],
    });
    return candidates;
  };
  const record = (
    constraint: string,
    outcome: Pick<ConstraintTrace, "verdict" | "reason" | "failing" | "effect">,
  ) => trace.record({ policy: "preferences", revision, slot: "enforced", constraint, ...outcome });

  const unknown =
    preferences === null ? null : unknownName(table, workspace, candidates, preferences);
  if (unknown !== null) return deny(unknown, "unknown_preference");
  let remaining = candidates;
  for (const [member, keeps] of preferenceFilters(table, preferences ?? {})) {
    const matching = remaining.filter(keeps);
    if (matching.length === remaining.length) continue;
    const failing = endpointIds(remaining.filter((candidate) => !keeps(candidate)));
    const effect = matching.length === 0 ? "denied" : "narrowed";
    record(member, { verdict: "fail", reason: null, failing, effect });
    if (matching.length === 0) return deny(member, "preferences_exclude_all");
    remaining = matching;
  }
  // Plans have no measurements. The trace shows that dispatch applies these members.
  for (const member of MEASURED) {
    if (preferences?.[member] === undefined) continue;
    if (member === "sort" && preferences.sort?.by === "price") continue;
    record(member, { verdict: "pass", reason: "ORDERED_AT_DISPATCH", failing: [], effect: "none" });
  }
  return remaining;
}

const MEASURED = ["sort", "preferred_max_latency", "preferred_min_throughput"] as const;

function preferenceFilters(
  table: RoutingTable,
  preferences: ProviderPreferences,
): readonly (readonly [keyof ProviderPreferences, Filter])[] {
  const { only, ignore, region, max_price: most } = preferences;
  const regions = new Set(region?.flatMap((name) => regionsNamed(table, name) ?? []));
  const filters: readonly (readonly [keyof ProviderPreferences, boolean, Filter])[] = [
    ["only", only !== undefined, ({ endpoint }) => only?.includes(endpoint.provider) === true],
    [
      "ignore",
      ignore !== undefined,
      ({ endpoint }) => ignore?.includes(endpoint.provider) !== true,
    ],
    ["region", region !== undefined, ({ endpoint }) => regions.has(endpoint.region)],
    [
      "data_collection",
      preferences.data_collection !== "allow",
      ({ endpoint }) => table.providers[endpoint.provider]?.trainsOnData === false,
    ],
    [
      "zdr",
      preferences.zdr === true,
      ({ endpoint }) => table.providers[endpoint.provider]?.retention === "none",
    ],
    [
      "max_price",
      most !== undefined,
      // An endpoint without a price cannot be shown to be cheap enough.
      ({ endpoint: { price } }) =>
        price !== null &&
        price.input <= (most?.input ?? Infinity) &&
        price.output <= (most?.output ?? Infinity) &&
        price.request <= (most?.request ?? Infinity),
    ],
  ];
  return filters.flatMap(([member, applies, keeps]) => (applies ? [[member, keeps]] : []));
}

/**
 * The first member that names something the workspace does not have; a typo must not read as
 * "exclude everything". A workspace has the providers and regions that it may use: if another
 * tenant's gave another answer, the difference would reveal which exist. `ignore` and `region` may
 * also name providers and regions of the requested route, because a denial names them; a provider
 * that is not approved can never answer, so `only` and `order` may not.
 */
function unknownName(
  table: RoutingTable,
  { approve }: WorkspaceRow,
  candidates: readonly Candidate[],
  preferences: ProviderPreferences,
): keyof ProviderPreferences | null {
  const isApproved = (name: string) => approve.providers.includes(name);
  const servesRoute = (name: string) =>
    candidates.some(({ endpoint }) => endpoint.provider === name);
  for (const member of ["order", "only"] as const) {
    if (preferences[member]?.every(isApproved) === false) return member;
  }
  if (preferences.ignore?.every((name) => isApproved(name) || servesRoute(name)) === false)
    return "ignore";
  const isRegion = (region: string) =>
    approve.regions.includes(region) ||
    candidates.some(({ endpoint }) => endpoint.region === region);
  const isRegionName = (name: string) => regionsNamed(table, name)?.some(isRegion) === true;
  return preferences.region?.some((name) => !isRegionName(name)) === true ? "region" : null;
}

/**
 * The regions of a group, or the region itself; `null` where the table has neither.
 *
 * @example regionsNamed({ regionGroups: { eu: ["eu-west"] } }, "eu") // ["eu-west"]
 */
export function regionsNamed(table: RoutingTable, name: string): readonly string[] | null {
  const group = Object.hasOwn(table.regionGroups, name) ? table.regionGroups[name] : undefined;
  if (group !== undefined) return group;
  const isRegion =
    Object.values(table.regionGroups).some((regions) => regions.includes(name)) ||
    Object.values(table.providers).some((provider) => provider.region === name);
  return isRegion ? [name] : null;
}

/**
 * The order of trying: the caller's `order` first, then `sort`, otherwise the table's order.
 * Stable. All candidates stay, unless the caller wants a single endpoint: then the first tier
 * stays, of which dispatch tries one.
 *
 * `order` and a sort by price are final, so each candidate is a tier of its own. A sort by latency
 * or throughput chooses within a tier: of the caller's `order`, all candidates or (`partition:
 * model`) those of one model.
 *
 * @example orderCandidates(null, []) // []
 */
export function orderCandidates(
  preferences: ProviderPreferences | null,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (preferences === null) return candidates;
  const ordered = reorder(preferences, candidates);
  return preferences.allow_fallbacks === false ? (tiersOf(ordered)[0] ?? []) : ordered;
}

function reorder(
  { order, sort }: ProviderPreferences,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  if (sort !== undefined && sort.by !== "price") {
    const tiers = ranksIn(order, candidates).flatMap((group) =>
      sort.partition === "none" ? [group] : byModel(group),
    );
    return planOf(tiers, sort.by);
  }
  if (order === undefined && sort === undefined) return candidates;
  const sorted = sort === undefined ? candidates : byPrice(sort, candidates);
  const single = ranksIn(order, sorted).flatMap((group) => group.map((candidate) => [candidate]));
  return planOf(single, "order");
}

/**
 * The cheapest first, within each model unless the caller compares models; models in the order of
 * their first candidate.
 */
function byPrice(
  { partition }: SortPreference,
  candidates: readonly Candidate[],
): readonly Candidate[] {
  const groups = partition === "none" ? [candidates] : byModel(candidates);
  return groups.flatMap((group) =>
    group.toSorted((left, right) => totalPrice(left) - totalPrice(right)),
  );
}

/** The candidates of each provider of `order`, then all others; one group without an order. */
function ranksIn(
  order: readonly string[] | undefined,
  candidates: readonly Candidate[],
): readonly (readonly Candidate[])[] {
  if (order === undefined) return [candidates];
  const distinct = order.filter((provider, index) => order.indexOf(provider) === index);
  const preferred = distinct.map((provider) =>
    candidates.filter(({ endpoint }) => endpoint.provider === provider),
  );
  return [...preferred, candidates.filter(({ endpoint }) => !order.includes(endpoint.provider))];
}

function byModel(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  return [...Map.groupBy(candidates, ({ endpoint }) => endpoint.model).values()];
}

/** Sum of the prices of input and output; unknown prices last. */
function totalPrice({ endpoint: { price } }: Candidate) {
  return price === null ? Infinity : price.input + price.output;
}
