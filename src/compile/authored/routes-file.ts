import type { CategoryMapping } from "../../canon/unary/moderate.ts";
import type { Capability } from "../../canon/capability.ts";
import type { Feature } from "../../canon/generate/feature.ts";
import type { BudgetPeriod } from "../../canon/limits.ts";
import type { ModelOperation } from "../../canon/operation.ts";
import type { ReasoningEffort } from "../../canon/request.ts";
import type {
  AwsCredentialSource,
  Balance,
  GoogleCredentialSource,
  OnMissingSecret,
  SecretReference,
  UnknownFields,
} from "../../canon/table.ts";
import type { Retention } from "../../canon/retention.ts";

/**
 * routes.yaml as its author writes it: the first of three stages. `routes-schema.ts` is the same shape as a JSON Schema;
 * a value of this type has passed it, so every word of a closed list is one, but no reference has been followed yet.
 */
export interface RoutesFile {
  readonly version: 1;
  /** Followed before the file has this type: what is included stands in the members below. */
  readonly include?: readonly string[];
  readonly regions: Readonly<Record<string, readonly string[]>>;
  readonly providers: Readonly<Record<string, AuthoredProvider>>;
  readonly models: Readonly<Record<string, AuthoredModel>>;
  readonly endpoints: readonly AuthoredEndpoint[];
  readonly routes: Readonly<Record<string, AuthoredRoute>>;
  readonly workspaces: Readonly<Record<string, AuthoredWorkspace>>;
  readonly policies?: AuthoredPolicies;
  readonly vocabulary?: AuthoredVocabulary;
}

export interface AuthoredProvider {
  /** Already followed: what it gives stands in the members below. */
  readonly preset?: string;
  readonly preset_region?: string;
  readonly dialect: string;
  readonly base_url: string;
  readonly network?: "public" | "private";
  readonly api_version?: string;
  readonly region: string;
  readonly auth: "none" | AuthoredAuth;
  readonly retention?: Retention;
  readonly trains_on_data?: boolean;
  readonly trace_context?: boolean;
  readonly timeouts?: AuthoredTimeouts;
  readonly max_concurrency?: number;
  readonly queue?: AuthoredQueue;
  readonly health?: AuthoredHealth;
  readonly flags?: readonly string[];
  readonly beta_flags?: readonly string[];
}

/** Either `bearer`, or `header` with `secret`, or `aws_sigv4`, or `google_oauth`; the schema refuses anything between. */
export interface AuthoredAuth {
  readonly bearer?: SecretReference;
  readonly header?: string;
  readonly prefix?: string;
  readonly secret?: SecretReference;
  readonly aws_sigv4?: AuthoredAwsSigning;
  readonly google_oauth?: AuthoredGoogleOauth;
  readonly on_missing_secret?: OnMissingSecret;
}

export interface AuthoredAwsSigning {
  readonly service: string;
  readonly region?: string;
  readonly credentials: AwsCredentialSource;
  readonly profile?: string;
}

export interface AuthoredGoogleOauth {
  readonly credentials: GoogleCredentialSource | { readonly file: string };
  readonly scopes?: readonly string[];
}

/** Durations such as `2s`. */
export interface AuthoredTimeouts {
  readonly connect?: string;
  readonly first_byte?: string;
  readonly idle?: string;
  readonly first_token?: string;
  readonly total?: string;
}

/** `wait` is a duration. */
export interface AuthoredQueue {
  readonly size?: number;
  readonly wait?: string;
}

/** Times are durations. */
export interface AuthoredHealth {
  readonly consecutive_failures?: number;
  readonly failure_ratio?: number;
  readonly minimum_calls?: number;
  readonly window?: string;
  readonly ejection?: string;
  readonly longest_ejection?: string;
  readonly probe?: { readonly path: string; readonly interval?: string };
}

export interface AuthoredModel {
  readonly operations: readonly ModelOperation[];
  readonly context_window?: number;
  readonly max_output_tokens?: number;
  readonly default_max_output_tokens?: number;
  readonly capabilities?: readonly Capability[];
  readonly dimensions?: readonly number[];
  readonly default_dimensions?: number;
  readonly moderation_categories?: CategoryMapping;
  readonly signature_family?: string;
  readonly reasoning?: AuthoredReasoning;
  readonly refuses?: readonly Feature[];
  readonly accepts?: readonly Feature[];
}

export interface AuthoredReasoning {
  readonly efforts?: readonly ReasoningEffort[];
  /** Effort → tokens. */
  readonly budgets?: Readonly<Partial<Record<ReasoningEffort, number>>>;
}

export interface AuthoredEndpoint {
  readonly id: string;
  readonly model: string;
  readonly provider: string;
  readonly upstream_model: string;
  readonly region?: string;
  readonly capabilities?: readonly Capability[];
  readonly price?: AuthoredPrice;
  readonly max_concurrency?: number;
  readonly batch?: { readonly inputs?: number; readonly tokens?: number };
}

export interface AuthoredPrice {
  readonly input: number;
  readonly output: number;
  readonly request?: number;
}

/** An endpoint, or the whole chain of another route. */
export type AuthoredFallback = string | { readonly route: string };

export interface AuthoredRoute {
  readonly title?: string;
  readonly primary: string;
  readonly peers?: readonly string[];
  readonly balance?: Balance;
  /** Endpoint id → share. */
  readonly weights?: Readonly<Record<string, number>>;
  readonly fallbacks?: readonly AuthoredFallback[];
  readonly max_attempts?: number;
  readonly resend_after_reset?: boolean;
  readonly max_ejected_share?: number;
  /** A duration. */
  readonly hedge_after?: string;
  readonly on_gap?: "deny" | "narrow";
  readonly unknown_fields?: UnknownFields;
  readonly emulate_json_schema?: boolean;
  readonly operations?: readonly ModelOperation[];
}

export interface AuthoredWorkspace {
  readonly tier: string;
  readonly labels?: readonly string[];
  readonly approve: AuthoredApprovals;
  readonly default_moderation_route?: string;
  readonly limits?: AuthoredLimits;
  readonly on_revoke?: "end" | "finish";
}

export interface AuthoredApprovals {
  readonly routes: readonly string[];
  /** Regions and region groups. */
  readonly regions: readonly string[];
  readonly providers: readonly string[];
  readonly capabilities?: readonly Capability[];
  readonly dimensions?: readonly number[];
  readonly context_window?: number;
}

export interface AuthoredKeyLimits {
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly concurrency?: number;
  /** Exactly one of `usd` and `tokens`. */
  readonly budget?: { readonly usd?: number; readonly tokens?: number; readonly per: BudgetPeriod };
}

export interface AuthoredLimits extends AuthoredKeyLimits {
  readonly per_key?: AuthoredKeyLimits;
  readonly simulations_per_minute?: number;
}

export interface AuthoredPolicies {
  readonly dir?: string;
  readonly initial_mode?: Readonly<Record<string, "shadow" | "enforce">>;
  /** Policy id or `*` → what its promotion requires. */
  readonly promotion?: Readonly<Record<string, AuthoredPromotion>>;
  /** Workspace ids. */
  readonly managed_by?: readonly string[];
}

export interface AuthoredPromotion {
  readonly approvals?: number;
  readonly roles?: readonly string[];
  readonly self_approval?: boolean;
  /** A duration that may be in days, or `none`. */
  readonly soak?: string;
  readonly min_decisions?: number;
  readonly no_indeterminate?: boolean;
  readonly report?: boolean;
  readonly assertions?: boolean;
}

export interface AuthoredVocabulary {
  readonly environments?: readonly string[];
  readonly workloads?: readonly string[];
  readonly labels?: readonly string[];
}
