import type { DialectFacts } from "./dialect-facts.ts";

const PLAIN = {
  expresses: [],
  optional: [],
  takesBudgets: false,
  takesBetas: false,
  signs: false,
  flags: {},
  demandsOutputLimit: false,
} as const;

/** Embeddings and rerank as Voyage AI speaks them: near to OpenAI's and to Cohere's, with members of its own. */
export const VOYAGE = {
  ...PLAIN,
  operations: ["embed", "rerank"],
  features: ["input_purpose"],
  maxBatch: 1000,
} as const satisfies DialectFacts;

/** Amazon's Titan text embeddings over Bedrock's InvokeModel: one text a call. */
export const BEDROCK_TITAN_EMBED = {
  ...PLAIN,
  operations: ["embed"],
  features: [],
  maxBatch: 1,
} as const satisfies DialectFacts;

/** Amazon's Nova embeddings over Bedrock's InvokeModel: one text a call. */
export const BEDROCK_NOVA_EMBED = {
  ...PLAIN,
  operations: ["embed"],
  features: ["input_purpose"],
  maxBatch: 1,
} as const satisfies DialectFacts;

/** Rerank of Bedrock's agent runtime: `base_url` is the host of `bedrock-agent-runtime`, the upstream model an ARN. */
export const BEDROCK_RERANK = {
  ...PLAIN,
  operations: ["rerank"],
  features: [],
} as const satisfies DialectFacts;
