import type { Candidate } from "../canon/decision.ts";
import type { Percentiles, ProviderPreferences } from "../canon/preferences.ts";
import { isDrawn, orderTier, type Circumstances as TierCircumstances } from "./balance.ts";
import type { HealthState } from "./health.ts";
import { PERCENTILES } from "./measures.ts";

/** What the order of a plan depends on, as of now. */
export interface Circumstances extends TierCircumstances {
  readonly healthStateOf: (endpointId: string) => HealthState;
  /** Largest share of the plan that may be put last for its health, 0 to 1; one candidate never is. */
  readonly maxEjectedShare: number;
  readonly preferences: ProviderPreferences | null;
  /** A policy or the caller has said which endpoints come first: what the caller prefers acts inside the tiers only. */
  readonly isOrdered: boolean;
}

/** A candidate that was put last. */
interface SetAside {
  readonly candidate: Candidate;
  readonly why: "ejected" | "rate_limited";
  /** When it may come back, on the caller's clock; past where another request or the active probe is just trying it, or this one has better to do. */
  readonly until: number;
}

export interface Arrangement {
  /** Every candidate of the plan, in the order in which to try them now. */
  readonly order: readonly Candidate[];
  /** Those at the end of `order`, in that order. */
  readonly out: readonly SetAside[];
  /** The first of `order` where this request finds out whether it has recovered; `null` where it does not. */
  readonly trial: Candidate | null;
}

/**
 * Puts a plan in the order in which to try it: each tier by its balance, what misses the caller's preferred speeds behind the rest, what is out for its
 * health last. No candidate is added or lost.
 */
export function arrange(plan: readonly Candidate[], circumstances: Circumstances): Arrangement {
  if (plan.length < 2) return { order: plan, out: [], trial: null };
  // Most routes: a primary with fallbacks, and a caller who prefers nothing.
  if (circumstances.preferences === null && hasOnePerTier(plan)) return byHealth(plan, circumstances);
  const tiers = tiersOf(plan).map((tier) => orderTier(tier, circumstances));
  const quickFirst = circumstances.isOrdered
    ? tiers.flatMap((tier) => byPreferredSpeed(tier, circumstances))
    : byPreferredSpeed(tiers.flat(), circumstances);
  return byHealth(quickFirst, circumstances);
}

/**
 * Whether chance decides a part of the order that {@link arrange} gives: under the same measurements the next call may have another one.
 *
 * @param out of the arrangement: candidates at its end have no part in a draw.
 */
export function isArrangedByChance(
  plan: readonly Candidate[],
  { out }: Arrangement,
  circumstances: TierCircumstances,
): boolean {
  const aside = new Set(out.map(({ candidate }) => candidate));
  return tiersOf(plan).some((tier) =>
    isDrawn(
      tier,
      tier.filter((candidate) => !aside.has(candidate)),
      circumstances,
    ),
  );
}

function hasOnePerTier(plan: readonly Candidate[]): boolean {
  return plan.every(({ tier }, index) => index === 0 || plan[index - 1]?.tier !== tier);
}

function tiersOf(plan: readonly Candidate[]): readonly (readonly Candidate[])[] {
  const tiers: Candidate[][] = [];
  for (const candidate of plan) {
    const last = tiers.at(-1);
    if (last?.[0]?.tier === candidate.tier) last.push(candidate);
    else tiers.push([candidate]);
  }
  return tiers;
}

/** Behind all other candidates: where no order is set, a quick fallback is better for the caller than a slow primary. */
function byPreferredSpeed(plan: readonly Candidate[], circumstances: Circumstances): readonly Candidate[] {
  const { preferred_max_latency: latency, preferred_min_throughput: throughput } = circumstances.preferences ?? {};
  if (latency === undefined && throughput === undefined) return plan;
  const misses = ({ endpoint }: Candidate): boolean => {
    const measures = circumstances.measuresOf(endpoint.id);
    if (measures === null) return false;
    const { now } = circumstances;
    return (
      missesAny(latency, (share) => measures.firstToken(share, now), isSlower) ||
      missesAny(throughput, (share) => measures.throughput(share, now), isLess)
    );
  };
  const slow = new Set(plan.filter(misses));
  return [...plan.filter((candidate) => !slow.has(candidate)), ...slow];
}

/** Whether a measurement misses one of the required percentiles. */
function missesAny(
  required: Percentiles | undefined,
  measured: (share: number) => number | null,
  isMiss: (measured: number, required: number) => boolean,
): boolean {
  if (required === undefined) return false;
  for (const name of ["p50", "p75", "p90", "p99"] as const) {
    const wanted = required[name];
    if (wanted === undefined) continue;
    const value = measured(PERCENTILES[name]);
    if (value !== null && isMiss(value, wanted)) return true;
  }
  return false;
}

function isSlower(milliseconds: number, seconds: number): boolean {
  return milliseconds > seconds * 1000;
}

function isLess(tokensPerSecond: number, required: number): boolean {
  return tokensPerSecond < required;
}

/**
 * A half-open endpoint keeps its position: the request that goes there first has its trial. Behind another candidate the trial is not reserved: the
 * first request that gets there has it.
 */
function byHealth(plan: readonly Candidate[], { healthStateOf, maxEjectedShare }: Circumstances): Arrangement {
  // Nearly always: then there is nothing to put aside.
  if (plan.every(({ endpoint }) => healthStateOf(endpoint.id).state === "healthy"))
    return { order: plan, out: [], trial: null };
  const healthStates = new Map(plan.map((candidate) => [candidate, healthStateOf(candidate.endpoint.id)]));
  const limit = mostAside(plan.length, maxEjectedShare);
  const aside = longestOut(plan, healthStates, limit);
  const inOrder: Candidate[] = [];
  let trial: Candidate | null = null;
  for (const candidate of plan) {
    const healthState = healthStates.get(candidate);
    if (aside.has(candidate)) continue;
    if (healthState?.state === "half_open" && !healthState.isTaken && inOrder.length === 0) trial = candidate;
    inOrder.push(candidate);
  }
  const out = plan
    .flatMap((candidate) => aside.get(candidate) ?? [])
    .toSorted((left, right) => left.until - right.until);
  return { order: [...inOrder, ...out.map(({ candidate }) => candidate)], out, trial };
}

function mostAside(size: number, share: number): number {
  // A share such as 0.29 of 100 falls just short of the whole number that is meant.
  return Math.min(Math.floor(share * size + 1e-9), size - 1);
}

/** The candidates that are out, as many as may be: those that come back soonest keep their positions, of equals the better ranked. */
function longestOut(
  plan: readonly Candidate[],
  healthStates: ReadonlyMap<Candidate, HealthState>,
  limit: number,
): Map<Candidate, SetAside> {
  const out = plan.flatMap((candidate): readonly SetAside[] => {
    const healthState = healthStates.get(candidate);
    if (healthState === undefined || healthState.state === "healthy") return [];
    if (healthState.state !== "half_open") return [{ candidate, why: healthState.state, until: healthState.until }];
    return healthState.isTaken ? [{ candidate, why: "ejected", until: healthState.until }] : [];
  });
  const longest = out.toReversed().toSorted((left, right) => right.until - left.until);
  // A rate limit is always respected; the share bounds only endpoints that are out for their failures.
  const limited = longest.filter(({ why }) => why === "rate_limited").slice(0, plan.length - 1);
  const ill = longest.filter(({ why }) => why === "ejected");
  const left = Math.min(limit, plan.length - 1 - limited.length);
  return new Map([...limited, ...ill.slice(0, Math.max(left, 0))].map((entry) => [entry.candidate, entry]));
}
