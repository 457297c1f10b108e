import type { Agent } from "./agent.ts";

/**
 * Every coding agent that is tried: a new one, or a new way to set one up, is one row.
 * `docs/coding-agents.md` shows the same settings.
 */
export const AGENTS: readonly Agent[] = [
  {
    name: "Claude Code",
    program: "claude",
    surface: "messages",
    model: "claude-sonnet-4-6",
    expected: { refused: 1, survivesCut: true, survivesOverflow: true },
    arguments: (prompt) => ["-p", prompt, "--allowedTools", "Bash"],
    environment: ({ url, key, model }) => ({
      ANTHROPIC_BASE_URL: `${url}/api`,
      ANTHROPIC_AUTH_TOKEN: key,
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      // Only Anthropic's own protocol can say which tools are to be looked for.
      ENABLE_TOOL_SEARCH: "false",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    }),
  },
  {
    name: "Codex",
    program: "codex",
    surface: "responses",
    translated: "code",
    model: "gpt-5.5",
    expected: { refused: 6, survivesCut: true, survivesOverflow: false },
    arguments: (prompt) => [
      "exec",
      "--skip-git-repo-check",
      "--dangerously-bypass-approvals-and-sandbox",
      prompt,
    ],
    environment: ({ key }) => ({ SIGNALBOX_KEY: key }),
    files: ({ url, model }) => ({
      ".codex/config.toml": `model = "${model}"
model_provider = "signalbox"
web_search = "disabled"
[agents]
enabled = false
[model_providers.signalbox]
name = "signalbox"
base_url = "${url}/v1"
env_key = "SIGNALBOX_KEY"
wire_api = "responses"
`,
    }),
  },
  opencode("opencode", "chat", "@ai-sdk/openai-compatible", "/v1"),
  opencode("opencode with @ai-sdk/openai", "responses", "@ai-sdk/openai", "/v1"),
  opencode("opencode with @ai-sdk/anthropic", "messages", "@ai-sdk/anthropic", "/api/v1"),
  {
    name: "qwen-code",
    program: "qwen",
    surface: "chat",
    model: "gpt-5",
    expected: { refused: 1, survivesCut: true, survivesOverflow: false },
    arguments: (prompt) => ["--auth-type", "openai", "--yolo", prompt],
    environment: ({ url, key, model }) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
      OPENAI_MODEL: model,
    }),
  },
  {
    name: "cline",
    program: "cline",
    surface: "chat",
    model: "gpt-5",
    expected: { refused: 1, survivesCut: false, survivesOverflow: true },
    arguments: (prompt) => [prompt],
    environment: () => ({ CLINE_TELEMETRY_DISABLED: "1" }),
    files: ({ url, key, model }) => ({
      // What `cline auth --provider openai --apikey KEY --modelid MODEL --baseurl URL/v1` writes.
      ".cline/data/settings/providers.json": JSON.stringify({
        version: 1,
        lastUsedProvider: "openai-compatible",
        modes: {},
        providers: {
          "openai-compatible": {
            settings: { provider: "openai-compatible", apiKey: key, model, baseUrl: `${url}/v1` },
            updatedAt: "2026-11-23T00:00:00.000Z",
            tokenSource: "manual",
          },
        },
      }),
    }),
  },
  continueWith("Continue", "responses", "gpt-5"),
  // Names of other models than OpenAI's newer ones are requested through chat completions.
  continueWith("Continue over chat completions", "chat", "code"),
  {
    name: "aider",
    toolless: true,
    program: "aider",
    surface: "chat",
    model: "gpt-5",
    expected: { refused: 9, survivesCut: true, survivesOverflow: false },
    arguments: (prompt, { model }) => [
      "--model",
      `openai/${model}`,
      "--edit-format",
      "whole",
      "--yes-always",
      "--no-git",
      "--no-check-update",
      "--analytics-disable",
      "--message",
      prompt,
    ],
    environment: ({ url, key }) => ({ OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: key }),
  },
];

/** One provider package of the AI SDK, of which opencode has several built in. */
function opencode(name: string, surface: Agent["surface"], npm: string, path: string): Agent {
  return {
    name,
    program: "opencode",
    surface,
    model: "gpt-5",
    // One request is for the title.
    expected: { refused: 2, survivesCut: surface === "responses", survivesOverflow: true },
    arguments: (prompt, { model }) => ["run", "--auto", "--model", `signalbox/${model}`, prompt],
    environment: ({ key }) => ({ SIGNALBOX_KEY: key }),
    files: ({ url, model }) => ({
      ".config/opencode/opencode.json": JSON.stringify({
        provider: {
          signalbox: {
            npm,
            options: { baseURL: `${url}${path}`, apiKey: "{env:SIGNALBOX_KEY}" },
            models: { [model]: { limit: { context: 400_000, output: 128_000 } } },
          },
        },
      }),
    }),
  };
}

/** Continue chooses the protocol by the model's name; `useResponsesApi: false` changes nothing. */
function continueWith(name: string, surface: Agent["surface"], route: string): Agent {
  return {
    name,
    program: "cn",
    surface,
    model: route,
    expected: {
      refused: 1,
      survivesCut: false,
      ...(surface === "responses" ? { silentCut: true as const } : {}),
      survivesOverflow: false,
    },
    arguments: (prompt, { home }) => [
      "-p",
      prompt,
      "--auto",
      "--config",
      `${home}/.continue/config.yaml`,
    ],
    environment: () => ({}),
    files: ({ url, key, model }) => ({
      ".continue/config.yaml": `name: signalbox
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${url}/v1
    apiKey: ${key}
    roles: [chat, edit, apply]
`,
    }),
  };
}
