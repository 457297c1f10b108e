import { WEATHER } from "../contract/example-tool.ts";

/** Requests of the contract, in the order to try them. */
export const RESPONSES_EXAMPLES = {
  plain: { model: "large-any", input: "Say hello." },
  streamed: { model: "large-any", input: "Say hello.", stream: true },
  schema: {
    model: "chat-large",
    input: [{ role: "user", content: [{ type: "input_text", text: "What is the weather in Lisbon?" }] }],
    text: { format: { type: "json_schema", name: "weather", schema: WEATHER, strict: true } },
    store: false,
  },
} as const;
