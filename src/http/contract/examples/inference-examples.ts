import type { EndpointExample } from "./example.ts";

const WEATHER = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
} as const;

const chat: EndpointExample = {
  requests: {
    plain: { model: "chat-small", messages: [{ role: "user", content: "Say hello." }] },
    streamed: {
      model: "chat-small",
      messages: [{ role: "user", content: "Say hello." }],
      stream: true,
      stream_options: { include_usage: true },
    },
    tools: {
      model: "chat-small",
      messages: [{ role: "user", content: "What is the weather in Lisbon?" }],
      tools: [{ type: "function", function: { name: "weather", description: "Of a city, now.", parameters: WEATHER } }],
    },
    preferences: {
      model: "chat-large",
      messages: [{ role: "user", content: "Say hello." }],
      max_completion_tokens: 100,
      provider: { region: "eu", data_collection: "deny" },
    },
  },
};

const completion: EndpointExample = {
  requests: {
    plain: { model: "chat-small", prompt: "Say hello.", max_tokens: 20 },
    streamed: { model: "chat-small", prompt: "Say hello.", max_tokens: 20, stream: true },
  },
};

const response: EndpointExample = {
  requests: {
    plain: { model: "large-any", input: "Say hello." },
    streamed: { model: "large-any", input: "Say hello.", stream: true },
    schema: {
      model: "chat-large",
      input: [{ role: "user", content: [{ type: "input_text", text: "What is the weather in Lisbon?" }] }],
      text: { format: { type: "json_schema", name: "weather", schema: WEATHER, strict: true } },
      store: false,
    },
  },
};

const message: EndpointExample = {
  requests: {
    plain: { model: "claude-sonnet-4-6", max_tokens: 100, messages: [{ role: "user", content: "Say hello." }] },
    streamed: {
      model: "claude-sonnet-4-6",
      max_tokens: 100,
      messages: [{ role: "user", content: "Say hello." }],
      stream: true,
    },
    tools: {
      model: "claude-sonnet-4-6",
      max_tokens: 500,
      system: "Answer in one sentence.",
      messages: [{ role: "user", content: "What is the weather in Lisbon?" }],
      tools: [{ name: "weather", description: "Of a city, now.", input_schema: WEATHER }],
    },
  },
};

const tokens: EndpointExample = {
  requests: { plain: { model: "claude-sonnet-4-6", messages: [{ role: "user", content: "Say hello." }] } },
};

const embeddings: EndpointExample = {
  requests: {
    one: { model: "embed-small", input: "A text.", dimensions: 512 },
    batch: { model: "embed-small", input: ["One text.", "Another."], encoding_format: "base64", on_partial: "report" },
  },
};

const rerank: EndpointExample = {
  requests: {
    plain: {
      model: "rerank",
      query: "When is rent due?",
      documents: ["Rent is due on the first of a month.", "Pets are allowed."],
      top_n: 1,
      return_documents: true,
    },
  },
};

const moderation: EndpointExample = {
  requests: {
    named: { model: "moderation", input: ["A text to look at."] },
    default: { input: "A text to look at." },
  },
};

export const INFERENCE_EXAMPLES: Readonly<Record<string, EndpointExample>> = {
  createChatCompletion: chat,
  createCompletion: completion,
  createResponse: response,
  createMessage: message,
  countMessageTokens: tokens,
  createEmbeddings: embeddings,
  createRerank: rerank,
  createRerankV2: rerank,
  createModeration: moderation,
};
