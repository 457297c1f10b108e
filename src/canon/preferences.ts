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
export type SortKey = (typeof SORT_KEYS)[number];

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
