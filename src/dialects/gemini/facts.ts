import { type DialectFacts, PLAIN_FACTS, PLAIN_RULES } from "../dialect.ts";

/**
 * Models that take functions or an answer in JSON, and not both, refuse `schema_with_tools` in
 * their rows.
 */
export const GEMINI = {
  ...PLAIN_FACTS,
  operations: ["generate", "embed"],
  maxBatch: 100,
  expresses: [
    "tools",
    "json_schema",
    "json_object",
    "image_input",
    "audio_input",
    "file_input",
    "reasoning",
    "logprobs",
    "prefill",
  ],
  features: [
    "conversation",
    "count_tokens",
    "sampling",
    "temperature_above_1",
    "top_k",
    "penalties",
    "penalties_outside_0_1",
    "seed",
    "stop_sequences",
    "stop_sequences_over_4",
    "token_logprobs",
    "effort_minimal",
    "effort_low",
    "effort_medium",
    "effort_high",
    "reasoning_budget",
    "signed_reasoning",
    "image_detail",
    "file_of_other_type",
    "tool_strict",
    "tool_choice_required",
    "tool_choice_named",
    "tool_choice_allowed",
    "one_tool_called_once",
    "forced_tool_with_reasoning",
    "schema_with_tools",
    "constrained_schema",
    "input_purpose",
  ],
  optional: ["effort_none", "tool_result_files", "stop_sequences_blank"],
  supportsBudgets: true,
  signs: true,
  flags: {
    no_call_ids: {
      meaning:
        "Leaves the ids of tool calls and their results out, for providers that refuse them.",
    },
    predict_embeddings: {
      meaning:
        "Embeds with `:predict`, as Vertex AI wants it of models up to `gemini-embedding-001`.",
      excludes: ["embed_content"],
    },
    embed_content: {
      meaning:
        "Embeds with `:embedContent`, one input a call, as Vertex AI wants it of newer models.",
      maxBatch: 1,
    },
    flat_count_tokens: {
      meaning:
        "Requests token counts with the request's members at the top of the body, as Vertex AI expects them.",
    },
  },
  requires: {
    ...PLAIN_RULES,
    supportsAuthorNames: false,
    supportsRefusals: false,
    supportsCacheMarks: false,
    // cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Tool, FunctionDeclaration:
    // the narrower of two references.
    toolName: /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/,
    // "contents.parts must not be empty", and of a text without characters: "must have one
    // initialized field".
    refusedText: "empty",
    supportsUnsignedReasoning: () => true,
    // "Please ensure that function call turn comes immediately after a user turn or after a
    // function response turn".
    opensWithUser: true,
  },
} as const satisfies DialectFacts;
