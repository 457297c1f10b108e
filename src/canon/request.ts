import type { Capability, Feature } from "./capability.ts";
import type { ServiceError } from "./error.ts";
import type { DroppedField } from "./generate/edit.ts";
import type { JsonObject } from "./json.ts";
import type { BudgetStep } from "./limits.ts";
import type { Operation } from "./operation.ts";

/**
 * The caller's preferences for routing (docs/dispatch.md#preferences-of-the-caller). They narrow or
 * reorder and never widen.
 */
export interface ProviderPreferences {
  /** Provider ids in the order to try them; the rest follow in table order. */
  readonly order?: readonly string[];
  /** Only these provider ids. */
  readonly only?: readonly string[];
  /** Never these provider ids. */
  readonly ignore?: readonly string[];
  /** `false`: the first eligible candidate alone. Default true. */
  readonly allow_fallbacks?: boolean;
  readonly sort?: SortPreference;
  /** Regions or region groups, as named in routes.yaml. */
  readonly region?: readonly string[];
  readonly max_price?: MaximumPrice;
  /** `deny` (our default): only providers that do not train on or keep prompts. */
  readonly data_collection?: "allow" | "deny";
  /** `true`: only providers with zero data retention. */
  readonly zdr?: boolean;
  readonly preferred_max_latency?: Percentiles;
  readonly preferred_min_throughput?: Percentiles;
}

export const SORT_KEYS = ["price", "latency", "throughput"] as const;
type SortKey = (typeof SORT_KEYS)[number];

export interface SortPreference {
  readonly by: SortKey;
  readonly partition: "model" | "none";
}

/** US dollars per million tokens (`input`, `output`) and per request. */
export interface MaximumPrice {
  readonly input?: number;
  readonly output?: number;
  readonly request?: number;
}

/** Seconds (latency) or tokens per second (throughput) at a percentile; a bare number means p50. */
export interface Percentiles {
  readonly p50?: number;
  readonly p75?: number;
  readonly p90?: number;
  readonly p99?: number;
}

/**
 * Sizes that policies and evidence see. A bucket's name is its upper bound in tokens. Exact sizes
 * would help to recognise a request, and they would make the input of policies infinite
 * (docs/policies.md#what-a-policy-may-read).
 */
export const TOKEN_BUCKETS = [
  "unspecified",
  "to_1k",
  "to_4k",
  "to_16k",
  "to_64k",
  "to_200k",
  "to_1m",
  "over_1m",
] as const;
export type TokenBucket = (typeof TOKEN_BUCKETS)[number];

const BUCKET_LIMITS: readonly (readonly [TokenBucket, number])[] = [
  ["to_1k", 1_000],
  ["to_4k", 4_000],
  ["to_16k", 16_000],
  ["to_64k", 64_000],
  ["to_200k", 200_000],
  ["to_1m", 1_000_000],
];

/**
 * The bucket of a number of tokens; `undefined`: the request states none.
 *
 * @example tokenBucket(3_500) // "to_4k"
 */
export function tokenBucket(tokens: number | undefined): TokenBucket {
  if (tokens === undefined) return "unspecified";
  for (const [name, limit] of BUCKET_LIMITS) if (tokens <= limit) return name;
  return "over_1m";
}

export const REASONING_EFFORTS = [
  "unspecified",
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/**
 * All facts of a request that a decision may depend on. Finite: every member is an enum, a boolean
 * or a bucket.
 */
export interface RequestShape {
  readonly operation: Operation;
  /**
   * Capabilities that the request needs, sorted, each once; derived once, when the body is parsed.
   */
  readonly needs: readonly Capability[];
  /** Features that the request requires of the wire protocol, sorted, each once. */
  readonly features: readonly Feature[];
  readonly stream: boolean;
  /** Estimated size of the input. */
  readonly context: TokenBucket;
  /** The most output that the request allows. */
  readonly maxOutput: TokenBucket;
  readonly reasoningEffort: ReasoningEffort;
  /**
   * Families whose signed reasoning is in the history; only endpoints of the same family can read
   * it. Sorted.
   */
  readonly signatureFamilies: readonly string[];
  /** Length of the vectors requested; `null` if none is requested or the operation makes none. */
  readonly dimensions: number | null;
}

/** Features that every request of an operation uses. */
export const ALWAYS_USED: Readonly<Partial<Record<Operation, readonly Feature[]>>> = {
  "messages.count_tokens": ["count_tokens"],
};

/** Headers that belong to the surface's protocol; no others are read. */
export interface ProtocolHeaders {
  /** `anthropic-version`; `null` where the request has none. */
  readonly version: string | null;
  /** Values of `anthropic-beta`, in their order. */
  readonly betas: readonly string[];
  /** Names of the request's headers that no provider gets; absent: none. */
  readonly unsent?: readonly string[];
}

/** The header of beta flags. */
export const BETA_HEADER = "anthropic-beta";

/** Of a request without such headers, or a protocol that has none. */
export const NO_HEADERS: ProtocolHeaders = Object.freeze({ version: null, betas: [] });

/** A parsed request. The body is the caller's and must not be logged. */
export interface InferenceRequest {
  /** Remainder of the caller's budgets; absent if no policy reads it. */
  readonly budget?: BudgetStep | undefined;
  /** The public name of a route, as the caller wrote it. */
  readonly model: string;
  readonly shape: RequestShape;
  readonly preferences: ProviderPreferences | null;
  /** Capability or feature → path of the member that first requested it, for an error's `param`. */
  readonly paths: ReadonlyMap<Capability | Feature, string>;
  readonly headers: ProtocolHeaders;
  /**
   * The parsed body in the surface's own dialect, without members of its history that are repeated
   * or empty.
   */
  readonly body: JsonObject;
  /**
   * Members that were left out of the body for every endpoint because they are empty or repeated;
   * absent if none.
   */
  readonly dropped?: readonly DroppedField[];
  /** Reads the body for limits and balancing. */
  readonly reader: BodyReader;
  /**
   * Whether the caller requested the stream to end with its usage (`stream_options.include_usage`).
   */
  readonly includeUsage: boolean;
  /**
   * The 400 for an object whose `type` its protocol does not have; a route with `unknown_fields:
   * forward` accepts it.
   */
  readonly unknownKind?: ServiceError | null;
  /**
   * The 400 for the content of an unknown member that no provider may get; answered on a route that
   * forwards such members.
   */
  readonly unforwardable?: ServiceError | null;
}

/**
 * Reads bodies of any protocol for limits and balancing. Each function reads the body again: most
 * requests need few of them, and carrying the reader costs nothing.
 */
export interface BodyReader {
  /** Requested output limit of one answer, tokens, above 0; `null` if none. */
  readonly outputLimit: (body: JsonObject) => number | null;
  /** Prompts that are answered separately; at least 1. */
  readonly prompts: (body: JsonObject) => number;
  /** Answers to one prompt; at least 1. */
  readonly choices: (body: JsonObject) => number;
  /**
   * Most tokens of input beyond one for each byte of the body: text that providers add, and content
   * that the body only refers to.
   */
  readonly inputAllowance: (body: JsonObject, needs: readonly Capability[]) => number;
  /** Tokens of the input as they are likely to be counted. */
  readonly likelyInput: (body: JsonObject, needs: readonly Capability[]) => number;
  /** The caller's name for the conversation; `null` if it has none. */
  readonly conversationName: (body: JsonObject) => string | null;
  /**
   * The common beginning of all requests of a conversation, as one text of bounded length; `null`
   * if the body has none.
   */
  readonly conversationOpening: (body: JsonObject) => string | null;
}
