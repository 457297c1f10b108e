import type { FieldRegistry } from "../fields.ts";

/** Every top-level member of a chat completions request that we know (protocols.md §3.1). */
export const CHAT_FIELDS: FieldRegistry = {
  model: { class: "core" },
  messages: { class: "core" },
  stream: { class: "core" },
  stream_options: { class: "core" },
  tools: { class: "core" },
  tool_choice: { class: "core" },
  parallel_tool_calls: { class: "core" },
  functions: { class: "core", needs: "tools" },
  function_call: { class: "core", needs: "tools" },
  response_format: { class: "core" },
  temperature: { class: "core" },
  top_p: { class: "core" },
  frequency_penalty: { class: "core" },
  presence_penalty: { class: "core" },
  logit_bias: { class: "core" },
  logprobs: { class: "core" },
  top_logprobs: { class: "core" },
  max_tokens: { class: "core" },
  max_completion_tokens: { class: "core" },
  n: { class: "core" },
  seed: { class: "core" },
  stop: { class: "core" },
  reasoning_effort: { class: "core" },
  verbosity: { class: "core" },
  modalities: { class: "core" },
  audio: { class: "core", needs: "audio_output" },
  prediction: { class: "core", needs: "predicted_output" },
  web_search_options: { class: "core", needs: "web_search" },
  service_tier: { class: "hint" },
  prompt_cache_key: { class: "hint" },
  prompt_cache_retention: { class: "hint" },
  prompt_cache_options: { class: "hint" },
  store: { class: "state" },
  metadata: { class: "identity" },
  user: { class: "identity" },
  safety_identifier: { class: "identity" },
  provider: { class: "ours" },
};

/**
 * Members of other vendors' versions of this protocol. They are unknown on a route that does not say `unknown_fields: forward`; where it
 * does, what they need must still be approved.
 */
export const CHAT_EXTENSIONS: FieldRegistry = {
  enable_thinking: { class: "core" },
  thinking: { class: "core" },
  reasoning: { class: "core" },
  search_parameters: { class: "core", needs: "web_search" },
  search_settings: { class: "core", needs: "web_search" },
  plugins: { class: "core", needs: "web_search" },
};
