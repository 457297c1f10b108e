import { type DialectFacts, PLAIN_FACTS, PLAIN_RULES } from "../dialect.ts";

export const COHERE_CHAT = {
  ...PLAIN_FACTS,
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
    "tool_result_files",
    "tool_strict",
    "tool_choice_required",
    "tool_choice_allowed",
    "one_tool_called_once",
    "input_purpose",
    "document_limit",
  ],
  optional: ["stop_sequences_blank", "forced_tool_with_reasoning", "constrained_schema"],
  supportsBudgets: true,
  flags: {
    bedrock_invoke: {
      meaning:
        "Embeddings and rerank of Cohere's models on Amazon Bedrock, called with InvokeModel: `base_url` is the host of the Bedrock runtime and the model is sent in the path.",
      withdraws: ["document_limit"],
      leaves: ["embed", "rerank"],
    },
  },
  requires: {
    ...PLAIN_RULES,
    supportsAuthorNames: false,
    supportsRefusals: false,
    supportsCacheMarks: false,
    // docs.cohere.com/v1/reference/chat, `tools.name`: letters, digits and `_`, and no digit first.
    toolName: /^[a-zA-Z_]\w*$/,
    // The provider refuses empty messages.
    refusedText: "blank",
    // Nothing is signed; a model that does not reason refuses reasoning.
    supportsUnsignedReasoning: ({ endpoint }) => endpoint.capabilities.includes("reasoning"),
    // docs.cohere.com/reference/chat: content of a tool message is text or documents.
    resultFilesApart: true,
  },
} as const satisfies DialectFacts;
