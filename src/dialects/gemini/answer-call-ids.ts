import { isJsonObject, type JsonObject, type JsonValue } from "../../canon/json.ts";
import type { Citation } from "../../canon/generate/event.ts";
import { textOrNull } from "../json.ts";

/**
 * Ids of answers that may stand in an id of ours; with it the id has 40 characters at most, which
 * is all that some clients' stores take.
 */
const PLAIN_ID = /^[a-zA-Z0-9_-]{1,30}$/;

/** Ids for the calls of one answer. Those of the provider are kept; most models give none. */
export class AnswerCallIds {
  readonly #used = new Set<string>();
  readonly #answerId: string;

  /**
   * @param answerId our id of the answer: not every speaker of the protocol gives one, and without
   * any the calls of two turns would have the same ids.
   */
  constructor(answerId: string) {
    this.#answerId = answerId;
  }

  /**
   * @param answer the provider's id of the answer, which keeps the calls of different answers
   * apart.
   */
  take(given: JsonValue | undefined, answer: JsonValue | undefined): string {
    const id =
      typeof given === "string" && given !== "" && !this.#used.has(given)
        ? given
        : this.#mint(answer);
    this.#used.add(id);
    return id;
  }

  #mint(answer: JsonValue | undefined): string {
    const id = typeof answer === "string" && PLAIN_ID.test(answer) ? answer : this.#answerId;
    const prefix = id === "" ? "call_" : `call_${id}_`;
    for (let number = this.#used.size; ; number += 1) {
      const made = `${prefix}${number}`;
      if (!this.#used.has(made)) return made;
    }
  }
}

interface CandidateCitations {
  readonly citations: readonly Citation[];
  /** Whether nothing was left out. */
  readonly complete: boolean;
}

const NONE: CandidateCitations = { citations: [], complete: true };

/**
 * The sources that an answer repeats. Their positions count bytes of the whole answer, so they are
 * not reported. Sources of a search have marks of their own, which only callers of this protocol
 * can have requested.
 */
export function readCitations({
  citationMetadata,
  groundingMetadata,
}: JsonObject): CandidateCitations {
  const isGrounded = isJsonObject(groundingMetadata) && Object.keys(groundingMetadata).length > 0;
  if (!isJsonObject(citationMetadata))
    return isGrounded ? { citations: [], complete: false } : NONE;
  // One name in the Gemini API, another in Vertex AI.
  const listed = citationMetadata["citationSources"] ?? citationMetadata["citations"];
  const sources = Array.isArray(listed) ? listed.filter(isJsonObject) : [];
  const citations = sources.flatMap(({ uri, title }): readonly Citation[] =>
    typeof uri === "string" && uri !== ""
      ? [{ url: uri, title: textOrNull(title), start: null, end: null }]
      : [],
  );
  return { citations, complete: !isGrounded && citations.length === sources.length };
}
