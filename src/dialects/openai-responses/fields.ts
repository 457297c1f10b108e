import type { FieldRegistry } from "../fields.ts";

/**
 * Every known top-level member of a responses request
 * (docs/protocols.md#classes-of-request-members), those of coding agents included.
 */
export const RESPONSES_FIELDS: FieldRegistry = {
  model: { class: "core" },
  input: { class: "core" },
  instructions: { class: "core", uses: "conversation" },
  stream: { class: "core" },
  stream_options: { class: "core" },
  tools: { class: "core", uses: "conversation" },
  tool_choice: { class: "core" },
  parallel_tool_calls: { class: "core" },
  max_tool_calls: { class: "core", uses: "native_responses" },
  max_output_tokens: { class: "core" },
  temperature: { class: "core", uses: "sampling" },
  top_p: { class: "core", uses: "sampling" },
  frequency_penalty: { class: "core" },
  presence_penalty: { class: "core" },
  top_logprobs: { class: "core" },
  reasoning: { class: "core" },
  text: { class: "core" },
  include: { class: "core" },
  truncation: { class: "core" },
  moderation: { class: "core", uses: "native_responses" },
  access_programs: { class: "core", uses: "native_responses" },
  image: { class: "core", uses: "native_responses" },
  service_tier: { class: "hint" },
  prompt_cache_key: { class: "hint" },
  prompt_cache_retention: { class: "hint" },
  prompt_cache_options: { class: "hint" },
  store: { class: "state" },
  background: { class: "state" },
  background_options: { class: "state" },
  previous_response_id: { class: "state" },
  conversation: { class: "state" },
  prompt: { class: "state" },
  context_management: { class: "state" },
  metadata: { class: "identity" },
  user: { class: "identity" },
  safety_identifier: { class: "identity" },
  client_metadata: { class: "identity" },
  /** The chat protocol's spelling of `text.format`; sent as that. */
  response_format: { class: "ours" },
  provider: { class: "ours" },
};

/**
 * Members of `reasoning`, `text` and a message that both protocols' sides of a translation
 * understand.
 */
export const REASONING_MEMBERS: ReadonlySet<string> = new Set([
  "effort",
  "summary",
  "generate_summary",
  "context",
  "mode",
]);
export const TEXT_MEMBERS: ReadonlySet<string> = new Set(["format", "verbosity"]);
export const STREAM_OPTION_MEMBERS: ReadonlySet<string> = new Set(["include_obfuscation"]);

/** Values of `include` that every endpoint's answers can be made to carry. */
export const ENCRYPTED_REASONING = "reasoning.encrypted_content";
export const OUTPUT_LOGPROBS = "message.output_text.logprobs";

/** The protocol refuses smaller limits. Tokens. */
export const MINIMUM_OUTPUT_TOKENS = 16;

/** Whose encrypted reasoning travels without a tag: that of the protocol's own provider. */
export const NATIVE_FAMILY = "openai";
