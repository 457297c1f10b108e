/** Presets of Portkey's providers, by their names. */
export const PROVIDERS: Readonly<Record<string, string>> = {
  openai: "openai",
  "azure-openai": "azure-openai",
  anthropic: "anthropic",
  bedrock: "bedrock",
  "vertex-ai": "vertex",
  google: "gemini",
  "mistral-ai": "mistral",
  cohere: "cohere",
  voyage: "voyage",
  jina: "jina",
  groq: "groq",
  deepseek: "deepseek",
  "x-ai": "xai",
  openrouter: "openrouter",
  "together-ai": "together",
  "fireworks-ai": "fireworks",
  "perplexity-ai": "perplexity",
  cerebras: "cerebras",
  sambanova: "sambanova",
  nebius: "nebius",
  huggingface: "hugging-face",
  databricks: "databricks",
  "workers-ai": "cloudflare",
  ollama: "ollama",
};

/** Presets of those whose calls go to the path of a deployment where a version is given, and that path. */
export const VERSIONED: Readonly<Record<string, { readonly preset: string; readonly path: string }>> = {
  "azure-openai": { preset: "azure-openai-deployments", path: "/openai" },
};

/** What their calls add to `custom_host`, by preset. */
export const HOST_PATHS: Readonly<Record<string, string>> = { ollama: "/v1" };
