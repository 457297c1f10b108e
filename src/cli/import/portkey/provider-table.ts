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

/** Parts of virtual keys and slugs by which a provider is guessed; `azure-openai` is matched by its first part. */
const GUESSES: readonly (readonly [string, string])[] = [
  ["azure", "azure-openai"],
  ["openai", "openai"],
  ["open-ai", "openai"],
  ["anthropic", "anthropic"],
  ["claude", "anthropic"],
  ["bedrock", "bedrock"],
  ["vertex", "vertex"],
  ["gemini", "gemini"],
  ["google", "gemini"],
  ["mistral", "mistral"],
  ["cohere", "cohere"],
  ["groq", "groq"],
  ["deepseek", "deepseek"],
  ["openrouter", "openrouter"],
  ["together", "together"],
  ["fireworks", "fireworks"],
  ["perplexity", "perplexity"],
];

/** The preset that a slug's parts name, the first row that fits; `null` where they name none. */
export function guessPreset(slug: string): string | null {
  const text = `-${slug.toLowerCase()}-`;
  return GUESSES.find(([name]) => text.includes(`-${name}-`))?.[1] ?? null;
}
