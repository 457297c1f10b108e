import { EFFORTS, PLAIN_FACTS, PLAIN_RULES, TOOL_CHOICES, type DialectFacts } from "../dialect.ts";

/** Responses; nothing is stored. */
export const OPENAI_RESPONSES = {
  ...PLAIN_FACTS,
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
  signs: true,
  flags: {
    no_include: {
      meaning: "Does not ask for encrypted reasoning, for providers that refuse it in `include`.",
      omits: ["include"],
    },
  },
  supportsApiVersion: true,
  requires: {
    ...PLAIN_RULES,
    supportsAuthorNames: false,
    supportsCacheMarks: false,
    // platform.openai.com/docs/api-reference/responses/create, `tools.name`.
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    // The same page, `input.call_id`: 1 to 64 characters.
    callId: /^[^]{1,64}$/,
    // Providers that store nothing do not accept unsigned reasoning.
    // platform.openai.com/docs/guides/structured-outputs, Supported schemas.
    schemas: { closesAnswers: false, requiresAll: true, refusedBounds: [] },
  },
} as const satisfies DialectFacts;
