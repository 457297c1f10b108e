import { UNARY_FACTS, type DialectFacts } from "../dialect-facts.ts";

/**
 * Rerank of Bedrock's agent runtime: `base_url` is the host of `bedrock-agent-runtime`, the
 * upstream model an ARN.
 */
export const BEDROCK_RERANK = {
  ...UNARY_FACTS,
  operations: ["rerank"],
  features: [],
} as const satisfies DialectFacts;
