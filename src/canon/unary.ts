import type { JsonObject, JsonValue } from "./json.ts";

/**
 * How vectors are written: a JSON array of numbers, or base64 of little-endian IEEE 754
 * single-precision numbers.
 */
export const VECTOR_ENCODINGS = ["float", "base64"] as const;

export type VectorEncoding = (typeof VECTOR_ENCODINGS)[number];

/**
 * One embedding as its provider wrote it. Its maker has checked that every number is finite;
 * vectors are large, so their numbers are only read again for a caller who requests the other
 * encoding.
 */
export interface Vector {
  /** How many numbers; at least 1. */
  readonly dimension: number;
  readonly encoding: VectorEncoding;
  /** ASCII: the array with its brackets, or the base64 text without quotes. */
  readonly text: string;
}

/**
 * Use of the vectors. Some models make different vectors for each, so a stated purpose is never
 * changed.
 */
export const EMBED_PURPOSES = ["document", "query", "classification", "clustering"] as const;
export type EmbedPurpose = (typeof EMBED_PURPOSES)[number];

/** Text, or the ids of its tokens. Never empty. */
export type EmbedInput = string | readonly number[];

/** The input of an endpoint that embeds: a whole request, or a part of its batch. */
export interface EmbedRequest {
  /** At least one; each gets one vector. */
  readonly inputs: readonly EmbedInput[];
  /** The caller wrote its one input without a list around it. */
  readonly isScalar: boolean;
  /** Length of the vectors; `null` if not requested, or if the model makes one length only. */
  readonly dimensions: number | null;
  /** `null`: not requested, so numbers. */
  readonly encoding: VectorEncoding | null;
  readonly purpose: EmbedPurpose | null;
  /**
   * Whether inputs beyond the model's window may be cut; `null`: not requested, so they may not, if
   * the provider's protocol can express that.
   */
  readonly mayTruncate: boolean | null;
  /** Unknown members, unchanged, for endpoints of the surface's own protocol only. */
  readonly extras: JsonObject;
}

/**
 * One endpoint's answer, checked: exactly one vector for each input, in their order, all of one
 * length.
 */
export interface EmbedResult {
  readonly operation: "embed";
  readonly vectors: readonly Vector[];
  /** `null` where the provider did not count. */
  readonly inputTokens: number | null;
  /** The provider's name of the model; `null` if the answer has none. */
  readonly model: string | null;
  /**
   * The answer can be relayed byte for byte: OpenAI's members, vectors in order, each with its own
   * index, in the encoding requested.
   */
  readonly isVerbatim: boolean;
}

export interface RerankRequest {
  readonly query: string;
  /** At least one. */
  readonly documents: readonly string[];
  /** Most results; `null`: all. At least 1. */
  readonly topN: number | null;
  /** The provider cuts longer documents to this; `null` if not requested. */
  readonly maxTokensPerDocument: number | null;
  /**
   * Whether the provider may cut inputs that are too long for the model; `null`: not requested, so
   * it may not, if the provider's protocol can express that.
   */
  readonly mayTruncate: boolean | null;
  /**
   * How early a provider should handle the request, from 0, the first; `null` if not requested. A
   * hint.
   */
  readonly priority: number | null;
  /** Unknown members, unchanged, for endpoints of the surface's own protocol only. */
  readonly extras: JsonObject;
}

export interface RankedDocument {
  /** Index in the request's list, from 0. */
  readonly index: number;
  /** Finite. Models differ in the range; only the order is comparable. */
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
  /** Unit of billing of some providers; `null` if the answer has none. */
  readonly searchUnits: number | null;
  readonly model: string | null;
}

/** Categories in answers to moderations, in the order of OpenAI's specification. */
export const MODERATION_CATEGORIES = [
  "harassment",
  "harassment/threatening",
  "hate",
  "hate/threatening",
  "illicit",
  "illicit/violent",
  "self-harm",
  "self-harm/intent",
  "self-harm/instructions",
  "sexual",
  "sexual/minors",
  "violence",
  "violence/graphic",
] as const;
export type ModerationCategory = (typeof MODERATION_CATEGORIES)[number];

/**
 * A model's own categories → those of callers that they count for; an empty list: callers do not
 * see the category. Declared in routes.yaml (`moderation_categories`): an operator decides how two
 * vendors' categories correspond.
 */
export type CategoryMapping = Readonly<Record<string, readonly ModerationCategory[]>>;

export interface ModerateRequest {
  /**
   * A text, or a list of texts, which get a verdict each; or a list of OpenAI's parts (`text`,
   * `image_url`), which get one together. As the caller wrote it, without unknown members of parts
   * unless the route forwards them.
   */
  readonly input: JsonValue;
  /** Unknown members, unchanged, for endpoints of the surface's own protocol only. */
  readonly extras: JsonObject;
}

export interface CategoryVerdict {
  /** `null`: the model does not judge the category. */
  readonly flagged: boolean | null;
  /** 0 to 1; `null` where the model does not judge the category. */
  readonly score: number | null;
  /** Which kinds of input were judged for it; empty where none was. */
  readonly appliedTo: readonly ("text" | "image")[];
}

export interface ModerationVerdict {
  /** As in the answer, or because a category is flagged; never false if one is. */
  readonly flagged: boolean;
  /** One for each of `MODERATION_CATEGORIES`, in their order. */
  readonly categories: Readonly<Record<string, CategoryVerdict>>;
}

/** One endpoint's answer, checked: one verdict for each text, or one for all parts together. */
export interface ModerateResult {
  readonly operation: "moderate";
  readonly verdicts: readonly ModerationVerdict[];
  readonly id: string | null;
  readonly model: string | null;
  readonly inputTokens: number | null;
  /**
   * Some category of callers was not judged by the model, and is printed as not flagged unless the
   * answer is relayed.
   */
  readonly hasUnjudged: boolean;
  /** The answer can be relayed byte for byte. */
  readonly isVerbatim: boolean;
}
