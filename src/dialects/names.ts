import type { Capability } from "../canon/capability.ts";
import type { Feature } from "../canon/generate/feature.ts";
import type { ModelOperation } from "../canon/operation.ts";

/** What the compiler needs to know of a wire protocol without loading its translator. */
export interface DialectFacts {
  readonly operations: readonly ModelOperation[];
  /** Capabilities that the protocol can carry; a model's others do not exist on its endpoints. */
  readonly expresses: readonly Capability[];
  /** What its requests can say (protocols.md §5). */
  readonly features: readonly Feature[];
  /** What only some of its models take; a model row names them under `accepts`. */
  readonly optional: readonly Feature[];
  /** Whether an effort may be sent as a budget of tokens where the model row has a table. */
  readonly takesBudgets: boolean;
  /** Whether the protocol has beta flags. */
  readonly takesBetas: boolean;
  /** Whether its models may sign reasoning, which then only their own family can read. */
  readonly signs: boolean;
  /** Named deviations that a provider row may declare. */
  readonly flags: Readonly<Record<string, FlagFacts>>;
  /** Whether a request without an output limit is refused by everybody who speaks the protocol. */
  readonly demandsOutputLimit: boolean;
}

export interface FlagFacts {
  /** One line for docs/configuration.md. */
  readonly meaning: string;
  /** What requests to such a provider cannot say. */
  readonly withdraws: readonly Feature[];
}

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
  "tool_strict",
] as const;

/** One row a wire protocol. Vendors are rows of routes.yaml, never of this table. */
export const DIALECTS = {
  "openai-chat": {
    operations: ["generate"],
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
    ],
    optional: [],
    takesBudgets: false,
    takesBetas: false,
    signs: false,
    flags: {
      no_store_field: {
        meaning: "Leaves `store: false` out, for providers that refuse the member and store nothing.",
        withdraws: [],
      },
      no_stream_options: {
        meaning: "Leaves `stream_options` out, for providers that refuse the member.",
        withdraws: [],
      },
    },
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
    flags: {
      no_stream_options: {
        meaning: "Leaves `stream_options` out, for providers that refuse the member.",
        withdraws: [],
      },
    },
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
    flags: {
      no_include: {
        meaning: "Does not ask for encrypted reasoning on translated requests, for providers that refuse `include`.",
        withdraws: [],
      },
    },
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
    },
    demandsOutputLimit: true,
  },
  "cohere-chat": {
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
  },
} as const satisfies Record<string, DialectFacts>;

export type DialectName = keyof typeof DIALECTS;

export function isDialectName(value: string): value is DialectName {
  return Object.hasOwn(DIALECTS, value);
}
