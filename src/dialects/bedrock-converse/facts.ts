import { CLOSED_SCHEMAS } from "../anthropic-messages/facts.ts";
import { type DialectFacts, PLAIN_FACTS, PLAIN_RULES } from "../dialect.ts";

export const BEDROCK_CONVERSE = {
  ...PLAIN_FACTS,
  operations: ["generate"],
  expresses: [
    "tools",
    "json_schema",
    "image_input",
    "audio_input",
    "file_input",
    "reasoning",
    "prefill",
  ],
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
  supportsBudgets: true,
  signs: true,
  flags: {
    reasoning_config_field: {
      meaning:
        "Sends the reasoning effort as `reasoningConfig.maxReasoningEffort` and `top_k` as `inferenceConfig.topK` in `additionalModelRequestFields`.",
      withdraws: ["parallel_tool_calls_off"],
    },
    reasoning_effort_field: {
      meaning:
        "Sends the reasoning effort as `reasoning_effort` in `additionalModelRequestFields`.",
      withdraws: ["parallel_tool_calls_off"],
    },
  },
  requires: {
    ...PLAIN_RULES,
    supportsAuthorNames: false,
    supportsRefusals: false,
    // docs.aws.amazon.com/bedrock/latest/APIReference, ToolSpecification.
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    // The same reference, ToolUseBlock; ids must be unique for Anthropic's models.
    callId: /^[a-zA-Z0-9_-]{1,64}$/,
    // "The text field in the ContentBlock object is blank".
    refusedText: "blank",
    // "A conversation must start with a user message".
    opensWithUser: true,
    // "final assistant content cannot end with trailing whitespace".
    trimsPrefill: true,
    // docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html, JSON Schema support.
    // Lengths of texts are taken, unlike at Anthropic.
    schemas: {
      ...CLOSED_SCHEMAS,
      refusedBounds: CLOSED_SCHEMAS.refusedBounds.filter((name) => !name.endsWith("Length")),
    },
    // Models that think by Anthropic's member; the others have their own, by a flag.
    reasoningFixesSampling: ({ provider }) =>
      !provider.flags.includes("reasoning_config_field") &&
      !provider.flags.includes("reasoning_effort_field"),
  },
} as const satisfies DialectFacts;
