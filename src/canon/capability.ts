/**
 * Features of wire protocols that requests may use, beside the capabilities of models. An endpoint
 * has the features of its dialect without those that its provider's flags and its model withdraw. A
 * request that uses another one is refused before anything is sent, with the member's name
 * (docs/translation.md#nothing-disappears). Messages write the text after "the request uses".
 */
export const FEATURES = {
  native_chat: "a member or value that cannot be translated to another protocol",
  native_completions: "a member or value that cannot be translated to another protocol",
  native_responses: "a member or value that cannot be translated to another protocol",
  native_messages: "a member or value that cannot be translated to another protocol",
  conversation: "system text, tools or several turns, which a plain text prompt cannot carry",
  count_tokens: "token counting",
  sampling: "temperature or top_p",
  temperature_above_1: "a temperature above 1",
  top_k: "top_k",
  penalties: "a frequency or presence penalty",
  penalties_outside_0_1: "a frequency or presence penalty below 0 or above 1",
  logit_bias: "logit_bias",
  seed: "a seed",
  stop_sequences: "stop sequences",
  stop_sequences_over_4: "more than four stop sequences",
  stop_sequences_blank: "a stop sequence of white space only",
  token_logprobs: "log probabilities of tokens",
  verbosity: "verbosity",
  effort_none: "reasoning effort none",
  effort_minimal: "reasoning effort minimal",
  effort_low: "reasoning effort low",
  effort_medium: "reasoning effort medium",
  effort_high: "reasoning effort high",
  effort_xhigh: "reasoning effort xhigh",
  effort_max: "reasoning effort max",
  reasoning_budget: "a reasoning budget in tokens",
  signed_reasoning: "signed reasoning of an earlier answer",
  mid_conversation_system: "system text after the first turn",
  image_url: "an image by URL, which the router never fetches",
  image_detail: "an image detail other than auto",
  file_url: "a file by URL, which the router never fetches",
  file_of_other_type: "a file that is neither PDF nor plain text",
  tool_result_files: "images or files in a tool result",
  tool_strict: "strict tools",
  tool_choice_required: "a tool choice that demands some tool",
  tool_choice_named: "a tool choice that names one tool",
  tool_choice_allowed: "a tool choice that allows some of the tools",
  forced_tool_with_reasoning: "a forced tool together with reasoning",
  parallel_tool_calls_off: "parallel tool calls switched off",
  one_tool_called_once: "parallel calls of the only tool switched off",
  schema_with_tools: "a response format together with tools",
  constrained_schema: "a response format in JSON together with reasoning or a forced tool",
  token_inputs: "inputs given as tokens",
  input_purpose: "input_type, which states the use of the vectors",
  document_limit: "max_tokens_per_doc",
} as const satisfies Record<string, string>;

export type Feature = keyof typeof FEATURES;

/**
 * Features that requests may use at every endpoint. One that lacks them gets no seed, which is best
 * effort by its own documentation (https://platform.openai.com/docs/api-reference/chat/create), and
 * the router itself ends answers at stop sequences.
 */
export const ROUTER_FEATURES: ReadonlySet<Feature> = new Set<Feature>([
  "seed",
  "stop_sequences",
  "stop_sequences_over_4",
  "stop_sequences_blank",
]);

/** Every feature, in the order of the table above. */
export const FEATURE_NAMES: readonly Feature[] = Object.keys(FEATURES).filter(isFeature);

/** @example isFeature("seed") // true */
export function isFeature(value: string): value is Feature {
  return Object.hasOwn(FEATURES, value);
}

/**
 * Requirements of requests beyond text in and text out. One union for the table, the request, the
 * dialects and the policies. A model row must list each, otherwise the route does not have it (400
 * `capability_not_supported`). Where the value is `true`, a workspace must approve it as well,
 * otherwise the request is denied (403).
 */
export const CAPABILITIES = {
  tools: true,
  custom_tools: true,
  json_schema: true,
  json_object: true,
  image_input: true,
  audio_input: true,
  video_input: true,
  file_input: true,
  audio_output: true,
  image_output: true,
  reasoning: true,
  web_search: true,
  file_search: true,
  code_execution: true,
  computer_use: true,
  mcp: true,
  logprobs: false,
  multiple_choices: false,
  predicted_output: false,
  prefill: false,
} as const satisfies Record<string, boolean>;

export type Capability = keyof typeof CAPABILITIES;

/** Every capability, in the order of the table above. */
export const CAPABILITY_NAMES: readonly Capability[] =
  Object.keys(CAPABILITIES).filter(isCapability);

/** @example isCapability("tools") // true */
export function isCapability(value: string): value is Capability {
  return Object.hasOwn(CAPABILITIES, value);
}
