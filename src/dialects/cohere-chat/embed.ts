import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest, EmbedResult } from "../../canon/unary.ts";
import type { FormattedRequest, Target } from "../dialect.ts";
import type { AnswerFault } from "../answer-failure.ts";
import { countIn, listIn, memberIn } from "../json.ts";
import { bedrockErrorIn, invokePath, readConverseError } from "../bedrock-converse/read-error.ts";
import type { UnaryUpstream } from "../unary/surface.ts";
import { readInOrder, type FoundVectors, textsOf } from "../unary/embed-checks.ts";

/** Where Cohere itself answers, after its base URL. */
const PATH = "/v2/embed";

/** Cohere's embeddings, at Cohere and at its models on Bedrock (docs/protocols.md#embeddings). */
export const cohereEmbedder: UnaryUpstream<EmbedRequest, EmbedResult> = {
  format,
  parseAnswer: (bytes, request, target) => readInOrder(bytes, request, target, find),
  readError: readConverseError,
};

const INPUT_TYPES: Readonly<Record<EmbedPurpose, string>> = {
  document: "search_document",
  query: "search_query",
  classification: "classification",
  clustering: "clustering",
};

function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const { purpose, dimensions, mayTruncate } = request;
  const isInvoked = target.provider.flags.includes("bedrock_invoke");
  const body = {
    ...(isInvoked ? {} : { model: target.endpoint.upstreamModel }),
    texts,
    input_type: INPUT_TYPES[purpose ?? "document"],
    embedding_types: ["float"],
    // Cohere itself cuts what is too long unless the request says not to.
    truncate: mayTruncate === true ? "END" : "NONE",
    ...(dimensions === null ? {} : { output_dimension: dimensions }),
  };
  return {
    path: isInvoked ? invokePath(target) : PATH,
    body,
    headers: [],
    dropped: purpose === null ? ["input_purpose_defaulted"] : [],
  };
}

/**
 * Vectors stand below the kind of their numbers, or, where older models of Bedrock do not know
 * kinds, at once in the list.
 */
function find(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const entries = listIn(body, "embeddings") ?? listIn(body["embeddings"], "float");
  if (entries === null) return bedrockErrorIn(body) ?? "missing_results";
  return {
    entries: entries,
    inputTokens: countIn(memberIn(body["meta"], "billed_units"), "input_tokens"),
    model: null,
  };
}
