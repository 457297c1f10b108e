import { describe, expect, it } from "vitest";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { failureError, refusedRequest, reportedFailure } from "../../src/dispatch/failures.ts";

const bytes = (body: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(body));

/** What the caller gets for an error body of a provider. */
function errorFor(
  dialect: GenerateDialect,
  status: number,
  body: unknown,
  callers: object,
  sent: object = callers,
) {
  const read = upstreamFor("generate", dialect).readError(status, bytes(body));
  const failure = refusedRequest(read, {
    body: JSON.stringify(sent),
    callers: { ...callers },
    dialect,
  });
  return { failure, error: failureError([{ endpoint: "e", failure }]) };
}

const chat = (message: string, more: object = {}) => ({
  error: { message, type: "invalid_request_error", ...more },
});

type Case = readonly [who: string, dialect: GenerateDialect, status: number, body: unknown];

const TOO_LONG: readonly Case[] = [
  [
    "LM Studio",
    "openai-chat",
    400,
    {
      error:
        "Trying to keep the first 9 tokens when context the overflows. However, the model is loaded with 8",
    },
  ],
  [
    "LM Studio, newer",
    "openai-chat",
    400,
    {
      error:
        "Trying to keep the first 9 tokens when context overflows. However, the model is loaded with 8",
    },
  ],
  [
    "LM Studio, at the end",
    "openai-chat",
    400,
    { error: "Reached context length of 9 tokens with model (arch: x)" },
  ],
  [
    "DS4",
    "openai-chat",
    400,
    chat("Prompt has 5,958,968 tokens, but the configured context size is 256,000 tokens"),
  ],
  [
    "OpenAI",
    "openai-responses",
    400,
    chat("Your input exceeds the context window of this model.", {
      code: "context_length_exceeded",
    }),
  ],
  [
    "OpenAI without a code",
    "openai-chat",
    400,
    chat("Input tokens exceed the configured limit of 272000 tokens."),
  ],
  [
    "llama.cpp",
    "openai-chat",
    400,
    chat("request (17 tokens) exceeds the available context size (9 tokens), try increasing it", {
      code: 400,
      type: "exceed_context_size_error",
    }),
  ],
  [
    "llama.cpp, older",
    "openai-chat",
    400,
    chat("the request exceeds the available context size, try increasing it"),
  ],
  [
    "llama.cpp, embeddings",
    "openai-chat",
    500,
    chat("input is too large to process. increase the physical batch size", {
      code: 500,
      type: "server_error",
    }),
  ],
  [
    "vLLM",
    "openai-chat",
    400,
    chat("This model's maximum context length is 8 tokens. However, you requested 9 tokens", {
      code: 400,
      type: "BadRequestError",
    }),
  ],
  [
    "vLLM, the error at the top",
    "openai-chat",
    400,
    {
      object: "error",
      message: "You passed 9 input tokens and requested 1 output tokens.",
      code: 400,
    },
  ],
  [
    "vLLM, decoder",
    "openai-completions",
    400,
    chat("The decoder prompt (length 9) is longer than the maximum model length of 8."),
  ],
  [
    "vLLM, the output limit",
    "openai-chat",
    400,
    chat(
      "'max_tokens' or 'max_completion_tokens' is too large: 9. This model's maximum context length is 8 tokens",
    ),
  ],
  [
    "DeepSeek",
    "openai-chat",
    400,
    chat(
      "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens",
      {
        code: "invalid_request_error",
      },
    ),
  ],
  [
    "OpenRouter",
    "openai-chat",
    400,
    {
      error: { message: "This endpoint's maximum context length is 8 tokens.", code: 400 },
      user_id: "u",
    },
  ],
  [
    "OpenRouter, the provider's body inside",
    "openai-chat",
    400,
    {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: {
          raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}',
        },
      },
    },
  ],
  [
    "LiteLLM",
    "openai-chat",
    400,
    chat("litellm.ContextWindowExceededError: litellm.BadRequestError: anything\nmodel=lm", {
      code: "400",
    }),
  ],
  [
    "LiteLLM, another class",
    "openai-chat",
    400,
    chat(
      'litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"type":"x","message":"prompt is too long: 9"}}\'. Received Model Group=m',
      { code: "400" },
    ),
  ],
  [
    "LiteLLM, Python's text of an object",
    "openai-chat",
    400,
    chat(
      "litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {'message': \"This model's maximum context length is 8 tokens\"}}",
    ),
  ],
  [
    "Ollama",
    "openai-chat",
    400,
    {
      error: {
        message: "prompt too long; exceeded max context length by 4 tokens",
        type: "api_error",
      },
    },
  ],
  [
    "SGLang",
    "openai-chat",
    400,
    {
      object: "error",
      message: "The input (9 tokens) is longer than the model's context length (8 tokens).",
      type: "BadRequestError",
      code: 400,
    },
  ],
  [
    "SGLang, with output",
    "openai-chat",
    400,
    chat("Requested token count exceeds the model's maximum context length of 8 tokens."),
  ],
  [
    "TGI",
    "openai-chat",
    422,
    {
      error: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8. Given: 9",
      error_type: "validation",
    },
  ],
  [
    "TEI",
    "openai-chat",
    413,
    {
      error: "Input validation error: `inputs` must have less than 512 tokens. Given: 600",
      error_type: "Validation",
    },
  ],
  [
    "Mistral",
    "openai-chat",
    400,
    {
      object: "error",
      message:
        "Prompt contains 9 tokens and 0 draft tokens, too large for model with 8 maximum context length",
      code: "3051",
    },
  ],
  [
    "Groq and Cerebras",
    "openai-chat",
    400,
    chat("Please reduce the length of the messages or completion."),
  ],
  [
    "Together",
    "openai-chat",
    422,
    chat("The input (9 tokens) is longer than the model's context length (8 tokens)."),
  ],
  [
    "xAI",
    "openai-chat",
    400,
    {
      code: "invalid-argument",
      error: "This model's maximum prompt length is 8 but the request contains 9 tokens.",
    },
  ],
  [
    "Fireworks",
    "openai-chat",
    400,
    chat("The prompt is too long: 9, model maximum context length: 8"),
  ],
  [
    "Moonshot",
    "openai-chat",
    400,
    chat("Invalid request: Your request exceeded model token limit: 8"),
  ],
  [
    "Alibaba",
    "openai-chat",
    400,
    chat("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 8]"),
  ],
  [
    "LM Studio",
    "openai-chat",
    400,
    {
      error:
        "The number of tokens to keep from the initial prompt is greater than the context length.",
    },
  ],
  [
    "GitHub Models",
    "openai-chat",
    413,
    chat("Request body too large for gpt-4o model. Max size: 8 tokens.", {
      code: "tokens_limit_reached",
    }),
  ],
  [
    "Anthropic",
    "anthropic-messages",
    400,
    {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" },
    },
  ],
  [
    "Anthropic, with output",
    "anthropic-messages",
    400,
    { error: { message: "input length and `max_tokens` exceed context limit: 5 + 4 > 8" } },
  ],
  [
    "Gemini",
    "gemini",
    400,
    {
      error: {
        status: "INVALID_ARGUMENT",
        message: "The input token count (9) exceeds the maximum number of tokens allowed (8).",
      },
    },
  ],
  [
    "Vertex",
    "gemini",
    400,
    {
      error: {
        status: "INVALID_ARGUMENT",
        message: "Unable to submit request because the input token count is 9",
      },
    },
  ],
  [
    "Bedrock",
    "bedrock-converse",
    400,
    {
      __type: "ValidationException",
      message: "The model returned the following errors: Input is too long for requested model.",
    },
  ],
  ["Cohere", "cohere-chat", 400, { message: "too many tokens: size limit exceeded by 1 tokens." }],
];

const SURFACES = { messages: [{ role: "user", content: "secret" }], max_tokens: 9 };

describe("a conversation that is too long", () => {
  it.each(TOO_LONG)(
    "of %s (%s, %i) has the code and the sentence that agents look for",
    (_, dialect, status, body) => {
      const { error } = errorFor(dialect, status, body, SURFACES);
      expect(error).toMatchObject({
        status: 400,
        code: "context_length_exceeded",
        retryable: false,
      });
      expect(error.message).toContain(
        "the prompt is too long, this model's maximum context length is exceeded",
      );
    },
  );

  it.each<Case>([
    [
      "a prompt that is quoted behind another text",
      "openai-chat",
      400,
      chat("Bad prompt: prompt is too long"),
    ],
    [
      "throttling",
      "bedrock-converse",
      400,
      { message: "Too many tokens, please wait before trying again." },
    ],
    [
      "an output limit",
      "anthropic-messages",
      400,
      {
        error: {
          message: "max_tokens: 9 > 8, which is the maximum allowed number of output tokens for m",
        },
      },
    ],
    [
      "an output limit of Cohere",
      "cohere-chat",
      400,
      { message: "too many tokens: max tokens must be less than 8" },
    ],
  ])("is not recognised in %s", (_, dialect, status, body) => {
    expect(errorFor(dialect, status, body, SURFACES).error.code).not.toBe(
      "context_length_exceeded",
    );
  });

  it("is recognised in an error event, before the status that it reports", () => {
    const failure = {
      kind: "error_frame",
      status: 500,
      retryAfter: null,
      code: "context_length_exceeded",
    } as const;
    expect(reportedFailure(failure).kind).toBe("rejected");
  });
});

describe("an error event that reports a status", () => {
  it.each([
    [429, "rate_limited", 429],
    [503, "overloaded", 503],
    [400, "rejected", 400],
    [500, "server_error", 502],
    [401, "auth", 502],
  ] as const)("%i is the failure %s, and %i for the client", (status, kind, answered) => {
    const failure = reportedFailure({ kind: "error_frame", status, retryAfter: null, code: null });
    expect(failure.kind).toBe(kind);
    expect(failureError([{ endpoint: "e", failure }]).status).toBe(answered);
  });
});

describe("a provider's rate limit", () => {
  const failure = { kind: "rate_limited", status: 429, retryAfter: 90_000, code: null } as const;

  it("is 429 with the provider's wait where every endpoint reported it", () => {
    const both = ["a", "b"].map((endpoint) => ({ endpoint, failure }));
    expect(failureError(both)).toMatchObject({
      status: 429,
      code: "upstream_rate_limited",
      retryable: false,
      retryAfter: 90_000,
    });
  });

  it("is 502 where another endpoint failed otherwise, and without a wait of hours", () => {
    const other = { ...failure, kind: "server_error", status: 500 } as const;
    const mixed = [
      { endpoint: "a", failure: other },
      { endpoint: "b", failure },
    ];
    expect(failureError(mixed)).toMatchObject({ status: 502, code: "upstream_exhausted" });
    const long = { ...failure, retryAfter: 3_600_000 };
    expect(failureError([{ endpoint: "a", failure: long }]).retryAfter).toBeNull();
  });
});

describe("a refused member", () => {
  const callers = { model: "r", seed: 1, top_k: 2, max_completion_tokens: 3, tools: [], text: {} };

  it.each<[string, GenerateDialect, unknown, string, string]>([
    [
      "LiteLLM",
      "openai-chat",
      chat(
        "litellm.UnsupportedParamsError: anthropic does not support parameters: ['seed'], for model=m",
      ),
      "unsupported_parameter",
      "seed",
    ],
    [
      "xAI",
      "openai-chat",
      { code: "x", error: "Argument not supported on this model: seed" },
      "unsupported_parameter",
      "seed",
    ],
    ["llama.cpp", "openai-chat", chat("Unsupported param: seed"), "unsupported_parameter", "seed"],
    ["Groq", "openai-chat", chat("property 'seed' is unsupported"), "unknown_parameter", "seed"],
    [
      "Mistral",
      "openai-chat",
      { message: { detail: [{ type: "extra_forbidden", loc: ["body", "seed"] }] } },
      "unknown_parameter",
      "seed",
    ],
    [
      "vLLM",
      "openai-chat",
      chat("[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'm', 'input': 'secret'}]"),
      "unknown_parameter",
      "seed",
    ],
    [
      "TGI",
      "openai-chat",
      {
        error:
          "Failed to deserialize the JSON body into the target type: unknown field `seed`, expected one of",
      },
      "unknown_parameter",
      "seed",
    ],
    [
      "Fireworks",
      "openai-chat",
      chat("Extra inputs are not permitted, field: 'seed', value: 'secret'"),
      "unknown_parameter",
      "seed",
    ],
    [
      "Ollama",
      "openai-chat",
      chat("registry.ollama.ai/library/m:7b does not support tools"),
      "unsupported_parameter",
      "tools",
    ],
    [
      "OpenRouter",
      "openai-chat",
      chat("No endpoints found that support tool use. secret"),
      "unsupported_parameter",
      "tools",
    ],
    [
      "Anthropic",
      "anthropic-messages",
      { error: { message: "top_k: Extra inputs are not permitted" } },
      "unknown_parameter",
      "top_k",
    ],
    [
      "Anthropic, in quotes",
      "anthropic-messages",
      { error: { message: "`top_k` must be unset when thinking is enabled." } },
      "unsupported_value",
      "top_k",
    ],
    [
      "Bedrock",
      "bedrock-converse",
      { message: "This model doesn't support the topK field. Remove it." },
      "unsupported_parameter",
      "top_k",
    ],
    [
      "Bedrock, its schema",
      "bedrock-converse",
      { message: "Malformed input request: #: extraneous key [seed] is not permitted" },
      "unknown_parameter",
      "seed",
    ],
    [
      "Gemini",
      "gemini",
      {
        error: {
          status: "INVALID_ARGUMENT",
          message: "Invalid JSON payload received. Unknown name \"seed\" at 'generation_config'",
        },
      },
      "unknown_parameter",
      "seed",
    ],
    [
      "Cohere",
      "cohere-chat",
      { message: "unknown field: parameter 'seed' is not a valid field" },
      "unknown_parameter",
      "seed",
    ],
    [
      "the name of another protocol",
      "anthropic-messages",
      { error: { message: "max_tokens: Extra inputs are not permitted" } },
      "unknown_parameter",
      "max_completion_tokens",
    ],
  ])("of %s (%s) reaches the caller by its own name", (_, dialect, body, code, param) => {
    const { error } = errorFor(dialect, 400, body, callers);
    expect(error).toMatchObject({ status: 400, code, param });
    expect(error.message).not.toContain("secret");
  });

  it("that the router added names the flag, and other endpoints may serve the request", () => {
    const body = chat(
      "litellm.UnsupportedParamsError: anthropic does not support parameters: ['store'], for model=m",
    );
    const { failure, error } = errorFor(
      "openai-chat",
      400,
      body,
      { model: "r" },
      { model: "m", store: false },
    );
    expect(failure).toMatchObject({
      kind: "rejected",
      flag: "no_store_field",
      added: true,
      param: "store",
    });
    expect(error).toMatchObject({ status: 400, code: "unsupported_parameter", param: "store" });
    expect(error.message).toContain("set the flag no_store_field");
  });

  it("is not named where neither the caller nor the router sent it", () => {
    const { error } = errorFor(
      "openai-chat",
      400,
      chat("Unsupported parameter: 'secret_name'"),
      callers,
    );
    expect(error).toMatchObject({ code: "unsupported_parameter", param: null });
    expect(error.message).not.toContain("secret_name");
  });
});

describe("refusals with another meaning", () => {
  it.each<[string, GenerateDialect, number, unknown, number, string]>([
    [
      "Gemini's image",
      "gemini",
      400,
      { error: { message: "Unable to process input image." } },
      400,
      "invalid_image",
    ],
    [
      "Gemini's other image",
      "gemini",
      400,
      { error: { message: "Provided image is not valid." } },
      400,
      "invalid_image",
    ],
    [
      "Anthropic's image",
      "anthropic-messages",
      400,
      chat("Could not process image"),
      400,
      "invalid_image",
    ],
    [
      "Gemma without images",
      "gemini",
      400,
      { error: { message: "Image input modality is not enabled for models/m" } },
      400,
      "image_not_supported",
    ],
    [
      "Ollama without images",
      "openai-chat",
      500,
      chat("this model is missing data required for image input"),
      400,
      "image_not_supported",
    ],
    [
      "xAI's filter",
      "openai-chat",
      403,
      { error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO" },
      400,
      "content_policy_violation",
    ],
    [
      "DeepSeek's filter",
      "openai-chat",
      400,
      chat("Content Exists Risk"),
      400,
      "content_policy_violation",
    ],
    [
      "OpenRouter's filter",
      "openai-chat",
      403,
      {
        error: {
          code: 403,
          message: "openai/m requires moderation on OpenAI. Your input was flagged",
          metadata: { flagged_input: "secret" },
        },
      },
      400,
      "content_policy_violation",
    ],
    [
      "Alibaba's filter",
      "openai-chat",
      400,
      chat("m", { code: "data_inspection_failed" }),
      400,
      "content_policy_violation",
    ],
    [
      "Anthropic's filter",
      "anthropic-messages",
      400,
      { error: { message: "Output blocked by content filtering policy" } },
      400,
      "content_filter",
    ],
    [
      "an image that is too large",
      "anthropic-messages",
      400,
      {
        error: {
          message: "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 9 bytes",
        },
      },
      400,
      "image_too_large",
    ],
    [
      "a model without images",
      "openai-chat",
      400,
      chat("m/x is not a multimodal model"),
      400,
      "image_not_supported",
    ],
    [
      "llama.cpp without images",
      "openai-chat",
      500,
      chat("image input is not supported - hint: if this is unexpected"),
      400,
      "image_not_supported",
    ],
    [
      "Groq's bound of one request",
      "openai-chat",
      413,
      chat("Request too large for model `m`", { code: "rate_limit_exceeded" }),
      413,
      "request_too_large",
    ],
    [
      "Anthropic's credit",
      "anthropic-messages",
      400,
      { error: { message: "Your credit balance is too low to access the API" } },
      502,
      "upstream_auth",
    ],
    ["DeepSeek's credit", "openai-chat", 402, chat("Insufficient Balance"), 502, "upstream_auth"],
    [
      "LiteLLM's budget",
      "openai-chat",
      400,
      chat("Budget has been exceeded! Current cost: 1", { type: "budget_exceeded" }),
      502,
      "upstream_auth",
    ],
    [
      "OpenAI's credit",
      "openai-chat",
      429,
      chat("You exceeded your current quota", { code: "insufficient_quota" }),
      429,
      "upstream_rate_limited",
    ],
  ])("%s (%s, %i) has its own status and code", (_, dialect, status, body, answered, code) => {
    const { error } = errorFor(dialect, status, body, { model: "r", messages: [] });
    expect(error).toMatchObject({ status: answered, code, retryable: false });
    expect(error.message).not.toContain("secret");
  });
});
