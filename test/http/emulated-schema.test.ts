import { beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.ts";

let test: TestServer;
let key: string;

/**
 * The shipped routes over messages and over chat completions, with models that have no response
 * formats of their own.
 */
beforeAll(async () => {
  test = await startTestServer((routes) =>
    routes
      .replace(
        "capabilities: [tools, json_schema, image_input, file_input, reasoning, web_search]",
        "capabilities: [tools, image_input, file_input, reasoning, web_search]",
      )
      .replace(
        "    primary: claude-sonnet-global\n",
        "    primary: claude-sonnet-global\n    emulate_json_schema: true\n",
      )
      .replace(
        "[tools, custom_tools, json_schema, json_object, image_input, file_input, reasoning]\n",
        "[tools, image_input, file_input, reasoning]\n",
      )
      .replace(
        "    primary: gpt-5-mini-eu\n",
        "    primary: gpt-5-mini-eu\n    emulate_json_schema: true\n",
      ),
  );
  key = await test.key("demo", ["inference"]);
}, 60_000);

const schema = {
  type: "object",
  properties: { answer: { type: "integer" } },
  required: ["answer"],
  additionalProperties: false,
};
const body = {
  model: "claude-sonnet-4-6",
  messages: [{ role: "user", content: "hello" }],
  response_format: { type: "json_schema", json_schema: { name: "a", schema } },
};

function post(path: string, sent: object): Promise<Response> {
  return fetch(`${test.server.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(sent),
  });
}

function ask(more: object): Promise<Response> {
  return post("/v1/chat/completions", { ...body, ...more });
}

interface Choice {
  readonly message?: { readonly content: string; readonly tool_calls?: unknown };
  readonly delta?: { readonly content?: string; readonly tool_calls?: unknown };
  readonly finish_reason: string | null;
}

describe("a response schema on a route that emulates it", () => {
  it("is answered as text, whole and streamed, and as no tool call", async () => {
    const whole: { readonly choices: readonly Choice[] } = JSON.parse(await (await ask({})).text());
    expect(JSON.parse(whole.choices[0]?.message?.content ?? "")).toEqual({
      answer: expect.any(Number),
    });
    expect(whole.choices[0]).toMatchObject({ finish_reason: "stop" });
    expect(whole.choices[0]?.message?.tool_calls).toBeUndefined();
    const text = await (await ask({ stream: true })).text();
    const chunks = text
      .split("\n\n")
      .filter((event) => event.startsWith("data: {"))
      .map((event): { readonly choices: readonly Choice[] } =>
        JSON.parse(event.slice("data: ".length)),
      );
    const said = chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
    expect(JSON.parse(said)).toEqual({ answer: expect.any(Number) });
    expect(text).not.toContain("tool_calls");
    expect(text).toContain('"finish_reason":"stop"');
  });

  it("becomes a tool for an endpoint of the caller's own protocol too", async () => {
    const response = await ask({ model: "chat-small-eu" });
    expect(response.headers.get("x-signalbox-edits")).toContain("schema_emulated");
    const whole: { readonly choices: readonly Choice[] } = JSON.parse(await response.text());
    expect(JSON.parse(whole.choices[0]?.message?.content ?? "")).toEqual({
      answer: expect.any(Number),
    });
    const native = await post("/api/v1/messages", {
      model: "claude-sonnet-4-6",
      max_tokens: 100,
      messages: body.messages,
      output_config: { format: { type: "json_schema", schema } },
    });
    expect(native.headers.get("x-signalbox-edits")).toContain("schema_emulated");
    const message: { readonly content: readonly object[] } = JSON.parse(await native.text());
    expect(message).toMatchObject({ stop_reason: "end_turn", content: [{ type: "text" }] });
  });

  it("names the member that keeps a request from its emulation", async () => {
    const response = await ask({ model: "chat-small-eu", n: 2 });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: "n" } });
  });

  it.each(["claude-sonnet-4-6", "chat-small-eu"])(
    "of any JSON object becomes a tool: %s",
    async (model) => {
      const response = await ask({ model, response_format: { type: "json_object" } });
      expect(response.headers.get("x-signalbox-edits")).toContain("schema_emulated");
      const whole: { readonly choices: readonly Choice[] } = JSON.parse(await response.text());
      expect(JSON.parse(whole.choices[0]?.message?.content ?? "")).toEqual({});
      expect(whole.choices[0]).toMatchObject({ finish_reason: "stop" });
    },
  );

  it.each([body.response_format, { type: "json_object" }])(
    "is refused by name together with reasoning: %j",
    async (response_format) => {
      const response = await ask({ reasoning_effort: "high", response_format });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: "capability_not_supported", param: "response_format" },
      });
    },
  );
});
