import { createHash } from "node:crypto";

import type { StoredContent } from "../../canon/policy.ts";

/** A content that the log speaks of, and so must be kept. */
export interface SpokenContent {
  readonly policy: string;
  readonly revision: number;
  readonly digest: string;
  /** SHA-256 of its module's bytes. */
  readonly module: string;
  /** Of the row that speaks of it first. */
  readonly position: number;
}

/** Why what is kept is not what the log speaks of, each with its sentence. */
export const KEPT_CONTENT_CAUSES = {
  not_kept: "its content is not stored",
  other_policy: "the content stored under its digest belongs to another policy",
  module: "the stored module is not the one in the log",
  digest: "the stored contract and sources cannot be read, or do not have its digest",
} as const;

export type KeptContentCause = keyof typeof KEPT_CONTENT_CAUSES;

/**
 * Whether what is kept under a digest is what the log speaks of.
 *
 * @param digestOf digest of contract and sources as they are kept; `null` where they cannot be read
 */
export function keptContentCause(
  spoken: SpokenContent,
  kept: StoredContent | null,
  digestOf: (kept: StoredContent) => string | null,
): KeptContentCause | null {
  if (kept === null) return "not_kept";
  if (kept.policy !== spoken.policy) return "other_policy";
  if (createHash("sha256").update(kept.module).digest("hex") !== spoken.module) return "module";
  return kept.digest === spoken.digest && digestOf(kept) === spoken.digest ? null : "digest";
}

/** Quotes nothing of the log but numbers. */
export function describeContentFault({ position }: SpokenContent, cause: KeptContentCause): string {
  return `names content at position ${position} that is missing or damaged: ${KEPT_CONTENT_CAUSES[cause]} (${cause})`;
}
