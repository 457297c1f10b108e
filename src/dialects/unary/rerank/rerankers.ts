import type { RerankRequest, RerankResult } from "../../../canon/unary/rerank.ts";
import type { DialectName } from "../../names.ts";
import type { UnaryUpstream } from "../upstream.ts";
import { bedrockReranker } from "./upstreams/bedrock-rerank.ts";
import { cohereReranker } from "./upstreams/cohere.ts";
import { jinaReranker } from "./upstreams/openai-chat.ts";
import { voyageReranker } from "./upstreams/voyage.ts";

/** How documents are ranked in each wire protocol that can. */
export const RERANKERS: Readonly<Partial<Record<DialectName, UnaryUpstream<RerankRequest, RerankResult>>>> = {
  "cohere-chat": cohereReranker,
  "openai-chat": jinaReranker,
  voyage: voyageReranker,
  "bedrock-rerank": bedrockReranker,
};
