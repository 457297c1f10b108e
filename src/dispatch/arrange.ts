import type { IncomingHttpHeaders } from "node:http";
import type { Candidate, RouteDecision } from "../canon/decision.ts";
import type {
  InferenceRequest,
  Percentiles,
  ProviderPreferences,
  RequestShape,
} from "../canon/request.ts";
import type { RouteRow } from "../canon/table.ts";
import {
  isRandomTier,
  orderTier,
  type Circumstances as TierCircumstances,
  type StickyKeyOf,
} from "./balance.ts";
import { PERCENTILES, type EndpointTracker } from "./endpoint-tracker.ts";
import type { HealthState } from "./health.ts";

/** Headers by which clients name a conversation; the first present one counts. */
const SESSION_HEADERS = ["x-session-id", "session_id", "session-id", "x-claude-code-session-id"];

/** A plan in the order of its calls. */
export interface ArrangedPlan {
  /** In the order to try. */
  readonly plan: readonly Candidate[];
  /** Candidates in service, counted from the first. */
  readonly inService: number;
  /** Candidates moved to the end for their health, including those left out of `plan` for it. */
  readonly setAside: readonly SetAside[];
}

/**
 * Members of a request that the order depends on; `body` is empty where a simulation has only a
 * shape.
 */
type ArrangedRequest = Pick<InferenceRequest, "preferences" | "body" | "reader"> & {
  readonly shape: Pick<RequestShape, "stream">;
};

/** Health and measurements for the request's kind of calls. */
type ArrangedEndpoints = Pick<EndpointTracker, "measuresOf" | "healthStateOf" | "claimTrial">;

/** Measurements of endpoints in this process, and the keys of conversations. */
interface Arranger {
  readonly endpoints: ArrangedEndpoints;
  readonly stickyKeyOf: StickyKeyOf;
}

/**
 * The plan in the order in which to call it now: the decision limits the candidates, the
 * measurements order them. A request that tests whether an endpoint has recovered reserves that
 * trial, so do not call this for a request that will not be made.
 */
export function arrangedPlan(
  arranger: Arranger,
  decision: RouteDecision,
  route: RouteRow,
  request: ArrangedRequest,
  headers: IncomingHttpHeaders,
): ArrangedPlan {
  const { plan, maxCandidates } = decision;
  if (plan.length === 1) return { plan, inService: 1, setAside: [] };
  const now = performance.now();
  const wishes = wishesOf(arranger, decision, route, request, headers);
  const { order, out } = arrangeCall(arranger.endpoints, plan, wishes, now, Math.random);
  const inService = order.length - out.length;
  return {
    plan: maxCandidates === null ? order : order.slice(0, maxCandidates),
    inService,
    setAside: out,
  };
}

/** The order in which a call that began now would try the plan. */
export interface ForeseenPlan {
  /** The whole plan; a call tries as many of it, from the first, as the decision allows. */
  readonly order: readonly Candidate[];
  /** `order` is one draw of several: the next call may draw another one. */
  readonly isRandom: boolean;
}

/**
 * The result of {@link arrangedPlan} for a request that is not made: same measurements, same
 * function, nothing reserved.
 */
export function foreseenPlan(
  arranger: Arranger,
  decision: RouteDecision,
  route: RouteRow,
  request: ArrangedRequest,
  headers: IncomingHttpHeaders,
): ForeseenPlan {
  const wishes = wishesOf(arranger, decision, route, request, headers);
  const circumstances = circumstancesOf(arranger.endpoints, wishes, performance.now(), Math.random);
  const arrangement = arrange(decision.plan, circumstances);
  return {
    order: arrangement.order,
    isRandom: isRandomOrder(decision.plan, arrangement, circumstances),
  };
}

/** The order that route, caller and policies require. */
type Wishes = Pick<
  Circumstances,
  "maxEjectedShare" | "isOrdered" | "preferences" | "stickyKey" | "isStream"
>;

function wishesOf(
  { stickyKeyOf }: Arranger,
  decision: RouteDecision,
  { maxEjectedShare }: RouteRow,
  request: ArrangedRequest,
  headers: IncomingHttpHeaders,
): Wishes {
  const isSticky = decision.plan.some(({ balance }) => balance === "sticky");
  const stickyKey = isSticky ? stickyKeyOf(request, sessionOf(headers)) : null;
  const { preferences, shape } = request;
  return {
    maxEjectedShare,
    isOrdered: isOrdered(decision, request),
    preferences,
    stickyKey,
    isStream: shape.stream,
  };
}

/**
 * Arranges a call that is made now. @param now milliseconds, on the clock of the endpoints. @param
 * random from 0 up to, and without, 1.
 */
export function arrangeCall(
  endpoints: ArrangedEndpoints,
  plan: readonly Candidate[],
  wishes: Wishes,
  now: number,
  random: () => number,
): Arrangement {
  const arrangement = arrange(plan, circumstancesOf(endpoints, wishes, now, random));
  if (arrangement.trial !== null) endpoints.claimTrial(arrangement.trial.endpoint.id, now);
  return arrangement;
}

export function circumstancesOf(
  endpoints: ArrangedEndpoints,
  wishes: Wishes,
  now: number,
  random: () => number,
): Circumstances {
  return {
    measuresOf: (endpointId) => endpoints.measuresOf(endpointId),
    healthStateOf: (endpointId) => endpoints.healthStateOf(endpointId, now),
    ...wishes,
    now,
    random,
  };
}

/**
 * A policy that prefers a region ranks after the caller's wishes; so does a caller's explicit
 * order.
 */
function isOrdered({ obligations }: RouteDecision, { preferences }: ArrangedRequest) {
  return (
    preferences?.order !== undefined ||
    obligations.some(({ kind, effect }) => kind === "prefer_region" && effect === "applied")
  );
}

function sessionOf(headers: IncomingHttpHeaders): string | null {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

/** Inputs of a plan's order, as of now. */
export interface Circumstances extends TierCircumstances {
  readonly healthStateOf: (endpointId: string) => HealthState;
  /**
   * Largest share of the plan that may be moved to the end for its health, 0 to 1; one candidate
   * always stays.
   */
  readonly maxEjectedShare: number;
  readonly preferences: ProviderPreferences | null;
  /**
   * A policy or the caller has ordered the endpoints: other preferences of the caller act inside
   * tiers only.
   */
  readonly isOrdered: boolean;
}

/** A candidate that was moved to the end. */
export interface SetAside {
  readonly candidate: Candidate;
  readonly why: "ejected" | "rate_limited" | "unsupported";
  /**
   * Earliest return, on the caller's clock; in the past where another request or the active probe
   * has its trial, or where this request prefers another candidate.
   */
  readonly until: number;
}

interface Arrangement {
  /** Every candidate of the plan, in the order in which to try them now. */
  readonly order: readonly Candidate[];
  /** Those at the end of `order`, in that order. */
  readonly out: readonly SetAside[];
  /** The first of `order` where this request is its trial; `null` where it is not. */
  readonly trial: Candidate | null;
}

/**
 * Orders a plan: each tier by its balance, then those that miss the caller's preferred speeds, then
 * those that are out for their health. No candidate is added or lost.
 */
export function arrange(plan: readonly Candidate[], circumstances: Circumstances): Arrangement {
  if (plan.length < 2) return { order: plan, out: [], trial: null };
  // Most routes: a primary with fallbacks, and a caller without preferences.
  if (circumstances.preferences === null && hasOnePerTier(plan))
    return byHealth(plan, circumstances);
  const tiers = tiersOf(plan).map((tier) => orderTier(tier, circumstances));
  const quickFirst = circumstances.isOrdered
    ? tiers.flatMap((tier) => byPreferredSpeed(tier, circumstances))
    : byPreferredSpeed(tiers.flat(), circumstances);
  return byHealth(quickFirst, circumstances);
}

/**
 * Whether chance decides a part of the order of {@link arrange}: with the same measurements the
 * next call may differ.
 *
 * @param out candidates at the end of the order, which have no part in a draw.
 */
function isRandomOrder(
  plan: readonly Candidate[],
  { out }: Arrangement,
  circumstances: TierCircumstances,
): boolean {
  const aside = new Set(out.map(({ candidate }) => candidate));
  return tiersOf(plan).some((tier) =>
    isRandomTier(
      tier,
      tier.filter((candidate) => !aside.has(candidate)),
      circumstances,
    ),
  );
}

function hasOnePerTier(plan: readonly Candidate[]) {
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

/**
 * Behind all other candidates: without a set order, a quick fallback is better for the caller than
 * a slow primary.
 */
function byPreferredSpeed(
  plan: readonly Candidate[],
  circumstances: Circumstances,
): readonly Candidate[] {
  const { preferred_max_latency: latency, preferred_min_throughput: throughput } =
    circumstances.preferences ?? {};
  if (latency === undefined && throughput === undefined) return plan;
  const misses = ({ endpoint }: Candidate): boolean => {
    const measures = circumstances.measuresOf(endpoint.id);
    if (measures === null) return false;
    const { now } = circumstances;
    return (
      missesAny(latency, (share) => measures.firstToken.percentile(share, now), missesLatency) ||
      missesAny(throughput, (share) => measures.throughput.percentile(share, now), missesThroughput)
    );
  };
  const slow = new Set(plan.filter(misses));
  return [...plan.filter((candidate) => !slow.has(candidate)), ...slow];
}

/** Whether a measurement misses one of the required percentiles. */
function missesAny(
  required: Percentiles | undefined,
  measured: (share: number) => number | null,
  misses: (measured: number, required: number) => boolean,
): boolean {
  if (required === undefined) return false;
  for (const name of ["p50", "p75", "p90", "p99"] as const) {
    const threshold = required[name];
    if (threshold === undefined) continue;
    const value = measured(PERCENTILES[name]);
    if (value !== null && misses(value, threshold)) return true;
  }
  return false;
}

function missesLatency(milliseconds: number, seconds: number) {
  return milliseconds > seconds * 1000;
}

function missesThroughput(tokensPerSecond: number, required: number) {
  return tokensPerSecond < required;
}

/**
 * A half-open endpoint keeps its position: the request that calls it first has its trial. Behind
 * another candidate the trial is not reserved; the first request that gets there has it.
 */
function byHealth(
  plan: readonly Candidate[],
  { healthStateOf, maxEjectedShare }: Circumstances,
): Arrangement {
  // Nearly always true.
  if (plan.every(({ endpoint }) => healthStateOf(endpoint.id).state === "healthy"))
    return { order: plan, out: [], trial: null };
  const healthStates = new Map(
    plan.map((candidate) => [candidate, healthStateOf(candidate.endpoint.id)]),
  );
  const limit = mostAside(plan.length, maxEjectedShare);
  const aside = longestOut(plan, healthStates, limit);
  const inOrder: Candidate[] = [];
  let trial: Candidate | null = null;
  for (const candidate of plan) {
    const healthState = healthStates.get(candidate);
    if (aside.has(candidate)) continue;
    if (healthState?.state === "half_open" && !healthState.isTrialRunning && inOrder.length === 0)
      trial = candidate;
    inOrder.push(candidate);
  }
  const out = plan
    .flatMap((candidate) => aside.get(candidate) ?? [])
    .toSorted((left, right) => left.until - right.until);
  return { order: [...inOrder, ...out.map(({ candidate }) => candidate)], out, trial };
}

function mostAside(size: number, share: number) {
  // Floating point: a share such as 0.29 of 100 is slightly below the whole number.
  return Math.min(Math.floor(share * size + 1e-9), size - 1);
}

/**
 * The candidates to move to the end, up to the allowed count: those that return soonest keep their
 * positions; ties keep the better rank.
 */
function longestOut(
  plan: readonly Candidate[],
  healthStates: ReadonlyMap<Candidate, HealthState>,
  limit: number,
): Map<Candidate, SetAside> {
  const out = plan.flatMap((candidate): readonly SetAside[] => {
    const healthState = healthStates.get(candidate);
    if (healthState === undefined || healthState.state === "healthy") return [];
    if (healthState.state !== "half_open")
      return [{ candidate, why: healthState.state, until: healthState.until }];
    return healthState.isTrialRunning
      ? [{ candidate, why: "ejected", until: healthState.until }]
      : [];
  });
  const longest = out.toReversed().toSorted((left, right) => right.until - left.until);
  // Rate limits and missing paths always apply; the share bounds ejected endpoints only.
  const limited = longest.filter(({ why }) => why !== "ejected").slice(0, plan.length - 1);
  const ill = longest.filter(({ why }) => why === "ejected");
  const attemptsLeft = Math.min(limit, plan.length - 1 - limited.length);
  return new Map(
    [...limited, ...ill.slice(0, Math.max(attemptsLeft, 0))].map((entry) => [
      entry.candidate,
      entry,
    ]),
  );
}
