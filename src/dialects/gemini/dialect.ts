import { fitting } from "../fit-request.ts";
import { GEMINI } from "./facts.ts";
import type { Dialect, Target } from "../dialect.ts";
import {
  errorOf,
  parseGeminiAnswer,
  parseGeminiStream,
  readErrorFrame,
  readGeminiError,
} from "./read-answer.ts";
import { formatGemini, modelPath, resourceName } from "./format.ts";
import type { JsonMember, JsonObject } from "../../canon/json.ts";
import type { EmbedPurpose, EmbedRequest } from "../../canon/unary.ts";
import { countIn, listIn, memberIn } from "../json.ts";
import { droppedTruncation } from "../unary/ranking.ts";
import { type FoundVectors, textsOf, vectorReader } from "../unary/vectors.ts";

const TASKS: Readonly<Record<EmbedPurpose, string>> = {
  document: "RETRIEVAL_DOCUMENT",
  query: "RETRIEVAL_QUERY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
};

/** A request and an answer for vectors, as one of Google's methods has them. */
interface EmbedMethod {
  readonly verb: string;
  /** Whether the request has a member for truncation. */
  readonly truncates: boolean;
  readonly body: (
    texts: readonly string[],
    taskType: string | undefined,
    request: EmbedRequest,
    model: string,
  ) => JsonObject;
  /** `null` where the answer has no vectors. */
  readonly find: (body: JsonObject) => Omit<FoundVectors, "model"> | null;
}

/** Of the Gemini API. */
const BATCH: EmbedMethod = {
  verb: "batchEmbedContents",
  truncates: false,
  body: (texts, taskType, { dimensions }, model) => ({
    requests: texts.map((text) => ({
      model,
      content: { parts: [{ text }] },
      taskType,
      outputDimensionality: dimensions ?? undefined,
    })),
  }),
  find: (body) => {
    const embeddings = listIn(body, "embeddings");
    return embeddings === null
      ? null
      : { entries: valuesOf(embeddings), inputTokens: tokensOf(body) };
  },
};

/** Of Vertex AI, for models up to `gemini-embedding-001` (flag `predict_embeddings`). */
const PREDICT: EmbedMethod = {
  verb: "predict",
  truncates: true,
  body: (texts, taskType, { dimensions, mayTruncate }) => ({
    instances: texts.map((content) => ({ content, task_type: taskType })),
    parameters: {
      // The provider cuts what is too long unless the request forbids it.
      autoTruncate: mayTruncate ?? false,
      outputDimensionality: dimensions ?? undefined,
    },
  }),
  find: (body) => {
    const predictions = listIn(body, "predictions");
    if (predictions === null) return null;
    const embeddings = predictions.map((item) => memberIn(item, "embeddings"));
    const counts = embeddings.map((item) => countIn(memberIn(item, "statistics"), "token_count"));
    const known = counts.filter((count) => count !== null);
    return {
      entries: valuesOf(embeddings),
      // A sum without one of the inputs would be wrong.
      inputTokens: known.length < counts.length ? null : known.reduce((sum, one) => sum + one, 0),
    };
  },
};

/** Of Vertex AI, for newer models: one text a call (flag `embed_content`). */
const EMBED_CONTENT: EmbedMethod = {
  verb: "embedContent",
  truncates: true,
  body: (texts, taskType, { dimensions, mayTruncate }) => ({
    content: { parts: texts.map((text) => ({ text })) },
    embedContentConfig: {
      autoTruncate: mayTruncate ?? false,
      taskType,
      outputDimensionality: dimensions ?? undefined,
    },
  }),
  find: (body) =>
    body.embedding === undefined
      ? null
      : { entries: valuesOf([body.embedding]), inputTokens: tokensOf(body) },
};

function valuesOf(embeddings: readonly JsonMember[]): FoundVectors["entries"] {
  return embeddings.map((item) => memberIn(item, "values"));
}

function tokensOf({ usageMetadata }: JsonObject): number | null {
  return countIn(usageMetadata, "promptTokenCount");
}

function methodOf({ provider: { flags } }: Target): EmbedMethod {
  if (flags.includes("predict_embeddings")) return PREDICT;
  return flags.includes("embed_content") ? EMBED_CONTENT : BATCH;
}

/**
 * Google's embeddings by three methods. None answers with an index; vectors are in the order of the
 * inputs.
 */
const geminiEmbedder: NonNullable<Dialect["embed"]> = {
  format: (request, target) => {
    const texts = textsOf(request);
    if ("code" in texts) return texts;
    const { upstreamModel } = target.endpoint;
    const { verb, truncates, body } = methodOf(target);
    const task = request.purpose === null ? undefined : TASKS[request.purpose];
    return {
      path: `${modelPath(upstreamModel)}:${verb}`,
      body: body(texts, task, request, resourceName(upstreamModel)),
      dropped: truncates ? [] : droppedTruncation(request),
    };
  },
  parseAnswer: vectorReader((body, target) => {
    const found = methodOf(target).find(body);
    if (found !== null) return { ...found, model: null };
    const error = errorOf(body);
    return error === null ? "missing_results" : readErrorFrame(error);
  }),
  readError: readGeminiError,
};

/**
 * Gemini's generateContent, as Google's two services speak it. They differ in the address and the
 * credentials, which are the provider row's, and in the body of a count (flag `flat_count_tokens`).
 */
export const dialect = {
  generate: {
    format: fitting(formatGemini, GEMINI.requires),
    parseStream: parseGeminiStream,
    parseAnswer: parseGeminiAnswer,
    readError: readGeminiError,
  },
  embed: geminiEmbedder,
} satisfies Dialect;
