import { type DialectFacts, TOOL_CHOICES } from "../dialect-facts.ts";

/** Messages, at Anthropic and where clouds serve its models. */
export const ANTHROPIC_MESSAGES = {
  operations: ["generate"],
  expresses: [
    "tools",
    "json_schema",
    "image_input",
    "file_input",
    "reasoning",
    "web_search",
    "code_execution",
    "computer_use",
    "mcp",
    "prefill",
  ],
  features: [
    "native_messages",
    "conversation",
    "count_tokens",
    "sampling",
    "top_k",
    "effort_none",
    "effort_low",
    "effort_medium",
    "effort_high",
    "effort_xhigh",
    "effort_max",
    "reasoning_budget",
    ...TOOL_CHOICES,
    "signed_reasoning",
    "schema_with_tools",
    "constrained_schema",
    "stop_sequences",
    "stop_sequences_over_4",
    "image_url",
    "file_url",
    "tool_result_files",
  ],
  optional: ["mid_conversation_system", "forced_tool_with_reasoning"],
  takesBudgets: true,
  takesBetas: true,
  signs: true,
  flags: {
    version_2026_10_21: {
      meaning:
        "Sends translated requests with `anthropic-version: 2026-10-21`, under which temperature, top_p and top_k do not exist.",
      withdraws: ["sampling", "top_k"],
    },
    version_2023_06_01_only: {
      meaning: "Sends every request with `anthropic-version: 2023-06-01`, whatever version the caller speaks.",
      withdraws: [],
    },
    bedrock_invoke: {
      meaning:
        "Anthropic models on Amazon Bedrock, called with InvokeModel: `base_url` is the host of the Bedrock runtime; the model is sent in the path, version and beta flags in the body, and streams are AWS event streams.",
      withdraws: ["image_url", "file_url"],
      excludes: ["version_2026_10_21", "version_2023_06_01_only", "vertex_raw_predict"],
    },
    vertex_raw_predict: {
      meaning:
        "Anthropic models on Google Vertex AI, called with rawPredict: `base_url` ends with `/publishers/anthropic`; the model is sent in the path and the version in the body.",
      withdraws: ["image_url", "file_url"],
      excludes: ["version_2026_10_21", "version_2023_06_01_only"],
    },
  },
  demandsOutputLimit: true,
} as const satisfies DialectFacts;
