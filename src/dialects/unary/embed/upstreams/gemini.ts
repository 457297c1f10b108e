import type { ServiceError } from "../../../../canon/error.ts";
import type { UpstreamFailure } from "../../../../canon/failure.ts";
import type { JsonObject, JsonValue } from "../../../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest, EmbedResult } from "../../../../canon/unary/embed.ts";
import type { FormattedRequest, Target } from "../../../dialect.ts";
import { resourceName } from "../../../gemini/paths.ts";
import { errorOf, readErrorFrame, readGeminiError } from "../../../gemini/read-error.ts";
import type { AnswerFault } from "../../answer-codes.ts";
import type { UnaryUpstream } from "../../upstream.ts";
import { countIn, listIn, memberIn, readInOrder, type FoundVectors } from "./checks.ts";
import { textsOf } from "./inputs.ts";

/**
 * Google's embeddings in its two spellings: `batchEmbedContents` of the Gemini API, and `predict` of Vertex AI (flag `predict_embeddings`). Neither
 * answers with an index; vectors stand in the order of the inputs.
 */
export const geminiEmbedder: UnaryUpstream<EmbedRequest, EmbedResult> = {
  format,
  parseAnswer: (bytes, request, target) =>
    readInOrder(bytes, request, target, isPredicted(target) ? findPredicted : find),
  readError: readGeminiError,
};

const TASKS: Readonly<Record<EmbedPurpose, string>> = {
  document: "RETRIEVAL_DOCUMENT",
  query: "RETRIEVAL_QUERY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
};

function isPredicted({ provider }: Target): boolean {
  return provider.flags.includes("predict_embeddings");
}

function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const name = resourceName(target.endpoint.upstreamModel);
  const task = request.purpose === null ? null : TASKS[request.purpose];
  const path = `/${name.split("/").map(encodeURIComponent).join("/")}`;
  return isPredicted(target)
    ? { path: `${path}:predict`, body: predictBody(texts, task, request), headers: [], losses: [] }
    : { path: `${path}:batchEmbedContents`, body: batchBody(texts, name, task, request), headers: [], losses: [] };
}

/** The protocol has no word about inputs that are too long. */
function batchBody(
  texts: readonly string[],
  model: string,
  taskType: string | null,
  { dimensions }: EmbedRequest,
): JsonObject {
  return {
    requests: texts.map((text) => ({
      model,
      content: { parts: [{ text }] },
      ...(taskType === null ? {} : { taskType }),
      ...(dimensions === null ? {} : { outputDimensionality: dimensions }),
    })),
  };
}

function predictBody(
  texts: readonly string[],
  task: string | null,
  { dimensions, mayTruncate }: EmbedRequest,
): JsonObject {
  return {
    instances: texts.map((content) => ({ content, ...(task === null ? {} : { task_type: task }) })),
    parameters: {
      // The provider cuts what is too long unless told not to.
      autoTruncate: mayTruncate,
      ...(dimensions === null ? {} : { outputDimensionality: dimensions }),
    },
  };
}

function find(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const embeddings = listIn(body, "embeddings");
  if (embeddings === null) return withoutVectors(body);
  return {
    places: embeddings.map((item) => memberIn(item, "values")),
    inputTokens: countIn(body["usageMetadata"], "promptTokenCount"),
    model: null,
  };
}

function findPredicted(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const predictions = listIn(body, "predictions");
  if (predictions === null) return withoutVectors(body);
  const embeddings = predictions.map((item) => memberIn(item, "embeddings"));
  return {
    places: embeddings.map((item) => memberIn(item, "values")),
    inputTokens: sumOfTokens(embeddings),
    model: null,
  };
}

/** `null` where one of the inputs was not counted: a sum of the others would be wrong. */
function sumOfTokens(embeddings: readonly (JsonValue | undefined)[]): number | null {
  let sum = 0;
  for (const embedding of embeddings) {
    const count = countIn(memberIn(embedding, "statistics"), "token_count");
    if (count === null) return null;
    sum += count;
  }
  return sum;
}

function withoutVectors(body: JsonObject): UpstreamFailure | AnswerFault {
  const error = errorOf(body);
  return error === null ? "missing_results" : readErrorFrame(error);
}
