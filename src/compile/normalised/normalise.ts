import type { Capability } from "../../canon/capability.ts";
import type { Budget, KeyLimits, WorkspaceLimits } from "../../canon/limits.ts";
import type { ModelOperation } from "../../canon/operation.ts";
import {
  ALERT_EVENTS,
  DEFAULT_PROMOTION,
  SESSION_TIMES,
  type AlertSettings,
  type Balance,
  type BatchLimits,
  type ConsoleSettings,
  type HealthSettings,
  type LatencyClass,
  type ModelRow,
  type OidcSettings,
  type OnMissingSecret,
  type PolicySettings,
  type Price,
  type PromotionRequirements,
  type ProviderAuth,
  type ProviderRow,
  type QueueSettings,
  type RouteRow,
  type Timeouts,
  type Vocabulary,
  type WorkspaceRow,
} from "../../canon/table.ts";
import { RATES, ratesIn } from "../prices.ts";
import * as defaults from "./defaults.ts";
import { milliseconds } from "./defaults.ts";
import type {
  AuthoredAlerts,
  AuthoredAuth,
  AuthoredConsole,
  AuthoredEndpoint,
  AuthoredFallback,
  AuthoredModel,
  AuthoredPolicies,
  AuthoredProvider,
  AuthoredRoute,
  AuthoredWorkspace,
  RoutesFile,
} from "../routes-schema.ts";

/** Region and service in a host name of AWS. */
interface AwsHost {
  readonly region: string;
  /** The service's name in signatures; `null` where it is not known to follow from the host. */
  readonly service: string | null;
}

/**
 * `{service}.{region}.amazonaws.com` and its kin: dual-stack hosts (`api.aws`), interface endpoints
 * (`vpce`), the partitions of China and of the European sovereign cloud. AWS's page "AWS service
 * endpoints" documents the forms.
 */
const FORM =
  /^(?:[a-z0-9-]+\.)*?(?<name>[a-z][a-z0-9-]*)\.(?<region>[a-z]{2,4}(?:-[a-z]+)+-\d+)\.(?:vpce\.)?(?:amazonaws\.(?:com|com\.cn|eu)|api\.(?:aws|amazonwebservices\.com\.cn))$/;

/**
 * Hosts that sign under another name than their own. Data about endpoints, from their service
 * models.
 */
const SIGNED_AS: ReadonlyMap<string, string> = new Map([
  ["bedrock", "bedrock"],
  ["bedrock-runtime", "bedrock"],
  ["bedrock-agent-runtime", "bedrock"],
]);

/** `null` for a URL that is none and for hosts that are not AWS's own, such as a proxy's. */
export function awsHost(baseUrl: string): AwsHost | null {
  if (!URL.canParse(baseUrl)) return null;
  const found = FORM.exec(new URL(baseUrl).hostname)?.groups;
  const region = found?.region;
  if (region === undefined) return null;
  const name = (found?.name ?? "").replace(/-fips$/, "");
  return { region, service: SIGNED_AS.get(name) ?? null };
}

/** Authentication at a provider, with every default written out. */
function normaliseAuth({ auth, base_url: baseUrl }: AuthoredProvider): ProviderAuth {
  if (auth === "none") return { kind: "none" };
  const onMissing = auth.on_missing_secret ?? "fail";
  return headerOf(auth, onMissing) ?? madePerCall(auth, baseUrl, onMissing);
}

function headerOf(
  { bearer, header, prefix, secret }: AuthoredAuth,
  onMissing: OnMissingSecret,
): ProviderAuth | null {
  if (bearer !== undefined) {
    return {
      kind: "header",
      header: "authorization",
      prefix: "Bearer ",
      secret: bearer,
      onMissing,
    };
  }
  if (header === undefined || secret === undefined) return null;
  return { kind: "header", header: header.toLowerCase(), prefix: prefix ?? "", secret, onMissing };
}

function madePerCall(
  { aws_sigv4: aws, google_oauth: google }: AuthoredAuth,
  baseUrl: string,
  onMissing: OnMissingSecret,
): ProviderAuth {
  if (aws !== undefined) {
    return {
      kind: "aws_sigv4",
      service: aws.service,
      // Empty only until `checks/providers.ts` has refused a row that neither names a region nor
      // has a host that does.
      region: aws.region ?? awsHost(baseUrl)?.region ?? "",
      credentials: aws.credentials,
      profile: aws.profile ?? defaults.DEFAULT_AWS_PROFILE,
      onMissing,
    };
  }
  if (google !== undefined) {
    const scopes = [...new Set(google.scopes ?? defaults.DEFAULT_GOOGLE_SCOPES)].toSorted();
    return { kind: "google_oauth", scopes, credentials: google.credentials, onMissing };
  }
  throw new TypeError("normaliseAuth: the schema let an `auth` pass that has none of its forms");
}

type AuthoredKeyLimits = NonNullable<NonNullable<AuthoredWorkspace["limits"]>["per_key"]>;

/** The ceilings of a workspace; `null` for each that the file does not set. */
function normaliseLimits(limits: AuthoredWorkspace["limits"]): WorkspaceLimits {
  return {
    ...keyLimits(limits ?? {}),
    perKey: limits?.per_key === undefined ? null : keyLimits(limits.per_key),
    // Absent where it is not set: tables that do not use it keep their revision.
    ...(limits?.simulations_per_minute !== undefined && {
      simulationsPerMinute: limits.simulations_per_minute,
    }),
  };
}

function keyLimits(limits: AuthoredKeyLimits): KeyLimits {
  return {
    requestsPerMinute: limits.requests_per_minute ?? null,
    tokensPerMinute: limits.tokens_per_minute ?? null,
    concurrency: limits.concurrency ?? null,
    budget: limits.budget === undefined ? null : budgetOf(limits.budget),
  };
}

/** The schema sees to it that a budget has exactly one of both. */
function budgetOf({
  usd,
  tokens,
  per,
  time_zone: timeZone,
}: NonNullable<AuthoredKeyLimits["budget"]>): Budget {
  const window = { per, ...(timeZone !== undefined && { timeZone }) };
  return usd === undefined ? { tokens: tokens ?? 0, ...window } : { usd, ...window };
}

/** The section with every default; `undefined` where the file has none. */
function normaliseConsole(authored: AuthoredConsole | undefined): ConsoleSettings | undefined {
  if (authored === undefined) return undefined;
  const { url, idle, absolute, oidc, roles = [] } = authored;
  return {
    url,
    idle: idle === undefined ? SESSION_TIMES.idle : milliseconds(idle),
    absolute: absolute === undefined ? SESSION_TIMES.absolute : milliseconds(absolute),
    oidc: oidc === undefined ? null : normaliseOidc(oidc),
    roles: roles.map(({ group, role, workspaces }) => ({
      group,
      role,
      workspaces: typeof workspaces === "string" ? null : workspaces.toSorted(),
    })),
  };
}

function normaliseAlerts({ url, network, secret, events }: AuthoredAlerts): AlertSettings {
  return {
    url,
    ...(network === "private" && { network }),
    secret,
    events: ALERT_EVENTS.filter((event) => events?.includes(event) !== false),
  };
}

function normaliseOidc(oidc: NonNullable<AuthoredConsole["oidc"]>): OidcSettings {
  return {
    label: oidc.label ?? "Single sign-on",
    issuer: oidc.issuer,
    clientId: oidc.client_id,
    clientSecret: oidc.client_secret ?? null,
    scopes: oidc.scopes?.toSorted() ?? [],
    groupsClaim: oidc.groups_claim ?? "groups",
    nameClaim: oidc.name_claim ?? null,
  };
}

/**
 * Rows with every member of their own, and who may change policies; each absent where the file does
 * not set it.
 */
function normalisePromotion({ promotion, managed_by: managedBy }: AuthoredPolicies = {}): Pick<
  PolicySettings,
  "promotion" | "managedBy"
> {
  const rows = Object.entries(promotion ?? {});
  const { "*": everywhere = {} } = promotion ?? {};
  return {
    ...(rows.length > 0 && {
      promotion: Object.fromEntries(
        rows.map(([id, row]) => [id, requirements({ ...everywhere, ...row })]),
      ),
    }),
    ...(managedBy !== undefined && { managedBy: managedBy.toSorted() }),
  };
}

function requirements(
  row: NonNullable<AuthoredPolicies["promotion"]>[string],
): PromotionRequirements {
  const { soak = "none", assertions = DEFAULT_PROMOTION.assertions } = row;
  return {
    approvals: row.approvals ?? DEFAULT_PROMOTION.approvals,
    roles: row.roles?.toSorted() ?? DEFAULT_PROMOTION.roles,
    selfApproval: row.self_approval ?? DEFAULT_PROMOTION.selfApproval,
    soak: soak === "none" ? DEFAULT_PROMOTION.soak : milliseconds(soak),
    decisions: row.min_decisions ?? DEFAULT_PROMOTION.decisions,
    noIndeterminate: row.no_indeterminate ?? DEFAULT_PROMOTION.noIndeterminate,
    // Assertions are results of a report.
    report: (row.report ?? DEFAULT_PROMOTION.report) || assertions,
    assertions,
  };
}

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
  /** Likewise. */
  readonly alerts: AlertSettings | undefined;
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
      ...(file.policies?.denial_link !== undefined && { denialLink: file.policies.denial_link }),
    },
    console: normaliseConsole(file.console),
    alerts: file.alerts === undefined ? undefined : normaliseAlerts(file.alerts),
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
    ...(row.network === "private" && { network: "private" }),
    ...(row.plaintext === true && { plaintext: true }),
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
    ...(row.trace_context === true && { traceContext: true }),
  };
}

function normaliseTimeouts({ timeouts }: AuthoredProvider): Timeouts {
  const times = { ...defaults.DEFAULT_TIMEOUTS, ...timeouts };
  return {
    connect: milliseconds(times.connect),
    firstByte: milliseconds(times.first_byte),
    firstToken: milliseconds(times.first_token),
    idle: milliseconds(times.idle),
    total: milliseconds(times.total),
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
  const { input, output, request = 0 } = price;
  const rates = ratesIn(price).map((rate) => [RATES[rate], price[rate]] as const);
  return { input, output, request, ...Object.fromEntries(rates) };
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
    ...(row.resend_after_reset === true && { resendAfterReset: true }),
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
      // Defaults are left out, as `on_revoke` below.
      ...(approve.data_collection === "deny" && { dataCollection: "deny" }),
      ...(approve.retention === undefined || approve.retention === "unlimited"
        ? {}
        : { retention: approve.retention }),
    },
    defaultModerationRoute: row.default_moderation_route ?? null,
    limits: normaliseLimits(limits),
    // The default is left out, so that writing it does not change the revision.
    ...(row.on_revoke === "finish" && { onRevoke: "finish" }),
    ...(row.record === "before_call" && { record: "before_call" }),
  };
}

function mapRows<Row, Result>(
  rows: Readonly<Record<string, Row>>,
  make: (id: string, row: Row) => Result,
): ReadonlyMap<string, Result> {
  return new Map(Object.entries(rows).map(([id, row]) => [id, make(id, row)]));
}

/**
 * Distinct, sorted by code unit: the authored order has no meaning and must not change the
 * revision.
 */
function sorted<Value extends string>(values: readonly Value[]): readonly Value[] {
  return [...new Set(values)].toSorted();
}

function ascending(left: number, right: number) {
  return left - right;
}
