import { beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../support/server.ts";

let test: TestServer;
let key: string;

/** The shipped route over messages, with a model that has no response schemas of its own. */
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

function ask(more: object): Promise<Response> {
  return fetch(`${test.server.url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ ...body, ...more }),
  });
}

interface Choice {
  readonly message?: { readonly content: string; readonly tool_calls?: unknown };
  readonly delta?: { readonly content?: string; readonly tool_calls?: unknown };
  readonly finish_reason: string | null;
}

describe("a response schema on a route that emulates it", () => {
  it("comes back as the answer's text, whole and streamed, and as no tool call", async () => {
    const whole: { readonly choices: readonly Choice[] } = JSON.parse(await (await ask({})).text());
    expect(JSON.parse(whole.choices[0]?.message?.content ?? "")).toEqual({ answer: expect.any(Number) });
    expect(whole.choices[0]).toMatchObject({ finish_reason: "stop" });
    expect(whole.choices[0]?.message?.tool_calls).toBeUndefined();
    const text = await (await ask({ stream: true })).text();
    const chunks = text
      .split("\n\n")
      .filter((event) => event.startsWith("data: {"))
      .map((event): { readonly choices: readonly Choice[] } => JSON.parse(event.slice("data: ".length)));
    const said = chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
    expect(JSON.parse(said)).toEqual({ answer: expect.any(Number) });
    expect(text).not.toContain("tool_calls");
    expect(text).toContain('"finish_reason":"stop"');
  });

  it("is refused by name together with reasoning", async () => {
    const response = await ask({ reasoning_effort: "high" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: "capability_not_supported", param: "response_format" },
    });
  });
});
