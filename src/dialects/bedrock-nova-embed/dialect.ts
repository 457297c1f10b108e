import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject } from "../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest } from "../../canon/unary.ts";
import type { AnswerFault } from "../answer-ends.ts";
import { bedrockErrorIn, invokePath, readConverseError } from "../bedrock-converse/read-error.ts";
import type { Dialect, FormattedRequest, Target } from "../dialect.ts";
import { listIn, memberIn } from "../json.ts";
import { onlyText, readInOrder, type FoundVectors } from "../unary/vectors.ts";

/**
 * Amazon's Nova embeddings over Bedrock's InvokeModel: one text a call. Tokens are counted in a
 * header, which answers do not show us.
 */
export const dialect: Dialect = {
  embed: {
    format,
    parseAnswer: (bytes, request, target) => readInOrder(bytes, request, target, find),
    readError: readConverseError,
  },
};

/**
 * A query may be for anything that was embedded for search: of the values for queries this one is
 * right whatever else is stored beside the texts.
 */
const PURPOSES: Readonly<Record<EmbedPurpose, string>> = {
  document: "GENERIC_INDEX",
  query: "GENERIC_RETRIEVAL",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
};

function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const text = onlyText(request);
  if (typeof text !== "string") return text;
  const { purpose, dimensions, mayTruncate } = request;
  const singleEmbeddingParams = {
    embeddingPurpose: PURPOSES[purpose ?? "document"],
    embeddingDimension: dimensions ?? undefined,
    text: { value: text, truncationMode: mayTruncate === true ? "END" : "NONE" },
  };
  return {
    path: invokePath(target),
    body: { taskType: "SINGLE_EMBEDDING", singleEmbeddingParams },
    headers: [],
    dropped: purpose === null ? ["input_purpose_defaulted"] : [],
  };
}

function find(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const embeddings = listIn(body, "embeddings");
  if (embeddings === null) return bedrockErrorIn(body) ?? "missing_results";
  return {
    entries: embeddings.map((item) => memberIn(item, "embedding")),
    inputTokens: null,
    model: null,
  };
}
