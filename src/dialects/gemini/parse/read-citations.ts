import type { Citation } from "../../../canon/generate/event.ts";
import { isJsonObject, type JsonObject } from "../../../canon/json.ts";

export interface CandidateCitations {
  readonly citations: readonly Citation[];
  /** Whether nothing was left out. */
  readonly complete: boolean;
}

const NONE: CandidateCitations = { citations: [], complete: true };

/**
 * The sources that an answer repeats. Their places count bytes of the whole answer, so they are not told. Sources of a search have marks of their own,
 * which only callers of this protocol can have asked for.
 */
export function readCitations({ citationMetadata, groundingMetadata }: JsonObject): CandidateCitations {
  const isGrounded = isJsonObject(groundingMetadata) && Object.keys(groundingMetadata).length > 0;
  if (!isJsonObject(citationMetadata)) return isGrounded ? { citations: [], complete: false } : NONE;
  // One name in the Gemini API, another in Vertex AI.
  const listed = citationMetadata["citationSources"] ?? citationMetadata["citations"];
  const sources = Array.isArray(listed) ? listed.filter(isJsonObject) : [];
  const citations = sources.flatMap(({ uri, title }): readonly Citation[] =>
    typeof uri === "string" && uri !== ""
      ? [{ url: uri, title: typeof title === "string" ? title : null, start: null, end: null }]
      : [],
  );
  return { citations, complete: !isGrounded && citations.length === sources.length };
}
