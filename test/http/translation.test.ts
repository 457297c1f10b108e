import { gzipSync } from "node:zlib";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import type { EndpointRow, ModelRow, RoutingTable } from "../../src/canon/table.ts";
import { endpoint, model } from "../support/table.ts";
import {
  ANSWER,
  answerJson,
  errorOf,
  sse,
  startRouter,
  startUpstream,
  tableOver,
  type Router,
  type Upstream,
} from "../support/router.ts";

const BASE = { workspace: "w", route: "r" } as const;

interface EndpointOptions {
  readonly dialect: string;
  readonly model?: Partial<ModelRow>;
}

/** A route over one upstream a dialect, in this order. */
function routeOver(
  upstreams: readonly Upstream[],
  options: readonly EndpointOptions[],
  onGap: "deny" | "narrow" = "deny",
): RoutingTable {
  const base = tableOver(upstreams);
  const [row, workspace] = [base.routes[BASE.route], base.workspaces[BASE.workspace]];
  if (row === undefined || workspace === undefined) throw new Error("no rows");
  const endpoints: Record<string, EndpointRow> = {};
  const models: Record<string, ModelRow> = {};
  for (const [index, { dialect, model: more }] of options.entries()) {
    const id = ["a", "b"][index] ?? "x";
    models[`m-${id}`] = model(`m-${id}`, {
      capabilities: ["tools", "reasoning"],
      defaultMaxOutputTokens: 4_096,
      ...more,
    });
    endpoints[id] = endpoint(id, {
      dialect,
      model: `m-${id}`,
      provider: `p-${id}`,
      capabilities: ["json_schema", "reasoning", "tools"],
    });
  }
  const approve = {
    ...workspace.approve,
    capabilities: ["tools", "json_schema", "reasoning"] as const,
  };
  return {
    ...base,
    endpoints,
    models,
    routes: { r: { ...row, onGap } },
    workspaces: { w: { ...workspace, approve } },
  };
}

function call(router: Router, path: string, body: JsonObject): Promise<Response> {
  return fetch(`${router.url}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer good", "content-type": "application/json" },
    body: JSON.stringify({ model: "r", ...body }),
  });
}

const ask = { max_tokens: 100, messages: [{ role: "user", content: "hello" }] };

function event(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
}

function messagesStream(
  response: ServerResponse,
  compress: (text: string) => Uint8Array | string = (text) => text,
): void {
  const usage = { input_tokens: 3, output_tokens: 1 };
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "up",
    content: [],
    stop_reason: null,
    usage,
  };
  response.end(
    compress(
      [
        event("message_start", { message }),
        event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "hi" } }),
        event("content_block_stop", { index: 0 }),
        event("message_delta", {
          delta: { stop_reason: "end_turn", stop_sequence: null },
          usage: { output_tokens: 2 },
        }),
        event("message_stop", {}),
      ].join(""),
    ),
  );
}

describe("a request to an endpoint of another protocol", () => {
  it("is translated there and back, and the record has both protocols", async () => {
    const upstream = await startUpstream((response) => answerJson(response));
    const router = await startRouter({
      table: routeOver([upstream], [{ dialect: "openai-chat" }]),
    });
    const response = await call(router, "/api/v1/messages", ask);
    expect(await response.json()).toMatchObject({
      type: "message",
      content: [{ type: "text", text: "hi" }],
      stop_reason: "end_turn",
    });
    expect(upstream.calls[0]?.path).toBe("/v1/chat/completions");
    expect(JSON.parse(upstream.calls[0]?.body ?? "")).toMatchObject({
      store: false,
      max_completion_tokens: 100,
    });
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({
      terminal: "completed",
      attempts: [{ translated: true }],
    });
    expect(router.decisions[0]).toMatchObject({ operation: "messages", features: [] });
  });

  it("reads compressed answers, whole and streamed", async () => {
    const upstream = await startUpstream((response, { body }) => {
      const streams = JSON.parse(body).stream === true;
      const type = streams ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": type, "content-encoding": "gzip" });
      if (streams) messagesStream(response, (text) => gzipSync(text));
      else {
        const content = [{ type: "text", text: "hi" }];
        const usage = { input_tokens: 3, output_tokens: 2 };
        response.end(
          gzipSync(
            JSON.stringify({
              type: "message",
              role: "assistant",
              model: "up",
              content,
              stop_reason: "end_turn",
              usage,
            }),
          ),
        );
      }
    });
    const router = await startRouter({
      table: routeOver([upstream], [{ dialect: "anthropic-messages" }]),
    });
    const whole = await call(router, "/v1/chat/completions", { messages: ask.messages });
    expect(await whole.json()).toMatchObject({
      choices: [{ message: { content: "hi" }, finish_reason: "stop" }],
    });
    const streamed = await call(router, "/v1/chat/completions", {
      messages: ask.messages,
      stream: true,
    });
    const text = await streamed.text();
    expect(text).toContain('"content":"hi"');
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  it("falls back while the provider has only begun its answer", async () => {
    const first = await startUpstream((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const created = { id: "resp_1", object: "response", status: "in_progress", output: [] };
      response.write(event("response.created", { sequence_number: 0, response: created }));
      const error = { code: "server_error", message: "CANARY" };
      response.end(
        event("response.failed", {
          sequence_number: 1,
          response: { ...created, status: "failed", error },
        }),
      );
    });
    const second = await startUpstream((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      messagesStream(response);
    });
    const table = routeOver(
      [first, second],
      [{ dialect: "openai-responses" }, { dialect: "anthropic-messages" }],
    );
    const router = await startRouter({ table });
    const response = await call(router, "/v1/chat/completions", {
      messages: ask.messages,
      stream: true,
    });
    const text = await response.text();
    expect(text).toContain('"content":"hi"');
    expect(text).not.toContain("CANARY");
    expect(response.headers.get("x-signalbox-attempts")).toBe("2");
  });

  it("survives an answer that is nested more deeply than a stack is high", async () => {
    const depth = 100_000;
    const calls = [
      {
        id: "c",
        type: "function",
        function: { name: "f", arguments: `{"a":${"[".repeat(depth)}${"]".repeat(depth)}}` },
      },
    ];
    const deep = {
      ...ANSWER,
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: null, tool_calls: calls },
          finish_reason: "tool_calls",
        },
      ],
    };
    let answer: object = deep;
    const upstream = await startUpstream((response) => answerJson(response, answer));
    const router = await startRouter({
      table: routeOver([upstream], [{ dialect: "openai-chat" }]),
    });
    const tools = [{ name: "f", input_schema: { type: "object" } }];
    const first = await call(router, "/api/v1/messages", { ...ask, tools });
    expect([200, 502]).toContain(first.status);
    await first.text();
    answer = ANSWER;
    expect((await call(router, "/api/v1/messages", ask)).status).toBe(200);
  });
});

describe("a mistake that only an endpoint's printer finds", () => {
  const budgets = { reasoning: { efforts: [], budgets: { high: 24_576 } } } as const;
  const body = { messages: ask.messages, reasoning_effort: "high", max_completion_tokens: 3_000 };

  it.each(["deny", "narrow"] as const)(
    "is reported before a provider is called, by a call and by simulation alike (%s)",
    async (onGap) => {
      const upstreams = [
        await startUpstream((response) => answerJson(response)),
        await startUpstream((response) => answerJson(response)),
      ];
      const options = [
        { dialect: "openai-chat" },
        { dialect: "anthropic-messages", model: budgets },
      ];
      const base = routeOver(upstreams, options, onGap);
      const second = base.endpoints.b;
      if (second === undefined) throw new Error("no endpoint");
      const features = [...second.features, "effort_high", "reasoning_budget"] as const;
      const router = await startRouter({
        table: { ...base, endpoints: { ...base.endpoints, b: { ...second, features } } },
      });
      const answered = await call(router, "/v1/chat/completions", body);
      const simulated = await call(router, "/v1/route/simulate?operation=chat.completions", {
        request: { model: "r", ...body },
      });
      if (onGap === "narrow") {
        expect(answered.status).toBe(200);
        expect(await simulated.json()).toMatchObject({
          outcome: "route",
          plan: [{ endpoint: "a" }],
        });
        return;
      }
      const error = await errorOf(answered);
      expect(answered.status).toBe(400);
      expect(upstreams.map(({ calls }) => calls.length)).toEqual([0, 0]);
      expect((await errorOf(simulated)).code).toBe(error.code);
    },
  );
});

it.each([
  ["/v1/chat/completions", { ...ask, reasoning_effort: "high" }, "reasoning_effort"],
  [
    "/v1/responses",
    { input: "hello", max_output_tokens: 100, reasoning: { effort: "high" } },
    "reasoning.effort",
  ],
  ["/api/v1/messages", { ...ask, thinking: { type: "enabled", budget_tokens: 5_000 } }, "thinking"],
])(
  "a refusal names the member of %s that requests more reasoning than the answer may have",
  async (path, body, param) => {
    const upstream = await startUpstream((response) => answerJson(response));
    const reasoning = { efforts: [], budgets: { high: 4_096 } };
    const base = routeOver([upstream], [{ dialect: "bedrock-converse", model: { reasoning } }]);
    const only = base.endpoints.a;
    if (only === undefined) throw new Error("no endpoint");
    const features = [...only.features, "effort_high", "reasoning_budget"] as const;
    const router = await startRouter({
      table: { ...base, endpoints: { a: { ...only, features } } },
    });
    const response = await call(router, path, body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`"param":"${param}"`);
    expect(upstream.calls).toEqual([]);
  },
);

it("a failed stream ends in the caller's grammar, without the provider's text", async () => {
  const upstream = await startUpstream(async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(
      sse({
        id: "c",
        choices: [{ index: 0, delta: { role: "assistant", content: "hi" }, finish_reason: null }],
      }),
    );
    // What comes with the first output, in one piece, could still be answered by somebody else.
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
    response.end(sse({ error: { message: "CANARY", code: "CANARY" } }));
  });
  const router = await startRouter({ table: routeOver([upstream], [{ dialect: "openai-chat" }]) });
  const messages = await (await call(router, "/api/v1/messages", { ...ask, stream: true })).text();
  const responses = await (
    await call(router, "/v1/responses", { input: "hello", stream: true })
  ).text();
  expect(messages).toMatch(/event: error\ndata: \{"type":"error"[^\n]*\n\n$/);
  expect(messages).not.toContain("message_stop");
  expect(responses).toMatch(/event: response\.failed\n/);
  expect(responses).not.toContain("response.completed");
  expect(`${messages}${responses}`).not.toContain("CANARY");
});

it.each([null, undefined])(
  "an answer with the finish reason %j gets no invented end",
  async (reason) => {
    const said = {
      index: 0,
      delta: { content: "hi" },
      message: { content: "hi" },
      finish_reason: reason,
    };
    const upstream = await startUpstream((response, { body }) => {
      if (!JSON.parse(body).stream) return answerJson(response, { choices: [said] });
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(sse({ choices: [said] }) + sse("[DONE]"));
    });
    const router = await startRouter({
      table: routeOver([upstream], [{ dialect: "openai-chat" }]),
    });
    const bodies = [
      ["/v1/responses", { input: "hello" }],
      ["/v1/completions", { prompt: "hello" }],
      ["/api/v1/messages", ask],
    ] as const;
    for (const [path, body] of bodies) {
      const whole = await call(router, path, body);
      expect(whole.status, path).toBe(502);
      expect(await whole.text(), path).not.toMatch(/completed|"stop"|end_turn/);
      const text = await (await call(router, path, { ...body, stream: true })).text();
      expect(text, path).toContain("error");
      expect(text, path).not.toMatch(/response\.completed|"finish_reason":"|message_stop/);
    }
    await router.settled(6);
    for (const { terminal } of router.outcomes) expect(terminal).toBe("failed");
  },
);

it("an answer with an unknown reason ends as cut short, streamed and whole, after one call", async () => {
  const said = {
    index: 0,
    delta: { content: "hi" },
    message: { content: "hi" },
    finish_reason: "novelty",
  };
  const upstream = await startUpstream((response, { body }) => {
    if (!JSON.parse(body).stream) return answerJson(response, { choices: [said] });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(sse({ choices: [said] }) + sse("[DONE]"));
  });
  const router = await startRouter({ table: routeOver([upstream], [{ dialect: "openai-chat" }]) });
  const bodies = [
    ["/v1/responses", { input: "hello" }, /"status":"incomplete"/],
    ["/v1/completions", { prompt: "hello" }, /"finish_reason":"length"/],
    ["/api/v1/messages", ask, /"stop_reason":"max_tokens"/],
  ] as const;
  for (const [path, body, end] of bodies) {
    for (const stream of [false, true]) {
      const response = await call(router, path, { ...body, stream });
      expect(response.status, path).toBe(200);
      expect(await response.text(), path).toMatch(end);
    }
  }
  await router.settled(6);
  for (const { terminal, finish } of router.outcomes)
    expect([terminal, finish]).toEqual(["incomplete", "other"]);
  expect(upstream.calls).toHaveLength(6);
});

it("a call with arguments that are no object has its failure named, on messages, streamed and whole", async () => {
  const called = { name: "f", arguments: '{"a":1}{"a":1}' };
  const message = { tool_calls: [{ index: 0, id: "c", type: "function", function: called }] };
  const said = { index: 0, delta: message, message, finish_reason: "tool_calls" };
  const upstream = await startUpstream((response, { body }) => {
    if (!JSON.parse(body).stream) return answerJson(response, { choices: [said] });
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(sse({ choices: [said] }) + sse("[DONE]"));
  });
  const router = await startRouter({ table: routeOver([upstream], [{ dialect: "openai-chat" }]) });
  for (const stream of [false, true]) {
    const text = await (await call(router, "/api/v1/messages", { ...ask, stream })).text();
    expect(text).toContain("malformed_tool_use");
    expect(text).not.toContain("message_stop");
  }
});

describe("a whole Response with the status failed", () => {
  const failed = {
    id: "resp_u",
    object: "response",
    status: "failed",
    model: "m",
    output: [],
    usage: null,
  };
  const error = { code: "server_error", message: "CANARY" };

  it.each([
    ["/v1/responses", { input: "hello" }, 200],
    ["/v1/chat/completions", { messages: ask.messages }, 502],
    ["/api/v1/messages", ask, 502],
    ["/v1/completions", { prompt: "hello" }, 502],
  ] as const)("is answered once on %s, and recorded as failed", async (path, body, status) => {
    const upstreams = [
      await startUpstream((response) => answerJson(response, { ...failed, error })),
      await startUpstream((response) => answerJson(response, { ...failed, error })),
    ];
    const options = [{ dialect: "openai-responses" }, { dialect: "openai-responses" }];
    const router = await startRouter({ table: routeOver(upstreams, options) });
    const answer = await call(router, path, body);
    const text = await answer.text();
    expect(answer.status, text).toBe(status);
    expect(text).not.toContain("CANARY");
    if (status === 200)
      expect(JSON.parse(text)).toMatchObject({ ...failed, error: { code: "server_error" } });
    expect(upstreams.map(({ calls }) => calls.length)).toEqual([1, 0]);
    await router.settled(1);
    expect(router.outcomes[0]).toMatchObject({
      terminal: "failed",
      status,
      attempts: [{ failure: "error_frame" }],
    });
  });
});

it("an answer that the surface cannot express leads to another endpoint, not to the same one again", async () => {
  const calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
  const choice = { index: 0, message: { role: "assistant", content: null, tool_calls: calls } };
  const upstream = await startUpstream((response) =>
    answerJson(response, { choices: [{ ...choice, finish_reason: "tool_calls" }] }),
  );
  const router = await startRouter({ table: routeOver([upstream], [{ dialect: "openai-chat" }]) });
  const error = await errorOf(await call(router, "/v1/completions", { prompt: "hello" }));
  expect(error).toMatchObject({
    code: "unexpected_output_item",
    message: expect.stringContaining("did not require"),
  });
  expect(upstream.calls).toHaveLength(1);
});
