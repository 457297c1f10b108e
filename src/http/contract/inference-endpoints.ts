import { countTokensSurface, messagesSurface } from "../../dialects/anthropic-messages/dialect.ts";
import { COUNT_TOKENS_SCHEMA, MESSAGES_SCHEMA } from "../../dialects/anthropic-messages/schema.ts";
import { chatSurface } from "../../dialects/openai-chat/dialect.ts";
import { CHAT_COMPLETIONS_SCHEMA } from "../../dialects/openai-chat/schema.ts";
import { completionsSurface } from "../../dialects/openai-completions/dialect.ts";
import { COMPLETIONS_SCHEMA } from "../../dialects/openai-completions/schema.ts";
import { responsesSurface } from "../../dialects/openai-responses/dialect.ts";
import { RESPONSES_SCHEMA } from "../../dialects/openai-responses/schema.ts";
import { embeddingsSurface } from "../../dialects/openai-chat/embeddings/surface.ts";
import { EMBEDDINGS_SCHEMA } from "../../dialects/openai-chat/embeddings/schema.ts";
import { CHAT_COMPLETION, COMPLETION, MESSAGE, RESPONSE, TOKEN_COUNT } from "./answer-schemas.ts";
import { moderationsSurface } from "../../dialects/openai-chat/moderations/surface.ts";
import { MODERATIONS_SCHEMA } from "../../dialects/openai-chat/moderations/schema.ts";
import { rerankSurface } from "../../dialects/cohere-chat/rerank/surface.ts";
import { RERANK_SCHEMA } from "../../dialects/cohere-chat/rerank/schema.ts";
import { EMBEDDING_LIST, MODERATION, RERANKING } from "./unary-answer-schemas.ts";
import { CHAT_STREAM, COMPLETION_STREAM, MESSAGE_STREAM, RESPONSE_STREAM } from "./events/event-streams.ts";
import type { InferenceEndpoint } from "./endpoint.ts";

const GENERATION = {
  kind: "inference",
  method: "POST",
  listener: "public",
  scope: "inference",
  query: {},
  tag: "Generation",
} as const;

const UNARY = { ...GENERATION, tag: "Retrieval and moderation" } as const;

const RERANK = {
  ...UNARY,
  operation: "rerank",
  surface: rerankSurface,
  body: RERANK_SCHEMA,
  answer: RERANKING,
} as const;

/** Every endpoint whose requests go to a model provider. */
export const INFERENCE_ENDPOINTS: readonly InferenceEndpoint[] = [
  {
    ...GENERATION,
    path: "/v1/chat/completions",
    id: "createChatCompletion",
    summary: "Chat completions, whole or as a stream of chunks",
    operation: "chat.completions",
    surface: chatSurface,
    body: CHAT_COMPLETIONS_SCHEMA,
    answer: CHAT_COMPLETION,
    stream: CHAT_STREAM,
  },
  {
    ...GENERATION,
    path: "/v1/completions",
    id: "createCompletion",
    summary: "Legacy completions of a plain prompt, whole or as a stream of chunks",
    operation: "completions",
    surface: completionsSurface,
    body: COMPLETIONS_SCHEMA,
    answer: COMPLETION,
    stream: COMPLETION_STREAM,
  },
  {
    ...GENERATION,
    path: "/v1/responses",
    id: "createResponse",
    summary: "Responses, whole or as a stream of events; nothing is stored, so everything stands in the request",
    operation: "responses",
    surface: responsesSurface,
    body: RESPONSES_SCHEMA,
    answer: RESPONSE,
    stream: RESPONSE_STREAM,
  },
  {
    ...GENERATION,
    path: "/api/v1/messages",
    id: "createMessage",
    summary: "Messages, whole or as a stream of events",
    operation: "messages",
    surface: messagesSurface,
    body: MESSAGES_SCHEMA,
    answer: MESSAGE,
    stream: MESSAGE_STREAM,
  },
  {
    ...GENERATION,
    path: "/api/v1/messages/count_tokens",
    id: "countMessageTokens",
    summary: "How many input tokens a messages request has; its text goes to a provider, so it is governed like one",
    operation: "messages.count_tokens",
    surface: countTokensSurface,
    body: COUNT_TOKENS_SCHEMA,
    answer: TOKEN_COUNT,
  },
  {
    ...UNARY,
    path: "/v1/embeddings",
    id: "createEmbeddings",
    summary: "Vectors of texts or tokens: exactly one for each input, in their order, or an error",
    operation: "embeddings",
    surface: embeddingsSurface,
    body: EMBEDDINGS_SCHEMA,
    answer: EMBEDDING_LIST,
  },
  {
    ...RERANK,
    path: "/v1/rerank",
    id: "createRerank",
    summary: "Documents of the request by their relevance to a query, best first; nothing of them is kept",
  },
  {
    ...RERANK,
    path: "/v2/rerank",
    id: "createRerankV2",
    summary: "The same, where clients of Cohere's second version ask",
  },
  {
    ...UNARY,
    path: "/v1/moderations",
    id: "createModeration",
    summary: "Whether texts or images are harmful, by an approved route: the one named, or the workspace's own",
    operation: "moderations",
    surface: moderationsSurface,
    body: MODERATIONS_SCHEMA,
    answer: MODERATION,
  },
];
