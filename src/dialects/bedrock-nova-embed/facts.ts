import { UNARY_FACTS, type DialectFacts } from "../dialect-facts.ts";

/** Amazon's Nova embeddings over Bedrock's InvokeModel: one text a call. */
export const BEDROCK_NOVA_EMBED = {
  ...UNARY_FACTS,
  operations: ["embed"],
  features: ["input_purpose"],
  maxBatch: 1,
} as const satisfies DialectFacts;
