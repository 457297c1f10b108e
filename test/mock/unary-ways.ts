import { postTo } from "./start.ts";
import type { MockServer } from "../../mock/server.ts";

/** One way to request a list of results, and the way to them in its answer. */
export interface Way {
  readonly name: string;
  readonly path: (model: string) => string;
  /** A request with these inputs; `length` is that of vectors. */
  readonly body: (model: string, inputs: readonly string[], length?: number) => object;
  /** Path to the list of results, members separated by dots. */
  readonly list: string;
  /** Path within a result to its vector or its score; empty for the result itself. */
  readonly value: string;
  /** Takes one input, and its answer holds one result. */
  readonly isSingle?: boolean;
}

const always = (path: string) => () => path;
const invoke = (model: string): string => `/model/${encodeURIComponent(model)}/invoke`;
const optional = (name: string, value: unknown): object =>
  value === undefined ? {} : { [name]: value };

export const EMBED_WAYS: readonly Way[] = [
  {
    name: "openai",
    path: always("/v1/embeddings"),
    body: (model, input, length) => ({ model, input, ...optional("dimensions", length) }),
    list: "data",
    value: "embedding",
  },
  {
    name: "voyage",
    path: always("/v1/embeddings"),
    body: (model, input, length) => ({
      model,
      input,
      truncation: false,
      ...optional("output_dimension", length),
    }),
    list: "data",
    value: "embedding",
  },
  {
    name: "cohere",
    path: always("/v2/embed"),
    body: (model, texts, length) => ({
      model,
      texts,
      input_type: "search_query",
      embedding_types: ["float"],
      ...optional("output_dimension", length),
    }),
    list: "embeddings.float",
    value: "",
  },
  {
    name: "cohere at bedrock",
    path: invoke,
    body: (_model, texts, length) => ({
      texts,
      input_type: "search_document",
      truncate: "NONE",
      ...optional("output_dimension", length),
    }),
    list: "embeddings.float",
    value: "",
  },
  {
    name: "gemini",
    path: (model) => `/v1beta/models/${encodeURIComponent(model)}:batchEmbedContents`,
    body: (model, texts, length) => ({
      requests: texts.map((text) => ({
        model: `models/${model}`,
        content: { parts: [{ text }] },
        ...optional("outputDimensionality", length),
      })),
    }),
    list: "embeddings",
    value: "values",
  },
  {
    name: "vertex",
    path: (model) => `/v1/publishers/google/models/${encodeURIComponent(model)}:predict`,
    body: (_model, texts, length) => ({
      instances: texts.map((content) => ({ content, task_type: "RETRIEVAL_QUERY" })),
      parameters: { autoTruncate: false, ...optional("outputDimensionality", length) },
    }),
    list: "predictions",
    value: "embeddings.values",
  },
  {
    name: "titan",
    path: invoke,
    body: (_model, [inputText], length) => ({
      inputText,
      normalize: true,
      ...optional("dimensions", length),
    }),
    list: "embeddingsByType",
    value: "",
    isSingle: true,
  },
  {
    name: "nova",
    path: invoke,
    body: (_model, [value], length) => ({
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        embeddingPurpose: "GENERIC_INDEX",
        ...optional("embeddingDimension", length),
        text: { value, truncationMode: "NONE" },
      },
    }),
    list: "embeddings",
    value: "embedding",
    isSingle: true,
  },
];

/** Rankings of documents by the query "red signal". */
export const RANK_WAYS: readonly Way[] = [
  {
    name: "cohere",
    path: always("/v2/rerank"),
    body: (model, documents) => ({ model, query: "red signal", documents }),
    list: "results",
    value: "relevance_score",
  },
  {
    name: "jina",
    path: always("/v1/rerank"),
    body: (model, documents) => ({
      model,
      query: "red signal",
      documents,
      return_documents: false,
    }),
    list: "results",
    value: "relevance_score",
  },
  {
    name: "voyage",
    path: always("/v1/rerank"),
    body: (model, documents) => ({ model, query: "red signal", documents, truncation: false }),
    list: "data",
    value: "relevance_score",
  },
  {
    name: "bedrock",
    path: always("/rerank"),
    body: (model, documents) => ({
      queries: [{ type: "TEXT", textQuery: { text: "red signal" } }],
      sources: documents.map((text) => ({
        type: "INLINE",
        inlineDocumentSource: { type: "TEXT", textDocument: { text } },
      })),
      rerankingConfiguration: {
        type: "BEDROCK_RERANKING_MODEL",
        bedrockRerankingConfiguration: {
          modelConfiguration: { modelArn: `arn:aws:bedrock:us-east-1::foundation-model/${model}` },
        },
      },
    }),
    list: "results",
    value: "relevanceScore",
  },
  {
    name: "cohere at bedrock",
    path: invoke,
    body: (_model, documents) => ({ query: "red signal", documents, api_version: 2 }),
    list: "results",
    value: "relevance_score",
  },
];

/** Sends a request; the model's name may carry faults. */
export function ask(
  server: MockServer,
  way: Way,
  model: string,
  inputs: readonly string[],
  length?: number,
) {
  return postTo(server, way.path(model), way.body(model, inputs, length));
}

/** What stands at a path, members separated by dots. */
export function at(value: unknown, path: string): unknown {
  let found: unknown = value;
  for (const name of path === "" ? [] : path.split("."))
    found =
      typeof found === "object" && found !== null
        ? Object.entries(found).find(([key]) => key === name)?.[1]
        : null;
  return found;
}

/** The results of an answer in the order in which they stand. */
export function resultsIn(way: Way, answer: unknown): readonly unknown[] {
  const list = at(answer, way.list);
  return Array.isArray(list) ? list : Object.values(list ?? {});
}

/** The vectors or the scores of an answer in the order in which they stand. */
export function valuesIn(way: Way, answer: unknown): readonly unknown[] {
  return resultsIn(way, answer).map((result) => at(result, way.value));
}
