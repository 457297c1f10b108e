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
import { textsOf, vectorReader } from "../unary/vectors.ts";

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
  /** The answer's list of embeddings; `null` where it has none. */
  readonly find: (body: JsonObject) => readonly JsonMember[] | null;
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
  find: (body) => listIn(body, "embeddings"),
};

/** Of Vertex AI, for models up to `gemini-embedding-001` (flag `predict_embeddings`). */
const PREDICT: EmbedMethod = {
  verb: "predict",
  truncates: true,
  body: (texts, taskType, { dimensions, mayTruncate }) => ({
    instances: texts.map((content) => ({ content, task_type: taskType })),
    parameters: {
      // Without it the provider truncates long inputs.
      autoTruncate: mayTruncate ?? false,
      outputDimensionality: dimensions ?? undefined,
    },
  }),
  find: (body) =>
    listIn(body, "predictions")?.map((prediction) => memberIn(prediction, "embeddings")) ?? null,
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
  find: ({ embedding }) => (embedding === undefined ? null : [embedding]),
};

/** Tokens of the whole answer, or the sum of its embeddings', which must not lack any. */
function tokensOf({ usageMetadata }: JsonObject, embeddings: readonly JsonMember[]): number | null {
  const counts = embeddings.map((item) => countIn(memberIn(item, "statistics"), "token_count"));
  const present = counts.filter((count) => count !== null);
  const sum =
    present.length < counts.length ? null : present.reduce((total, one) => total + one, 0);
  return countIn(usageMetadata, "promptTokenCount") ?? sum;
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
    const embeddings = methodOf(target).find(body);
    if (embeddings !== null) {
      const entries = embeddings.map((embedding) => memberIn(embedding, "values"));
      return { entries, inputTokens: tokensOf(body, embeddings) };
    }
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
