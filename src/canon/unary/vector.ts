/** How vectors are written: a JSON array of numbers, or base64 of little-endian IEEE 754 single-precision numbers. */
export const VECTOR_ENCODINGS = ["float", "base64"] as const;
export type VectorEncoding = (typeof VECTOR_ENCODINGS)[number];

/**
 * One embedding as its provider wrote it. Its maker has checked that every number is finite; vectors are large, so they are not read
 * their numbers again unless the caller wants the other encoding.
 */
export interface Vector {
  /** How many numbers; at least 1. */
  readonly dimension: number;
  readonly encoding: VectorEncoding;
  /** ASCII: the array with its brackets, or the base64 text without quotes. */
  readonly text: string;
}
