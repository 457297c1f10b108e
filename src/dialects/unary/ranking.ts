import { invalidRequest, type ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { DroppedField } from "../../canon/generate/edit.ts";
import { isJsonObject, type JsonMember, type JsonObject } from "../../canon/json.ts";
import type { RankedDocument, RerankRequest, RerankResult } from "../../canon/unary.ts";
import { faultyAnswer } from "../answer-ends.ts";
import type { UnaryUpstream } from "../dialect.ts";
import { listOf, memberIn, parseAnswerBytes } from "../json.ts";
import { refuseExtras } from "./surface.ts";

/** Result as the answer has it, before it is checked against the request. */
interface FoundRanking extends Pick<RerankResult, "inputTokens" | "searchUnits" | "model"> {
  /** The answer's list of results. */
  readonly results: JsonMember;
}

/**
 * How many results a request wants. Some providers refuse a number above the number of documents.
 */
export function wantedResults({ topN, documents }: RerankRequest): number {
  return Math.min(topN ?? documents.length, documents.length);
}

/**
 * Reads an answer: its results, checked and sorted.
 *
 * @param find finds the results in the protocol's members; a failure if the object is an error.
 * @param scoreName the member of a result that has its score.
 */
export function rankingReader(
  find: (answer: JsonObject) => FoundRanking | UpstreamFailure,
  scoreName = "relevance_score",
): UnaryUpstream<RerankRequest, RerankResult>["parseAnswer"] {
  return ({ whole }, request) => {
    const answer = parseAnswerBytes(whole);
    if (!isJsonObject(answer)) return faultyAnswer("not_json");
    const found = find(answer);
    return "kind" in found ? found : readRanking(found, scoreName, request);
  };
}

function readRanking(
  { results: list, ...facts }: FoundRanking,
  scoreName: string,
  request: RerankRequest,
): RerankResult | UpstreamFailure {
  if (!Array.isArray(list)) return faultyAnswer("missing_results");
  const ranked: RankedDocument[] = [];
  const seen = new Set<number>();
  for (const item of listOf(list)) {
    const index = memberIn(item, "index");
    const score = memberIn(item, scoreName);
    if (!isIndex(index, request.documents.length)) return faultyAnswer("index_invalid");
    if (seen.has(index)) return faultyAnswer("index_repeated");
    if (typeof score !== "number" || !Number.isFinite(score)) return faultyAnswer("score_invalid");
    seen.add(index);
    ranked.push({ index, score });
  }
  const resultCount = wantedResults(request);
  // With fewer, a document would be dropped without a record.
  if (ranked.length < resultCount) return faultyAnswer("result_count");
  // Sort before the cut: the worst results are cut off.
  const results = ranked.toSorted(byScore).slice(0, resultCount);
  return { operation: "rerank", results, ...facts };
}

/** Whether a value is the index of one of `count` inputs. */
export function isIndex(value: JsonMember, count: number): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value < count;
}

/** Best first; equal scores in the order of the request. */
function byScore(left: RankedDocument, right: RankedDocument) {
  return right.score - left.score || left.index - right.index;
}

/** The 400 for members that only the surface's own protocol can carry; `null` if there are none. */
export function foreignRefusal(request: RerankRequest): ServiceError | null {
  return refuseExtras(request.extras) ?? documentLimitRefusal(request);
}

/** The decision excludes such endpoints; a request that gets here must not lose the limit. */
export function documentLimitRefusal({ maxTokensPerDocument }: RerankRequest): ServiceError | null {
  if (maxTokensPerDocument === null) return null;
  return invalidRequest(
    "feature_not_supported",
    "max_tokens_per_doc has no counterpart in the protocol of an endpoint that may get the request",
    "max_tokens_per_doc",
  );
}

/** A provider without a member for it may ignore the priority: the answer is the same. */
export function droppedPriority({ priority }: RerankRequest): readonly DroppedField[] {
  return priority === null ? [] : ["hint_dropped"];
}

/**
 * Dropped field of a protocol that cannot express whether inputs may be cut, if the caller
 * requested either.
 */
export function droppedTruncation({
  mayTruncate,
}: {
  readonly mayTruncate: boolean | null;
}): readonly DroppedField[] {
  return mayTruncate === null ? [] : ["truncation_unspoken"];
}
