import type {
  Balance,
  BatchLimits,
  ConsoleSettings,
  HealthSettings,
  LatencyClass,
  ModelRow,
  PolicySettings,
  Price,
  ProviderRow,
  QueueSettings,
  RouteRow,
  Timeouts,
  Vocabulary,
  WorkspaceRow,
} from "../../canon/table.ts";
import type { Capability } from "../../canon/capability.ts";
import type { ModelOperation } from "../../canon/operation.ts";
import type {
  AuthoredEndpoint,
  AuthoredFallback,
  AuthoredModel,
  AuthoredProvider,
  AuthoredRoute,
  AuthoredWorkspace,
  RoutesFile,
} from "../routes-schema.ts";
import {
  normaliseAuth,
  normaliseLimits,
  normaliseConsole,
  normalisePromotion,
} from "./sections.ts";
import * as defaults from "./defaults.ts";
import { milliseconds } from "./durations.ts";

/**
 * The second stage: every default written out, durations in milliseconds, lists in their final
 * order, region groups replaced by their regions. Names still point nowhere: `resolve/` follows
 * them.
 */
export interface NormalisedRoutes {
  readonly regionGroups: ReadonlyMap<string, readonly string[]>;
  readonly providers: ReadonlyMap<string, ProviderRow>;
  readonly models: ReadonlyMap<string, ModelRow>;
  /** In the order of the file, so that the index is the one a path needs. */
  readonly endpoints: readonly NormalisedEndpoint[];
  readonly routes: ReadonlyMap<string, NormalisedRoute>;
  readonly workspaces: ReadonlyMap<string, WorkspaceRow>;
  readonly policies: PolicySettings;
  readonly vocabulary: Vocabulary;
  /** `undefined` where the file has no such section. */
  readonly console: ConsoleSettings | undefined;
}

export interface NormalisedEndpoint {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  /** `null`: the provider's. */
  readonly region: string | null;
  /** `null`: the model's. */
  readonly capabilities: readonly Capability[] | null;
  readonly price: Price | null;
  readonly latencyClass: LatencyClass | null;
  readonly maxConcurrency: number | null;
  /** `null`: what the dialect allows. */
  readonly batch: BatchLimits;
}

export interface NormalisedRoute extends Omit<RouteRow, "fallbacks" | "operations" | "tiers"> {
  /** In the order of the file, which means something under `balance: order`. */
  readonly peers: readonly string[];
  readonly balance: Balance;
  /** By endpoint, as far as the file names them; all others have 1. */
  readonly weights: ReadonlyMap<string, number>;
  readonly fallbacks: readonly AuthoredFallback[];
  /** `null`: the primary's. */
  readonly operations: readonly ModelOperation[] | null;
}

export function normalise(file: RoutesFile): NormalisedRoutes {
  const regionGroups = mapRows(file.regions, (_, regions) => sorted(regions));
  return {
    regionGroups,
    providers: mapRows(file.providers, normaliseProvider),
    models: mapRows(file.models, normaliseModel),
    endpoints: file.endpoints.map(normaliseEndpoint),
    routes: mapRows(file.routes, normaliseRoute),
    workspaces: mapRows(file.workspaces, (id, row) => normaliseWorkspace(id, row, regionGroups)),
    policies: {
      dir: (file.policies?.dir ?? defaults.DEFAULT_POLICY_DIRECTORY).replace(/\/+$/, ""),
      initialMode: { "*": defaults.DEFAULT_INITIAL_MODE, ...file.policies?.initial_mode },
      ...normalisePromotion(file.policies),
    },
    console: normaliseConsole(file.console),
    vocabulary: {
      environments: sorted(file.vocabulary?.environments ?? defaults.DEFAULT_ENVIRONMENTS),
      workloads: sorted(file.vocabulary?.workloads ?? []),
      labels: sorted(file.vocabulary?.labels ?? []),
      ...(file.vocabulary?.owners !== undefined && { owners: sorted(file.vocabulary.owners) }),
    },
  };
}

function normaliseProvider(id: string, row: AuthoredProvider): ProviderRow {
  return {
    id,
    dialect: row.dialect,
    baseUrl: row.base_url.replace(/\/+$/, ""),
    ...(row.network === "private" ? { network: "private" } : {}),
    ...(row.plaintext === true ? { plaintext: true } : {}),
    apiVersion: row.api_version ?? null,
    region: row.region,
    auth: normaliseAuth(row),
    retention: row.retention ?? defaults.DEFAULT_RETENTION,
    trainsOnData: row.trains_on_data ?? defaults.DEFAULT_TRAINS_ON_DATA,
    timeouts: normaliseTimeouts(row),
    maxConcurrency: row.max_concurrency ?? defaults.DEFAULT_MAX_CONCURRENCY,
    queue: normaliseQueue(row),
    health: normaliseHealth(row),
    flags: sorted(row.flags ?? []),
    betas: sorted(row.beta_flags ?? []),
    ...(row.trace_context === true ? { traceContext: true } : {}),
  };
}

function normaliseTimeouts({ timeouts }: AuthoredProvider): Timeouts {
  return {
    connect: milliseconds(timeouts?.connect ?? defaults.DEFAULT_TIMEOUTS.connect),
    firstByte: milliseconds(timeouts?.first_byte ?? defaults.DEFAULT_TIMEOUTS.first_byte),
    firstToken: milliseconds(timeouts?.first_token ?? defaults.DEFAULT_TIMEOUTS.first_token),
    idle: milliseconds(timeouts?.idle ?? defaults.DEFAULT_TIMEOUTS.idle),
    total: milliseconds(timeouts?.total ?? defaults.DEFAULT_TIMEOUTS.total),
  };
}

function normaliseQueue({ queue }: AuthoredProvider): QueueSettings {
  const { size, wait } = { ...defaults.DEFAULT_QUEUE, ...queue };
  return { size, wait: milliseconds(wait) };
}

function normaliseHealth(row: AuthoredProvider): HealthSettings {
  const { probe, ...health } = { probe: undefined, ...defaults.DEFAULT_HEALTH, ...row.health };
  return {
    consecutiveFailures: health.consecutive_failures,
    failureRatio: health.failure_ratio,
    minimumCalls: health.minimum_calls,
    window: milliseconds(health.window),
    ejection: milliseconds(health.ejection),
    longestEjection: milliseconds(health.longest_ejection),
    probe:
      probe === undefined
        ? null
        : {
            path: probe.path,
            interval: milliseconds(probe.interval ?? defaults.DEFAULT_PROBE_INTERVAL),
          },
  };
}

function normaliseModel(id: string, row: AuthoredModel): ModelRow {
  return {
    id,
    operations: sorted(row.operations),
    contextWindow: row.context_window ?? null,
    maxOutputTokens: row.max_output_tokens ?? null,
    defaultMaxOutputTokens: row.default_max_output_tokens ?? null,
    capabilities: sorted(row.capabilities ?? []),
    dimensions: (row.dimensions ?? []).toSorted(ascending),
    defaultDimensions:
      row.default_dimensions ?? (row.dimensions ?? []).toSorted(ascending).at(-1) ?? null,
    moderationCategories: row.moderation_categories ?? null,
    signatureFamily: row.signature_family ?? null,
    reasoning: normaliseReasoning(row),
    refuses: sorted(row.refuses ?? []),
    accepts: sorted(row.accepts ?? []),
  };
}

function normaliseReasoning({ reasoning }: AuthoredModel): ModelRow["reasoning"] {
  if (reasoning === undefined) return null;
  const { efforts, budgets } = reasoning;
  return { efforts: efforts === undefined ? null : sorted(efforts), budgets: budgets ?? null };
}

function normaliseEndpoint(row: AuthoredEndpoint): NormalisedEndpoint {
  return {
    id: row.id,
    model: row.model,
    provider: row.provider,
    upstreamModel: row.upstream_model,
    region: row.region ?? null,
    capabilities: row.capabilities === undefined ? null : sorted(row.capabilities),
    price: row.price === undefined ? null : normalisePrice(row.price),
    latencyClass: row.latency_class ?? null,
    maxConcurrency: row.max_concurrency ?? null,
    batch: { inputs: row.batch?.inputs ?? null, tokens: row.batch?.tokens ?? null },
  };
}

function normalisePrice(price: NonNullable<AuthoredEndpoint["price"]>): Price {
  return {
    input: price.input,
    output: price.output,
    request: price.request ?? 0,
    ...(price.cached_input !== undefined && { cachedInput: price.cached_input }),
    ...(price.cache_write !== undefined && { cacheWrite: price.cache_write }),
    ...(price.cache_write_1h !== undefined && { cacheWriteHour: price.cache_write_1h }),
    ...(price.reasoning !== undefined && { reasoning: price.reasoning }),
    ...(price.search !== undefined && { search: price.search }),
  };
}

function normaliseRoute(id: string, row: AuthoredRoute): NormalisedRoute {
  return {
    id,
    title: row.title ?? id,
    primary: row.primary,
    peers: row.peers ?? [],
    balance: row.balance ?? defaults.DEFAULT_BALANCE,
    weights: new Map(Object.entries(row.weights ?? {})),
    fallbacks: row.fallbacks ?? [],
    maxAttempts: row.max_attempts ?? defaults.DEFAULT_MAX_ATTEMPTS,
    ...(row.resend_after_reset === true ? { resendAfterReset: true } : {}),
    maxEjectedShare: row.max_ejected_share ?? defaults.DEFAULT_MAX_EJECTED_SHARE,
    hedgeAfter: row.hedge_after === undefined ? null : milliseconds(row.hedge_after),
    onGap: row.on_gap ?? "deny",
    unknownFields: row.unknown_fields ?? "reject",
    emulateSchema: row.emulate_json_schema ?? false,
    operations: row.operations === undefined ? null : sorted(row.operations),
  };
}

function normaliseWorkspace(
  id: string,
  row: AuthoredWorkspace,
  groups: ReadonlyMap<string, readonly string[]>,
): WorkspaceRow {
  const { approve, limits } = row;
  return {
    id,
    tier: row.tier,
    labels: sorted(row.labels ?? []),
    approve: {
      routes: sorted(approve.routes),
      regions: sorted(approve.regions.flatMap((name) => groups.get(name) ?? [name])),
      providers: sorted(approve.providers),
      capabilities: sorted(approve.capabilities ?? []),
      dimensions: (approve.dimensions ?? []).toSorted(ascending),
      contextWindow: approve.context_window ?? null,
      // Left out where they say what holds without them, as `on_revoke` below.
      ...(approve.data_collection === "deny" ? { dataCollection: "deny" } : {}),
      ...(approve.retention === undefined || approve.retention === "unlimited"
        ? {}
        : { retention: approve.retention }),
    },
    defaultModerationRoute: row.default_moderation_route ?? null,
    limits: normaliseLimits(limits),
    // Left out where it says what holds without it: the revision of a table does not change by it.
    ...(row.on_revoke === "finish" ? { onRevoke: "finish" } : {}),
    ...(row.record === "before_call" ? { record: "before_call" } : {}),
  };
}

function mapRows<Row, Result>(
  rows: Readonly<Record<string, Row>>,
  make: (id: string, row: Row) => Result,
): ReadonlyMap<string, Result> {
  return new Map(Object.entries(rows).map(([id, row]) => [id, make(id, row)]));
}

/** Each once, by code unit: the order means nothing, so it must not show in the revision. */
function sorted<Value extends string>(values: readonly Value[]): readonly Value[] {
  return [...new Set(values)].toSorted();
}

function ascending(left: number, right: number): number {
  return left - right;
}
