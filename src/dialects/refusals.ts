import type { UpstreamFailure } from "../canon/failure.ts";
import { isJsonObject, type JsonMember, type JsonObject, type JsonValue } from "../canon/json.ts";
import { kindOfStatus, namedMember } from "./answer-ends.ts";
import { memberIn, ownValue } from "./json.ts";

/** Meaning of a provider's refusal: the router's code, and the member concerned. */
interface Refusal {
  readonly code: string;
  readonly param?: string;
}

/** The text itself, in upper or lower case; a group of an expression is the member's name. */
type Beginning = string | RegExp;

/** The second item is the member, where the sentence names none. */
type Row = Beginning | readonly [Beginning, string];

/**
 * Code → beginnings of error messages, for errors whose own code is absent or too general. One
 * table for all protocols, because gateways repeat the messages of the providers behind them. A
 * beginning matches from the first letter after {@link WRAPPERS}: the rest may quote the prompt.
 * Comments give the provider, and where its message is documented or reported.
 */
const BEGINNINGS: Readonly<Record<string, readonly Row[]>> = {
  max_tokens_exceeded: [
    // docs.cohere.com/v2/reference/errors.
    ["too many tokens: max tokens must", "max_tokens"],
    // Anthropic, API error reference; Bedrock.
    /^\d+ > \d+, which is the maximum allowed number of output tokens/,
    // Bedrock, Converse `ValidationException`.
    ["The maximum tokens you requested exceeds the model limit", "max_tokens"],
    // OpenAI: github.com/diffbot/code-gpt-docs/issues/284.
    /^'?(max_(?:completion_)?tokens)'? is too large: \d+\. This model supports at most/,
    // Groq.
    /^[`']?(max_(?:completion_)?tokens)[`']? must be less than or equal to/,
    // DeepSeek.
    /^Invalid (max_tokens) value, the valid range/,
    // Alibaba: help.aliyun.com/en/model-studio/error-code.
    /^Range of (max_tokens) should be/,
  ],
  context_length_exceeded: [
    // OpenAI, Azure, DeepSeek, vLLM (github.com/vllm-project/vllm/issues/20409), llama-cpp-python;
    // OpenRouter: github.com/refly-ai/refly/issues/1177; xAI has "prompt".
    /^This (?:model|endpoint)['’]s maximum (?:context|prompt) length is/i,
    // vLLM.
    /^'max_tokens' or 'max_completion_tokens' is too large: \d+\. This model's maximum context/,
    // OpenAI: github.com/openai/codex/issues/3177.
    "Your input exceeds the context window",
    // OpenAI: github.com/cline/cline/issues/5474.
    "Input tokens exceed the configured limit",
    // vLLM, vllm/renderers and vllm/v1/engine.
    /^You passed \d+ input (?:tokens|characters)\b/,
    /^The (?:decoder |encoder )?prompt \((?:total )?length \d+\) is (?:longer than|too long)/i,
    // SGLang, managers/tokenizer_manager.py; Together repeats it.
    /^The input \(\d+ tokens\) is longer than the model's context length/i,
    // SGLang, managers/tokenizer_manager.py.
    "Requested token count exceeds the model's maximum context length",
    // SGLang, NVIDIA NIM, DeepInfra, Poolside.
    /^(?:Requested )?input length \(?\d+(?: tokens)?\)? (?:tokens )?exceeds (?:the |model's )?max/i,
    // llama.cpp, tools/server: `exceed_context_size_error`.
    /^(?:the )?request (?:\(\d+ tokens\) )?exceeds the available context size/i,
    // llama.cpp, tools/server: prompts to embed.
    /^input (?:\(\d+ tokens\) )?is too large to process/i,
    // llama-cpp-python.
    /^Requested tokens \(\d+\) exceed context window/i,
    // LM Studio: lmstudio-bug-tracker.
    /^(?:The number of )?tokens to keep from the initial prompt is greater/i,
    // LM Studio: github.com/lmstudio-ai/lmstudio-bug-tracker/issues/237.
    /^Trying to keep the first \d+ tokens when context (?:the )?overflows/i,
    // LM Studio: lmstudio-bug-tracker.
    "Cannot truncate prompt with n_keep",
    // LM Studio or Ollama.
    /^(?:The )?(?:maximum )?context (?:length|size|window) (?:has been |was )?exceeded/i,
    /^Reached context length of \d+ tokens/i,
    // Ollama, server/routes.go.
    /^prompt too long; exceeded (?:max )?context length/i,
    /^(?:the )?input (?:length )?exceeds (?:the |maximum )context length/i,
    // DS4.
    /^Prompt has [\d,]+ tokens, but the configured context size is/,
    // TGI, router/src/validation.rs; Together repeats it.
    /^`inputs` tokens \+ `max_new_tokens` must be/,
    // TEI, router/src/validation.rs.
    /^`inputs` must have less than \d+ tokens/,
    // Mistral, code 3051.
    /^Prompt contains \d+ tokens\b.{0,80}\btoo large for model/,
    // Groq, Cerebras.
    /^Please reduce the length of the (?:messages|prompt|input)/i,
    // Fireworks; Anthropic: github.com/anthropics/claude-code/issues/12186.
    /^(?:the )?prompt is too long/i,
    // Moonshot.
    "Your request exceeded model token limit",
    // MiniMax.
    "context window exceeds limit",
    // Zhipu, code 1261.
    /^Prompt exceeds (?:the )?max(?:imum)? length/i,
    // Alibaba: help.aliyun.com/en/model-studio/error-code.
    "Range of input length should be",
    // IBM watsonx.
    /^the number of input tokens \d+ cannot exceed the total tokens limit/i,
    // GitHub Copilot.
    /^prompt token count of \d+ exceeds the limit/,
    // GitHub Models.
    /^Request body too large for \S{1,80} model\. Max size: \d+ tokens/,
    // Gemini: github.com/google-gemini/gemini-cli/issues/6678; Vertex:
    // gitlab.com/gitlab-org/gitlab/-/merge_requests/224001.
    /^(?:the |request |Unable to submit request because the )input token count/i,
    // Bedrock: github.com/coder/mux/issues/1702.
    "input is too long",
    // Bedrock, Amazon's own models.
    "input tokens exceeded",
    "Too many input tokens",
    // Bedrock, InvokeModel.
    /^expected maxLength: \d+, actual: \d+/,
    // Anthropic: github.com/strands-agents/sdk-python/pull/1078.
    /^input length and `?max_tokens`? exceed context limit/i,
    // docs.cohere.com/v2/reference/errors. Bedrock throttles with "Too many tokens, please wait".
    /^too many tokens(?!, please wait| per )/i,
  ],
  request_too_large: [
    // Groq (413).
    "Request too large for model",
    // Gemini.
    "Request payload size exceeds the limit",
    // OpenAI: community.openai.com/t/max-total-embeddings-tokens-per-request/1254699.
    /^Requested \d+ tokens, max \d+ tokens per request/,
    // Voyage.
    /^Request to model '[^']{1,80}' failed\. The max allowed tokens per submitted batch/,
  ],
  content_filter: [
    // Azure, content filter.
    "The response was filtered due to the prompt triggering",
    // Anthropic.
    "Output blocked by content filtering policy",
  ],
  content_policy_violation: [
    // OpenAI.
    "Your request was rejected as a result of our safety system",
    // DeepSeek.
    "Content Exists Risk",
    // Moonshot.
    "The request was rejected because it was considered high risk",
    // Alibaba: help.aliyun.com/en/model-studio/error-code.
    /^(?:Input|Output|Input or output) (?:text )?data may contain inappropriate content/i,
    // OpenRouter (403).
    /^[\w./:-]{1,100} requires moderation on /,
    // xAI (403).
    "Content violates usage guidelines",
  ],
  invalid_prompt: [
    // OpenAI.
    "Invalid prompt: your prompt was flagged",
  ],
  image_too_large: [
    // Anthropic.
    /^image exceeds \d+ ?MB maximum/,
    "At least one of the image dimensions exceed",
  ],
  invalid_image: [
    // Anthropic, Bedrock, Gemini.
    /^(?:Could not process|Unable to process input|Failed to (?:load|open)) ?image/i,
    // Gemini.
    "Provided image is not valid",
  ],
  invalid_image_format: [
    // OpenAI.
    "You uploaded an unsupported image",
    // OpenAI, Gemini.
    /^Unsupported (?:MIME type|image (?:media )?(?:type|format))/i,
  ],
  image_not_supported: [
    // vLLM: github.com/vllm-project/vllm/issues/23402.
    /^\S{1,120} is not a multimodal model/,
    // vLLM.
    /^At most 0 image\(s\) may be provided/,
    // llama.cpp, tools/server.
    "image input is not supported",
    // OpenRouter: github.com/NousResearch/hermes-agent/pull/23411.
    "No endpoints found that support image input",
    // OpenAI.
    /^Invalid content type\. image_url is only supported/,
    // Gemini.
    "Image input modality is not enabled",
    // Bedrock.
    "This model doesn't support the image content block",
    // Ollama.
    "this model is missing data required for image input",
    // DeepSeek.
    /^messages\[\d+\]: unknown variant `image_url`/,
  ],
  insufficient_quota: [
    // Anthropic (400).
    "Your credit balance is too low",
    "You have reached your specified API usage limits",
    // DeepSeek (402): api-docs.deepseek.com/quick_start/error_codes; MiniMax (code 1008).
    /^insufficient (?:balance|credits?|funds)/i,
    // OpenRouter (402).
    "This request requires more credits",
    // LiteLLM (400).
    /^(?:Exceeded)?Budget has been exceeded/i,
    // xAI (403).
    /^Your (?:newly created )?teams? .{0,80}credits/,
    // Alibaba (400): help.aliyun.com/en/model-studio/error-code.
    "Access denied, please make sure your account is in good",
    // Moonshot (403).
    /^Your account .{0,80}is suspended/,
    // Fireworks (412).
    /^Account \S{1,80} is suspended/,
    // Together (402).
    "Credit limit exceeded",
    // Hugging Face (402).
    "You have exceeded your monthly included credits",
  ],
  unsupported_parameter: [
    // OpenAI: github.com/openai/openai-python/issues/2046; servers that copied its sentences.
    // llama.cpp has "param".
    /^Unsupported param(?:eter)?:? ['"]?([\w.[\]]+)/i,
    /^([a-z]\w{0,63}) is not supported (?:in|by|with|for) this model/,
    // LiteLLM, `UnsupportedParamsError`.
    /^[\w./:-]{1,100} does not support parameters?: \[['"](\w+)/,
    // xAI, in the names of its own SDK.
    /^Argument not supported on this model: ([\w.]+)/,
    /^Model \S{1,80} does not support parameter (\w+)/,
    // Bedrock, Converse.
    /^This model doesn't support the (\w+) field/,
    ["This model doesn't support tool use", "tools"],
    // Anthropic: the path before it is a wrapper.
    /^`(\w+)` is (?:deprecated|not supported) (?:for|on|by|with) this model/,
    // Ollama.
    /^[\w./:-]{1,120} does not support (tools|thinking|functions)\b/,
    // OpenRouter: github.com/pydantic/pydantic-ai/issues/2896.
    ["No endpoints found that support tool use", "tools"],
    // Groq.
    [/^`?tool calling`? is not supported with this model/, "tools"],
    // Gemini.
    ["Function calling is not enabled", "tools"],
    // llama.cpp, tools/server.
    ["tools param requires --jinja", "tools"],
    // Gemini.
    ["JSON mode is not enabled", "response_format"],
  ],
  unsupported_value: [
    // OpenAI.
    /^Unsupported value:? '?([\w.[\]]+)/i,
    // Anthropic: the path before it is a wrapper.
    /^`(\w+)` (?:may only be set to|must be (?:unset|greater|less)|and `\w+` cannot both)/,
    // vLLM.
    ['"auto" tool choice requires --enable-auto-tool-choice', "tool_choice"],
  ],
  unknown_parameter: [
    // OpenAI.
    /^Un(?:known|recognized) (?:request )?(?:parameter|argument)(?: supplied)?:? \W?([\w.[\]]+)/i,
    // Bedrock, InvokeModel.
    /^#: extraneous key \[(\w+)\] is not permitted/,
    // Anthropic: the path before it is a wrapper.
    /^Extra inputs are not permitted(?:, field: '([\w.]+)')?/,
    // Cohere v2.
    /^unknown field: parameter ['"]?(\w+)['"]? is not a valid field/,
    // Groq.
    /^property '([\w.]+)' is unsupported/,
    // Gemini.
    /^Invalid JSON payload received\. Unknown name "(\w+)"/,
    // serde_json in Rust servers (TGI, DeepSeek): "unknown field `n`, expected …".
    /^(?:[\w.[\]]{1,80}: )?unknown field `(\w+)`/,
    // pydantic's list as text (vLLM).
    /^\[?\{'type': 'extra_forbidden', 'loc': \('body', '(\w+)'/,
  ],
  missing_required_parameter: [
    // OpenAI.
    /^Missing required parameter:? '?([\w.[\]]+)/i,
    // Bedrock, InvokeModel.
    /^#: required key \[(\w+)\] not found/,
    // Anthropic: the path before it is a wrapper.
    "Field required",
    // serde_json in Rust servers (TGI, DeepSeek).
    /^(?:[\w.[\]]{1,80}: )?missing field `(\w+)`/,
    // pydantic's list as text (vLLM).
    /^\[?\{'type': 'missing', 'loc': \('body', '(\w+)'/,
  ],
};

/** Codes of a failed Response: all that OpenAI publishes (`ResponseError.code` of its SDK 6). */
export const RESPONSE_FAILURES: readonly string[] = [
  "server_error",
  "rate_limit_exceeded",
  "invalid_prompt",
  "data_residency_mismatch",
  "bio_policy",
  "misalignment_policy_violation",
  "vector_store_timeout",
  "invalid_image",
  "invalid_image_format",
  "invalid_base64_image",
  "invalid_image_url",
  "image_too_large",
  "image_too_small",
  "image_parse_error",
  "image_content_policy_violation",
  "invalid_image_mode",
  "image_file_too_large",
  "unsupported_image_media_type",
  "empty_image_file",
  "failed_to_download_image",
  "image_file_not_found",
];

/** Those of them that are about the caller's request. */
export const REQUEST_FAILURES: ReadonlySet<string> = new Set(
  RESPONSE_FAILURES.filter((code) => code.includes("image") || /_policy|invalid_prompt/.test(code)),
);

/**
 * Codes and types of chat completions and of servers that speak it; only these reach a client.
 * Names without a second are codes that OpenAI publishes. Any number of Zhipu's (docs.z.ai, "Error
 * codes") is text.
 */
export const REFUSAL_CODES: ReadonlyMap<string, string> = new Map([
  ...[
    ...RESPONSE_FAILURES,
    "context_length_exceeded",
    "max_tokens_exceeded",
    "invalid_value",
    "invalid_type",
    "missing_required_parameter",
    "unsupported_parameter",
    "unsupported_value",
    "unknown_parameter",
    "string_above_max_length",
    "content_filter",
    "content_policy_violation",
    "insufficient_quota",
    "model_not_found",
    "json_validate_failed",
    "tool_use_failed",
  ].map((code) => [code, code] as const),
  ["exceed_context_size_error", "context_length_exceeded"], // llama.cpp
  ["model_max_prompt_tokens_exceeded", "context_length_exceeded"], // GitHub Copilot
  ["tokens_limit_reached", "context_length_exceeded"], // GitHub Models
  ["too_many_prompt_tokens", "context_length_exceeded"], // Perplexity
  ["3051", "context_length_exceeded"], // Mistral
  ["1261", "context_length_exceeded"], // Zhipu
  ["1301", "content_policy_violation"], // Zhipu
  ["1113", "insufficient_quota"], // Zhipu
  ["data_inspection_failed", "content_policy_violation"], // Alibaba
  ["Arrearage", "insufficient_quota"], // Alibaba
  ["exceeded_current_quota_error", "insufficient_quota"], // Moonshot
  ["budget_exceeded", "insufficient_quota"], // LiteLLM
  ["billing_hard_limit_reached", "insufficient_quota"], // OpenAI
  ["max_tokens_per_request", "request_too_large"], // OpenAI, embeddings
]);

/**
 * LiteLLM's exceptions (litellm/exceptions.py): the class stands at the beginning of the message.
 */
const CLASSES: Readonly<Record<string, string>> = {
  ContextWindowExceededError: "context_length_exceeded",
  ContentPolicyViolationError: "content_policy_violation",
  ImageFetchError: "invalid_image",
  BudgetExceededError: "insufficient_quota",
};

/** An exception's class before a message: a group is its name. */
const CLASS = /^(?:litellm\.|openai\.)?(\w{1,60}(?:Error|Exception))\b(?: - |: ?| )/;

/** Prefixes that servers put before the message of another server or of their validator. */
const WRAPPERS: readonly RegExp[] = [
  CLASS,
  /^Error code: \d{3}(?: - )?/,
  /^\d{3}(?: Bad Request)?:? (?=[A-Za-z'"`{[])/,
  /^<\d{3}> [\w.]{1,80}: /,
  /^(?:Provider returned error|BAD_REQUEST|Bad Request|Error|Upstream error|Context Window Error)(?: - |: )/i,
  /^Error from provider(?: \([\w .-]{1,40}\))?: /,
  /^The model returned the following errors: /,
  /^(?:Input validation error|Malformed input request|Invalid request|Failed to deserialize the JSON body into the target type): /i,
  /^invalid params, /,
  /^1 validation error:\s+/,
  // The object that holds the message, as JSON or as Python prints it.
  /^(?:b['"])?\{(?:\s|\\n)*(?:['"]\w{1,40}['"]: ?(?:\{(?:\s|\\n)*|(?:['"][\w .:-]{0,80}['"]|\d{1,10}|null|None),(?:\s|\\n)*))*['"]message['"]: ?['"]/,
];

/** A member's path before the sentence about it (Anthropic): `messages.0.content: …`. */
const PATH = /^([a-z_]{1,64}(?:\.\w{1,64})*): /;

/** Longest part of a message that is read, characters, and most wrappers. */
const LONGEST = 2000;
const MOST_WRAPPERS = 8;

/** Reads one message; `null` where its beginning is in no table. */
function ofMessage(message: string): Partial<Refusal> | null {
  let text = message.slice(0, LONGEST).trimStart();
  let param: string | undefined;
  for (let depth = 0; depth <= MOST_WRAPPERS; depth += 1) {
    const exception = ownValue(CLASSES, CLASS.exec(text)?.[1] ?? "");
    if (exception !== undefined) return { code: exception };
    for (const code in BEGINNINGS) {
      for (const row of BEGINNINGS[code] ?? []) {
        const isPlain = typeof row === "string" || "exec" in row;
        const [beginning, fixed] = isPlain ? [row] : row;
        const match = matched(beginning, text);
        if (match !== null)
          return { code, ...(namedMember(match[1] ?? fixed) ?? namedMember(param)) };
      }
    }
    const wrapper = WRAPPERS.map((each) => each.exec(text)?.[0]).find(
      (found) => found !== undefined,
    );
    const path = wrapper === undefined ? PATH.exec(text) : null;
    if (wrapper === undefined && path === null) break;
    param ??= path?.[1];
    text = text.slice((wrapper ?? path?.[0] ?? "").length).trimStart();
  }
  return param === undefined ? null : (namedMember(param) ?? null);
}

function matched(beginning: Beginning, text: string): readonly string[] | null {
  if (typeof beginning !== "string") return beginning.exec(text);
  return text.toLowerCase().startsWith(beginning.toLowerCase()) ? [] : null;
}

/** Types of the validator that many Python servers have; all others are about a value. */
const VALIDATOR_CODES: ReadonlyMap<JsonMember, string> = new Map<JsonValue, string>([
  ["extra_forbidden", "unknown_parameter"],
  ["missing", "missing_required_parameter"],
  ["value_error.missing", "missing_required_parameter"],
]);

/** `{"detail": [{"type", "loc": ["body", name, …]}]}` (pydantic). */
function ofValidator(detail: readonly JsonValue[]): Partial<Refusal> | null {
  const [first] = detail;
  if (!isJsonObject(first) || !Array.isArray(first.loc)) return null;
  const { type, loc } = first;
  const path = loc[0] === "body" ? loc.slice(1) : loc;
  return { code: VALIDATOR_CODES.get(type) ?? "invalid_value", ...namedMember(path.join(".")) };
}

/**
 * Reads an error in any of the forms in which servers write one: a text, a message, a validator's
 * list, or another server's error inside (`error`, `detail`, OpenRouter's `metadata.raw`). Codes
 * are of closed lists; `param` is untrusted (`UpstreamFailure.param`). Nothing else of it is kept.
 */
function readRefusal(error: JsonMember, depth = 0): Partial<Refusal> | null {
  if (typeof error === "string") return ofMessage(error);
  if (Array.isArray(error))
    return ofValidator(error) ?? (depth > 3 ? null : readRefusal(error[0], depth + 1));
  if (!isJsonObject(error) || depth > 3) return null;
  const { metadata, param } = error;
  const inner = memberIn(metadata, "raw");
  let member = namedMember(param);
  for (const each of [error.message, error.error, error.detail, inner]) {
    const read = readRefusal(each, depth + 1);
    member ??= namedMember(read?.param);
    if (read?.code !== undefined) return { code: read.code, ...member };
  }
  return member;
}

/**
 * The HTTP status that an error without one of its own reports in its body: a number, or digits.
 */
function reportedStatus({ code, status, status_code: other }: JsonObject): number | null {
  for (const value of [code, status, other]) {
    const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof number === "number" && number >= 400 && number <= 599) return number;
  }
  return null;
}

/**
 * Makes a failure of an answer with an error status. @param code the protocol's own code, where the
 * message has no finer meaning.
 */
export function refusedAnswer(
  status: number,
  error: JsonMember,
  code: string | null,
): UpstreamFailure {
  return { kind: kindOfStatus(status), status, retryAfter: null, code, ...readRefusal(error) };
}

/** The same for an error inside a stream, or in an answer with status 200. */
export function refusedFrame(error: JsonMember, code: string | null): UpstreamFailure {
  const status = isJsonObject(error) ? reportedStatus(error) : null;
  return { kind: "error_frame", status, retryAfter: null, code: readRefusal(error)?.code ?? code };
}

/**
 * Names of one setting in different protocols: a refusal has the provider's name, the caller sent
 * another.
 */
const SYNONYMS: readonly (readonly string[])[] = [
  [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "maxTokens",
    "max_new_tokens",
  ],
  ["stop", "stop_sequences", "stopSequences"],
  ["top_p", "topP", "p"],
  ["top_k", "topK", "k"],
  ["seed", "random_seed"],
  ["frequency_penalty", "frequencyPenalty"],
  ["presence_penalty", "presencePenalty"],
  ["tool_choice", "toolChoice", "toolConfig"],
  [
    "reasoning_effort",
    "reasoningEffort",
    "reasoning",
    "thinking",
    "thinkingConfig",
    "output_config",
  ],
  ["response_format", "text", "output_format", "output_config"],
];

/** Names of a setting in all protocols, `name` among them; empty for other members. */
export function synonymsOf(name: string): readonly string[] {
  return SYNONYMS.find((group) => group.includes(name)) ?? [];
}

/** Members that the router adds where no flag leaves them out. */
export const ADDED_MEMBERS = ["store", "include", "stream_options"];
