import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import type { EndpointRow, ProviderRow, RoutingTable } from "../../src/canon/table.ts";
import { mockForTest } from "../mock/start.ts";
import { startRouter, tableOver, type Router } from "../support/router.ts";
import { endpoint, model } from "../support/table.ts";

const BEDROCK = ["bedrock_invoke"];

interface EndpointOptions {
  readonly flags: readonly string[];
  /** Settings of the simulated provider, at the end of the model's name. */
  readonly settings?: string;
}

/**
 * A route over one endpoint for each of the options, in this order; all of them speak messages at
 * the simulated provider.
 */
function routeOver(url: string, options: readonly EndpointOptions[]): RoutingTable {
  const base = tableOver(options.map(() => ({ url, calls: [] })));
  const endpoints: Record<string, EndpointRow> = {};
  const providers: Record<string, ProviderRow> = {};
  for (const [index, { flags, settings = "" }] of options.entries()) {
    const id = ["a", "b"][index] ?? "x";
    const row = base.providers[`p-${id}`];
    if (row === undefined) throw new Error("no such provider");
    providers[row.id] = { ...row, dialect: "anthropic-messages", flags };
    const upstreamModel = `claude-v1:0${settings}`;
    endpoints[id] = endpoint(id, {
      dialect: "anthropic-messages",
      model: "m",
      provider: row.id,
      upstreamModel,
    });
  }
  return {
    ...base,
    endpoints,
    providers,
    models: { m: model("m", { defaultMaxOutputTokens: 100 }) },
  };
}

const ask = (router: Router, path: string, body: JsonObject): Promise<Response> =>
  fetch(`${router.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify({ model: "r", messages: [{ role: "user", content: "hello" }], ...body }),
  });

describe("a model that a cloud hosts", () => {
  test("answers a client of the protocol in the protocol's events", async () => {
    const mock = await mockForTest();
    const router = await startRouter({ table: routeOver(mock.url, [{ flags: BEDROCK }]) });
    const body = { max_tokens: 50, stream: true, service_tier: "auto" };
    const response = await ask(router, "/api/v1/messages", body);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const text = await response.text();
    expect(text.startsWith("event: message_start\ndata: {")).toBe(true);
    expect(text.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
    expect(mock.requests[0]).toMatchObject({
      path: "/v1/model/claude-v1%3A0/invoke-with-response-stream",
    });
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({
      attempts: [{ endpoint: "a", failure: null }],
      stripped: ["service_tier"],
    });
  });

  test("answers clients of other protocols, and counts", async () => {
    const mock = await mockForTest();
    const router = await startRouter({ table: routeOver(mock.url, [{ flags: BEDROCK }]) });
    const chat = await ask(router, "/v1/chat/completions", { stream: true });
    expect(await chat.text()).toMatch(/"finish_reason":"stop"[^]*data: \[DONE\]\n\n$/);
    const count = await ask(router, "/api/v1/messages/count_tokens", {});
    expect(JSON.parse(await count.text())).toEqual({ input_tokens: expect.any(Number) });
  });

  test("falls back before its first text to the next one, each called in its own form", async () => {
    const mock = await mockForTest();
    const options = [
      { flags: BEDROCK, settings: "+error-frame=after-1" },
      { flags: ["vertex_raw_predict"] },
    ];
    const router = await startRouter({ table: routeOver(mock.url, options) });
    const response = await ask(router, "/api/v1/messages", { max_tokens: 50, stream: true });
    expect(await response.text()).toContain("event: message_stop\n");
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({
      attempts: [
        { endpoint: "a", failure: "error_frame" },
        { endpoint: "b", failure: null },
      ],
    });
  });

  test("that breaks off in the middle ends the client's stream with an error", async () => {
    const mock = await mockForTest();
    const router = await startRouter({
      table: routeOver(mock.url, [{ flags: BEDROCK, settings: "+cut=in-5" }]),
    });
    const text = await (
      await ask(router, "/api/v1/messages", { max_tokens: 50, stream: true })
    ).text();
    expect(text).toContain("event: error\n");
    expect(text).toContain("upstream_truncated");
    expect(text).not.toContain("message_stop");
  });
});
