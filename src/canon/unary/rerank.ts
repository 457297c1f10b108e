import type { JsonObject } from "../json.ts";

export interface RerankRequest {
  readonly query: string;
  /** At least one. */
  readonly documents: readonly string[];
  /** Most results; `null`: all. At least 1. */
  readonly topN: number | null;
  /** Longer documents are cut to this by the provider; `null` where the caller did not say. */
  readonly maxTokensPerDocument: number | null;
  /**
   * Whether the provider may cut what is too long for the model; `null`: the caller did not say,
   * and it may not, where the provider's protocol can express that.
   */
  readonly mayTruncate: boolean | null;
  /**
   * How early a provider should handle the request, from 0, the first; `null` where the caller did
   * not say. Only helps.
   */
  readonly priority: number | null;
  /** Members that only an endpoint of the surface's own protocol is sent, as they came. */
  readonly extras: JsonObject;
}

export interface RankedDocument {
  /** Index in the request's list, from 0. */
  readonly index: number;
  /** Finite. Models disagree on the range; only the order means something. */
  readonly score: number;
}

/**
 * One endpoint's answer, checked: as many results as were requested, best first, ties by index,
 * every index once.
 */
export interface RerankResult {
  readonly operation: "rerank";
  readonly results: readonly RankedDocument[];
  /** `null` where the provider did not count. */
  readonly inputTokens: number | null;
  /** What some providers bill by; `null` where this one does not say. */
  readonly searchUnits: number | null;
  readonly model: string | null;
}
