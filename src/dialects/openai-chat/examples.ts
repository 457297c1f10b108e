import { WEATHER } from "../contract/example-tool.ts";

/** Requests of the contract, in the order to try them. */
export const CHAT_EXAMPLES = {
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
} as const;
