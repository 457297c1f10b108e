import type { Behaviour, ResultMember } from "../../behaviour.ts";
import type { JsonObject } from "../../json.ts";
import { limitAt, textAt } from "../../members.ts";
import { invalid, type Problem } from "../../problem.ts";
import type { Batch } from "../protocol.ts";
import { INDEX_MEMBERS, listResults, overflow, tokensOf, type Listed } from "../results.ts";

/** Members about rankings. */
export const RANK_MEMBERS: readonly ResultMember[] = [
  ...INDEX_MEMBERS,
  "short",
  "nan",
  "failOver",
  "poison",
];

/** A request for a ranking. */
export interface RankBatch extends Batch {
  readonly query: string;
  readonly documents: readonly string[];
  /** Most results; `null` for all. */
  readonly top: number | null;
}

/** One document at its index. */
export interface Ranked {
  readonly document: string;
  /**
   * 0 to 1 with at most six digits after the point, or no number at all where the behaviour sets
   * it.
   */
  readonly score: unknown;
}

/** The request for a ranking of these documents. */
export function rankBatch(
  query: string,
  documents: readonly string[],
  top: number | null,
): RankBatch {
  return { query, documents, top, count: documents.length, texts: [query, ...documents] };
}

/** Reads a request that names its query `query`; one without documents is refused. */
export function readRank(
  body: JsonObject,
  documents: readonly string[],
  top: string,
): RankBatch | Problem {
  if (documents.length === 0)
    return invalid("documents", "Missing required parameter: 'documents'.");
  return rankBatch(textAt(body, "query"), documents, limitAt(body, top));
}

/**
 * The documents in the order of the answer: best first, and of those with one score the first of
 * the request first.
 */
export function rank(batch: RankBatch, behaviour: Behaviour): readonly Listed<Ranked>[] | Problem {
  const query = wordsOf(batch.query);
  const ranked = batch.documents
    .map((document, index) => ({ index, document, score: similarity(query, wordsOf(document)) }))
    .toSorted((left, right) => right.score - left.score)
    .slice(0, batch.top ?? batch.documents.length);
  const listed = listResults(
    ranked.map((item) => ({ index: item.index, item })),
    batch.count,
    behaviour,
  );
  if ("status" in listed || !behaviour.nan) return listed;
  return listed.map(({ index, item }, position) => ({
    index,
    item: position === 0 ? { ...item, score: overflow() } : item,
  }));
}

/** Tokens as those who count them for rankings do: the query once for each document. */
export function rankTokens({ query, documents }: RankBatch): number {
  return tokensOf(documents) + documents.length * tokensOf([query]);
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
}

/**
 * The share of words that two texts have in common (Dice's coefficient): 0 for none, 1 for the same
 * words.
 */
function similarity(left: ReadonlySet<string>, right: ReadonlySet<string>): number {
  const all = left.size + right.size;
  return all === 0 ? 0 : Math.round((2 * left.intersection(right).size * 1e6) / all) / 1e6;
}
