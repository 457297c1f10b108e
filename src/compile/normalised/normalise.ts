import type { Budget, KeyLimits, WorkspaceLimits } from "../../canon/limits.ts";
import {
  ALERT_EVENTS,
  DEFAULT_PROMOTION,
  SESSION_TIMES,
  type AlertSettings,
  type ConsoleSettings,
  type ModelRow,
  type OidcSettings,
  type PolicySettings,
  type Price,
  type PromotionRequirements,
  type ProviderAuth,
  type ProviderRow,
  type Vocabulary,
  type WorkspaceRow,
} from "../../canon/table.ts";
import { RATES, ratesIn } from "../prices.ts";
import * as defaults from "./defaults.ts";
import { milliseconds } from "./defaults.ts";
import type {
  AuthoredAlerts,
  AuthoredConsole,
  AuthoredEndpoint,
  AuthoredModel,
  AuthoredPolicies,
  AuthoredProvider,
  AuthoredRoute,
  AuthoredWorkspace,
  RoutesFile,
} from "../routes-schema.ts";

/**
 * `{service}.{region}.amazonaws.com` and its variants: dual-stack hosts (`api.aws`), interface
 * endpoints (`vpce`), the partitions of China and of the European sovereign cloud. AWS's page "AWS
 * service endpoints" documents the forms.
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

/**
 * Region and service of an AWS host; `null` for invalid URLs and other hosts, such as a proxy's.
 * The service is its name in signatures; `null` if the host does not determine it.
 */
export function awsHost(baseUrl: string) {
  const { name = "", region } = FORM.exec(URL.parse(baseUrl)?.hostname ?? "")?.groups ?? {};
  return region === undefined
    ? null
    : { region, service: SIGNED_AS.get(name.replace(/-fips$/, "")) ?? null };
}

/** Authentication at a provider, with every default written out. */
function normaliseAuth({ auth, base_url: baseUrl }: AuthoredProvider): ProviderAuth {
  if (auth === "none") return { kind: "none" };
  const { bearer, header, prefix = "", secret, aws_sigv4: aws, google_oauth: google } = auth;
  const onMissing = auth.on_missing_secret ?? "fail";
  if (bearer !== undefined)
    return {
      kind: "header",
      header: "authorization",
      prefix: "Bearer ",
      secret: bearer,
      onMissing,
    };
  if (header !== undefined && secret !== undefined)
    return { kind: "header", header: header.toLowerCase(), prefix, secret, onMissing };
  if (aws !== undefined)
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
  if (google === undefined)
    throw new TypeError("normaliseAuth: the schema let an `auth` pass that has none of its forms");
  const scopes = sorted(google.scopes ?? defaults.DEFAULT_GOOGLE_SCOPES);
  return { kind: "google_oauth", scopes, credentials: google.credentials, onMissing };
}

type AuthoredKeyLimits = NonNullable<NonNullable<AuthoredWorkspace["limits"]>["per_key"]>;

/** The ceilings of a workspace; `null` for each that the file does not set. */
function normaliseLimits(limits: AuthoredWorkspace["limits"]): WorkspaceLimits {
  return {
    ...keyLimits(limits ?? {}),
    perKey: orNull(limits?.per_key, keyLimits),
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
    budget: orNull(limits.budget, budgetOf),
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
    oidc: orNull(oidc, normaliseOidc),
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

/** Members that the file does not set are absent, but for the first two. */
function normalisePolicies(authored: AuthoredPolicies = {}): PolicySettings {
  const { dir = defaults.DEFAULT_POLICY_DIRECTORY, initial_mode: modes, promotion = {} } = authored;
  const { managed_by: managedBy, denial_link: denialLink } = authored;
  const rows = Object.entries(promotion);
  const { "*": everywhere } = promotion;
  return {
    dir: dir.replace(/\/+$/, ""),
    initialMode: { "*": defaults.DEFAULT_INITIAL_MODE, ...modes },
    ...(rows.length > 0 && {
      promotion: Object.fromEntries(
        rows.map(([id, row]) => [id, requirements({ ...everywhere, ...row })]),
      ),
    }),
    ...(managedBy !== undefined && { managedBy: managedBy.toSorted() }),
    ...(denialLink !== undefined && { denialLink }),
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

export type NormalisedRoutes = ReturnType<typeof normalise>;
export type NormalisedEndpoint = ReturnType<typeof normaliseEndpoint>;
export type NormalisedRoute = ReturnType<typeof normaliseRoute>;

/**
 * The second stage: every default written out, durations in milliseconds, lists in their final
 * order, region groups replaced by their regions. Names still point nowhere: `resolve/` follows
 * them. Sections that the file does not have are `undefined`.
 */
export function normalise(file: RoutesFile) {
  const regionGroups = mapRows(file.regions, (_, regions) => sorted(regions));
  return {
    regionGroups,
    providers: mapRows(file.providers, normaliseProvider),
    models: mapRows(file.models, normaliseModel),
    // In the order of the file, so that the index is the one a path needs.
    endpoints: file.endpoints.map(normaliseEndpoint),
    routes: mapRows(file.routes, normaliseRoute),
    workspaces: mapRows(file.workspaces, (id, row) => normaliseWorkspace(id, row, regionGroups)),
    policies: normalisePolicies(file.policies),
    console: normaliseConsole(file.console),
    alerts: file.alerts === undefined ? undefined : normaliseAlerts(file.alerts),
    vocabulary: normaliseVocabulary(file.vocabulary),
  };
}

function normaliseVocabulary(authored: RoutesFile["vocabulary"] = {}): Vocabulary {
  const { environments = defaults.DEFAULT_ENVIRONMENTS, workloads, labels, owners } = authored;
  return {
    environments: sorted(environments),
    workloads: sorted(workloads),
    labels: sorted(labels),
    ...(owners !== undefined && { owners: sorted(owners) }),
  };
}

function normaliseProvider(id: string, row: AuthoredProvider): ProviderRow {
  const times = { ...defaults.DEFAULT_TIMEOUTS, ...row.timeouts };
  const { size, wait } = { ...defaults.DEFAULT_QUEUE, ...row.queue };
  const health = { ...defaults.DEFAULT_HEALTH, ...row.health };
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
    timeouts: {
      connect: milliseconds(times.connect),
      firstByte: milliseconds(times.first_byte),
      firstToken: milliseconds(times.first_token),
      idle: milliseconds(times.idle),
      total: milliseconds(times.total),
    },
    maxConcurrency: row.max_concurrency ?? defaults.DEFAULT_MAX_CONCURRENCY,
    queue: { size, wait: milliseconds(wait) },
    health: {
      consecutiveFailures: health.consecutive_failures,
      failureRatio: health.failure_ratio,
      minimumCalls: health.minimum_calls,
      window: milliseconds(health.window),
      ejection: milliseconds(health.ejection),
      longestEjection: milliseconds(health.longest_ejection),
      probe: orNull(row.health?.probe, ({ path, interval = defaults.DEFAULT_PROBE_INTERVAL }) => ({
        path,
        interval: milliseconds(interval),
      })),
    },
    flags: sorted(row.flags),
    betas: sorted(row.beta_flags),
    ...(row.trace_context === true && { traceContext: true }),
  };
}

function normaliseModel(id: string, row: AuthoredModel): ModelRow {
  const dimensions = (row.dimensions ?? []).toSorted(ascending);
  return {
    id,
    operations: sorted(row.operations),
    contextWindow: row.context_window ?? null,
    maxOutputTokens: row.max_output_tokens ?? null,
    defaultMaxOutputTokens: row.default_max_output_tokens ?? null,
    capabilities: sorted(row.capabilities),
    dimensions,
    defaultDimensions: row.default_dimensions ?? dimensions.at(-1) ?? null,
    moderationCategories: row.moderation_categories ?? null,
    signatureFamily: row.signature_family ?? null,
    reasoning: orNull(row.reasoning, ({ efforts, budgets = null }) => ({
      efforts: orNull(efforts, sorted),
      budgets,
    })),
    refuses: sorted(row.refuses),
    accepts: sorted(row.accepts),
  };
}

/**
 * `null`: the region of the provider, the capabilities of the model, all inputs that the dialect
 * takes.
 */
function normaliseEndpoint(row: AuthoredEndpoint) {
  const { id, model, provider, upstream_model: upstreamModel, batch } = row;
  return {
    id,
    model,
    provider,
    upstreamModel,
    region: row.region ?? null,
    capabilities: orNull(row.capabilities, sorted),
    price: orNull(row.price, normalisePrice),
    latencyClass: row.latency_class ?? null,
    maxConcurrency: row.max_concurrency ?? null,
    batch: { inputs: batch?.inputs ?? null, tokens: batch?.tokens ?? null },
  };
}

function normalisePrice(price: NonNullable<AuthoredEndpoint["price"]>): Price {
  const { input, output, request = 0 } = price;
  const rates = ratesIn(price).map((rate) => [RATES[rate], price[rate]] as const);
  return { input, output, request, ...Object.fromEntries(rates) };
}

function normaliseRoute(id: string, row: AuthoredRoute) {
  return {
    id,
    title: row.title ?? id,
    primary: row.primary,
    // In the order of the file, which means something under `balance: order`.
    peers: row.peers ?? [],
    balance: row.balance ?? defaults.DEFAULT_BALANCE,
    // By endpoint, as far as the file names them; all others have 1.
    weights: new Map(Object.entries(row.weights ?? {})),
    fallbacks: row.fallbacks ?? [],
    maxAttempts: row.max_attempts ?? defaults.DEFAULT_MAX_ATTEMPTS,
    ...(row.resend_after_reset === true && { resendAfterReset: true }),
    maxEjectedShare: row.max_ejected_share ?? defaults.DEFAULT_MAX_EJECTED_SHARE,
    hedgeAfter: orNull(row.hedge_after, milliseconds),
    onGap: row.on_gap ?? "deny",
    unknownFields: row.unknown_fields ?? "reject",
    emulateSchema: row.emulate_json_schema ?? false,
    // `null`: the primary's.
    operations: orNull(row.operations, sorted),
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
    labels: sorted(row.labels),
    approve: {
      routes: sorted(approve.routes),
      regions: sorted(approve.regions.flatMap((name) => groups.get(name) ?? [name])),
      providers: sorted(approve.providers),
      capabilities: sorted(approve.capabilities),
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
function sorted<Value extends string>(values: readonly Value[] = []): readonly Value[] {
  return [...new Set(values)].toSorted();
}

function orNull<Value, Result>(value: Value | undefined, make: (value: Value) => Result) {
  return value === undefined ? null : make(value);
}

function ascending(left: number, right: number) {
  return left - right;
}
