import type { TypeNeeds } from "../kinds.ts";
import type { FieldRegistry } from "../request-reading.ts";

/**
 * Every known top-level member of a chat completions request
 * (docs/protocols.md#classes-of-request-members).
 */
export const CHAT_FIELDS: FieldRegistry = {
  model: { class: "core" },
  messages: { class: "core" },
  stream: { class: "core" },
  stream_options: { class: "core" },
  tools: { class: "capability" },
  tool_choice: { class: "core" },
  parallel_tool_calls: { class: "core" },
  functions: { class: "capability", needs: "tools", uses: "native_chat" },
  function_call: { class: "core", needs: "tools", uses: "native_chat" },
  response_format: { class: "capability" },
  temperature: { class: "core", uses: "sampling" },
  top_p: { class: "core", uses: "sampling" },
  frequency_penalty: { class: "core" },
  presence_penalty: { class: "core" },
  logit_bias: { class: "core" },
  logprobs: { class: "capability", needs: "logprobs", uses: "token_logprobs" },
  top_logprobs: { class: "core" },
  max_tokens: { class: "core" },
  max_completion_tokens: { class: "core" },
  n: { class: "core" },
  seed: { class: "core", uses: "seed" },
  stop: { class: "core" },
  reasoning_effort: { class: "capability" },
  verbosity: { class: "core", uses: "verbosity" },
  modalities: { class: "capability" },
  audio: { class: "capability", needs: "audio_output", uses: "native_chat" },
  prediction: { class: "capability", needs: "predicted_output", uses: "native_chat" },
  web_search_options: { class: "egress", needs: "web_search", uses: "native_chat" },
  moderation: { class: "core", uses: "native_chat" },
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
 * Members of the objects inside a request that canon can hold. Any other member is another
 * vendor's.
 */
export const MESSAGE_MEMBERS = {
  system: ["role", "content", "name"],
  user: ["role", "content", "name"],
  assistant: [
    "role",
    "content",
    "name",
    "refusal",
    "tool_calls",
    "annotations",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
  ],
  tool: ["role", "content", "name", "tool_call_id"],
} as const satisfies Record<string, readonly string[]>;

/** `cache_control` is the messages protocol's: OpenRouter and LiteLLM take it in this one too. */
export const PART_MEMBERS: Readonly<Partial<Record<string, readonly string[]>>> = {
  text: ["type", "text", "cache_control"],
  refusal: ["type", "refusal"],
  image_url: ["type", "image_url", "cache_control"],
  input_audio: ["type", "input_audio"],
  file: ["type", "file", "cache_control"],
};

/**
 * Content parts that the router knows, and the modality each one needs. An unknown part cannot be
 * approved, so it is refused.
 */
export const PART_NEEDS: TypeNeeds = {
  text: null,
  refusal: null,
  image_url: "image_input",
  input_audio: "audio_input",
  file: "file_input",
  document_url: "file_input",
  video_url: "video_input",
  thinking: "reasoning",
};

export const IMAGE_MEMBERS = ["url", "detail"];
export const AUDIO_MEMBERS = ["data", "format"];
export const FILE_MEMBERS = ["file_data", "filename"];
/** Answers number their tool calls and clients send them back so. */
export const TOOL_CALL_MEMBERS = ["id", "type", "function", "index"];
export const CALLED_FUNCTION_MEMBERS = ["name", "arguments"];
export const TOOL_MEMBERS = ["type", "function"];
export const OFFERED_TOOL_MEMBERS = ["type", "function", "cache_control"];
export const FUNCTION_MEMBERS = ["name", "description", "parameters", "strict"];
export const STREAM_OPTION_MEMBERS = ["include_usage", "include_obfuscation"];
