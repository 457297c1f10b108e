import { anthropicCountTokens, anthropicMessages } from "./anthropic-messages/protocol.ts";
import { openaiChat, openaiModels } from "./openai-chat/protocol.ts";
import { openaiCompletions } from "./openai-completions/protocol.ts";
import { openaiInputTokens, openaiResponses } from "./openai-responses/protocol.ts";
import type { Protocol } from "./protocol.ts";

export interface MockEndpoint {
  readonly method: "GET" | "POST";
  /** End of the path: base addresses of providers carry prefixes of all kinds. The first row that fits is taken. */
  readonly path: string;
  readonly protocol: Protocol;
}

/** Everything that the simulated provider serves, besides `/mock/requests`. */
export const MOCK_ENDPOINTS: readonly MockEndpoint[] = [
  { method: "POST", path: "/chat/completions", protocol: openaiChat },
  { method: "POST", path: "/completions", protocol: openaiCompletions },
  { method: "POST", path: "/responses", protocol: openaiResponses },
  { method: "POST", path: "/responses/input_tokens", protocol: openaiInputTokens },
  { method: "POST", path: "/messages", protocol: anthropicMessages },
  { method: "POST", path: "/messages/count_tokens", protocol: anthropicCountTokens },
  { method: "GET", path: "/models", protocol: openaiModels },
];
