import type { Candidate } from "../canon/decision.ts";
import type { Identity } from "../canon/identity.ts";
import type { BudgetStep } from "../canon/limits.ts";
import { HOUR, localTimeAt, zoneOffset } from "../canon/local-time.ts";
import {
  HOUR_BUCKETS,
  type PolicyCandidate,
  type PolicyInput,
  type PolicySet,
  type PolicyTime,
} from "../canon/policy.ts";
import type { ProviderPreferences, RequestShape } from "../canon/request.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../canon/table.ts";

/** Hours of a bucket. */
const BUCKET = 24 / HOUR_BUCKETS.length;

/**
 * The window that an instant falls in: a quarter of a day in UTC, and the hour in time zones.
 *
 * @example timeWindow(0) // { day: "weekday", hour: "night" }
 *
 * @param at milliseconds since the epoch.
 * @throws {RangeError} when `at` is not finite: a clock without a valid time must not decide.
 */
export function timeWindow(at: number, zones: readonly string[] = []): PolicyTime {
  if (!Number.isFinite(at)) throw new RangeError("timeWindow: the clock gives no time");
  const utc = localTimeAt(at, 0);
  const hour = HOUR_BUCKETS[Math.floor(utc.hour / BUCKET)];
  if (hour === undefined) throw new RangeError("timeWindow: the clock gives no time of day");
  const day = utc.weekday === "saturday" || utc.weekday === "sunday" ? "weekend" : "weekday";
  if (zones.length === 0) return { day, hour };
  const local = zones.map((zone) => [zone, localTimeAt(at, zoneOffset(zone, at))] as const);
  return { day, hour, local: Object.fromEntries(local) };
}

/** A Monday and a Saturday at 00:00 UTC. */
const FIRST_DAY: Readonly<Record<PolicyTime["day"], number>> = {
  weekday: 1_767_571_200_000,
  weekend: 1_768_003_200_000,
};

/**
 * An instant of a window in UTC: its first in the week of 5 January 2026.
 *
 * @example instantOf({ day: "weekday", hour: "morning" })
 */
export function instantOf({ day, hour }: PolicyTime): number {
  return FIRST_DAY[day] + HOUR_BUCKETS.indexOf(hour) * BUCKET * HOUR;
}

/**
 * A window with the local time of these zones.
 *
 * @example windowIn(["Europe/Berlin"], Date.now()).local
 *
 * @param when milliseconds since the epoch, or a window. Zones that a window does not have get the
 * time of {@link instantOf}.
 */
export function windowIn(zones: readonly string[], when: number | PolicyTime): PolicyTime {
  if (typeof when === "number") return timeWindow(when, zones);
  const { day, hour, local: localTimes = {} } = when;
  const { local } = timeWindow(instantOf(when), zones);
  if (local === undefined) return { day, hour };
  const inZones = Object.entries(localTimes).filter(([zone]) => Object.hasOwn(local, zone));
  return { day, hour, local: { ...local, ...Object.fromEntries(inZones) } };
}

/**
 * The time as the policies of a set read it.
 *
 * @example policyTime({ readsTime: false, zones: [] }, 0) // ANY_TIME
 */
export function policyTime(
  { readsTime, zones }: Pick<PolicySet, "readsTime" | "zones">,
  when: number | PolicyTime,
): PolicyTime {
  return readsTime ? windowIn(zones, when) : ANY_TIME;
}

/**
 * Time of inputs where no policy reads it, so that requests of different hours are the same
 * question.
 */
export const ANY_TIME: PolicyTime = Object.freeze({ day: "weekday", hour: "morning" });

const NO_ZONES = {};

/** Input that comes neither from the request nor from the configuration. */
interface Circumstances {
  readonly time: PolicyTime;
  readonly budget: BudgetStep;
}

/**
 * Input of policies for a request: names of the table, enums, booleans and buckets
 * (docs/policies.md#what-a-policy-may-read).
 *
 * @example policyInput(table, workspace, identity, route, shape, null, circumstances, candidates)
 */
export function policyInput(
  table: RoutingTable,
  workspace: WorkspaceRow,
  identity: Identity,
  route: RouteRow,
  shape: RequestShape,
  preferences: ProviderPreferences | null,
  { time: { day, hour, local = NO_ZONES }, budget }: Circumstances,
  candidates: readonly Candidate[],
): PolicyInput {
  return {
    operation: shape.operation,
    workspace: { id: workspace.id, tier: workspace.tier, labels: workspace.labels },
    key: keyInput(table, identity),
    request: {
      route: route.id,
      ...requestInput(shape),
      dimensions: modelDimensions(table, shape.dimensions),
      allow_fallbacks: preferences?.allow_fallbacks !== false,
      data_collection: preferences?.data_collection === "allow" ? "allow" : "deny",
      zdr: preferences?.zdr === true,
    },
    budget: { remaining: budget },
    time: { day, hour },
    local_time: local,
    candidates: candidates.map((candidate) => policyCandidate(table, candidate)),
  };
}

/**
 * Members of the input that depend on the request's shape only.
 *
 * @example requestInput({ needs: ["tools"], maxOutput: "to_4k" }).max_output // "to_4k"
 */
export function requestInput({ needs, stream, context, maxOutput, reasoningEffort }: RequestShape) {
  return { needs, stream, context, max_output: maxOutput, reasoning_effort: reasoningEffort };
}

/**
 * The attributes of a key. A value outside the vocabulary becomes `other`, so that inputs stay
 * finite.
 *
 * @example keyInput(table, identity).environment
 */
export function keyInput(table: RoutingTable, identity: Identity): PolicyInput["key"] {
  const { environments, workloads, owners, labels } = table.vocabulary;
  const { owner = "" } = identity;
  return {
    environment: environments.includes(identity.environment) ? identity.environment : "other",
    workload: workloads.includes(identity.workload) ? identity.workload : "other",
    owner: owners?.includes(owner) === true ? owner : "other",
    labels: identity.labels.filter((label) => labels.includes(label)).toSorted(),
  };
}

function modelDimensions(table: RoutingTable, requested: number | null): number {
  if (requested === null) return 0;
  return Object.values(table.models).some((model) => model.dimensions.includes(requested))
    ? requested
    : 0;
}

function policyCandidate(table: RoutingTable, { endpoint, rank }: Candidate): PolicyCandidate {
  const provider = table.providers[endpoint.provider];
  return {
    id: endpoint.id,
    rank,
    model: endpoint.model,
    provider: endpoint.provider,
    region: endpoint.region,
    dialect: endpoint.dialect,
    retention: provider?.retention ?? "unlimited",
    trains_on_data: provider?.trainsOnData ?? true,
    capabilities: endpoint.capabilities,
    signature_family: table.models[endpoint.model]?.signatureFamily ?? "none",
    latency_class: endpoint.latencyClass ?? "unspecified",
    ...(endpoint.price === null
      ? {}
      : { price: { input: endpoint.price.input, output: endpoint.price.output } }),
  };
}
