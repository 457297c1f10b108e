import type { ServiceError } from "../../../../canon/error.ts";
import type { UpstreamFailure } from "../../../../canon/failure.ts";
import type { JsonObject } from "../../../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest, EmbedResult } from "../../../../canon/unary/embed.ts";
import { readConverseError } from "../../../bedrock-converse/read-error.ts";
import { readCohereError, readErrorObject } from "../../../cohere-chat/read-error.ts";
import type { FormattedRequest, Target } from "../../../dialect.ts";
import type { AnswerFault } from "../../answer-codes.ts";
import type { UnaryUpstream } from "../../upstream.ts";
import { invokePath } from "./bedrock.ts";
import { countIn, listIn, memberIn, readInOrder, type FoundVectors } from "./checks.ts";
import { textsOf } from "./inputs.ts";

/** Where Cohere itself answers, after its base URL. */
const PATH = "/v2/embed";

/** Cohere's embeddings as Cohere speaks them, and as its models on Bedrock do (protocols.md §3.5). */
export const cohereEmbedder: UnaryUpstream<EmbedRequest, EmbedResult> = {
  format,
  parseAnswer: (bytes, request, target) => readInOrder(bytes, request, target, find),
  readError,
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
    // Cohere itself cuts what is too long unless told not to.
    truncate: mayTruncate ? "END" : "NONE",
    ...(dimensions === null ? {} : { output_dimension: dimensions }),
  };
  return {
    path: isInvoked ? invokePath(target) : PATH,
    body,
    headers: [],
    losses: purpose === null ? ["input_purpose_defaulted"] : [],
  };
}

/** Vectors stand below the kind of their numbers, or, where older models of Bedrock do not know kinds, at once in the list. */
function find(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const places = listIn(body, "embeddings") ?? listIn(body["embeddings"], "float");
  if (places === null) return typeof body["message"] === "string" ? readErrorObject(body) : "missing_results";
  return { places, inputTokens: countIn(memberIn(body["meta"], "billed_units"), "input_tokens"), model: null };
}

/** Errors of Bedrock have other words, and one status more. */
function readError(status: number, bytes: Uint8Array): UpstreamFailure {
  const cloud = readConverseError(status, bytes);
  return cloud.code === null ? { ...readCohereError(status, bytes), kind: cloud.kind } : cloud;
}
