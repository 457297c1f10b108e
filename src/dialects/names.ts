import { BEDROCK_CONVERSE } from "./facts/bedrock-converse.ts";
import { COHERE_CHAT } from "./facts/cohere-chat.ts";
import type { DialectFacts } from "./facts/dialect-facts.ts";
import { GEMINI } from "./facts/gemini.ts";
import { BEDROCK_NOVA_EMBED, BEDROCK_RERANK, BEDROCK_TITAN_EMBED, VOYAGE } from "./facts/unary.ts";
import { CHAT_FLAGS, COMPLETIONS_FLAGS, RESPONSES_FLAGS } from "./facts/openai-flags.ts";

const SAMPLING = [
  "sampling",
  "temperature_above_1",
  "penalties",
  "penalties_outside_0_1",
  "logit_bias",
  "seed",
] as const;
const EFFORTS = [
  "effort_none",
  "effort_minimal",
  "effort_low",
  "effort_medium",
  "effort_high",
  "effort_xhigh",
  "effort_max",
] as const;
const TOOL_CHOICES = [
  "tool_choice_required",
  "tool_choice_named",
  "tool_choice_allowed",
  "parallel_tool_calls_off",
  "one_tool_called_once",
  "tool_strict",
] as const;

/** Wire protocols that generate, one row each. Some stand for their family: what the same providers speak at the same base URL. */
export const GENERATE_DIALECTS = {
  "openai-chat": {
    operations: ["generate", "embed", "rerank", "moderate"],
    maxBatch: 2048,
    expresses: [
      "tools",
      "custom_tools",
      "json_schema",
      "json_object",
      "image_input",
      "audio_input",
      "video_input",
      "file_input",
      "audio_output",
      "image_output",
      "reasoning",
      "web_search",
      "file_search",
      "code_execution",
      "mcp",
      "logprobs",
      "multiple_choices",
      "predicted_output",
    ],
    features: [
      "native_chat",
      "conversation",
      ...SAMPLING,
      ...EFFORTS,
      ...TOOL_CHOICES,
      "forced_tool_with_reasoning",
      "schema_with_tools",
      "constrained_schema",
      "stop_sequences",
      "stop_sequences_blank",
      "token_logprobs",
      "verbosity",
      "mid_conversation_system",
      "image_url",
      "image_detail",
      "file_of_other_type",
      "token_inputs",
    ],
    optional: ["signed_reasoning"],
    takesBudgets: false,
    takesBetas: false,
    signs: false,
    flags: CHAT_FLAGS,
    takesApiVersion: true,
    demandsOutputLimit: false,
  },
  "openai-completions": {
    operations: ["generate"],
    expresses: ["logprobs", "multiple_choices"],
    features: ["native_completions", ...SAMPLING, "stop_sequences", "stop_sequences_blank"],
    optional: ["stop_sequences_over_4"],
    takesBudgets: false,
    takesBetas: false,
    signs: false,
    flags: COMPLETIONS_FLAGS,
    takesApiVersion: true,
    demandsOutputLimit: false,
  },
  "openai-responses": {
    operations: ["generate"],
    expresses: [
      "tools",
      "custom_tools",
      "json_schema",
      "json_object",
      "image_input",
      "audio_input",
      "file_input",
      "image_output",
      "reasoning",
      "web_search",
      "file_search",
      "code_execution",
      "computer_use",
      "mcp",
      "logprobs",
    ],
    features: [
      "native_responses",
      "conversation",
      "count_tokens",
      "sampling",
      "temperature_above_1",
      ...EFFORTS,
      ...TOOL_CHOICES,
      "forced_tool_with_reasoning",
      "signed_reasoning",
      "schema_with_tools",
      "constrained_schema",
      "token_logprobs",
      "verbosity",
      "mid_conversation_system",
      "image_url",
      "image_detail",
      "file_url",
      "file_of_other_type",
      "tool_result_files",
    ],
    optional: ["penalties", "penalties_outside_0_1"],
    takesBudgets: false,
    takesBetas: false,
    signs: true,
    flags: RESPONSES_FLAGS,
    takesApiVersion: true,
    demandsOutputLimit: false,
  },
  "anthropic-messages": {
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
  },
  gemini: GEMINI,
  "bedrock-converse": BEDROCK_CONVERSE,
  "cohere-chat": COHERE_CHAT,
} as const satisfies Record<string, DialectFacts>;

/** Wire protocols that answer one JSON request with one JSON document, and do not generate. */
const UNARY_DIALECTS = {
  voyage: VOYAGE,
  "bedrock-titan-embed": BEDROCK_TITAN_EMBED,
  "bedrock-nova-embed": BEDROCK_NOVA_EMBED,
  "bedrock-rerank": BEDROCK_RERANK,
} as const satisfies Record<string, DialectFacts>;

/** One row a wire protocol. Vendors are rows of routes.yaml, never of this table. */
export const DIALECTS = { ...GENERATE_DIALECTS, ...UNARY_DIALECTS };

export type GenerateDialect = keyof typeof GENERATE_DIALECTS;
export type DialectName = keyof typeof DIALECTS;

export function isGenerateDialect(value: string): value is GenerateDialect {
  return Object.hasOwn(GENERATE_DIALECTS, value);
}

export function isDialectName(value: string): value is DialectName {
  return Object.hasOwn(DIALECTS, value);
}
