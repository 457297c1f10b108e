import type { JsonObject } from "../../../canon/json.ts";

/** What a provider of LiteLLM is here. */
export interface LiteLlmProvider {
  /** `null`: a server of OpenAI's protocol of which nothing more is known. */
  readonly preset: string | null;
  /** Variable that LiteLLM reads where `api_key` is absent; the preset's unless set. */
  readonly variable?: string;
  /** Base URL where `api_base` is absent and the preset has none. */
  readonly base?: string;
  /** LiteLLM has no address of its own for these servers: without `api_base` a variable has it. */
  readonly hasNoDefault?: true;
  /** What of their `api_base` is no part of `base_url`. */
  readonly trim?: RegExp;
  /** Path that follows then. */
  readonly path?: string;
  /** A gateway: its address does not show where requests are processed. */
  readonly forwards?: true;
  /** Preset for calls of the kind `responses`. */
  readonly responses?: string;
  /** Preset and path for calls with an `api_version` that names a day. */
  readonly versioned?: { readonly preset: string; readonly path: string };
  /** Calls are not authenticated by a key. */
  readonly cloud?: "sigv4" | "oauth";
  /** Keys of the row. */
  readonly row?: JsonObject;
  /** Rows for some of its models; the first that fits. */
  readonly models?: readonly ModelForm[];
}

interface ModelForm {
  readonly form: RegExp;
  readonly preset: string | null;
  readonly row?: JsonObject;
  /** Why models of this form cannot be served. */
  readonly refused?: string;
}

/** A server that speaks OpenAI's protocol under an address of its own. */
const compatible = (variable?: string, base?: string): LiteLlmProvider => ({
  preset: null,
  ...(variable === undefined ? {} : { variable }),
  ...(base === undefined ? {} : { base }),
});

const BEDROCK: LiteLlmProvider = {
  preset: "bedrock",
  cloud: "sigv4",
  models: [
    { form: /^invoke\/.*anthropic\./, preset: "bedrock-invoke" },
    { form: /titan-embed/, preset: null, row: { dialect: "bedrock-titan-embed" } },
    { form: /nova-.*embed/, preset: null, row: { dialect: "bedrock-nova-embed" } },
    {
      form: /cohere\.(?:embed|rerank)/,
      preset: null,
      row: { dialect: "cohere-chat", flags: ["bedrock_invoke"] },
    },
    { form: /rerank/, preset: null, row: { dialect: "bedrock-rerank" } },
    {
      form: /^(?:agent|agentcore|invoke_agent|async_invoke|openai|imported)\//,
      preset: null,
      refused: "agents, imported models and batches of Bedrock have no protocol here",
    },
  ],
};

const VERTEX: LiteLlmProvider = {
  preset: "vertex",
  cloud: "oauth",
  models: [
    { form: /^claude/, preset: "vertex-anthropic" },
    {
      form: /^(?:meta|mistralai|mistral|ai21|jamba|llama|codestral|deepseek-ai|qwen|openai|openapi)[/-]|^\d+$/,
      preset: null,
      refused: "partner models and endpoints of one's own on Vertex AI have no protocol here",
    },
  ],
};

const MISTRAL: LiteLlmProvider = { preset: "mistral" };
const VERSION_PATH = /\/v[12]$/;
const COHERE: LiteLlmProvider = { preset: "cohere", trim: VERSION_PATH };
const OLLAMA: LiteLlmProvider = { preset: "ollama", path: "/v1" };
const VLLM: LiteLlmProvider = { preset: "vllm", hasNoDefault: true };

/** By the prefix of `litellm_params.model`. */
const PROVIDERS: Readonly<Record<string, LiteLlmProvider>> = {
  openai: { preset: "openai", responses: "openai-responses" },
  "text-completion-openai": { preset: "openai", row: { dialect: "openai-completions", flags: [] } },
  azure: {
    preset: "azure-openai",
    variable: "AZURE_API_KEY",
    trim: /\/openai(?:\/v1|\/deployments\/.*)?$/,
    path: "/openai/v1",
    responses: "azure-openai-responses",
    versioned: { preset: "azure-openai-deployments", path: "/openai" },
  },
  azure_ai: {
    preset: "azure-ai",
    variable: "AZURE_AI_API_KEY",
    trim: /(?<=:\/\/[^/]+)\/.*$/,
    path: "/openai/v1",
  },
  anthropic: { preset: "anthropic", trim: VERSION_PATH },
  bedrock: BEDROCK,
  bedrock_converse: BEDROCK,
  vertex_ai: VERTEX,
  vertex_ai_beta: VERTEX,
  gemini: { preset: "gemini" },
  mistral: MISTRAL,
  codestral: { ...MISTRAL, variable: "CODESTRAL_API_KEY", base: "https://codestral.mistral.ai/v1" },
  cohere: COHERE,
  cohere_chat: COHERE,
  voyage: { preset: "voyage" },
  jina_ai: { preset: "jina", variable: "JINA_AI_API_KEY" },
  groq: { preset: "groq" },
  deepseek: { preset: "deepseek" },
  xai: { preset: "xai" },
  openrouter: { preset: "openrouter" },
  together_ai: { preset: "together", variable: "TOGETHERAI_API_KEY" },
  fireworks_ai: { preset: "fireworks", variable: "FIREWORKS_AI_API_KEY" },
  perplexity: { preset: "perplexity", variable: "PERPLEXITYAI_API_KEY" },
  cerebras: { preset: "cerebras" },
  sambanova: { preset: "sambanova" },
  nebius: { preset: "nebius" },
  scaleway: { preset: "scaleway" },
  ovhcloud: { preset: "ovhcloud" },
  huggingface: { preset: "hugging-face", variable: "HUGGINGFACE_API_KEY" },
  nvidia_nim: { preset: "nvidia", variable: "NVIDIA_NIM_API_KEY" },
  databricks: { preset: "databricks", variable: "DATABRICKS_API_KEY" },
  cloudflare: { preset: "cloudflare", variable: "CLOUDFLARE_API_KEY" },
  hosted_vllm: VLLM,
  vllm: VLLM,
  ollama: OLLAMA,
  ollama_chat: OLLAMA,
  lm_studio: { preset: "lm-studio", hasNoDefault: true },
  llamafile: { preset: "llama-cpp" },
  openai_like: compatible("OPENAI_LIKE_API_KEY"),
  custom_openai: compatible("OPENAI_API_KEY"),
  litellm_proxy: {
    preset: "litellm",
    variable: "LITELLM_PROXY_API_KEY",
    hasNoDefault: true,
    forwards: true,
  },
  xinference: compatible("XINFERENCE_API_KEY"),
  infinity: compatible(),
  deepinfra: compatible("DEEPINFRA_API_KEY", "https://api.deepinfra.com/v1/openai"),
  moonshot: compatible("MOONSHOT_API_KEY", "https://api.moonshot.ai/v1"),
  novita: compatible("NOVITA_API_KEY", "https://api.novita.ai/v3/openai"),
  lambda_ai: compatible("LAMBDA_API_KEY", "https://api.lambda.ai/v1"),
  dashscope: compatible(
    "DASHSCOPE_API_KEY",
    "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  ),
};

/** Providers of models that are written without a prefix; the first form that fits. */
const UNPREFIXED: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:ft:)?(?:gpt-|chatgpt|o[134](?:-|$)|text-embedding-(?:3|ada)|omni-moderation|text-moderation)/,
    "openai",
  ],
  [/^(?:dall-e|gpt-image|whisper|tts-|sora)/, "openai"],
  [/^claude/, "anthropic"],
  [/^(?:command|embed-|rerank-)/, "cohere"],
  [/^(?:gemini-|text-multilingual-embedding)/, "vertex_ai"],
  [/^(?:[a-z-]+\.)?(?:anthropic|amazon|meta|cohere|mistral|ai21|deepseek)\./, "bedrock"],
  [/^deepseek-/, "deepseek"],
  [/^(?:mistral-|codestral-|open-mi)/, "mistral"],
];

interface SplitModel {
  /** Provider in the text; empty for none. */
  readonly prefix: string;
  /** `undefined` for an unknown provider. */
  readonly row: LiteLlmProvider | undefined;
  readonly name: string;
}

/** Provider and model of `litellm_params.model`. @param custom `custom_llm_provider`. */
export function splitModel(model: string, custom: string | null): SplitModel {
  const [first = "", ...rest] = model.split("/");
  const isPrefixed =
    rest.length > 0 && (custom === null ? Object.hasOwn(PROVIDERS, first) : first === custom);
  const named = isPrefixed ? first : (custom ?? UNPREFIXED.find(([form]) => form.test(model))?.[1]);
  const prefix = named ?? (rest.length > 0 ? first : "");
  const row = Object.hasOwn(PROVIDERS, prefix) ? PROVIDERS[prefix] : undefined;
  return { prefix, row, name: rest.length > 0 && first === prefix ? rest.join("/") : model };
}
