import { WEATHER } from "../contract/example-tool.ts";

/** Requests of the contract, in the order to try them. */
export const MESSAGES_EXAMPLES = {
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
} as const;

/** Requests of the contract, in the order to try them. */
export const COUNT_EXAMPLES = {
  plain: { model: "claude-sonnet-4-6", messages: [{ role: "user", content: "Say hello." }] },
} as const;
