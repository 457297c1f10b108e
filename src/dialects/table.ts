import { type DialectRow, PLAIN_FACTS } from "./dialect.ts";
import { ANTHROPIC_MESSAGES } from "./anthropic-messages/facts.ts";
import { BEDROCK_CONVERSE } from "./bedrock-converse/facts.ts";
import { COHERE_CHAT } from "./cohere-chat/facts.ts";
import { GEMINI } from "./gemini/facts.ts";
import { OPENAI_CHAT } from "./openai-chat/facts.ts";
import { OPENAI_COMPLETIONS } from "./openai-completions/facts.ts";
import { OPENAI_RESPONSES } from "./openai-responses/facts.ts";

/**
 * Wire protocols that generate. Some include other operations of the same providers at the same
 * base URL.
 */
export const GENERATE_DIALECTS = {
  "openai-chat": { ...OPENAI_CHAT, load: () => import("./openai-chat/dialect.ts") },
  "openai-completions": {
    ...OPENAI_COMPLETIONS,
    load: () => import("./openai-completions/dialect.ts"),
  },
  "openai-responses": { ...OPENAI_RESPONSES, load: () => import("./openai-responses/dialect.ts") },
  "anthropic-messages": {
    ...ANTHROPIC_MESSAGES,
    load: () => import("./anthropic-messages/dialect.ts"),
  },
  gemini: { ...GEMINI, load: () => import("./gemini/dialect.ts") },
  "bedrock-converse": { ...BEDROCK_CONVERSE, load: () => import("./bedrock-converse/dialect.ts") },
  "cohere-chat": { ...COHERE_CHAT, load: () => import("./cohere-chat/dialect.ts") },
} as const satisfies Record<string, DialectRow>;

/** Wire protocols that answer one JSON request with one JSON document, and do not generate. */
const UNARY_DIALECTS = {
  /** Like OpenAI's embeddings and Cohere's rerank, with members of its own. */
  voyage: {
    ...PLAIN_FACTS,
    operations: ["embed", "rerank"],
    features: ["input_purpose"],
    maxBatch: 1000,
    load: async () => ({ dialect: (await import("./unary/voyage.ts")).voyage }),
  },
  /** Over Bedrock's InvokeModel: one text a call. */
  "bedrock-titan-embed": {
    ...PLAIN_FACTS,
    operations: ["embed"],
    features: [],
    maxBatch: 1,
    load: async () => ({ dialect: (await import("./unary/bedrock.ts")).titanEmbed }),
  },
  /** The same for Amazon's Nova models. */
  "bedrock-nova-embed": {
    ...PLAIN_FACTS,
    operations: ["embed"],
    features: ["input_purpose"],
    maxBatch: 1,
    load: async () => ({ dialect: (await import("./unary/bedrock.ts")).novaEmbed }),
  },
  /** `base_url` is the host of `bedrock-agent-runtime`, the upstream model an ARN. */
  "bedrock-rerank": {
    ...PLAIN_FACTS,
    operations: ["rerank"],
    features: [],
    load: async () => ({ dialect: (await import("./unary/bedrock.ts")).bedrockRerank }),
  },
} as const satisfies Record<string, DialectRow>;

/**
 * One row a wire protocol. One that generates has a folder of the same name; the others are in
 * `unary/`. Vendors are rows of routes.yaml, never of this table.
 */
export const DIALECTS = { ...GENERATE_DIALECTS, ...UNARY_DIALECTS };

export type GenerateDialect = keyof typeof GENERATE_DIALECTS;
export type DialectName = keyof typeof DIALECTS;

export function isGenerateDialect(value: string): value is GenerateDialect {
  return Object.hasOwn(GENERATE_DIALECTS, value);
}

export function isDialectName(value: string): value is DialectName {
  return Object.hasOwn(DIALECTS, value);
}
