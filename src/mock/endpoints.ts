import { bedrockCount, bedrockInvoke, bedrockInvokeStream } from "./anthropic-messages/hosted/bedrock.ts";
import { vertexCountTokens, vertexRawPredict, vertexStreamRawPredict } from "./anthropic-messages/hosted/vertex.ts";
import { anthropicCountTokens, anthropicMessages } from "./anthropic-messages/protocol.ts";
import { bedrockConverse, bedrockConverseStream } from "./bedrock-converse/protocol.ts";
import { cohereChat } from "./cohere-chat/protocol.ts";
import { geminiCountTokens, geminiGenerate, geminiStream } from "./gemini/protocol.ts";
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
  { method: "POST", path: "/v2/chat", protocol: cohereChat },
  { method: "POST", path: ":generateContent", protocol: geminiGenerate },
  { method: "POST", path: ":streamGenerateContent", protocol: geminiStream },
  { method: "POST", path: ":countTokens", protocol: geminiCountTokens },
  { method: "POST", path: "/converse", protocol: bedrockConverse },
  { method: "POST", path: "/converse-stream", protocol: bedrockConverseStream },
  { method: "POST", path: "/invoke", protocol: bedrockInvoke },
  { method: "POST", path: "/invoke-with-response-stream", protocol: bedrockInvokeStream },
  { method: "POST", path: "/count-tokens", protocol: bedrockCount },
  { method: "POST", path: "/count-tokens:rawPredict", protocol: vertexCountTokens },
  { method: "POST", path: ":rawPredict", protocol: vertexRawPredict },
  { method: "POST", path: ":streamRawPredict", protocol: vertexStreamRawPredict },
  { method: "GET", path: "/models", protocol: openaiModels },
];
