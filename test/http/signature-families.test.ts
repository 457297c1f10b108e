import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import type { EndpointRow, ModelRow, ProviderRow, RoutingTable } from "../../src/canon/table.ts";
import { endpointFeatures } from "../../src/compile/resolve/endpoints.ts";
import { GENERATE_DIALECTS, type GenerateDialect } from "../../src/dialects/table.ts";
import { mockForTest } from "../mock/start.ts";
import { startRouter, tableOver, type Router } from "../support/router.ts";
import { endpoint, model } from "../support/table.ts";

interface Candidate {
  readonly dialect: GenerateDialect;
  readonly family: string | null;
  readonly flags?: readonly string[];
  /** Instructions for the simulated provider, at the end of the model's name. */
  readonly settings?: string;
}

/** A route over one endpoint a candidate, in this order. */
function routeOver(url: string, candidates: readonly Candidate[]): RoutingTable {
  const base = tableOver(candidates.map(() => ({ url, calls: [] })));
  const [row, workspace] = [base.routes.r, base.workspaces.w];
  if (row === undefined || workspace === undefined) throw new Error("no rows");
  const endpoints: Record<string, EndpointRow> = {};
  const providers: Record<string, ProviderRow> = {};
  const models: Record<string, ModelRow> = {};
  for (const [index, { dialect, family, flags = [], settings = "" }] of candidates.entries()) {
    const id = ["a", "b"][index] ?? "x";
    const provider = base.providers[`p-${id}`];
    if (provider === undefined) throw new Error("no such provider");
    providers[provider.id] = { ...provider, dialect, flags };
    const capabilities = ["reasoning", "tools"] as const;
    models[`m-${id}`] = model(`m-${id}`, {
      capabilities,
      signatureFamily: family,
      defaultMaxOutputTokens: 4_096,
    });
    const facts = GENERATE_DIALECTS[dialect];
    const features = endpointFeatures(facts, models[`m-${id}`] ?? model("m"), {
      ...provider,
      flags,
    });
    const more = {
      dialect,
      model: `m-${id}`,
      provider: provider.id,
      capabilities,
      features: features.translated,
      nativeFeatures: features.native,
    };
    endpoints[id] = endpoint(id, { ...more, upstreamModel: `model${settings}` });
  }
  const approve = { ...workspace.approve, capabilities: ["reasoning", "tools"] as const };
  const routes = { r: { ...row, onGap: "narrow" } } as const;
  return {
    ...base,
    endpoints,
    providers,
    models,
    routes,
    workspaces: { w: { ...workspace, approve } },
  };
}

function ask(router: Router, path: string, body: JsonObject): Promise<Response> {
  return fetch(`${router.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify({ model: "r", ...body }),
  });
}

const user = { role: "user", content: "hello" };
const MESSAGES = "anthropic-messages";
const thinking = { max_tokens: 2_000, thinking: { type: "enabled", budget_tokens: 1_024 } };

/** The blocks of a messages answer, whole or streamed. */
async function contentOf(response: Response): Promise<readonly JsonObject[]> {
  const text = await response.text();
  if (!text.startsWith("event: ")) return JSON.parse(text).content;
  const blocks: Record<string, JsonValue | undefined>[] = [];
  for (const [, line = ""] of text.matchAll(/^data: (\{.*)$/gm)) {
    const { content_block: block, delta } = JSON.parse(line);
    if (isJsonObject(block)) blocks.push({ ...block });
    const last = blocks.at(-1);
    if (last === undefined || !isJsonObject(delta)) continue;
    for (const name of ["text", "thinking", "signature"]) {
      if (typeof delta[name] === "string")
        last[name] = (typeof last[name] === "string" ? last[name] : "") + delta[name];
    }
  }
  return blocks;
}

// The simulated provider checks every signature, so a second answer means that it got its own back.
test.each([
  ["bedrock_invoke", false],
  ["bedrock_invoke", true],
  ["vertex_raw_predict", false],
  ["vertex_raw_predict", true],
] as const)(
  "thinking of a model behind %s is accepted in the next turn, streamed: %s",
  async (flag, stream) => {
    const mock = await mockForTest();
    const candidate: Candidate = { dialect: MESSAGES, family: "claude-in-a-cloud", flags: [flag] };
    const router = await startRouter({ table: routeOver(mock.url, [candidate]) });
    const content = await contentOf(
      await ask(router, "/api/v1/messages", { ...thinking, stream, messages: [user] }),
    );
    expect(content[0]).toMatchObject({
      type: "thinking",
      signature: expect.stringMatching(/^sbx1\.claude-in-a-cloud\../),
    });
    const messages = [user, { role: "assistant", content }, user];
    const second = await ask(router, "/api/v1/messages", { ...thinking, stream, messages });
    expect(second.status).toBe(200);
    expect((await contentOf(second)).length).toBeGreaterThan(0);
  },
);

test.each([false, true])(
  "encrypted reasoning of a vendor's responses is accepted in the next turn, streamed: %s",
  async (stream) => {
    const mock = await mockForTest();
    const router = await startRouter({
      table: routeOver(mock.url, [{ dialect: "openai-responses", family: "xai" }]),
    });
    const reasoning = {
      reasoning: { effort: "high" },
      include: ["reasoning.encrypted_content"],
      stream,
    };
    const first = await ask(router, "/v1/responses", { ...reasoning, input: [user] });
    const text = await first.text();
    const completed = /^event: response\.completed\ndata: (.*)$/m.exec(text)?.[1];
    const { output } = stream ? JSON.parse(completed ?? "").response : JSON.parse(text);
    expect(output[0].encrypted_content).toMatch(/^sbx1\.xai\../);
    const second = await ask(router, "/v1/responses", {
      ...reasoning,
      input: [user, ...output, user],
    });
    expect(second.status).toBe(200);
    expect(await second.text()).toContain('"completed"');
  },
);

test("thinking that a fallback signed is returned to the fallback and not to the primary", async () => {
  const mock = await mockForTest();
  const fallback: Candidate = {
    dialect: MESSAGES,
    family: "anthropic-bedrock",
    flags: ["bedrock_invoke"],
  };
  const failing: Candidate = { dialect: MESSAGES, family: "anthropic", settings: "+status=503" };
  const first = await startRouter({ table: routeOver(mock.url, [failing, fallback]) });
  const content = await contentOf(
    await ask(first, "/api/v1/messages", { ...thinking, messages: [user] }),
  );
  const healthy = { ...failing, settings: "" };
  const second = await startRouter({ table: routeOver(mock.url, [healthy, fallback]) });
  const messages = [user, { role: "assistant", content }, user];
  const response = await ask(second, "/api/v1/messages", { ...thinking, messages });
  expect(response.status).toBe(200);
  await second.settled(1);
  expect(second.outcomes[0]).toMatchObject({ attempts: [{ endpoint: "b", failure: null }] });
});

test("reasoning of a chat completions endpoint that signs is accepted from clients of every surface", async () => {
  const mock = await mockForTest();
  const router = await startRouter({
    table: routeOver(mock.url, [{ dialect: "openai-chat", family: "vendor" }]),
  });
  const signed = "sbx1.vendor.c2lnbmF0dXJl";
  const item = {
    type: "reasoning",
    summary: [{ type: "summary_text", text: "t" }],
    encrypted_content: signed,
  };
  const response = await ask(router, "/v1/responses", {
    input: [user, item, { role: "assistant", content: "hi" }, user],
  });
  expect([response.status, await response.text()]).toEqual([
    200,
    expect.stringContaining('"completed"'),
  ]);
  const content = [
    { type: "thinking", thinking: "t", signature: signed },
    { type: "text", text: "hi" },
  ];
  const body = { max_tokens: 100, messages: [user, { role: "assistant", content }, user] };
  expect((await ask(router, "/api/v1/messages", body)).status).toBe(200);
});
