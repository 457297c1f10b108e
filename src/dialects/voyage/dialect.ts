import type { Dialect } from "../dialect-row.ts";
import { voyageEmbedder } from "./embed.ts";
import { voyageReranker } from "./rerank.ts";

/** Voyage AI's protocol as providers speak it. */
export const dialect: Dialect = { embed: voyageEmbedder, rerank: voyageReranker };
