import type { DialectFacts } from "./dialect-facts.ts";

export const COHERE_CHAT = {
  operations: ["generate"],
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
  ],
  optional: ["stop_sequences_blank", "forced_tool_with_reasoning", "constrained_schema"],
  takesBudgets: true,
  takesBetas: false,
  signs: false,
  flags: {},
  demandsOutputLimit: false,
} as const satisfies DialectFacts;
