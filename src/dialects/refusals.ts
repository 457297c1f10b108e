import type { UpstreamFailure } from "../canon/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../canon/json.ts";
import { kindOfStatus, namedMember } from "./answer-ends.ts";
import { memberIn } from "./json.ts";

/** The meaning of a provider's refusal: a code of ours, and the member that it is about. */
interface Refusal {
  readonly code: string;
  readonly param?: string;
}

/**
 * @param param the member, where the sentence names none. A group of `beginning` is the member's
 * name.
 */
type Row = readonly [code: string, beginning: RegExp, param?: string];

/**
 * Beginnings of error messages, for errors whose own code is absent or too general. One table for
 * all protocols, because gateways repeat the messages of the providers behind them. A row matches
 * from the first letter after the wrappers of {@link WRAPPERS}: what follows may quote the prompt.
 */
const BEGINNINGS: readonly Row[] = [
  // docs.cohere.com/v2/reference/errors: above the model's output limit.
  ["max_tokens_exceeded", /^too many tokens: max tokens must/i, "max_tokens"],
  // Anthropic and Bedrock: API error reference; Converse `ValidationException`.
  ["max_tokens_exceeded", /^\d+ > \d+, which is the maximum allowed number of output tokens/],
  [
    "max_tokens_exceeded",
    /^The maximum tokens you requested exceeds the model limit/i,
    "max_tokens",
  ],
  // OpenAI (portkey.ai/error-library/token-limit-exceeded-error-10022), Groq, DeepSeek, Alibaba:
  // the range of one member.
  [
    "max_tokens_exceeded",
    /^'?(max_(?:completion_)?tokens)'? is too large: \d+\. This model supports at most/,
  ],
  ["max_tokens_exceeded", /^[`']?(max_(?:completion_)?tokens)[`']? must be less than or equal to/],
  ["max_tokens_exceeded", /^Invalid (max_tokens) value, the valid range/],
  ["max_tokens_exceeded", /^Range of (max_tokens) should be/],

  // OpenAI, Azure, DeepSeek, vLLM (github.com/vllm-project/vllm/issues/20409), llama-cpp-python;
  // "endpoint" is OpenRouter's, "prompt" xAI's.
  [
    "context_length_exceeded",
    /^This (?:model|endpoint)['’]s maximum (?:context|prompt) length is/i,
  ],
  [
    "context_length_exceeded",
    /^'max_tokens' or 'max_completion_tokens' is too large: \d+\. This model's maximum context/,
  ],
  ["context_length_exceeded", /^Your input exceeds the context window/i],
  ["context_length_exceeded", /^Input tokens exceed the configured limit/i],
  // vLLM, vllm/renderers and vllm/v1/engine.
  ["context_length_exceeded", /^You passed \d+ input (?:tokens|characters)\b/],
  [
    "context_length_exceeded",
    /^The (?:decoder |encoder )?prompt \((?:total )?length \d+\) is (?:longer than|too long)/i,
  ],
  // SGLang, managers/tokenizer_manager.py; Together repeats the first.
  [
    "context_length_exceeded",
    /^The input \(\d+ tokens\) is longer than the model's context length/i,
  ],
  ["context_length_exceeded", /^Requested token count exceeds the model's maximum context length/i],
  // SGLang, NVIDIA NIM, DeepInfra, Poolside.
  [
    "context_length_exceeded",
    /^(?:Requested )?input length \(?\d+(?: tokens)?\)? (?:tokens )?exceeds (?:the |model's )?max/i,
  ],
  // llama.cpp, tools/server: `exceed_context_size_error`, and prompts to embed.
  [
    "context_length_exceeded",
    /^(?:the )?request (?:\(\d+ tokens\) )?exceeds the available context size/i,
  ],
  ["context_length_exceeded", /^input (?:\(\d+ tokens\) )?is too large to process/i],
  // llama-cpp-python, LM Studio (lmstudio-bug-tracker), Ollama (server/routes.go), DS4.
  ["context_length_exceeded", /^Requested tokens \(\d+\) exceed context window/i],
  [
    "context_length_exceeded",
    /^(?:The number of )?tokens to keep from the initial prompt is greater/i,
  ],
  [
    "context_length_exceeded",
    /^Trying to keep the first \d+ tokens when context (?:the )?overflows/i,
  ],
  ["context_length_exceeded", /^Cannot truncate prompt with n_keep/],
  [
    "context_length_exceeded",
    /^(?:The )?(?:maximum )?context (?:length|size|window) (?:has been |was )?exceeded/i,
  ],
  ["context_length_exceeded", /^Reached context length of \d+ tokens/i],
  ["context_length_exceeded", /^prompt too long; exceeded (?:max )?context length/i],
  [
    "context_length_exceeded",
    /^(?:the )?input (?:length )?exceeds (?:the |maximum )context length/i,
  ],
  ["context_length_exceeded", /^Prompt has [\d,]+ tokens, but the configured context size is/],
  // TGI and TEI, router/src/validation.rs; Together repeats the first.
  ["context_length_exceeded", /^`inputs` tokens \+ `max_new_tokens` must be/],
  ["context_length_exceeded", /^`inputs` must have less than \d+ tokens/],
  // Mistral (code 3051), Groq and Cerebras, Fireworks, Moonshot, MiniMax, Zhipu (code 1261).
  ["context_length_exceeded", /^Prompt contains \d+ tokens\b.{0,80}\btoo large for model/],
  ["context_length_exceeded", /^Please reduce the length of the (?:messages|prompt|input)/i],
  // Also Anthropic: github.com/anthropics/claude-code/issues/12186.
  ["context_length_exceeded", /^(?:the )?prompt is too long/i],
  ["context_length_exceeded", /^Your request exceeded model token limit/i],
  ["context_length_exceeded", /^context window exceeds limit/i],
  ["context_length_exceeded", /^Prompt exceeds (?:the )?max(?:imum)? length/i],
  // help.aliyun.com/en/model-studio/error-code; IBM watsonx.
  ["context_length_exceeded", /^Range of input length should be/],
  [
    "context_length_exceeded",
    /^the number of input tokens \d+ cannot exceed the total tokens limit/i,
  ],
  // GitHub Copilot and GitHub Models.
  ["context_length_exceeded", /^prompt token count of \d+ exceeds the limit/],
  ["context_length_exceeded", /^Request body too large for \S{1,80} model\. Max size: \d+ tokens/],
  // Gemini; Vertex: gitlab.com/gitlab-org/gitlab/-/merge_requests/224001.
  [
    "context_length_exceeded",
    /^(?:the |request |Unable to submit request because the )input token count/i,
  ],
  // Bedrock: github.com/coder/mux/issues/1702; the second and third are Amazon's own models.
  ["context_length_exceeded", /^input is too long/i],
  ["context_length_exceeded", /^input tokens exceeded/i],
  ["context_length_exceeded", /^Too many input tokens/i],
  ["context_length_exceeded", /^expected maxLength: \d+, actual: \d+/],
  // Anthropic: github.com/strands-agents/sdk-python/pull/1078.
  ["context_length_exceeded", /^input length and `?max_tokens`? exceed context limit/i],
  // docs.cohere.com/v2/reference/errors. Bedrock throttles with "Too many tokens, please wait".
  ["context_length_exceeded", /^too many tokens(?!, please wait| per )/i],

  // Groq (413), Gemini, OpenAI's and Voyage's bounds of one call that embeds.
  ["request_too_large", /^Request too large for model/i],
  ["request_too_large", /^Request payload size exceeds the limit/i],
  // OpenAI: community.openai.com/t/max-total-embeddings-tokens-per-request/1254699.
  ["request_too_large", /^Requested \d+ tokens, max \d+ tokens per request/],
  [
    "request_too_large",
    /^Request to model '[^']{1,80}' failed\. The max allowed tokens per submitted batch/,
  ],

  // Azure content filter; OpenAI; DeepSeek; Moonshot; Alibaba; OpenRouter (403); Anthropic; xAI
  // (403).
  ["content_filter", /^The response was filtered due to the prompt triggering/],
  ["content_policy_violation", /^Your request was rejected as a result of our safety system/],
  ["invalid_prompt", /^Invalid prompt: your prompt was flagged/i],
  ["content_policy_violation", /^Content Exists Risk/i],
  ["content_policy_violation", /^The request was rejected because it was considered high risk/i],
  [
    "content_policy_violation",
    /^(?:Input|Output|Input or output) (?:text )?data may contain inappropriate content/i,
  ],
  ["content_policy_violation", /^[\w./:-]{1,100} requires moderation on /],
  ["content_filter", /^Output blocked by content filtering policy/],
  ["content_policy_violation", /^Content violates usage guidelines/],

  // Anthropic, Bedrock, Gemini: an image that cannot be read, or is too large.
  ["image_too_large", /^image exceeds \d+ ?MB maximum/],
  ["image_too_large", /^At least one of the image dimensions exceed/],
  [
    "invalid_image",
    /^(?:Could not process|Unable to process input|Failed to (?:load|open)) ?image/i,
  ],
  ["invalid_image", /^Provided image is not valid/],
  ["invalid_image_format", /^You uploaded an unsupported image/],
  ["invalid_image_format", /^Unsupported (?:MIME type|image (?:media )?(?:type|format))/i],
  // Models without images: vLLM, llama.cpp, OpenRouter, OpenAI, Gemini, Bedrock, Ollama, DeepSeek.
  ["image_not_supported", /^\S{1,120} is not a multimodal model/],
  ["image_not_supported", /^At most 0 image\(s\) may be provided/],
  ["image_not_supported", /^image input is not supported/i],
  ["image_not_supported", /^No endpoints found that support image input/],
  ["image_not_supported", /^Invalid content type\. image_url is only supported/],
  ["image_not_supported", /^Image input modality is not enabled/],
  ["image_not_supported", /^This model doesn't support the image content block/],
  ["image_not_supported", /^this model is missing data required for image input/],
  ["image_not_supported", /^messages\[\d+\]: unknown variant `image_url`/],

  // Accounts without credit: Anthropic (400), DeepSeek and OpenRouter (402), LiteLLM (400), xAI
  // (403), Alibaba (400), Moonshot (403), MiniMax (code 1008), Together (402), Hugging Face (402),
  // Fireworks (412).
  ["insufficient_quota", /^Your credit balance is too low/],
  ["insufficient_quota", /^You have reached your specified API usage limits/],
  // DeepSeek: api-docs.deepseek.com/quick_start/error_codes.
  ["insufficient_quota", /^insufficient (?:balance|credits?|funds)/i],
  ["insufficient_quota", /^This request requires more credits/],
  ["insufficient_quota", /^(?:Exceeded)?Budget has been exceeded/i],
  ["insufficient_quota", /^Your (?:newly created )?teams? .{0,80}credits/],
  // Alibaba: help.aliyun.com/en/model-studio/error-code.
  ["insufficient_quota", /^Access denied, please make sure your account is in good/],
  ["insufficient_quota", /^Your account .{0,80}is suspended/],
  ["insufficient_quota", /^Account \S{1,80} is suspended/],
  ["insufficient_quota", /^Credit limit exceeded/],
  ["insufficient_quota", /^You have exceeded your monthly included credits/],

  // Members. OpenAI (github.com/openai/openai-python/issues/2046) and those that copied its
  // sentences; llama.cpp has "param".
  ["unsupported_parameter", /^Unsupported param(?:eter)?:? ['"]?([\w.[\]]+)/i],
  ["unsupported_value", /^Unsupported value:? '?([\w.[\]]+)/i],
  [
    "unknown_parameter",
    /^Un(?:known|recognized) (?:request )?(?:parameter|argument)(?: supplied)?:? ['"`]?([\w.[\]]+)/i,
  ],
  ["missing_required_parameter", /^Missing required parameter:? '?([\w.[\]]+)/i],
  ["unsupported_parameter", /^([a-z]\w{0,63}) is not supported (?:in|by|with|for) this model/],
  // LiteLLM, `UnsupportedParamsError`.
  ["unsupported_parameter", /^[\w./:-]{1,100} does not support parameters?: \[['"](\w+)/],
  // xAI, in the names of its own SDK.
  ["unsupported_parameter", /^Argument not supported on this model: ([\w.]+)/],
  ["unsupported_parameter", /^Model \S{1,80} does not support parameter (\w+)/],
  // Bedrock: Converse, and what InvokeModel reports of a schema.
  ["unsupported_parameter", /^This model doesn't support the (\w+) field/],
  ["unknown_parameter", /^#: extraneous key \[(\w+)\] is not permitted/],
  ["missing_required_parameter", /^#: required key \[(\w+)\] not found/],
  ["unsupported_parameter", /^This model doesn't support tool use/, "tools"],
  // Anthropic: the path before these is a wrapper.
  ["unknown_parameter", /^Extra inputs are not permitted(?:, field: '([\w.]+)')?/],
  ["missing_required_parameter", /^Field required/],
  [
    "unsupported_parameter",
    /^`(\w+)` is (?:deprecated|not supported) (?:for|on|by|with) this model/,
  ],
  [
    "unsupported_value",
    /^`(\w+)` (?:may only be set to|must be (?:unset|greater|less)|and `\w+` cannot both)/,
  ],
  // Cohere v2, Groq, Gemini.
  ["unknown_parameter", /^unknown field: parameter ['"]?(\w+)['"]? is not a valid field/],
  ["unknown_parameter", /^property '([\w.]+)' is unsupported/],
  ["unknown_parameter", /^Invalid JSON payload received\. Unknown name "(\w+)"/],
  // serde_json in Rust servers (TGI, DeepSeek): "unknown field `n`, expected …".
  ["unknown_parameter", /^(?:[\w.[\]]{1,80}: )?unknown field `(\w+)`/],
  ["missing_required_parameter", /^(?:[\w.[\]]{1,80}: )?missing field `(\w+)`/],
  // pydantic's list as text (vLLM).
  ["unknown_parameter", /^\[?\{'type': 'extra_forbidden', 'loc': \('body', '(\w+)'/],
  ["missing_required_parameter", /^\[?\{'type': 'missing', 'loc': \('body', '(\w+)'/],
  // Models without tools or JSON: Ollama, OpenRouter, Groq, Gemini, vLLM, llama.cpp.
  ["unsupported_parameter", /^[\w./:-]{1,120} does not support (tools|thinking|functions)\b/],
  ["unsupported_parameter", /^No endpoints found that support tool use/, "tools"],
  ["unsupported_parameter", /^`?tool calling`? is not supported with this model/, "tools"],
  ["unsupported_parameter", /^Function calling is not enabled/, "tools"],
  ["unsupported_parameter", /^tools param requires --jinja/, "tools"],
  ["unsupported_value", /^"auto" tool choice requires --enable-auto-tool-choice/, "tool_choice"],
  ["unsupported_parameter", /^JSON mode is not enabled/, "response_format"],
];

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
const CLASSES: ReadonlyMap<string, string> = new Map([
  ["ContextWindowExceededError", "context_length_exceeded"],
  ["ContentPolicyViolationError", "content_policy_violation"],
  ["ImageFetchError", "invalid_image"],
  ["BudgetExceededError", "insufficient_quota"],
]);

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
    const exception = CLASSES.get(CLASS.exec(text)?.[1] ?? "");
    if (exception !== undefined) return { code: exception };
    for (const [code, beginning, fixed] of BEGINNINGS) {
      const match = beginning.exec(text);
      if (match !== null)
        return { code, ...(namedMember(match[1] ?? fixed) ?? namedMember(param)) };
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

/** Types of the validator that many Python servers have; all others are about a value. */
const VALIDATOR_CODES: ReadonlyMap<JsonValue | undefined, string> = new Map<JsonValue, string>([
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
function readRefusal(error: JsonValue | undefined, depth = 0): Partial<Refusal> | null {
  if (typeof error === "string") return ofMessage(error);
  if (Array.isArray(error))
    return ofValidator(error) ?? (depth > 3 ? null : readRefusal(error[0], depth + 1));
  if (!isJsonObject(error) || depth > 3) return null;
  const { metadata, param } = error;
  const inner = memberIn(metadata, "raw");
  let named = namedMember(param);
  for (const each of [error.message, error.error, error.detail, inner]) {
    const read = readRefusal(each, depth + 1);
    named ??= namedMember(read?.param);
    if (read?.code !== undefined) return { code: read.code, ...named };
  }
  return named;
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
  error: JsonValue | undefined,
  code: string | null,
): UpstreamFailure {
  return { kind: kindOfStatus(status), status, retryAfter: null, code, ...readRefusal(error) };
}

/** The same for an error inside a stream, or in an answer with status 200. */
export function refusedFrame(error: JsonValue | undefined, code: string | null): UpstreamFailure {
  const status = isJsonObject(error) ? reportedStatus(error) : null;
  return { kind: "error_frame", status, retryAfter: null, code: readRefusal(error)?.code ?? code };
}

/**
 * Settings that protocols name differently: a refusal names the provider's, the caller knows its
 * own.
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
