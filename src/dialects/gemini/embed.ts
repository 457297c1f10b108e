import type { ServiceError } from "../../canon/error.ts";
import type { UpstreamFailure } from "../../canon/failure.ts";
import type { JsonObject, JsonValue } from "../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest, EmbedResult } from "../../canon/unary.ts";
import type { AnswerFault } from "../answer-ends.ts";
import type { FormattedRequest, Target, UnaryUpstream } from "../dialect.ts";
import { errorOf, readErrorFrame, readGeminiError, resourceName } from "./read-error.ts";
import { countIn, listIn, memberIn } from "../json.ts";
import { droppedTruncation } from "../unary/ranking.ts";
import { readInOrder, textsOf, type FoundVectors } from "../unary/vectors.ts";

/**
 * Google's embeddings in their three spellings: `batchEmbedContents` of the Gemini API, `predict`
 * of Vertex AI (flag `predict_embeddings`), and its `embedContent` (flag `embed_content`). None
 * answers with an index; vectors stand in the order of the inputs.
 */
export const geminiEmbedder: UnaryUpstream<EmbedRequest, EmbedResult> = {
  format,
  parseAnswer: (bytes, request, target) =>
    readInOrder(bytes, request, target, spellingOf(target).find),
  readError: readGeminiError,
};

const TASKS: Readonly<Record<EmbedPurpose, string>> = {
  document: "RETRIEVAL_DOCUMENT",
  query: "RETRIEVAL_QUERY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
};

/** A form of request for vectors that Google's models take. */
interface Spelling {
  readonly verb: string;
  /** It has a member for whether texts may be truncated. */
  readonly saysTruncation: boolean;
  readonly body: (
    texts: readonly string[],
    model: string,
    task: string | null,
    request: EmbedRequest,
  ) => JsonObject;
  readonly find: (body: JsonObject) => FoundVectors | AnswerFault | UpstreamFailure;
}

function spellingOf({ provider: { flags } }: Target): Spelling {
  if (flags.includes("predict_embeddings")) return PREDICT;
  return flags.includes("embed_content") ? EMBED_CONTENT : BATCH;
}

function format(request: EmbedRequest, target: Target): FormattedRequest | ServiceError {
  const texts = textsOf(request);
  if ("code" in texts) return texts;
  const name = resourceName(target.endpoint.upstreamModel);
  const task = request.purpose === null ? null : TASKS[request.purpose];
  const path = `/${name.split("/").map(encodeURIComponent).join("/")}`;
  const { verb, saysTruncation, body } = spellingOf(target);
  const dropped = saysTruncation ? [] : droppedTruncation(request);
  return { path: `${path}:${verb}`, body: body(texts, name, task, request), headers: [], dropped };
}

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
      taskType: taskType ?? undefined,
      outputDimensionality: dimensions ?? undefined,
    })),
  };
}

function predictBody(
  texts: readonly string[],
  _model: string,
  task: string | null,
  { dimensions, mayTruncate }: EmbedRequest,
): JsonObject {
  return {
    instances: texts.map((content) => ({ content, task_type: task ?? undefined })),
    parameters: {
      // The provider cuts what is too long unless the request says not to.
      autoTruncate: mayTruncate ?? false,
      outputDimensionality: dimensions ?? undefined,
    },
  };
}

/** The endpoint's row has batches of one, because the body has one text only. */
function contentBody(
  texts: readonly string[],
  _model: string,
  taskType: string | null,
  { dimensions, mayTruncate }: EmbedRequest,
): JsonObject {
  return {
    content: { parts: texts.map((text) => ({ text })) },
    embedContentConfig: {
      autoTruncate: mayTruncate ?? false,
      taskType: taskType ?? undefined,
      outputDimensionality: dimensions ?? undefined,
    },
  };
}

function findContent(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const embedding = memberIn(body, "embedding");
  if (embedding === undefined) return withoutVectors(body);
  return {
    entries: [memberIn(embedding, "values")],
    inputTokens: countIn(body.usageMetadata, "promptTokenCount"),
    model: null,
  };
}

function find(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const embeddings = listIn(body, "embeddings");
  if (embeddings === null) return withoutVectors(body);
  return {
    entries: embeddings.map((item) => memberIn(item, "values")),
    inputTokens: countIn(body.usageMetadata, "promptTokenCount"),
    model: null,
  };
}

function findPredicted(body: JsonObject): FoundVectors | AnswerFault | UpstreamFailure {
  const predictions = listIn(body, "predictions");
  if (predictions === null) return withoutVectors(body);
  const embeddings = predictions.map((item) => memberIn(item, "embeddings"));
  return {
    entries: embeddings.map((item) => memberIn(item, "values")),
    inputTokens: sumOfTokens(embeddings),
    model: null,
  };
}

const BATCH: Spelling = {
  verb: "batchEmbedContents",
  saysTruncation: false,
  body: batchBody,
  find,
};
const PREDICT: Spelling = {
  verb: "predict",
  saysTruncation: true,
  body: predictBody,
  find: findPredicted,
};
const EMBED_CONTENT: Spelling = {
  verb: "embedContent",
  saysTruncation: true,
  body: contentBody,
  find: findContent,
};

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
