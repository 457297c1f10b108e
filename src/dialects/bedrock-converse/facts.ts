import type { DialectFacts } from "../dialect-facts.ts";

export const BEDROCK_CONVERSE = {
  operations: ["generate"],
  expresses: ["tools", "json_schema", "image_input", "audio_input", "file_input", "reasoning", "prefill"],
  features: [
    "conversation",
    "sampling",
    "effort_low",
    "effort_medium",
    "effort_high",
    "tool_choice_required",
    "one_tool_called_once",
    "tool_choice_allowed",
    "signed_reasoning",
    "constrained_schema",
    "stop_sequences",
    "stop_sequences_over_4",
    "file_of_other_type",
    "tool_result_files",
  ],
  optional: [
    "schema_with_tools",
    "count_tokens",
    "top_k",
    "stop_sequences_blank",
    "effort_none",
    "effort_minimal",
    "effort_xhigh",
    "effort_max",
    "reasoning_budget",
    "tool_strict",
    "tool_choice_named",
    "parallel_tool_calls_off",
    "forced_tool_with_reasoning",
  ],
  takesBudgets: true,
  takesBetas: false,
  signs: true,
  flags: {
    reasoning_config_field: {
      meaning:
        "Sends the reasoning effort as `reasoningConfig.maxReasoningEffort` and `top_k` as `inferenceConfig.topK` in `additionalModelRequestFields`.",
      withdraws: ["parallel_tool_calls_off"],
    },
    reasoning_effort_field: {
      meaning: "Sends the reasoning effort as `reasoning_effort` in `additionalModelRequestFields`.",
      withdraws: ["parallel_tool_calls_off"],
    },
  },
  demandsOutputLimit: false,
} as const satisfies DialectFacts;
