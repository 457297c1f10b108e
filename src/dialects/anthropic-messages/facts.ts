import type { SchemaRules } from "../fit-schema.ts";
import { type DialectFacts, TOOL_CHOICES, PLAIN_FACTS, PLAIN_RULES } from "../dialect.ts";

/**
 * Schemas that Anthropic's models take
 * (platform.claude.com/docs/en/build-with-claude/structured-outputs, JSON Schema limitations): "For
 * 'object' type, 'additionalProperties' must be explicitly set to false".
 */
export const CLOSED_SCHEMAS: SchemaRules = {
  closesAnswers: true,
  requiresAll: false,
  refusedBounds:
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems minProperties maxProperties minLength maxLength".split(
      " ",
    ),
};

/** Messages, at Anthropic and where clouds serve its models. */
export const ANTHROPIC_MESSAGES = {
  ...PLAIN_FACTS,
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
  supportsBudgets: true,
  supportsBetas: true,
  signs: true,
  flags: {
    version_2026_10_21: {
      meaning:
        "Sends translated requests with `anthropic-version: 2026-10-21`, under which temperature, top_p and top_k do not exist.",
      withdraws: ["sampling", "top_k"],
    },
    version_2023_06_01_only: {
      meaning:
        "Sends every request with `anthropic-version: 2023-06-01`, whatever version the caller speaks.",
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
  requires: {
    ...PLAIN_RULES,
    supportsAuthorNames: false,
    supportsRefusals: false,
    // platform.claude.com/docs/en/api/messages, `tools.name`.
    toolName: /^[a-zA-Z0-9_-]{1,128}$/,
    // "tool_use.id: String should match pattern"; "`tool_use` ids must be unique":
    // github.com/BerriAI/litellm/issues/23510.
    callId: /^[a-zA-Z0-9_-]+$/,
    // "text content blocks must contain non-whitespace text".
    refusedText: "blank",
    // "first message must use the \"user\" role".
    opensWithUser: true,
    // "final assistant content cannot end with trailing whitespace".
    trimsPrefill: true,
    schemas: CLOSED_SCHEMAS,
    // platform.claude.com/docs/en/build-with-claude/extended-thinking, Feature compatibility.
    reasoningFixesSampling: () => true,
    // "`temperature` and `top_p` cannot both be specified for this model", since Claude Opus 4.1.
    temperatureExcludesTopP: true,
  },
} as const satisfies DialectFacts;
