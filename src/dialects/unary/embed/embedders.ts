import type { EmbedRequest, EmbedResult } from "../../../canon/unary/embed.ts";
import type { DialectName } from "../../names.ts";
import type { UnaryUpstream } from "../upstream.ts";
import { novaEmbedder } from "./upstreams/bedrock-nova-embed.ts";
import { titanEmbedder } from "./upstreams/bedrock-titan-embed.ts";
import { cohereEmbedder } from "./upstreams/cohere-chat.ts";
import { geminiEmbedder } from "./upstreams/gemini.ts";
import { openAiEmbedder } from "./upstreams/openai-chat.ts";
import { voyageEmbedder } from "./upstreams/voyage.ts";

/** How providers of each protocol that embeds are spoken to. */
export const EMBEDDERS: Readonly<Partial<Record<DialectName, UnaryUpstream<EmbedRequest, EmbedResult>>>> = {
  "openai-chat": openAiEmbedder,
  "cohere-chat": cohereEmbedder,
  gemini: geminiEmbedder,
  voyage: voyageEmbedder,
  "bedrock-titan-embed": titanEmbedder,
  "bedrock-nova-embed": novaEmbedder,
};
