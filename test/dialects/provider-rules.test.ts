import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/canon/json.ts";
import { messagesSurface } from "../../src/dialects/anthropic-messages/dialect.ts";
import type { Surface, Target } from "../../src/dialects/dialect.ts";
import { planExchange, upstreamFor } from "../../src/dialects/exchange-plan.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { prepareTranslation } from "../../src/dialects/translate-request.ts";
import { route } from "../support/table.ts";
import { contextOf, lacking, NO_EDITS, NO_HEADERS, targetOf } from "./laws/target.ts";

const ROUTE = route("r", "e", []);

function targetWith(dialect: GenerateDialect, flags: readonly string[]): Target {
  const target = targetOf(dialect);
  return { ...target, provider: { ...target.provider, flags } };
}

/**
 * A caller's body as an endpoint of another protocol gets it, or the code and the member of its
 * refusal.
 */
function sent(
  surface: Surface,
  body: JsonObject,
  dialect: GenerateDialect,
  flags: readonly string[] = [],
) {
  const request = surface.parse({ model: "r", ...body }, 100, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  const target = targetWith(dialect, flags);
  expect(lacking(request, target)).toBeNull();
  const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) return { refusal: canonical, request, target, prepared: null };
  const prepared = prepareTranslation(
    canonical,
    ROUTE,
    request.shape,
    target,
    upstreamFor("generate", dialect),
  );
  if ("code" in prepared) return { refusal: prepared, request, target, prepared: null };
  return { refusal: null, request, target, prepared };
}

function bodySent(...taken: Parameters<typeof sent>) {
  const { refusal, prepared } = sent(...taken);
  if (prepared === null) throw new Error(refusal?.message);
  return { body: prepared.formatted.body, dropped: prepared.dropped };
}

const user = { role: "user", content: "go" };
const LIMIT = { max_tokens: 200 };
const use = (id: string, name = "f") => ({
  role: "assistant",
  content: [{ type: "tool_use", id, name, input: {} }],
});
const image = {
  type: "image",
  source: { type: "base64", media_type: "image/png", data: "iVBORw0K" },
};
const call = (id: string, name = "f") => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: "{}" } }],
});
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "r" });

describe("a request is fitted to a provider's rules on record", () => {
  it("text before a tool result in one message is moved after it", () => {
    const content = [
      { type: "text", text: "note" },
      { type: "tool_result", tool_use_id: "t", content: "one" },
    ];
    const body = { ...LIMIT, messages: [user, use("t"), { role: "user", content }] };
    const made = bodySent(messagesSurface, body, "openai-chat");
    expect(made.body.messages).toMatchObject([
      user,
      {},
      { role: "tool", content: "one" },
      { content: "note" },
    ]);
    expect(made.dropped).toEqual(["results_moved"]);
  });

  it("messages between a call and its output are moved after it, in their order", () => {
    const message = (role: string, text: string) => ({
      type: "message",
      role,
      content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
    });
    const input = [
      { role: "user", content: "x" },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      message("developer", "first"),
      message("user", "second"),
      { type: "function_call_output", call_id: "c", output: "one" },
    ];
    const { body, dropped } = bodySent(responsesSurface, { input }, "openai-chat");
    expect(body.messages).toMatchObject([
      { role: "user" },
      { role: "assistant" },
      { role: "tool", content: "one" },
      { role: "developer", content: "first" },
      { role: "user", content: "second" },
    ]);
    expect(dropped).toContain("results_moved");
  });

  it("an image in a tool result follows in a user's message where results are text", () => {
    const content = [
      { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "a" }, image] },
    ];
    const body = { ...LIMIT, messages: [user, use("t"), { role: "user", content }] };
    for (const dialect of ["openai-chat", "cohere-chat"] as const) {
      const made = bodySent(messagesSurface, body, dialect);
      expect(made.body.messages).toMatchObject([
        {},
        {},
        { role: "tool", content: "a" },
        {
          role: "user",
          content: [{ type: "text" }, { image_url: { url: "data:image/png;base64,iVBORw0K" } }],
        },
      ]);
      expect(made.dropped).toEqual(["result_files_apart"]);
    }
  });

  it("an image in a chat's tool message reaches a protocol that allows it there", () => {
    const part = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0K" } };
    const messages = [user, call("c"), { ...result("c"), content: [part] }];
    const { body } = bodySent(chatSurface, { messages }, "anthropic-messages");
    expect(JSON.stringify(body.messages)).toContain(
      '"tool_result","tool_use_id":"c","content":[{"type":"image"',
    );
  });

  it.each([
    ["openai-chat", ["max_tokens_field", "short_call_ids"]],
    ["openai-chat", ["no_user_after_tool"]],
  ] as const)("a user's message after a tool result is parted from it: %s %j", (dialect, flags) => {
    const content = [
      { type: "tool_result", tool_use_id: "t", content: "r" },
      { type: "text", text: "and now?" },
    ];
    const body = { ...LIMIT, messages: [user, use("t"), { role: "user", content }] };
    const made = bodySent(messagesSurface, body, dialect, flags);
    expect(made.body.messages).toMatchObject([
      {},
      {},
      { role: "tool" },
      { role: "assistant" },
      { role: "user" },
    ]);
    expect(made.dropped).toContain("turn_made");
  });

  it("temperature other than 1 and top_k are left out beside reasoning, and top_p beside temperature", () => {
    const numbers = (more: JsonObject) => {
      const { body, dropped } = bodySent(
        chatSurface,
        { messages: [user], ...more },
        "anthropic-messages",
      );
      const { temperature, top_p } = body;
      return { temperature, top_p, dropped: dropped.includes("sampling_dropped") };
    };
    expect(numbers({ reasoning_effort: "low", temperature: 0.2 })).toEqual({ dropped: true });
    expect(numbers({ reasoning_effort: "low", temperature: 1 })).toEqual({
      temperature: 1,
      dropped: false,
    });
    expect(numbers({ reasoning_effort: "low", top_p: 0.97 })).toEqual({
      top_p: 0.97,
      dropped: false,
    });
    expect(numbers({ reasoning_effort: "low", top_p: 0.94 })).toEqual({ dropped: true });
    expect(numbers({ temperature: 0.5, top_p: 0.9 })).toEqual({ temperature: 0.5, dropped: true });
    expect(numbers({ temperature: 0.2 })).toEqual({ temperature: 0.2, dropped: false });
  });

  const schema = {
    type: "object",
    properties: {
      a: { type: "string", minLength: 1 },
      b: {
        type: "array",
        items: { type: "object", properties: { c: { type: "integer", minimum: 0 } } },
      },
    },
    required: ["a"],
  };
  const format = (value: JsonObject, more: JsonObject = {}) => ({
    messages: [user],
    response_format: { type: "json_schema", json_schema: { name: "r", schema: value, ...more } },
  });

  it("a response schema is closed, and its bounds are text, for Anthropic", () => {
    const { body, dropped } = bodySent(chatSurface, format(schema), "anthropic-messages");
    expect(body.output_config).toEqual({
      format: {
        type: "json_schema",
        schema: {
          type: "object",
          properties: {
            a: { type: "string", description: "(minLength: 1)" },
            b: {
              type: "array",
              items: {
                type: "object",
                properties: { c: { type: "integer", description: "(minimum: 0)" } },
                additionalProperties: false,
              },
            },
          },
          required: ["a"],
          additionalProperties: false,
        },
      },
    });
    expect(dropped).toEqual(expect.arrayContaining(["schema_closed", "schema_bounds_as_text"]));
  });

  it("a strict schema with optional members loses its strictness at OpenAI, on record, and no other does", () => {
    const text = (value: JsonObject) => {
      const body = bodySent(chatSurface, format(value, { strict: true }), "openai-responses");
      return [JSON.stringify(body.body.text).includes('"strict":true'), body.dropped];
    };
    expect(text(schema)).toEqual([false, ["strictness_dropped"]]);
    const whole = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
    expect(text(whole)).toEqual([true, ["schema_closed"]]);
    expect(text({ ...whole, additionalProperties: false })).toEqual([true, []]);
  });

  it("cache marks of chat parts and tools reach protocols that have them", () => {
    const mark = { cache_control: { type: "ephemeral" } };
    const messages = [{ role: "user", content: [{ type: "text", text: "x", ...mark }] }];
    const tools = [{ type: "function", function: { name: "f" }, ...mark }];
    const { body, dropped } = bodySent(chatSurface, { messages, tools }, "anthropic-messages");
    expect(body).toMatchObject({ messages: [{ content: [mark] }], tools: [mark] });
    expect(dropped).toEqual(["output_limit_defaulted"]);
    expect(bodySent(chatSurface, { messages, tools }, "gemini").dropped).toEqual([
      "cache_mark_dropped",
    ]);
  });
});

describe("a request that cannot be fitted is refused by name", () => {
  it("a result without its call, or a second one", () => {
    const refused = (surface: Surface, body: JsonObject) => {
      const { refusal } = sent(
        surface,
        body,
        surface === chatSurface ? "anthropic-messages" : "openai-chat",
      );
      return [refusal?.code, refusal?.param];
    };
    expect(refused(chatSurface, { messages: [user, result("c")] })).toEqual([
      "unknown_tool_call",
      "messages[1].tool_call_id",
    ]);
    expect(refused(chatSurface, { messages: [user, call("c"), result("c"), result("c")] })).toEqual(
      ["unknown_tool_call", "messages[3].tool_call_id"],
    );
    const content = [{ type: "tool_result", tool_use_id: "t", content: "one" }];
    expect(refused(messagesSurface, { ...LIMIT, messages: [{ role: "user", content }] })).toEqual([
      "unknown_tool_call",
      "messages[0].content[0].tool_use_id",
    ]);
    const input = [{ type: "function_call_output", call_id: "c", output: "one" }];
    expect(refused(responsesSurface, { input })).toEqual(["unknown_tool_call", "input[0].call_id"]);
  });

  it("a response schema with objects of unnamed members, for Anthropic", () => {
    const value = {
      type: "object",
      properties: { a: { type: "object", additionalProperties: { type: "string" } } },
    };
    const body = {
      messages: [user],
      response_format: { type: "json_schema", json_schema: { name: "r", schema: value } },
    };
    expect(sent(chatSurface, body, "anthropic-messages").refusal).toMatchObject({
      status: 400,
      code: "unsupported_schema",
    });
  });
});

describe("the caller's names of tools", () => {
  const long = "mcp__" + "a".repeat(65);
  const body = {
    ...LIMIT,
    messages: [
      user,
      use("t", long),
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "r" }] },
    ],
    tools: [
      { name: long, input_schema: { type: "object" } },
      { name: `${long}b`, input_schema: { type: "object" } },
    ],
    tool_choice: { type: "tool", name: long },
  };

  it("are sent in the protocol's form everywhere, and are restored in whole answers and streams", () => {
    const { request, target, prepared } = sent(messagesSurface, body, "openai-chat");
    if (prepared === null) throw new Error("refused");
    const [name = ""] = prepared.formatted.names?.keys() ?? [];
    expect(name).toMatch(/^[a-z0-9_]{1,64}$/);
    expect(JSON.stringify(prepared.formatted.body)).not.toContain(long);
    expect(prepared.formatted.body).toMatchObject({
      messages: [{}, { tool_calls: [{ function: { name } }] }, {}],
      tool_choice: { function: { name } },
    });
    const options = { surface: messagesSurface, request, prepared, route: ROUTE, edits: NO_EDITS };
    const upstream = upstreamFor("generate", "openai-chat");
    const plan = planExchange({ ...options, context: contextOf(request) }, target, upstream);
    const called = { id: "c", type: "function", function: { name, arguments: "{}" } };
    const answer = {
      choices: [
        { index: 0, message: { content: null, tool_calls: [called] }, finish_reason: "tool_calls" },
      ],
    };
    const encoder = new TextEncoder();
    const whole = new TextDecoder().decode(
      plan.answer(encoder.encode(JSON.stringify(answer))).bytes,
    );
    expect(JSON.parse(whole)).toMatchObject({ content: [{ type: "tool_use", name: long }] });
    const delta = { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...called }] } }] };
    const end = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] };
    const events = [delta, end].map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    const stream = plan.stream();
    const bytes = [
      ...stream.push(encoder.encode(`${events}data: [DONE]\n\n`)),
      ...stream.endStream().events,
    ];
    expect(bytes.map((one) => new TextDecoder().decode(one)).join("")).toContain(
      `"name":"${long}"`,
    );
  });

  it("get equal names in every request, with any other tools", () => {
    const alone = sent(
      messagesSurface,
      { ...body, tools: body.tools.slice(0, 1) },
      "openai-chat",
    ).prepared;
    const [first] =
      sent(messagesSurface, body, "openai-chat").prepared?.formatted.names?.keys() ?? [];
    expect([...(alone?.formatted.names?.keys() ?? [])]).toEqual([first]);
  });
});

describe("a chat body on its way to a chat provider", () => {
  const edited = (more: JsonObject) => {
    const request = chatSurface.parse({ model: "r", messages: [user], ...more }, 100, NO_HEADERS);
    if ("code" in request) throw new Error(request.message);
    const { endpoint, provider } = targetOf("openai-chat");
    return chatSurface.relay.edit(request, endpoint, provider, "reject", NO_EDITS);
  };

  it("keeps of two output limits the lower one, and loses an empty list of tools and of parts", () => {
    expect(edited({ max_tokens: 50, max_completion_tokens: 60 }).body).toMatchObject({
      max_completion_tokens: 50,
    });
    expect(edited({ max_tokens: 50, max_completion_tokens: 60 }).body).not.toHaveProperty(
      "max_tokens",
    );
    const bare = edited({ tools: [], tool_choice: "auto", parallel_tool_calls: true });
    expect(bare.stripped).toEqual(["tools", "tool_choice", "parallel_tool_calls"]);
    expect(edited({ messages: [{ role: "user", content: [] }, user] }).body.messages).toEqual([
      { role: "user", content: "" },
      user,
    ]);
  });
});
