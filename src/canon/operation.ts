/**
 * The operations that a caller can request: one for each family of public endpoints
 * (docs/concepts.md).
 */
export const OPERATIONS = [
  "chat.completions",
  "completions",
  "responses",
  "messages",
  "messages.count_tokens",
  "embeddings",
  "rerank",
  "moderations",
] as const;

export type Operation = (typeof OPERATIONS)[number];

/** Kinds of work of a model. Several operations are the same kind. */
export const MODEL_OPERATIONS = ["generate", "embed", "rerank", "moderate"] as const;

export type ModelOperation = (typeof MODEL_OPERATIONS)[number];

/** The kind of work of each operation; counting tokens needs a model that generates. */
export const MODEL_OPERATION_OF = {
  "chat.completions": "generate",
  completions: "generate",
  responses: "generate",
  messages: "generate",
  "messages.count_tokens": "generate",
  embeddings: "embed",
  rerank: "rerank",
  moderations: "moderate",
} as const satisfies Record<Operation, ModelOperation>;

/**
 * Calls whose health is judged together: a path that fails, or that a server lacks, is no evidence
 * about another one. Token counts are separate from generation, although the same models answer
 * both.
 */
export type CallKind = ModelOperation | "count_tokens";

export const CALL_KINDS: readonly CallKind[] = [...MODEL_OPERATIONS, "count_tokens"];

/** @example callKindOf("messages") // "generate" */
export function callKindOf(operation: Operation): CallKind {
  return operation === "messages.count_tokens" ? "count_tokens" : MODEL_OPERATION_OF[operation];
}

/**
 * The wire protocol, or the family of protocols at one base URL, that callers of an operation
 * speak; an endpoint of the same one gets their requests as they are.
 */
export const SURFACE_DIALECT_OF: Readonly<Record<Operation, string>> = {
  "chat.completions": "openai-chat",
  completions: "openai-completions",
  responses: "openai-responses",
  messages: "anthropic-messages",
  "messages.count_tokens": "anthropic-messages",
  embeddings: "openai-chat",
  rerank: "cohere-chat",
  moderations: "openai-chat",
};

/** @example isOperation("rerank") // true */
export function isOperation(value: string): value is Operation {
  return OPERATIONS.some((operation) => operation === value);
}
