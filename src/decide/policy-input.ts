import type { Candidate } from "../canon/decision.ts";
import type { Identity } from "../canon/identity.ts";
import type { BudgetStep } from "../canon/limits.ts";
import {
  HOUR_BUCKETS,
  type PolicyCandidate,
  type PolicyInput,
  type PolicyTime,
} from "../canon/policy.ts";
import type { ProviderPreferences, RequestShape } from "../canon/request.ts";
import type { RouteRow, RoutingTable, WorkspaceRow } from "../canon/table.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Hours of a bucket. */
const BUCKET = 24 / HOUR_BUCKETS.length;

/**
 * The window that an instant falls in. UTC has no daylight saving time: a day is 24 hours, and a
 * quarter of it a bucket.
 *
 * @example timeWindow(0) // { day: "weekday", hour: "night" }
 *
 * @param at milliseconds since the epoch.
 * @throws {RangeError} when `at` is not finite: a clock without a valid time must not decide.
 */
export function timeWindow(at: number): PolicyTime {
  if (!Number.isFinite(at)) throw new RangeError("timeWindow: the clock gives no time");
  const day = Math.floor(at / DAY);
  // 1 January 1970 was a Thursday; counted from Monday, the days from 5 on are the weekend.
  const weekday = modulo(day + 3, 7);
  const hour = HOUR_BUCKETS[Math.floor((at - day * DAY) / HOUR / BUCKET)];
  if (hour === undefined) throw new RangeError("timeWindow: the clock gives no time of day");
  return { day: weekday < 5 ? "weekday" : "weekend", hour };
}

/**
 * Time of inputs where no policy reads it, so that requests of different hours are the same
 * question.
 */
export const ANY_TIME: PolicyTime = Object.freeze({ day: "weekday", hour: "morning" });

/** Not negative, unlike `%`. */
function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

/** Input that comes neither from the request nor from the configuration. */
interface Circumstances {
  readonly time: PolicyTime;
  readonly budget: BudgetStep;
}

/**
 * Input of policies for a request: names of the table, enums, booleans and buckets
 * (docs/policies.md#what-a-policy-may-read).
 */
export function policyInput(
  table: RoutingTable,
  workspace: WorkspaceRow,
  identity: Identity,
  route: RouteRow,
  shape: RequestShape,
  preferences: ProviderPreferences | null,
  { time, budget }: Circumstances,
  candidates: readonly Candidate[],
): PolicyInput {
  return {
    operation: shape.operation,
    workspace: { id: workspace.id, tier: workspace.tier, labels: workspace.labels },
    key: keyInput(table, identity),
    request: {
      route: route.id,
      ...requestInput(shape),
      dimensions: knownDimensions(table, shape.dimensions),
      allow_fallbacks: preferences?.allow_fallbacks !== false,
      data_collection: preferences?.data_collection === "allow" ? "allow" : "deny",
      zdr: preferences?.zdr === true,
    },
    budget: { remaining: budget },
    time,
    candidates: candidates.map((candidate) => policyCandidate(table, candidate)),
  };
}

/** Members of the input that depend on the request's shape only. */
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

function knownDimensions(table: RoutingTable, requested: number | null): number {
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
