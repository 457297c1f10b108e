import type { Capability, Feature } from "./capability.ts";
import type { WorkspaceLimits } from "./limits.ts";
import type { ModelOperation } from "./operation.ts";
import type { ReasoningEffort } from "./request.ts";
import type { CategoryMapping } from "./unary.ts";
import type { WorkloadIdentity } from "./workload-identity.ts";

/** Location of a secret; never the secret itself. */
export type SecretReference = { readonly env: string } | { readonly file: string };

/** Latency that an endpoint is meant for, as routes.yaml declares it. */
export const LATENCY_CLASSES = ["interactive", "standard", "batch"] as const;
export type LatencyClass = (typeof LATENCY_CLASSES)[number];

/** Of keys: `group:payments`, or an address. */
export const OWNER_PATTERN = "^[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,127}$";

/** Closed lists of values, sorted. A value outside its list reaches policies as `other`. */
export interface Vocabulary {
  readonly environments: readonly string[];
  readonly workloads: readonly string[];
  readonly labels: readonly string[];
  /**
   * Owners of keys that policies can read; absent where routes.yaml declares none, so that such a
   * table keeps its revision.
   */
  readonly owners?: readonly string[];
}

/**
 * How long a provider keeps requests and answers: not at all, for a stated time, or without a
 * limit.
 */
export const RETENTIONS = ["none", "transient", "days_30", "unlimited"] as const;

export type Retention = (typeof RETENTIONS)[number];

/** Rights of a workspace; everything else is denied. */
export interface Approvals {
  readonly routes: readonly string[];
  /** Concrete regions; groups have been written out. Sorted. */
  readonly regions: readonly string[];
  readonly providers: readonly string[];
  readonly capabilities: readonly Capability[];
  readonly dimensions: readonly number[];
  /** The largest context window of a model that embeds, tokens; `null` approves none. */
  readonly contextWindow: number | null;
  /** Excludes providers that train on data, for all preferences; absent: callers decide. */
  readonly dataCollection?: "deny";
  /** The longest retention of a provider that is a candidate; absent: any. */
  readonly retention?: Exclude<Retention, "unlimited">;
}

/**
 * Limits of a workspace on its providers' contracts; no preference of a caller changes it
 * (docs/configuration.md#workspacesapprove).
 */
export const CEILINGS = ["data_collection", "retention"] as const;

export type Ceiling = (typeof CEILINGS)[number];

/** The part of a provider row that ceilings are compared with. */
interface Contract {
  readonly retention: Retention;
  readonly trainsOnData: boolean;
}

/**
 * @example isWithinCeiling("retention", { retention: "none" }, undefined) // false
 *
 * @param contract `undefined`, for a provider that the table does not have, is within no ceiling.
 */
export function isWithinCeiling(
  ceiling: Ceiling,
  approve: Approvals,
  contract: Contract | undefined,
): boolean {
  if (ceiling === "data_collection")
    return approve.dataCollection === undefined || contract?.trainsOnData === false;
  const { retention: longest } = approve;
  if (longest === undefined) return true;
  return (
    contract !== undefined && RETENTIONS.indexOf(contract.retention) <= RETENTIONS.indexOf(longest)
  );
}

/**
 * Whether a provider with this contract may be a candidate of the workspace.
 *
 * @example isWithinCeilings(workspace.approve, table.providers[endpoint.provider])
 */
export function isWithinCeilings(approve: Approvals, contract: Contract | undefined): boolean {
  return CEILINGS.every((ceiling) => isWithinCeiling(ceiling, approve, contract));
}

/** Permissions of people on the console (docs/console.md#roles). */
export const ROLES = ["viewer", "approver", "operator", "administrator"] as const;

export type Role = (typeof ROLES)[number];

/** The section `console` of routes.yaml. Times are milliseconds. */
export interface ConsoleSettings {
  /** Origin at which browsers reach the console. */
  readonly url: string;
  /** A session ends after this long without a request. */
  readonly idle: number;
  /** A session ends this long after the sign-in. */
  readonly absolute: number;
  /** `null`: people sign in with keys only. */
  readonly oidc: OidcSettings | null;
  readonly roles: readonly ConsoleRole[];
}

/** A provider of OpenID Connect. */
export interface OidcSettings {
  /** Label of the sign-in button. */
  readonly label: string;
  readonly issuer: string;
  readonly clientId: string;
  /** `null`: a public client, which proves itself by PKCE alone. */
  readonly clientSecret: SecretReference | null;
  /** Besides `openid`. */
  readonly scopes: readonly string[];
  /** Claim of the ID token that lists a person's groups. */
  readonly groupsClaim: string;
  /**
   * Claim of the ID token whose value is kept and shown as the person's name; `null`: no name is
   * read.
   */
  readonly nameClaim: string | null;
}

interface ConsoleRole {
  readonly group: string;
  readonly role: Role;
  /** `null`: all. */
  readonly workspaces: readonly string[] | null;
}

/** Defaults, milliseconds. */
export const SESSION_TIMES = { idle: 30 * 60_000, absolute: 12 * 3_600_000 } as const;

/**
 * The compiled routing table: deep-frozen plain JSON, made by `compile/` and read by all other
 * folders. All maps have a null prototype, all references have been resolved, every default has
 * been written out, all durations are milliseconds.
 */
export interface RoutingTable {
  readonly version: 1;
  /** SHA-256 (lower-case hexadecimal) of the RFC 8785 form of the table without this member. */
  readonly revision: string;
  /** Region group → its regions, sorted. */
  readonly regionGroups: Readonly<Record<string, readonly string[]>>;
  readonly providers: Readonly<Record<string, ProviderRow>>;
  readonly models: Readonly<Record<string, ModelRow>>;
  readonly endpoints: Readonly<Record<string, EndpointRow>>;
  readonly routes: Readonly<Record<string, RouteRow>>;
  readonly workspaces: Readonly<Record<string, WorkspaceRow>>;
  readonly policies: PolicySettings;
  /** Values that policies may see besides those above. */
  readonly vocabulary: Vocabulary;
  /** Absent if the file has no such section, so that the revision of older files stays the same. */
  readonly console?: ConsoleSettings;
  /** Absent for the same reason. */
  readonly workloadIdentity?: WorkloadIdentity;
  /** Absent for the same reason. */
  readonly alerts?: AlertSettings;
}

/** Conditions that the webhook of `alerts` can report. */
export const ALERT_EVENTS = [
  "budget_nearly_spent",
  "budget_spent",
  "denials_rising",
  "refusals_rising",
  "candidate_would_deny",
  "keys_expiring",
  "certificate_expiring",
  "evidence_unavailable",
] as const;
export type AlertEvent = (typeof ALERT_EVENTS)[number];

/** The section `alerts` of routes.yaml. */
export interface AlertSettings {
  readonly url: string;
  /** The host may be at a private address or on this machine; absent: only in the internet. */
  readonly network?: "private";
  /** Key of the HMAC over each message. */
  readonly secret: SecretReference;
  readonly events: readonly AlertEvent[];
}

/**
 * Behaviour of a start when the secret is not set: refuse to start, leave the provider out, or
 * simulate it.
 */
export type OnMissingSecret = "fail" | "disable" | "simulate";

export type ProviderAuth =
  | { readonly kind: "none" }
  | {
      readonly kind: "header";
      /** Lower-case header name. */
      readonly header: string;
      /** Text before the secret, such as `Bearer `. */
      readonly prefix: string;
      readonly secret: SecretReference;
      readonly onMissing: OnMissingSecret;
    }
  | AwsSigning
  | GoogleOauth;

/**
 * Where keys for AWS signatures come from. Exactly one source is read, so that no other one can
 * supply keys by accident.
 */
export const AWS_CREDENTIAL_SOURCES = [
  "env",
  "web_identity",
  "shared_file",
  "container",
  "instance",
] as const;
type AwsCredentialSource = (typeof AWS_CREDENTIAL_SOURCES)[number];

/** Every call is signed (AWS Signature Version 4). */
export interface AwsSigning {
  readonly kind: "aws_sigv4";
  /** The service's name in signatures, such as `bedrock`. */
  readonly service: string;
  readonly region: string;
  readonly credentials: AwsCredentialSource;
  /** Profile of the shared files; ignored for other sources. */
  readonly profile: string;
  readonly onMissing: OnMissingSecret;
}

export const GOOGLE_CREDENTIAL_SOURCES = ["adc", "metadata_server"] as const;
type GoogleCredentialSource = (typeof GOOGLE_CREDENTIAL_SOURCES)[number];

/** Calls carry a short-lived OAuth token, renewed before it expires. */
export interface GoogleOauth {
  readonly kind: "google_oauth";
  /** Sorted. */
  readonly scopes: readonly string[];
  readonly credentials: GoogleCredentialSource | { readonly file: string };
  readonly onMissing: OnMissingSecret;
}

/** All milliseconds. */
export interface Timeouts {
  readonly connect: number;
  /** From the request sent to the answer's headers. */
  readonly firstByte: number;
  /** Longest silence between two pieces of an answer. */
  readonly idle: number;
  /** From the request sent to the first output of a stream; events without output do not count. */
  readonly firstToken: number;
  readonly total: number;
}

/** When an endpoint is ejected because its calls fail. Times in milliseconds. */
export interface HealthSettings {
  /** Consecutive failures that eject an endpoint; 0: no such rule. */
  readonly consecutiveFailures: number;
  /** Share of failed calls in the window that ejects it, 0 to 1; 0: no such rule. */
  readonly failureRatio: number;
  /** Fewest calls in the window for the share to apply. */
  readonly minimumCalls: number;
  readonly window: number;
  /** Duration of the first ejection; doubled for each consecutive one, up to `longestEjection`. */
  readonly ejection: number;
  readonly longestEjection: number;
  /** Requested while the endpoint is ejected, and only then; `null`: the next request probes it. */
  readonly probe: HealthProbe | null;
}

/** A request that tests whether a provider answers. The body of the answer is not read. */
interface HealthProbe {
  /** Path after the base URL, such as `/models`. */
  readonly path: string;
  /** Between two probes. */
  readonly interval: number;
}

/** Calls that wait because the limits of a provider or endpoint are reached. */
export interface QueueSettings {
  /** Longest queue, calls; 0: no queue. */
  readonly size: number;
  /** Longest wait, milliseconds. */
  readonly wait: number;
}

export interface ProviderRow {
  readonly id: string;
  /** Name of a wire protocol in `dialects/table.ts`. */
  readonly dialect: string;
  /** Scheme, host and path prefix, without a slash at the end. */
  readonly baseUrl: string;
  /** The host may be on this machine or in a private network; absent: only in the internet. */
  readonly network?: "private";
  /**
   * Calls are http without TLS, to private addresses only; absent: https, or http to a loopback
   * address.
   */
  readonly plaintext?: true;
  /** Sent as the query's `api-version` with every call; `null`: not sent. */
  readonly apiVersion: string | null;
  readonly region: string;
  readonly auth: ProviderAuth;
  readonly retention: Retention;
  /** Whether the provider trains on requests and answers. */
  readonly trainsOnData: boolean;
  readonly timeouts: Timeouts;
  readonly maxConcurrency: number;
  readonly queue: QueueSettings;
  readonly health: HealthSettings;
  /** Named, validated deviations from the dialect. Sorted. */
  readonly flags: readonly string[];
  /** Beta flags of the protocol that may be sent to the provider. Sorted. */
  readonly betas: readonly string[];
  /** Whether calls carry the request's trace context (W3C); default: no. */
  readonly traceContext?: boolean;
}

export interface ModelRow {
  readonly id: string;
  readonly operations: readonly ModelOperation[];
  /** Tokens. */
  readonly contextWindow: number | null;
  /** Tokens. */
  readonly maxOutputTokens: number | null;
  /** Tokens; sent where a dialect demands a limit and the caller gave none. */
  readonly defaultMaxOutputTokens: number | null;
  readonly capabilities: readonly Capability[];
  /** Lengths of vectors that the model can make; empty for models that make none. Ascending. */
  readonly dimensions: readonly number[];
  /** Length of the vectors of requests that name none; `null` for models that make none. */
  readonly defaultDimensions: number | null;
  /** The caller's categories for the model's own ones; `null` if they are the same. */
  readonly moderationCategories: CategoryMapping | null;
  /** Who can read this model's signed reasoning; `null` where it signs none. */
  readonly signatureFamily: string | null;
  /**
   * The reasoning budget in the form that its providers require; `null` if routes.yaml has none.
   */
  readonly reasoning: ModelReasoning | null;
  /** Features that the model refuses although its dialect has them. Sorted. */
  readonly refuses: readonly Feature[];
  /** Features that the model takes although not all models of its dialect do. Sorted. */
  readonly accepts: readonly Feature[];
}

export interface ModelReasoning {
  /** Efforts that the model accepts; `null`: all that the dialect has. */
  readonly efforts: readonly ReasoningEffort[] | null;
  /**
   * Effort → tokens. Without this table neither is mapped to the other, because there is no agreed
   * mapping (docs/protocols.md#efforts-and-budgets).
   */
  readonly budgets: Readonly<Partial<Record<ReasoningEffort, number>>> | null;
}

/**
 * US dollars per million tokens; `request` per call, `search` per 1,000 searches. What absent rates
 * mean: docs/limits.md#what-a-request-costs
 */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly request: number;
  readonly cachedInput?: number;
  readonly cacheWrite?: number;
  readonly cacheWriteHour?: number;
  readonly reasoning?: number;
  readonly search?: number;
}

interface BatchLimits {
  /** Inputs; at least 1. `null`: any number. */
  readonly inputs: number | null;
  /** Tokens of all inputs together, estimated; `null`: any number. */
  readonly tokens: number | null;
}

/** One model at one provider in one region. */
export interface EndpointRow {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  /** The endpoint's own region, by default the provider's. */
  readonly region: string;
  /** Its provider's row allows http without TLS, and calls are made so; absent otherwise. */
  readonly plaintext?: true;
  readonly dialect: string;
  /** The provider's name of the model. */
  readonly upstreamModel: string;
  readonly price: Price | null;
  /** Absent where routes.yaml declares none. */
  readonly latencyClass?: LatencyClass;
  /** Concurrent calls; `null`: only the provider's limit applies. */
  readonly maxConcurrency: number | null;
  /** Bounds of one call that embeds; ignored for other endpoints. */
  readonly batch: BatchLimits;
  /** The model's capabilities as far as the dialect expresses them. Sorted. */
  readonly capabilities: readonly Capability[];
  /** Features that requests of other protocols may use. Sorted. */
  readonly features: readonly Feature[];
  /**
   * The same for relayed requests: the provider judges features that only some models have. Sorted.
   */
  readonly nativeFeatures: readonly Feature[];
}

export type UnknownFields = "reject" | "strip" | "forward";

/**
 * How requests are shared among the endpoints of one tier. `order`: the first that can; `weighted`:
 * by `weights`, at random; `price`: the cheapest first; `latency`: by time to the first token, the
 * better of two at random; `throughput`: the most tokens a second first; `least_in_flight`;
 * `sticky`: the same caller or conversation to the same endpoint, for the sake of prompt caches.
 */
export const BALANCES = [
  "order",
  "weighted",
  "price",
  "latency",
  "throughput",
  "least_in_flight",
  "sticky",
] as const;
export type Balance = (typeof BALANCES)[number];

/** Endpoints of one rank. */
export interface TierRow {
  /** In the order of the file; at least one. */
  readonly endpoints: readonly string[];
  readonly balance: Balance;
  /** As many as endpoints, in their order, each at least 0 and not all 0; 1 each by default. */
  readonly weights: readonly number[];
}

export interface RouteRow {
  readonly id: string;
  readonly title: string;
  readonly primary: string;
  /**
   * Every endpoint but the primary, the rest of its load-balanced group included, in the order of
   * the tiers.
   */
  readonly fallbacks: readonly string[];
  /**
   * The same endpoints by rank: the primary with its load-balanced group, then each fallback;
   * another route's tiers where it is one.
   */
  readonly tiers: readonly TierRow[];
  /** Upper bound of calls for one request; at least 1. */
  readonly maxAttempts: number;
  /**
   * Whether a request goes to the same endpoint again after its connection was lost before an
   * answer: the provider may have read and charged it. Absent: no, so that tables without it keep
   * their digest.
   */
  readonly resendAfterReset?: true;
  /** Largest share of the route's endpoints that may be ejected, 0 to 1; one always stays. */
  readonly maxEjectedShare: number;
  /**
   * Milliseconds after which a second call is made for a request that has no answer yet; `null`:
   * none. Embeddings and rerank only.
   */
  readonly hedgeAfter: number | null;
  /**
   * When a fallback lacks a requirement of a request: the request is denied, or the fallback is
   * left out.
   */
  readonly onGap: "deny" | "narrow";
  readonly unknownFields: UnknownFields;
  /** Whether a response schema may be requested as a tool where an endpoint has no native one. */
  readonly emulateSchema: boolean;
  readonly operations: readonly ModelOperation[];
}

export interface WorkspaceRow {
  readonly id: string;
  readonly tier: string;
  readonly labels: readonly string[];
  readonly approve: Approvals;
  /** The route for moderation requests that name none. */
  readonly defaultModerationRoute: string | null;
  readonly limits: WorkspaceLimits;
  /** Running answers of a revoked key finish; absent: they are ended. */
  readonly onRevoke?: "finish";
  /** Decisions are on disk before a provider is called; absent: before the answer. */
  readonly record?: "before_call";
}

/**
 * All that a promotion of a policy requires. A new requirement is a member here, a key in
 * `compile/authored/schema-use.ts` and a check in `lifecycle/changes.ts`; the type checker names
 * the rest.
 */
export interface PromotionRequirements {
  /** People who must have approved exactly this content. */
  readonly approvals: number;
  /** Labels, each of which the key of some approver must have. */
  readonly roles: readonly string[];
  /** Whether the promoter's own approval counts. */
  readonly selfApproval: boolean;
  /** Shortest time in shadow, milliseconds. */
  readonly soak: number;
  /** Fewest requests for which the content was evaluated in shadow. */
  readonly decisions: number;
  /** Whether an indeterminate verdict in shadow forbids the promotion. */
  readonly noIndeterminate: boolean;
  /** Whether an approval must name the complete report that the server itself makes. */
  readonly report: boolean;
  /** Whether the assertions of that report must have passed or been waived. */
  readonly assertions: boolean;
}

/** Requirements that routes.yaml does not mention. */
export const DEFAULT_PROMOTION: PromotionRequirements = {
  approvals: 0,
  roles: [],
  selfApproval: false,
  soak: 0,
  decisions: 0,
  // When enforced, an indeterminate verdict denies: that must not begin by accident.
  noIndeterminate: true,
  report: false,
  assertions: false,
};

export interface PolicySettings {
  /** Folder of the policies, relative to routes.yaml. */
  readonly dir: string;
  /** Policy id, or `*`, → the mode a policy starts in when a store first sees it. */
  readonly initialMode: Readonly<Record<string, "shadow" | "enforce">>;
  /**
   * Policy id, or `*` for all others, → all that a promotion of it requires; absent: the defaults
   * for all. `lifecycle/changes.ts` reads it.
   */
  readonly promotion?: Readonly<Record<string, PromotionRequirements>>;
  /**
   * Workspaces whose keys may approve, promote, roll back and so on; sorted. Absent: those of the
   * only workspace; with several workspaces, none.
   */
  readonly managedBy?: readonly string[];
  /** URL with `{policy}`, `{constraint}`, `{reason}`: where a denied caller reads more. */
  readonly denialLink?: string;
}

/**
 * Whether a provider is called without TLS by permission. Loopback traffic needs none: it stays on
 * the machine.
 *
 * @example isPlaintext({ plaintext: true, baseUrl: "http://10.0.0.7" }) // true
 */
export function isPlaintext({ plaintext, baseUrl }: ProviderRow): boolean {
  return plaintext === true && /^http:/i.test(baseUrl);
}
