import type { DialectRow } from "./dialect-facts.ts";
import { ANTHROPIC_MESSAGES } from "./anthropic-messages/facts.ts";
import { BEDROCK_CONVERSE } from "./bedrock-converse/facts.ts";
import { BEDROCK_NOVA_EMBED } from "./bedrock-nova-embed/facts.ts";
import { BEDROCK_RERANK } from "./bedrock-rerank/facts.ts";
import { BEDROCK_TITAN_EMBED } from "./bedrock-titan-embed/facts.ts";
import { COHERE_CHAT } from "./cohere-chat/facts.ts";
import { GEMINI } from "./gemini/facts.ts";
import { OPENAI_CHAT } from "./openai-chat/facts.ts";
import { OPENAI_COMPLETIONS } from "./openai-completions/facts.ts";
import { OPENAI_RESPONSES } from "./openai-responses/facts.ts";
import { VOYAGE } from "./voyage/facts.ts";

/**
 * Wire protocols that generate. Some stand for their family: what the same providers speak at the
 * same base URL.
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
  voyage: { ...VOYAGE, load: () => import("./voyage/dialect.ts") },
  "bedrock-titan-embed": {
    ...BEDROCK_TITAN_EMBED,
    load: () => import("./bedrock-titan-embed/dialect.ts"),
  },
  "bedrock-nova-embed": {
    ...BEDROCK_NOVA_EMBED,
    load: () => import("./bedrock-nova-embed/dialect.ts"),
  },
  "bedrock-rerank": { ...BEDROCK_RERANK, load: () => import("./bedrock-rerank/dialect.ts") },
} as const satisfies Record<string, DialectRow>;

/**
 * One row a wire protocol; its folder has the same name. Vendors are rows of routes.yaml, never of
 * this table.
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
