/** The variable that has the key in every example. */
export const KEY = "SIGNALBOX_KEY";

export interface Client {
  readonly name: string;
  /** Where the text belongs, or what to mind; none where it is a program or a command. */
  readonly note?: string;
  /** @param base of the router, without a path. @param model a route. */
  readonly text: (base: string, model: string) => string;
}

export const CURL: Client = {
  name: "curl",
  text: (base, model) => `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer $${KEY}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`,
};

const ENVIRONMENT_OF_OPENAI = (base: string): string => `export OPENAI_BASE_URL=${base}/v1
export OPENAI_API_KEY="$${KEY}"`;

/** Settings as docs/calling.md and docs/coding-agents.md have them; Cursor's as its settings do. */
export const GROUPS: readonly (readonly [title: string, clients: readonly Client[]])[] = [
  [
    "SDKs",
    [
      CURL,
      {
        name: "OpenAI, Python",
        text: (base, model) => `import os
from openai import OpenAI

client = OpenAI(
    base_url="${base}/v1",
    api_key=os.environ["${KEY}"],
)
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`,
      },
      {
        name: "OpenAI, TypeScript",
        text: (base, model) => `import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${base}/v1",
  apiKey: process.env.${KEY},
});
const answer = await client.chat.completions.create({
  model: "${model}",
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);`,
      },
      {
        name: "Anthropic, Python",
        text: (base, model) => `import os
from anthropic import Anthropic

client = Anthropic(
    base_url="${base}/api",
    api_key=os.environ["${KEY}"],
)
answer = client.messages.create(
    model="${model}",
    max_tokens=256,
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.content[0].text)`,
      },
      {
        name: "Anthropic, TypeScript",
        text: (base, model) => `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${base}/api",
  apiKey: process.env.${KEY},
});
const answer = await client.messages.create({
  model: "${model}",
  max_tokens: 256,
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.content);`,
      },
    ],
  ],
  [
    "Coding agents",
    [
      {
        name: "Claude Code",
        note: "All models that it names are routes; background work uses the three defaults.",
        text: (base, model) => `export ANTHROPIC_BASE_URL=${base}/api
export ANTHROPIC_AUTH_TOKEN="$${KEY}"
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}
export ANTHROPIC_DEFAULT_SONNET_MODEL=${model}
export ANTHROPIC_DEFAULT_OPUS_MODEL=${model}
claude`,
      },
      {
        name: "Codex",
        note: "~/.codex/config.toml",
        text: (base, model) => `model = "${model}"
model_provider = "signalbox"
web_search = "disabled"

[agents]
enabled = false

[model_providers.signalbox]
name = "signalbox"
base_url = "${base}/v1"
env_key = "${KEY}"
wire_api = "responses"`,
      },
      {
        name: "Cursor",
        note: "Its servers send the requests: the router must be reachable from the internet.",
        text: (base, model) => `Settings → Models
  OpenAI API Key            the text of a key
  Override OpenAI Base URL  ${base}/v1
  Add model                 ${model}`,
      },
      {
        name: "Continue",
        note: "~/.continue/config.yaml",
        text: (base, model) => `name: signalbox
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${base}/v1
    apiKey: sbx_…
    roles: [chat, edit, apply]`,
      },
      {
        name: "opencode",
        note: "~/.config/opencode/opencode.json; start it with --model signalbox/ROUTE",
        text: (base, model) => `{
  "provider": {
    "signalbox": {
      "npm": "@ai-sdk/openai-compatible",
      "options": { "baseURL": "${base}/v1", "apiKey": "{env:${KEY}}" },
      "models": { "${model}": { "name": "${model}" } }
    }
  }
}`,
      },
      {
        name: "cline",
        text: (base, model) => `cline auth --provider openai --apikey "$${KEY}" \\
  --modelid ${model} --baseurl ${base}/v1`,
      },
      {
        name: "aider",
        text: (base, model) => `export OPENAI_API_BASE=${base}/v1
export OPENAI_API_KEY="$${KEY}"
aider --model openai/${model}`,
      },
      {
        name: "qwen-code",
        text: (base, model) => `${ENVIRONMENT_OF_OPENAI(base)}
export OPENAI_MODEL=${model}
qwen --auth-type openai`,
      },
      {
        name: "Copilot CLI",
        text: (base, model) => `export COPILOT_PROVIDER_BASE_URL=${base}/v1
export COPILOT_PROVIDER_API_KEY="$${KEY}"
export COPILOT_MODEL=${model}
copilot`,
      },
      {
        name: "gptme",
        text: (base, model) => `${ENVIRONMENT_OF_OPENAI(base)}
gptme --model local/${model}`,
      },
    ],
  ],
  [
    "Frameworks",
    [
      {
        name: "LangChain, Python",
        text: (base, model) => `import os
from langchain_openai import ChatOpenAI

chat = ChatOpenAI(
    base_url="${base}/v1",
    api_key=os.environ["${KEY}"],
    model="${model}",
)
print(chat.invoke("Hello").content)`,
      },
      {
        name: "LangChain, TypeScript",
        text: (base, model) => `import { ChatOpenAI } from "@langchain/openai";

const chat = new ChatOpenAI({
  model: "${model}",
  apiKey: process.env.${KEY},
  configuration: { baseURL: "${base}/v1" },
});
console.log((await chat.invoke("Hello")).content);`,
      },
      {
        name: "Vercel AI SDK",
        text: (base, model) => `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const signalbox = createOpenAICompatible({
  name: "signalbox",
  baseURL: "${base}/v1",
  apiKey: process.env.${KEY},
});
const { text } = await generateText({
  model: signalbox("${model}"),
  prompt: "Hello",
});`,
      },
    ],
  ],
];
