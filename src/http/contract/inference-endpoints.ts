import { countTokensSurface, messagesSurface } from "../../dialects/anthropic-messages/dialect.ts";
import { chatSurface } from "../../dialects/openai-chat/dialect.ts";
import { completionsSurface } from "../../dialects/openai-completions/dialect.ts";
import { responsesSurface } from "../../dialects/openai-responses/dialect.ts";
import { embeddingsSurface } from "../../dialects/openai-chat/embeddings-surface.ts";
import { moderationsSurface } from "../../dialects/openai-chat/moderations-surface.ts";
import { rerankSurface } from "../../dialects/cohere-chat/rerank-surface.ts";
import type { InferenceEndpoint } from "./endpoint.ts";

const GENERATION = {
  kind: "inference",
  method: "POST",
  listener: "public",
  scopes: ["inference"],
  query: {},
  tag: "Generation",
} as const;

const UNARY = { ...GENERATION, tag: "Retrieval and moderation" } as const;

const RERANK = {
  ...UNARY,
  operation: "rerank",
  ...rerankSurface.contract,
  surface: rerankSurface,
} as const;

/** Every endpoint whose requests go to a model provider. */
export const INFERENCE_ENDPOINTS: readonly InferenceEndpoint[] = [
  {
    ...GENERATION,
    path: "/v1/chat/completions",
    id: "createChatCompletion",
    summary: "Chat completions, whole or as a stream of chunks",
    operation: "chat.completions",
    ...chatSurface.contract,
    surface: chatSurface,
  },
  {
    ...GENERATION,
    path: "/v1/completions",
    id: "createCompletion",
    summary: "Legacy completions of a plain prompt, whole or as a stream of chunks",
    operation: "completions",
    ...completionsSurface.contract,
    surface: completionsSurface,
  },
  {
    ...GENERATION,
    path: "/v1/responses",
    id: "createResponse",
    summary:
      "Responses, whole or as a stream of events; nothing is stored, so the request holds everything",
    operation: "responses",
    ...responsesSurface.contract,
    surface: responsesSurface,
  },
  {
    ...GENERATION,
    path: "/api/v1/messages",
    id: "createMessage",
    summary: "Messages, whole or as a stream of events",
    operation: "messages",
    ...messagesSurface.contract,
    surface: messagesSurface,
  },
  {
    ...GENERATION,
    path: "/api/v1/messages/count_tokens",
    id: "countMessageTokens",
    summary:
      "How many input tokens a messages request has; its text goes to a provider, so it is governed like one",
    operation: "messages.count_tokens",
    ...countTokensSurface.contract,
    surface: countTokensSurface,
  },
  {
    ...UNARY,
    path: "/v1/embeddings",
    id: "createEmbeddings",
    summary: "Vectors of texts or tokens: exactly one for each input, in their order, or an error",
    operation: "embeddings",
    ...embeddingsSurface.contract,
    surface: embeddingsSurface,
  },
  {
    ...RERANK,
    path: "/v1/rerank",
    id: "createRerank",
    summary:
      "Documents of the request by their relevance to a query, best first; nothing of them is kept",
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
    summary:
      "Whether texts or images are harmful, by an approved route: the one named, or the workspace's own",
    operation: "moderations",
    ...moderationsSurface.contract,
    surface: moderationsSurface,
  },
];
