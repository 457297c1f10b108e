import {
  type DialectFacts,
  EFFORTS,
  type FlagFacts,
  SAMPLING,
  TOOL_CHOICES,
  PLAIN_FACTS,
  PLAIN_RULES,
} from "../dialect.ts";

/**
 * Named deviations that several of OpenAI's protocols have
 * (docs/protocols.md#openai-compatible-providers). Each flag is one deviation, never a vendor as a
 * whole; docs/providers.md and routes.yaml assign flags to vendors.
 */
export const NO_STREAM_OPTIONS = {
  meaning: "Leaves `stream_options` out, for providers that refuse the member.",
  omits: ["stream_options"],
} as const;

export const DEPLOYMENT_PATHS = {
  meaning:
    "Calls `/deployments/{upstream_model}/…` after `base_url`, as Azure OpenAI does outside its `v1` path. Needs `api_version`.",
  demandsApiVersion: true,
} as const;

export const NO_SEED = {
  meaning: "Has no `seed`: one is left out.",
  omits: ["seed"],
  withdraws: ["seed"],
} as const;

export const NO_LOGIT_BIAS = {
  meaning: "Has no `logit_bias`: requests that set one are refused.",
  omits: ["logit_bias"],
  withdraws: ["logit_bias"],
} as const;

export const CHAT_FLAGS = {
  no_store_field: {
    meaning: "Leaves `store: false` out, for providers that refuse the member and store nothing.",
    omits: ["store"],
  },
  no_stream_options: NO_STREAM_OPTIONS,
  max_tokens_field: {
    meaning:
      "Sends the output limit as `max_tokens`, for providers that do not support `max_completion_tokens`.",
    omits: ["max_completion_tokens"],
    excludes: ["max_completion_tokens_field"],
  },
  max_completion_tokens_field: {
    meaning:
      "Sends the output limit as `max_completion_tokens`, for models that refuse `max_tokens`.",
    omits: ["max_tokens"],
  },
  random_seed_field: {
    meaning: "Sends a seed as `random_seed`.",
    omits: ["seed"],
    excludes: ["no_seed"],
  },
  reasoning_object: {
    meaning:
      "Sends the reasoning effort as `reasoning: {effort: …}`. The member also accepts budgets, so translated requests may set one.",
    omits: ["reasoning_effort"],
    grants: ["reasoning_budget"],
  },
  no_developer_role: {
    meaning:
      "Sends developer messages as system messages, for providers that do not support the role.",
  },
  no_participant_names: { meaning: "Leaves the `name` of messages out." },
  joined_text_content: {
    meaning:
      "Sends a message whose content is a list of text parts as one text, a line break between the parts, for providers that take text only.",
  },
  replays_reasoning: {
    meaning:
      "Sends unsigned reasoning of the history back as `reasoning_content`, and a space where a message has none, for providers that refuse histories without it.",
    excludes: ["no_reasoning_history"],
  },
  no_reasoning_history: {
    meaning:
      "Leaves unsigned reasoning of the history out, for providers that refuse it in messages.",
  },
  short_call_ids: {
    meaning:
      "Rewrites ids of tool calls in the history that are not nine letters and digits, the same for every use of an id. Servers that demand this have the rule of `no_user_after_tool` too, so the flag includes it.",
  },
  no_user_after_tool: {
    meaning:
      "Sends a short message of the assistant between a tool's result and a user's message, for providers that refuse the one after the other.",
  },
  rewritten_answers: {
    meaning:
      "Reads answers and writes them anew instead of relaying them, for servers whose calls have no index or the same one, that end with `stop` after calls, or whose first chunk is empty. Answers with several choices, sound, pictures or the provider's own tools are relayed.",
  },
  no_tool_choice: {
    meaning:
      "Has no `tool_choice`: forced choices are refused, `none` is kept by sending no tools, and `auto` is left out.",
    omits: ["tool_choice"],
    withdraws: ["tool_choice_required", "tool_choice_named", "tool_choice_allowed"],
  },
  no_allowed_tools: {
    meaning:
      "Where a choice allows some of the tools only, sends only those, for providers that do not support the choice.",
  },
  no_tool_strict: {
    meaning: "Leaves `strict: false` of functions out; requests with strict functions are refused.",
    withdraws: ["tool_strict"],
  },
  no_parallel_tool_calls_field: {
    meaning: "Leaves `parallel_tool_calls: true` out; requests that switch them off are refused.",
    omits: ["parallel_tool_calls"],
    withdraws: ["parallel_tool_calls_off", "one_tool_called_once"],
  },
  no_seed: NO_SEED,
  no_logit_bias: NO_LOGIT_BIAS,
  no_logprobs: {
    meaning: "Has no log probabilities: requests that ask for them are refused.",
    omits: ["logprobs", "top_logprobs"],
    withdraws: ["token_logprobs"],
  },
  no_penalties: {
    meaning: "Has no frequency or presence penalty: requests with one other than 0 are refused.",
    omits: ["frequency_penalty", "presence_penalty"],
    withdraws: ["penalties", "penalties_outside_0_1"],
  },
  no_verbosity: {
    meaning: "Has no `verbosity`: requests that set it are refused.",
    omits: ["verbosity"],
    withdraws: ["verbosity"],
  },
  no_service_tier: {
    meaning: "Leaves `service_tier` out.",
    omits: ["service_tier"],
  },
  no_prompt_cache_fields: {
    meaning: "Leaves the members `prompt_cache_…` out.",
    omits: ["prompt_cache_key", "prompt_cache_retention", "prompt_cache_options"],
  },
  // Of embeddings and rerank, which the same providers serve.
  output_dimension_field: {
    meaning:
      "Sends the length of vectors as `output_dimension`, for providers that do not support `dimensions`.",
    omits: ["dimensions"],
  },
  no_encoding_format: {
    meaning:
      "Leaves `encoding_format` out of requests that embed, for providers that refuse it; the router writes vectors in the requested encoding.",
    omits: ["encoding_format"],
    excludes: ["float_vectors"],
  },
  float_vectors: {
    meaning:
      "Requests vectors as numbers, whatever the caller requests, for providers whose base64 is not of single-precision numbers; the router writes the base64.",
  },
  int8_vectors: {
    meaning:
      "Vectors come as base64 of signed bytes; the router writes them as numbers, or as base64 of those.",
  },
  input_type_field: {
    meaning: "Takes `input_type` with embeddings: `query` and `document`.",
    grants: ["input_purpose"],
  },
  task_field: {
    meaning:
      "Takes what vectors are for as `task`: `retrieval.query`, `retrieval.passage`, `classification`, `separation`.",
    grants: ["input_purpose"],
    excludes: ["input_type_field"],
  },
  no_return_documents: {
    meaning:
      "Leaves `return_documents: false` out of rerank requests, for providers that do not support the member.",
    omits: ["return_documents"],
  },
  no_token_inputs: {
    meaning: "Takes text only to embed: requests with tokens are refused.",
    withdraws: ["token_inputs"],
  },
  deployment_paths: DEPLOYMENT_PATHS,
} as const satisfies Record<string, FlagFacts>;

/** Chat completions, and the other operations of the same providers at the same base URL. */
export const OPENAI_CHAT = {
  ...PLAIN_FACTS,
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
    "tool_result_files",
    "token_inputs",
  ],
  optional: ["signed_reasoning"],
  flags: CHAT_FLAGS,
  supportsApiVersion: true,
  requires: {
    ...PLAIN_RULES,
    supportsCacheMarks: false,
    // platform.openai.com/docs/api-reference/chat/create, `tools.function.name`.
    toolName: /^[a-zA-Z0-9_-]{1,64}$/,
    // "string too long. Expected a string with maximum length 40":
    // github.com/BerriAI/litellm/issues/9296.
    callId: /^[^]{1,40}$/,
    supportsUnsignedReasoning: ({ provider }) => provider.flags.includes("replays_reasoning"),
    // platform.openai.com/docs/api-reference/chat/create: content of a tool message is text.
    resultFilesApart: true,
    // platform.openai.com/docs/guides/structured-outputs, Supported schemas.
    schemas: { closesAnswers: false, requiresAll: true, refusedBounds: [] },
  },
} as const satisfies DialectFacts;
