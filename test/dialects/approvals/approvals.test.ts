import { describe, expect, it } from "vitest";
import type { Capability } from "../../../src/canon/capability.ts";
import { CAPABILITY_NAMES } from "../../../src/canon/capability.ts";
import type { JsonObject, JsonValue } from "../../../src/canon/json.ts";
import { answerTo, passes } from "./what-passes.ts";

const RESPONSES = "/v1/responses";
const MESSAGES = "/api/v1/messages";
const CHAT = "/v1/chat/completions";

const input = (...items: readonly JsonValue[]): JsonObject => ({ model: "r", input: items });
const tools = (...list: readonly JsonValue[]): JsonObject => ({
  model: "r",
  input: "a",
  tools: list,
});
const messages = (...list: readonly JsonValue[]): JsonObject => ({
  model: "r",
  max_tokens: 9,
  messages: list,
});
const said = (role: string, ...content: readonly JsonValue[]): JsonObject =>
  messages({ role, content });
const answered = (...content: readonly JsonValue[]): JsonObject =>
  messages({ role: "assistant", content }, { role: "user", content: "a" });

const HOSTED: readonly (readonly [Capability, JsonObject])[] = [
  ["mcp", { type: "mcp", server_label: "a", server_url: "https://example.com" }],
  ["web_search", { type: "web_search_preview_2025_03_11" }],
  ["code_execution", { type: "shell" }],
  ["code_execution", { type: "code_interpreter", container: { type: "auto" } }],
  [
    "computer_use",
    { type: "computer_use_preview", display_width: 1, display_height: 1, environment: "linux" },
  ],
  ["image_output", { type: "image_generation" }],
  ["file_search", { type: "file_search", vector_store_ids: [] }],
  ["custom_tools", { type: "custom", name: "a" }],
];

/** Positions of a tool's definition in a responses body. */
const IN_RESPONSES: readonly (readonly [string, (tool: JsonObject) => JsonObject])[] = [
  ["tools", (tool) => tools(tool)],
  ["a namespace", (tool) => tools({ type: "namespace", name: "a", tools: [tool] })],
  [
    "additional_tools",
    (tool) => input({ type: "additional_tools", role: "developer", tools: [tool] }),
  ],
  ["tool_search_output", (tool) => input({ type: "tool_search_output", tools: [tool] })],
  [
    "a position of tomorrow",
    (tool) => input({ type: "tool_search_call", later: { deeper: [{ tools: [tool] }] } }),
  ],
];

const ON_SERVERS: readonly (readonly [Capability, JsonObject])[] = [
  ["web_search", { type: "web_search_20260318", name: "web_search" }],
  ["web_search", { type: "web_fetch_20260318", name: "web_fetch" }],
  ["code_execution", { type: "code_execution_20260521", name: "code_execution" }],
  ["computer_use", { type: "browser_toolset_20260801" }],
  ["mcp", { type: "mcp_toolset", mcp_server_name: "a" }],
];

const addition = (definition: JsonObject): JsonObject => ({
  type: "tool_addition",
  tool: { type: "tool_definition", definition },
});

const IN_MESSAGES: readonly (readonly [string, (tool: JsonObject) => JsonObject])[] = [
  ["tools", (tool) => ({ ...messages({ role: "user", content: "a" }), tools: [tool] })],
  ["tool_addition", (tool) => said("system", addition(tool))],
  [
    "compaction",
    (tool) => answered({ type: "compaction", content: "a", tool_changes: [addition(tool)] }),
  ],
];

/** What the evidence records as needed; all capabilities are approved. */
function needsOf(surface: string, body: JsonObject): readonly Capability[] {
  const answer = answerTo(surface, body, CAPABILITY_NAMES);
  if ("code" in answer) throw new Error(`${answer.code}: ${answer.message}`);
  return answer.needs;
}

describe("a hosted tool needs its own approval", () => {
  it.each(
    IN_RESPONSES.flatMap(([name, at]) =>
      HOSTED.map(([needs, tool]) => [name, needs, at(tool)] as const),
    ),
  )("of responses in %s: %s", (_name, needs, body) => {
    expect(passes(RESPONSES, body, ["tools"])).toBe(false);
    expect(passes(RESPONSES, body, ["tools", needs])).toBe(true);
    expect(needsOf(RESPONSES, body)).toContain(needs);
  });

  it.each(
    IN_MESSAGES.flatMap(([name, at]) =>
      ON_SERVERS.map(([needs, tool]) => [name, needs, at(tool)] as const),
    ),
  )("of messages in %s: %s", (_name, needs, body) => {
    expect(passes(MESSAGES, body, ["tools"])).toBe(false);
    expect(passes(MESSAGES, body, ["tools", needs])).toBe(true);
    expect(needsOf(MESSAGES, body)).toContain(needs);
  });
});

it.each<[string, string, JsonObject]>([
  [
    "tool changes of a compaction",
    "tools",
    answered({ type: "compaction", tool_changes: [{ type: "tool_removal" }] }),
  ],
  [
    "an effort of a system message in the list",
    "reasoning",
    messages(
      { role: "user", content: "a" },
      { role: "system", content: "b", output_config: { effort: "low" } },
    ),
  ],
])("messages: %s needs %s", (_name, needs, body) => {
  expect(passes(MESSAGES, body, [])).toBe(false);
  expect(needsOf(MESSAGES, body)).toContain(needs);
});

const user = { role: "user", content: "a" };
const PLAIN: Readonly<Record<string, JsonObject>> = {
  [RESPONSES]: { model: "r", input: "a" },
  [MESSAGES]: messages(user),
  [`${MESSAGES}/count_tokens`]: { model: "r", messages: [user] },
  [CHAT]: { model: "r", messages: [user] },
  "/v1/completions": { model: "r", prompt: "a" },
  "/v1/embeddings": { model: "r", input: "a" },
  "/v1/rerank": { model: "r", query: "a", documents: ["b"] },
  "/v1/moderations": { model: "r", input: "a" },
};

describe.each(Object.entries(PLAIN))("%s: a member of other vendors", (surface, body) => {
  it.each<[Capability, JsonObject]>([
    ["web_search", { plugins: [{ id: "web" }] }],
    ["web_search", { web_search_options: { search_context_size: "high" } }],
    ["web_search", { extra_body: { enable_search: true } }],
    ["reasoning", { chat_template_kwargs: { enable_thinking: true } }],
    ["reasoning", { reasoning: { effort: "high" } }],
    ["reasoning", { thinking_budget: 1 }],
    ["reasoning", { later: { effort: ["high"] } }],
    ["reasoning", { extra_body: { google: { thinking_config: { thinking_level: "high" } } } }],
    ["file_search", { data_sources: [{ parameters: { endpoint: "https://example.com" } }] }],
    ["tools", { later: { functions: [{ name: "f" }] } }],
  ])("needs %s where the route forwards it: %j", (needs, more) => {
    const others = CAPABILITY_NAMES.filter((name) => name !== needs);
    expect(passes(surface, { ...body, ...more }, others, "forward")).toBe(false);
    expect(passes(surface, { ...body, ...more }, [needs], "forward")).toBe(true);
  });

  it.each<[string, JsonObject]>([
    ["models", { models: ["other"] }],
    ["preset", { preset: "other" }],
    ["fallback_models", { fallback_models: ["other"] }],
    ["later.model", { later: { model: "other" } }],
    ["extra_body.cached_content", { extra_body: { cached_content: "a" } }],
    ["later.store", { later: { store: true } }],
    ["later.conversation", { later: { conversation: "a" } }],
    ["later.thread", { later: { thread: { type: "create" } } }],
    ["later.background", { later: { background: true } }],
    ["deferred", { deferred: true }],
    ["later.tools[0].type", { later: { tools: [{ type: "hologram" }] } }],
  ])(
    "that names %s is refused where the route forwards it, and stripped elsewhere",
    (param, more) => {
      expect(answerTo(surface, { ...body, ...more }, CAPABILITY_NAMES, "forward")).toMatchObject({
        param,
      });
      expect(passes(surface, { ...body, ...more }, [], "strip")).toBe(true);
    },
  );

  it("passes where its value turns it off", () => {
    const off = {
      enable_search: false,
      thinking_budget: 0,
      later: { enable_thinking: false, store: false },
    };
    expect(passes(surface, { ...body, ...off, models: [], plugins: [] }, [], "forward")).toBe(true);
  });
});

it.each<[string, JsonObject]>([
  ["reasoning", input(user, { type: "configuration_update", reasoning: { mode: "pro" } })],
  ["reasoning", input(user, { type: "configuration_update", reasoning: { effort: ["high"] } })],
])("responses: a setting of reasoning in the list needs %s", (needs, body) => {
  expect(passes(RESPONSES, body, ["tools"])).toBe(false);
  expect(needsOf(RESPONSES, body)).toContain(needs);
});

it.each<[string, JsonValue]>([
  ["no type", { server_url: "https://example.com" }],
  ["null as type", { type: null, server_url: "https://example.com" }],
  ["a list as type", { type: ["mcp"] }],
  ["the type of an item", { type: "message", role: "user", content: "a" }],
  ["its name alone", "mcp"],
])("responses: a tool with %s is refused with everything approved", (_name, tool) => {
  const body = input({ type: "tool_search_output", tools: [tool] });
  expect(answerTo(RESPONSES, body, CAPABILITY_NAMES)).toMatchObject({ code: "unknown_tool_type" });
});

it.each<[string, JsonObject]>([
  [RESPONSES, input({ type: "tool_search_output", tools: "mcp" })],
  [MESSAGES, answered({ type: "tool_search_tool_result", content: { tools: "web_search" } })],
  [CHAT, said("user", { type: "text", text: "a", tools: "web_search" })],
])("%s: tools that are a text are refused with everything approved", (surface, body) => {
  expect(answerTo(surface, body, CAPABILITY_NAMES)).toMatchObject({ code: "unknown_tool_type" });
});

it.each(["store", "conversation", "background", "deferred", "previous_response_id"])(
  "messages: %s, which requests that a provider stores something, is refused where the route forwards it",
  (param) => {
    const answer = answerTo(
      MESSAGES,
      { ...messages(user), [param]: true },
      CAPABILITY_NAMES,
      "forward",
    );
    expect(answer).toMatchObject({ code: "unsupported_stateful_feature", param });
  },
);

it("moderations: a file that a provider stores is refused in a part of the input", () => {
  const image = {
    type: "image_url",
    image_url: { url: "https://example.com/a.png", file_id: "a" },
  };
  expect(
    answerTo("/v1/moderations", { model: "r", input: [image] }, CAPABILITY_NAMES, "forward"),
  ).toMatchObject({
    code: "unsupported_stateful_feature",
    param: "input[0].image_url.file_id",
  });
});

it("responses: the look of an image's background is no request to store an answer", () => {
  expect(
    passes(RESPONSES, tools({ type: "image_generation", background: "transparent" }), [
      "image_output",
    ]),
  ).toBe(true);
});

it.each(["only", "except"])(
  "messages: sources of a web fetch that name tools need web_search (%s)",
  (type) => {
    const client_tool_results = { type, tools: [{ type: "tool_reference", name: "a" }] };
    const fetch = {
      type: "web_fetch_20260318",
      name: "web_fetch",
      url_sources: { client_tool_results },
    };
    expect(passes(MESSAGES, { ...messages(user), tools: [fetch] }, ["web_search"])).toBe(false);
    expect(passes(MESSAGES, { ...messages(user), tools: [fetch] }, ["tools", "web_search"])).toBe(
      true,
    );
  },
);

it("responses: tools that an MCP server listed in an earlier answer have no type", () => {
  const listed = {
    type: "mcp_list_tools",
    id: "a",
    server_label: "a",
    tools: [{ name: "f", input_schema: {} }],
  };
  expect(passes(RESPONSES, input(listed, user), ["mcp"])).toBe(true);
});

it("messages: thinking that a system message of the list switches on needs reasoning", () => {
  const body = messages(user, { role: "system", content: "b", thinking: { type: "adaptive" } });
  expect(passes(MESSAGES, body, ["tools"])).toBe(false);
  expect(needsOf(MESSAGES, body)).toContain("reasoning");
});

it("chat: the sound of an earlier answer, which the provider keeps, is refused with everything approved", () => {
  const body = messages(user, { role: "assistant", audio: { id: "audio_a" } }, user);
  expect(answerTo(CHAT, body, CAPABILITY_NAMES)).toMatchObject({
    code: "unsupported_stateful_feature",
    param: "messages[1].audio.id",
  });
});

it("chat: a hosted search of OpenRouter needs web_search; its advisor is another model", () => {
  const search = { ...messages(user), tools: [{ type: "openrouter:web_search" }] };
  expect(passes(CHAT, search, ["tools"])).toBe(false);
  expect(passes(CHAT, search, ["web_search"])).toBe(true);
  const advisor = {
    ...messages(user),
    tools: [{ type: "openrouter:advisor", parameters: { model: "other" } }],
  };
  expect(answerTo(CHAT, advisor, CAPABILITY_NAMES)).toMatchObject({
    code: "unsupported_routing_field",
  });
});

it("responses: an effort of a tool's own model needs reasoning", () => {
  const body = tools({ type: "image_generation", svg: { reasoning: { effort: "high" } } });
  expect(passes(RESPONSES, body, ["image_output"])).toBe(false);
  expect(needsOf(RESPONSES, body)).toEqual(["image_output", "reasoning"]);
});

describe("stored state is refused with everything approved", () => {
  const image = { type: "input_image", file_id: "a" };
  it.each<[string, JsonObject]>([
    ["tools[0].container", tools({ type: "code_interpreter", container: "cntr_a" })],
    [
      "tools[0].container.file_ids",
      tools({ type: "code_interpreter", container: { type: "auto", file_ids: ["a"] } }),
    ],
    [
      "tools[0].environment.container_id",
      tools({ type: "shell", environment: { type: "container_reference", container_id: "a" } }),
    ],
    [
      "tools[0].environment.file_ids",
      tools({ type: "shell", environment: { type: "container_auto", file_ids: ["a"] } }),
    ],
    [
      "tools[0].environment.skills[0].skill_id",
      tools({
        type: "shell",
        environment: { type: "local", skills: [{ type: "skill_reference", skill_id: "a" }] },
      }),
    ],
    [
      "prompt_cache_options.comparison_response_id",
      { ...tools(), prompt_cache_options: { comparison_response_id: "a" } },
    ],
    [
      "tools[0].container.id",
      tools({ type: "code_interpreter", container: { type: "auto", id: "a" } }),
    ],
    ["tools[0].vector_store_ids", tools({ type: "file_search", vector_store_ids: ["a"] })],
    [
      "tools[0].input_image_mask.file_id",
      tools({ type: "image_generation", input_image_mask: { file_id: "a" } }),
    ],
    [
      "input[0].output[0].file_id",
      input({ type: "custom_tool_call_output", call_id: "a", output: [image] }),
    ],
    [
      "input[0].output.file_id",
      input({
        type: "computer_call_output",
        call_id: "a",
        output: { type: "computer_screenshot", file_id: "a" },
      }),
    ],
    [
      "input[0].tools[0].container",
      input({
        type: "tool_search_output",
        tools: [{ type: "code_interpreter", container: "cntr_a" }],
      }),
    ],
  ])("%s", (param, body) => {
    expect(answerTo(RESPONSES, body, CAPABILITY_NAMES)).toMatchObject({
      code: "unsupported_stateful_feature",
      param,
    });
    expect(answerTo(RESPONSES, body, CAPABILITY_NAMES, "forward")).toMatchObject({ param });
  });
});

it.each<[string, string, JsonObject]>([
  [RESPONSES, "tools[0].model", tools({ type: "image_generation", model: "other" })],
  [RESPONSES, "tools[0].svg.model", tools({ type: "image_generation", svg: { model: "other" } })],
  [RESPONSES, "moderation.model", { model: "r", input: "a", moderation: { model: "other" } }],
  [
    CHAT,
    "moderation.model",
    { model: "r", messages: [{ role: "user", content: "a" }], moderation: { model: "other" } },
  ],
  [
    MESSAGES,
    "messages[0].content[0].tool.definition.type",
    said("system", addition({ type: "advisor_20260301", name: "advisor", model: "other" })),
  ],
])("%s: another model in %s is refused with everything approved", (surface, param, body) => {
  expect(answerTo(surface, body, CAPABILITY_NAMES)).toMatchObject({
    code: "unsupported_routing_field",
    param,
  });
});

it.each(["omni-moderation-latest", "omni-moderation-2024-09-26"])(
  "the provider's own moderation by %s passes",
  (model) => {
    expect(passes(RESPONSES, { model: "r", input: "a", moderation: { model } }, [])).toBe(true);
  },
);

describe("an object of a type that the protocol does not have", () => {
  it.each<[string, string, string, JsonObject]>([
    [RESPONSES, "unknown_item_type", "input[0].type", input({ type: "hologram" })],
    [
      RESPONSES,
      "unknown_content_part",
      "input[0].content[0].type",
      input({ role: "user", content: [{ type: "hologram" }] }),
    ],
    [
      RESPONSES,
      "unknown_item_type",
      "input[0].action.type",
      input({ type: "computer_call", call_id: "a", action: { type: "hologram" } }),
    ],
    [
      MESSAGES,
      "unknown_content_part",
      "messages[0].content[0].type",
      answered({ type: "hologram" }),
    ],
    [
      MESSAGES,
      "unknown_content_part",
      "messages[0].content[0].type",
      said("user", { type: "hologram" }),
    ],
    [
      MESSAGES,
      "unknown_content_part",
      "messages[0].content[0].content[0].type",
      answered({ type: "mcp_tool_result", tool_use_id: "a", content: [{ type: "hologram" }] }),
    ],
    [
      CHAT,
      "unknown_content_part",
      "messages[0].content[0].type",
      said("user", { type: "hologram" }),
    ],
  ])(
    "%s: %s at %s is refused, and relayed where the route forwards",
    (surface, code, param, body) => {
      expect(answerTo(surface, body, CAPABILITY_NAMES)).toMatchObject({ status: 400, code, param });
      expect(answerTo(surface, body, CAPABILITY_NAMES, "strip")).toMatchObject({ code, param });
      expect(passes(surface, body, CAPABILITY_NAMES, "forward")).toBe(true);
    },
  );

  it("is refused as a tool on every route, because its approval is not known", () => {
    const body = input({ type: "tool_search_output", tools: [{ type: "hologram" }] });
    expect(answerTo(RESPONSES, body, CAPABILITY_NAMES, "forward")).toMatchObject({
      code: "unknown_tool_type",
      param: "input[0].tools[0].type",
    });
  });

  it("is the caller's own in a schema, in arguments or in a call's input", () => {
    const own = {
      type: "hologram",
      file_id: "a",
      model: "b",
      effort: "c",
      tools: [{ type: "mcp" }],
    };
    const call = { type: "tool_use", id: "a", name: "f", input: own };
    const tool = {
      name: "f",
      input_schema: { type: "object", properties: { mcp: own } },
      defer_loading: true,
    };
    expect(passes(MESSAGES, { ...answered(call), tools: [tool] }, ["tools"])).toBe(true);
    const format = { type: "json_schema", json_schema: own };
    expect(
      passes(CHAT, { ...messages({ role: "user", content: "a" }), response_format: format }, [
        "json_schema",
      ]),
    ).toBe(true);
    const search = { type: "tool_search_call", arguments: own };
    expect(passes(RESPONSES, input(search, { role: "user", content: "a" }), ["tools"])).toBe(true);
  });
});
