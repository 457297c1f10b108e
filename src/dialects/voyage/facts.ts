import { UNARY_FACTS, type DialectFacts } from "../dialect-facts.ts";

/**
 * Embeddings and rerank as Voyage AI speaks them: near to OpenAI's and to Cohere's, with members of
 * its own.
 */
export const VOYAGE = {
  ...UNARY_FACTS,
  operations: ["embed", "rerank"],
  features: ["input_purpose"],
  maxBatch: 1000,
} as const satisfies DialectFacts;
