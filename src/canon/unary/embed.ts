import type { JsonObject } from "../json.ts";

/**
 * How vectors are written: a JSON array of numbers, or base64 of little-endian IEEE 754
 * single-precision numbers.
 */
export const VECTOR_ENCODINGS = ["float", "base64"] as const;

export type VectorEncoding = (typeof VECTOR_ENCODINGS)[number];

/**
 * One embedding as its provider wrote it. Its maker has checked that every number is finite;
 * vectors are large, so they are not read their numbers again unless the caller wants the other
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
 * What vectors are made for. Models that ask make other vectors for each, so it is never guessed
 * where it was said.
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
  /**
   * Length of the vectors; `null` where the caller did not say, or where the model makes one length
   * only.
   */
  readonly dimensions: number | null;
  /** `null`: the caller did not say; numbers are then meant. */
  readonly encoding: VectorEncoding | null;
  readonly purpose: EmbedPurpose | null;
  /**
   * Whether inputs beyond the model's window may be cut; `null`: the caller did not say, and they
   * may not, where the provider's protocol can express that.
   */
  readonly mayTruncate: boolean | null;
  /** Members that only an endpoint of the surface's own protocol is sent, as they came. */
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
  /** What the provider calls the model; `null` where it does not say. */
  readonly model: string | null;
  /**
   * The answer is already what the caller's protocol says, to the byte: OpenAI's members, vectors
   * in order, each with its own index, in the encoding requested.
   */
  readonly isVerbatim: boolean;
}
