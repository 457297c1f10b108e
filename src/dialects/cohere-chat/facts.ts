import type { DialectFacts } from "../dialect-facts.ts";

export const COHERE_CHAT = {
  operations: ["generate", "embed", "rerank"],
  maxBatch: 96,
  expresses: ["tools", "json_schema", "json_object", "image_input", "reasoning", "logprobs"],
  features: [
    "conversation",
    "sampling",
    "top_k",
    "penalties",
    "seed",
    "stop_sequences",
    "token_logprobs",
    "effort_none",
    "reasoning_budget",
    "mid_conversation_system",
    "image_url",
    "image_detail",
    "tool_strict",
    "tool_choice_required",
    "tool_choice_allowed",
    "one_tool_called_once",
    "input_purpose",
    "document_limit",
  ],
  optional: ["stop_sequences_blank", "forced_tool_with_reasoning", "constrained_schema"],
  takesBudgets: true,
  takesBetas: false,
  signs: false,
  flags: {
    bedrock_invoke: {
      meaning:
        "Embeddings and rerank of Cohere's models on Amazon Bedrock, called with InvokeModel: `base_url` is the host of the Bedrock runtime and the model is sent in the path.",
      withdraws: ["document_limit"],
      leaves: ["embed", "rerank"],
    },
  },
  demandsOutputLimit: false,
} as const satisfies DialectFacts;
