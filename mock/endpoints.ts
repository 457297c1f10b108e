import { isJsonObject, type JsonObject } from "./json.ts";
import {
  bedrockCount,
  bedrockInvoke,
  bedrockInvokeStream,
} from "./anthropic-messages/hosted/bedrock.ts";
import {
  vertexCountTokens,
  vertexRawPredict,
  vertexStreamRawPredict,
} from "./anthropic-messages/hosted/vertex.ts";
import { anthropicCountTokens, anthropicMessages } from "./anthropic-messages/protocol.ts";
import { bedrockConverse, bedrockConverseStream } from "./bedrock-converse/protocol.ts";
import { cohereChat } from "./cohere-chat/protocol.ts";
import { geminiCountTokens, geminiGenerate, geminiStream } from "./gemini/protocol.ts";
import { openaiChat, openaiModels } from "./openai-chat/protocol.ts";
import { openaiCompletions } from "./openai-completions/protocol.ts";
import { openaiInputTokens, openaiResponses } from "./openai-responses/protocol.ts";
import type { Protocol } from "./protocol.ts";
import { cohereEmbedInvoked } from "./unary/embed/cohere-invoke.ts";
import { cohereEmbed } from "./unary/embed/cohere.ts";
import { geminiEmbed } from "./unary/embed/gemini.ts";
import { novaEmbed } from "./unary/embed/nova.ts";
import { openaiEmbeddings } from "./unary/embed/openai.ts";
import { titanEmbed } from "./unary/embed/titan.ts";
import { vertexEmbed } from "./unary/embed/vertex.ts";
import { speaksVoyage, voyageEmbeddings } from "./unary/embed/voyage.ts";
import { openaiModerations } from "./unary/moderate/openai.ts";
import { bedrockRerank } from "./unary/rerank/bedrock.ts";
import { cohereRerankInvoked } from "./unary/rerank/cohere-invoke.ts";
import { cohereRerank } from "./unary/rerank/cohere.ts";
import { jinaRerank } from "./unary/rerank/jina.ts";
import { ranksAsVoyage, voyageRerank } from "./unary/rerank/voyage.ts";

export interface MockEndpoint {
  readonly method: "GET" | "POST";
  /**
   * End of the path: base addresses of providers carry prefixes of all kinds. The first row that
   * fits is taken.
   */
  readonly path: string;
  readonly protocol: Protocol;
  /**
   * Protocols that share the path and are recognised by the body: the first that accepts it, and
   * `protocol` where none does.
   */
  readonly others?: readonly Neighbour[];
}

interface Neighbour {
  readonly protocol: Protocol;
  readonly speaks: (body: JsonObject) => boolean;
}

function has(...names: readonly string[]): Neighbour["speaks"] {
  return (body) => names.every((name) => Object.hasOwn(body, name));
}

/** What InvokeModel calls besides Anthropic's models. */
const INVOKED: readonly Neighbour[] = [
  { protocol: titanEmbed, speaks: has("inputText") },
  { protocol: novaEmbed, speaks: has("taskType") },
  { protocol: cohereEmbedInvoked, speaks: has("texts") },
  { protocol: cohereRerankInvoked, speaks: has("query", "documents") },
];

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
  { method: "POST", path: "/invoke", protocol: bedrockInvoke, others: INVOKED },
  { method: "POST", path: "/invoke-with-response-stream", protocol: bedrockInvokeStream },
  { method: "POST", path: "/count-tokens", protocol: bedrockCount },
  { method: "POST", path: "/count-tokens:rawPredict", protocol: vertexCountTokens },
  { method: "POST", path: ":rawPredict", protocol: vertexRawPredict },
  { method: "POST", path: ":streamRawPredict", protocol: vertexStreamRawPredict },
  {
    method: "POST",
    path: "/embeddings",
    protocol: openaiEmbeddings,
    others: [{ protocol: voyageEmbeddings, speaks: speaksVoyage }],
  },
  { method: "POST", path: "/v2/embed", protocol: cohereEmbed },
  { method: "POST", path: ":batchEmbedContents", protocol: geminiEmbed },
  { method: "POST", path: ":predict", protocol: vertexEmbed },
  { method: "POST", path: "/v2/rerank", protocol: cohereRerank },
  {
    method: "POST",
    path: "/rerank",
    protocol: jinaRerank,
    others: [
      { protocol: bedrockRerank, speaks: has("queries") },
      { protocol: voyageRerank, speaks: ranksAsVoyage },
    ],
  },
  { method: "POST", path: "/moderations", protocol: openaiModerations },
  { method: "GET", path: "/models", protocol: openaiModels },
];

/** The protocol of a request to an endpoint. */
export function protocolFor({ protocol, others = [] }: MockEndpoint, body: unknown): Protocol {
  if (!isJsonObject(body)) return protocol;
  return others.find(({ speaks }) => speaks(body))?.protocol ?? protocol;
}
