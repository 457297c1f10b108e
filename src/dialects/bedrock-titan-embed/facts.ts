import { UNARY_FACTS, type DialectFacts } from "../dialect-facts.ts";

/** Amazon's Titan text embeddings over Bedrock's InvokeModel: one text a call. */
export const BEDROCK_TITAN_EMBED = {
  ...UNARY_FACTS,
  operations: ["embed"],
  features: [],
  maxBatch: 1,
} as const satisfies DialectFacts;
