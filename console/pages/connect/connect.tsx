import type { ModelList } from "../../api/types.ts";
import { hasScope, inferenceUrl } from "../../api/session-state.ts";
import { useResource } from "../../api/use-resource.ts";
import { Choice } from "../../components/form.tsx";
import { Panel } from "../../components/panel.tsx";
import { Facts } from "../../components/table.tsx";
import { Code, CopyButton } from "../../components/text.tsx";
import { printable } from "../../format/printable.ts";
import { address, link, replaceQuery } from "../../router.ts";

const KEY = "SIGNALBOX_KEY";

/** Text of one client: for a base URL and a route. */
const CLIENTS: readonly (readonly [name: string, text: (base: string, route: string) => string])[] =
  [
    [
      "curl",
      (base, route) => `curl ${base}/v1/chat/completions \\
  -H "Authorization: Bearer $${KEY}" -H "Content-Type: application/json" \\
  -d '{"model": "${route}", "messages": [{"role": "user", "content": "Hello"}]}'`,
    ],
    [
      "OpenAI SDK, Python",
      (base, route) => `import os
from openai import OpenAI

client = OpenAI(base_url="${base}/v1", api_key=os.environ["${KEY}"])
client.chat.completions.create(
    model="${route}", messages=[{"role": "user", "content": "Hello"}])`,
    ],
    [
      "OpenAI SDK, TypeScript",
      (base, route) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${base}/v1", apiKey: process.env.${KEY} });
await client.responses.create({ model: "${route}", input: "Hello" });`,
    ],
    [
      "Anthropic SDK, Python",
      (base, route) => `import os
from anthropic import Anthropic

client = Anthropic(base_url="${base}/api", api_key=os.environ["${KEY}"])
client.messages.create(
    model="${route}", max_tokens=256, messages=[{"role": "user", "content": "Hello"}])`,
    ],
    [
      "Anthropic SDK, TypeScript",
      (base, route) => `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: "${base}/api", apiKey: process.env.${KEY} });
await client.messages.create({
  model: "${route}", max_tokens: 256, messages: [{ role: "user", content: "Hello" }],
});`,
    ],
    [
      "Claude Code",
      (base, route) => `export ANTHROPIC_BASE_URL=${base}/api
export ANTHROPIC_AUTH_TOKEN="$${KEY}"
export ANTHROPIC_MODEL=${route}
claude`,
    ],
    [
      "Codex, in ~/.codex/config.toml",
      (base, route) => `model = "${route}"
model_provider = "signalbox"

[model_providers.signalbox]
name = "Signalbox"
base_url = "${base}/v1"
env_key = "${KEY}"
wire_api = "responses"`,
    ],
  ];

/** Base URL, key and a text to paste for each client. */
export function ConnectPage() {
  const models = useResource<ModelList>(hasScope("catalogue:read") ? "/v1/models" : null);
  const routes = (models.value?.data ?? []).map(({ id }) => id);
  const route = address.value.query.get("route") ?? routes[0] ?? "ROUTE";
  const base = inferenceUrl();
  return (
    <>
      <div class="title">
        <h1>Connect</h1>
      </div>
      <Panel title="What every client needs">
        <Facts
          wide
          rows={[
            ["Base URL, OpenAI", <Code key="openai" of={`${base}/v1`} />],
            ["Base URL, Anthropic", <Code key="anthropic" of={`${base}/api`} />],
            [
              "Key, in the environment",
              <span key="key">
                <Code of={KEY} />{" "}
                {hasScope("operations:manage") ? <a href={link(["keys"])}>create one</a> : null}
              </span>,
            ],
          ]}
        />
        {routes.length === 0 ? null : (
          <div class="filters">
            <Choice
              label="Model: a route of this workspace"
              value={route}
              options={routes.map((id) => [id, id])}
              onChange={(value) => replaceQuery({ route: value })}
            />
          </div>
        )}
      </Panel>
      <div class="columns">
        {CLIENTS.map(([name, text]) => (
          <Panel key={name} title={name} aside={<CopyButton text={text(base, route)} />}>
            <pre>{text(base, printable(route))}</pre>
          </Panel>
        ))}
      </div>
    </>
  );
}
