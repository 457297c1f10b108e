import type { BudgetStep } from "./limits.ts";
import type { Capability } from "./capability.ts";
import type { LatencyClass, Retention } from "./table.ts";
import type { Operation } from "./operation.ts";
import type { ReasoningEffort, TokenBucket } from "./request.ts";

/**
 * `gate`: must pass. `require_all`: every eligible candidate must pass, otherwise the request is
 * denied. `filter`: candidates that do not pass are left out; none left denies
 * (docs/policies.md#a-policy).
 */
export const CONSTRAINT_EFFECTS = ["gate", "require_all", "filter"] as const;
export type ConstraintEffect = (typeof CONSTRAINT_EFFECTS)[number];

export interface ConstraintContract {
  readonly name: string;
  readonly effect: ConstraintEffect;
  /** Closed list; the first one is the default reason of a failure. */
  readonly reasons: readonly [string, ...string[]];
}

/**
 * Members of requests that an obligation may take out: those that may help or identify the user
 * (classes `hint` and `identity` of the dialects' field registries). Taking another member out
 * would change the answer.
 */
export const STRIPPABLE_FIELDS = [
  "metadata",
  "prompt_cache_key",
  "prompt_cache_options",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "user",
] as const;
export type StrippableField = (typeof STRIPPABLE_FIELDS)[number];

/** Requirements of a policy besides its constraints. No other kinds exist. */
export const OBLIGATION_KINDS = ["max_output_tokens", "strip_field", "prefer_region"] as const;
export type ObligationKind = (typeof OBLIGATION_KINDS)[number];

/** Acts on every request that the policy applies to, unless the policy has `waive.<name>`. */
export type ObligationContract =
  /** `value`: the most output tokens, from 1. */
  | { readonly name: string; readonly kind: "max_output_tokens"; readonly value: number }
  | { readonly name: string; readonly kind: "strip_field"; readonly value: StrippableField }
  /** `value`: a region or a region group. One that the table does not have is ignored. */
  | { readonly name: string; readonly kind: "prefer_region"; readonly value: string };

/** The METADATA block of a policy, validated. */
export interface PolicyContract {
  readonly contract: 1;
  readonly id: string;
  readonly title: string;
  readonly owners: readonly string[];
  /** Sorted; all operations where the policy names none. */
  readonly operations: readonly Operation[];
  /** In the order of their names; empty only where there are obligations. */
  readonly constraints: readonly ConstraintContract[];
  /** In the order of their names. */
  readonly obligations: readonly ObligationContract[];
}

/**
 * The slot of a policy's content: enforced content acts, the results of candidate (shadow) content
 * are only recorded.
 */
export type PolicySlot = "enforced" | "candidate";

export interface PolicyIdentity {
  readonly id: string;
  /** Rises by one exactly when the digest changes; 0 without a store, as in the CLI. */
  readonly revision: number;
  /** SHA-256 of the policy's canonical content, independent of path and line endings. */
  readonly digest: string;
  readonly slot: PolicySlot;
}

export type Verdict = "pass" | "fail" | "indeterminate";

/**
 * Verdict of one constraint, of one slot of one policy, for one request. Has no text that a policy
 * could choose freely.
 */
export interface PolicyVerdict {
  readonly policy: PolicyIdentity;
  readonly constraint: string;
  readonly effect: ConstraintEffect;
  readonly verdict: Verdict;
  /**
   * From the declared list; `null` for `pass`. `EVALUATION_INDETERMINATE` or `POLICY_TIMEOUT` for
   * `indeterminate`.
   */
  readonly reason: string | null;
  /** Ids of the candidates that did not pass; empty for a gate. In plan order. */
  readonly failing: readonly string[];
}

/** An obligation that a slot has not waived for a request. */
export type PolicyObligation = ObligationContract & { readonly policy: PolicyIdentity };

/** Results of a policy set for one request. */
export interface PolicyEvaluation {
  /**
   * One for every constraint of every slot that applies to the input's operation, in the order of
   * the set's policies.
   */
  readonly verdicts: readonly PolicyVerdict[];
  /** Those in force, in the same order: an evaluation that failed has waived nothing. */
  readonly obligations: readonly PolicyObligation[];
}

export const DAY_BUCKETS = ["weekday", "weekend"] as const;
export const HOUR_BUCKETS = ["night", "morning", "afternoon", "evening"] as const;

/** In the order of ISO 8601. */
export const WEEKDAYS = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
] as const;

/** The wall clock in one time zone. */
export interface LocalTime {
  readonly weekday: (typeof WEEKDAYS)[number];
  /** 0 to 23; 23 is 23:00–23:59. */
  readonly hour: number;
}

/** When a request is decided. Day and hour are in UTC. */
export interface PolicyTime {
  /** `weekend`: Saturday and Sunday. */
  readonly day: (typeof DAY_BUCKETS)[number];
  /** `night` 00:00–05:59, `morning` 06:00–11:59, `afternoon` 12:00–17:59, `evening` 18:00–23:59. */
  readonly hour: (typeof HOUR_BUCKETS)[number];
  /** By time zone; only zones that a policy names. */
  readonly local?: Readonly<Record<string, LocalTime>>;
}

/**
 * Input of policies (docs/policies.md#what-a-policy-may-read): no content, and finite. The member
 * names are those in Rego.
 */
export interface PolicyInput {
  readonly operation: Operation;
  readonly workspace: {
    readonly id: string;
    readonly tier: string;
    readonly labels: readonly string[];
  };
  readonly key: {
    readonly environment: string;
    readonly workload: string;
    readonly owner: string;
    readonly labels: readonly string[];
  };
  readonly request: {
    readonly route: string;
    readonly needs: readonly Capability[];
    readonly stream: boolean;
    readonly context: TokenBucket;
    readonly max_output: TokenBucket;
    readonly reasoning_effort: ReasoningEffort;
    /**
     * Requested vector length; 0 if the request has none. One of the lengths that the table's
     * models declare.
     */
    readonly dimensions: number;
    readonly allow_fallbacks: boolean;
    readonly data_collection: "allow" | "deny";
    readonly zdr: boolean;
  };
  /** `unlimited` for every request where no policy of the set reads it. */
  readonly budget: { readonly remaining: BudgetStep };
  /** One and the same bucket for every request where no policy of the set reads it. */
  readonly time: Pick<PolicyTime, "day" | "hour">;
  /** By IANA time zone: every zone that a policy of the set names, and no other. */
  readonly local_time: Readonly<Record<string, LocalTime>>;
  readonly candidates: readonly PolicyCandidate[];
}

export interface PolicyCandidate {
  /** Endpoint id. */
  readonly id: string;
  readonly rank: "primary" | "fallback";
  readonly model: string;
  readonly provider: string;
  readonly region: string;
  readonly dialect: string;
  readonly retention: Retention;
  readonly trains_on_data: boolean;
  readonly capabilities: readonly Capability[];
  /** `none` where the model signs nothing. */
  readonly signature_family: string;
  readonly latency_class: LatencyClass | "unspecified";
  /**
   * US dollars per million tokens. Absent where unknown: Rego orders `null` below every number, so
   * that it would pass as cheap.
   */
  readonly price?: { readonly input: number; readonly output: number };
}

/**
 * Data that policies may read besides their input, made from the table: `data.approved`,
 * `data.regions`.
 */
export interface PolicyData {
  readonly approved: {
    readonly regions: Readonly<Record<string, readonly string[]>>;
    readonly providers: Readonly<Record<string, readonly string[]>>;
    readonly routes: Readonly<Record<string, readonly string[]>>;
    readonly capabilities: Readonly<Record<string, readonly Capability[]>>;
    readonly dimensions: Readonly<Record<string, readonly number[]>>;
  };
  /** Region group → regions. */
  readonly regions: Readonly<Record<string, readonly string[]>>;
}

/**
 * All policies, enforced and shadow. Evaluation is synchronous, never throws, and has a verdict for
 * each constraint.
 */
export interface PolicySet {
  /** 16 hexadecimal digits that name the contents and their slots (`policySetId`). */
  readonly id: string;
  /** Sorted by id, the enforced slot first. */
  readonly policies: readonly {
    readonly identity: PolicyIdentity;
    readonly contract: PolicyContract;
    /** Dotted paths of its input, each covering everything below it; absent: it may read all. */
    readonly reads?: readonly string[];
  }[];
  /** Whether the answer of any policy may depend on `input.time` or `input.local_time`. */
  readonly readsTime: boolean;
  /** The time zones that its policies name, sorted. */
  readonly zones: readonly string[];
  /** The same of `input.budget`. */
  readonly readsBudget: boolean;
  evaluate(input: PolicyInput): PolicyEvaluation;
}

/** State of one content of a policy in the store. */
export interface PolicyState {
  readonly id: string;
  readonly digest: string;
  readonly revision: number;
  readonly mode: "shadow" | "enforce";
}

/**
 * How a revision is shown everywhere: `r7`. `null` for 0: no store has numbered the content.
 *
 * @example formatRevision(7) // "r7"
 */
export function formatRevision(revision: number): string | null {
  return revision > 0 ? `r${revision}` : null;
}

/**
 * Pattern of `formatRevision` for JSON Schema. Nine digits: more contents than any policy will
 * have.
 */
export const REVISION_PATTERN = "^r[1-9][0-9]{0,8}$";

/**
 * The number of a revision as `formatRevision` writes it; `null` for any other text.
 *
 * @example parseRevision("r7") // 7
 */
export function parseRevision(text: string): number | null {
  return new RegExp(REVISION_PATTERN).test(text) ? Number(text.slice(1)) : null;
}

/** A content of a policy that can be run without compiling. */
export interface StoredContent {
  readonly policy: string;
  readonly digest: string;
  /** JSON that `policy/kept-content.ts` writes and reads. */
  readonly description: string;
  /** WebAssembly. */
  readonly module: Uint8Array;
}
