import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import { tagSignature } from "../../../src/canon/generate/signature.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { content, parse, refusal, user } from "./bodies.ts";

describe("the parser of a request", () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ["plain text", {}, []],
    [
      "nulls and empty lists",
      { tools: [], response_format: null, logprobs: false, n: 1, functions: null },
      [],
    ],
    ["tools", { tools: [{ type: "function", function: { name: "f" } }] }, ["tools"]],
    [
      "tool results in the history",
      { messages: [user, { role: "tool", tool_call_id: "1", content: "x" }] },
      ["tools"],
    ],
    [
      "calls in the history",
      { messages: [user, { role: "assistant", tool_calls: [{ id: "1" }] }] },
      ["tools"],
    ],
    ["custom tools", { tools: [{ type: "custom", custom: { name: "f" } }] }, ["custom_tools"]],
    ["hosted search as a tool", { tools: [{ type: "web_search" }] }, ["web_search"]],
    ["hosted search as an option", { web_search_options: {} }, ["web_search"]],
    ["an MCP server", { tools: [{ type: "mcp", server_url: "https://x.example" }] }, ["mcp"]],
    [
      "json_schema",
      { response_format: { type: "json_schema", json_schema: { name: "s" } } },
      ["json_schema"],
    ],
    ["json_object", { response_format: { type: "json_object" } }, ["json_object"]],
    ["text format", { response_format: { type: "text" } }, []],
    ["images", content({ type: "image_url", image_url: { url: "data:," } }), ["image_input"]],
    [
      "audio",
      content({ type: "input_audio", input_audio: { data: "", format: "wav" } }),
      ["audio_input"],
    ],
    ["files", content({ type: "file", file: { file_data: "data:," } }), ["file_input"]],
    ["video", content({ type: "video_url" }), ["video_input"]],
    ["audio out", { modalities: ["text", "audio"], audio: { voice: "x" } }, ["audio_output"]],
    ["reasoning", { reasoning_effort: "low" }, ["reasoning"]],
    ["no reasoning", { reasoning_effort: "none" }, []],
    ["another vendor's reasoning", { thinking: { type: "enabled" } }, ["reasoning"]],
    ["another vendor's search", { plugins: [{ id: "web" }] }, ["web_search"]],
    ["log probabilities", { logprobs: true }, ["logprobs"]],
    ["choices", { n: 2 }, ["multiple_choices"]],
    ["a prediction", { prediction: { type: "content" } }, ["predicted_output"]],
    ["legacy functions", { functions: [{ name: "f" }] }, ["tools"]],
  ])("finds in %s (%j) the needs %j", (_, more, needs) => {
    expect(parse(more).shape.needs).toEqual(needs);
  });

  it.each<[JsonObject, string, string]>([
    [{ store: true }, "unsupported_stateful_feature", "store"],
    [
      content({ type: "file", file: { file_id: "f-1" } }),
      "unsupported_stateful_feature",
      "messages[0].content[0].file.file_id",
    ],
    [{ previous_response_id: "resp_1" }, "unsupported_stateful_feature", "previous_response_id"],
    [{ conversation: { id: "conv_1" } }, "unsupported_stateful_feature", "conversation"],
    [
      { prompt_cache_options: { comparison_response_id: "resp_1" } },
      "unsupported_stateful_feature",
      "prompt_cache_options.comparison_response_id",
    ],
    [{ background: true }, "unsupported_stateful_feature", "background"],
    [{ conversation: { id: null } }, "unsupported_stateful_feature", "conversation"],
    [
      content({ type: "file", file_id: "f-1" }),
      "unsupported_stateful_feature",
      "messages[0].content[0].file_id",
    ],
    [
      content({ type: "image_url", image_url: { url: "", file_id: "f-1" } }),
      "unsupported_stateful_feature",
      "messages[0].content[0].image_url.file_id",
    ],
    [{ stream: true, stream_options: JSON.rawJSON("1e999") }, "invalid_type", "stream_options"],
    [content({ type: "hologram" }), "unknown_content_part", "messages[0].content[0].type"],
    [{ tools: [{ type: "teleport" }] }, "unknown_tool_type", "tools[0].type"],
    [
      { tools: [{ function: { name: "f" } }, { type: "teleport" }] },
      "unknown_tool_type",
      "tools[1].type",
    ],
    [
      { tools: [{ function: { name: "f" } }, { type: "openrouter:advisor" }] },
      "unsupported_routing_field",
      "tools[1].type",
    ],
    [{ tools: [{}] }, "unknown_tool_type", "tools[0].type"],
    [{ stream_options: { include_usage: true } }, "invalid_stream_options", "stream_options"],
  ])("refuses %j", (more, code, param) => {
    expect(refusal(more)).toMatchObject({ status: 400, code, param });
  });

  it("a function without a type is one beside a member beyond canon", () => {
    const tools = [{ function: { name: "f" } }];
    expect(parse({ tools, tool_choice: "any" }).paths.get("tools")).toBe("tools[0]");
  });

  it("admits members that request no stored state", () => {
    const nothing = {
      store: false,
      background: false,
      previous_response_id: null,
      conversation: null,
    };
    expect(
      parse({ ...nothing, ...content({ type: "file", file_id: null, file: { file_data: "x" } }) })
        .model,
    ).toBe("r");
  });

  it("reads context and output sizes as buckets", () => {
    expect(parse({ max_completion_tokens: 5_000 }).shape).toMatchObject({
      context: "to_1k",
      maxOutput: "to_16k",
    });
    expect(parse().shape.maxOutput).toBe("unspecified");
  });
});

describe("unknown fields", () => {
  it.each([
    [{ temprature: 1 }, "Unknown field temprature; did you mean temperature?", "temprature"],
    [{ zzzzzz: 1 }, "Unknown field zzzzzz", "zzzzzz"],
    [
      { "my secret sentence": 1 },
      "The request has a member that chat completions requests do not have",
      null,
    ],
  ])("%j are refused with: %s", (more, message, param) => {
    expect(chatSurface.refuseUnknown({ model: "r", ...more }, "reject")).toMatchObject({
      message,
      param,
      code: "unknown_field",
    });
    expect(chatSurface.refuseUnknown({ model: "r", ...more }, "forward")).toBeNull();
  });
});

const assistant = (more: JsonObject): JsonObject => ({
  messages: [user, { role: "assistant", ...more }, user],
});
const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
const tool = { type: "function", function: { name: "f" } };
const image = (url: string, detail: string | null = null) =>
  content({ type: "image_url", image_url: { url, detail } });
const file = (mediaType: string) =>
  content({ type: "file", file: { file_data: `data:${mediaType};base64,QQ==`, filename: "x" } });
const other = { type: "function", function: { name: "g" } };
const tools = { tools: [tool] };
const schema = { response_format: { type: "json_schema", json_schema: { name: "s", schema: {} } } };

describe("features that a request requires of a wire protocol", () => {
  it.each<[string, JsonObject, Readonly<Record<string, string>>]>([
    ["one user's text", {}, {}],
    ["one text part", content({ type: "text", text: "x" }), {}],
    [
      "the protocol's defaults",
      { n: 1, frequency_penalty: 0, presence_penalty: 0, logit_bias: {}, stop: [] },
      {},
    ],
    [
      "defaults as values",
      { modalities: ["text"], logprobs: false, store: false, parallel_tool_calls: true },
      {},
    ],
    ["a temperature", { temperature: 1 }, { sampling: "temperature" }],
    [
      "a hot temperature",
      { temperature: 1.5 },
      { sampling: "temperature", temperature_above_1: "temperature" },
    ],
    ["top_p", { top_p: 0 }, { sampling: "top_p" }],
    ["a penalty", { presence_penalty: 0.1 }, { penalties: "presence_penalty" }],
    ["a bias", { logit_bias: { "1": 1 } }, { logit_bias: "logit_bias" }],
    ["a seed", { seed: 0 }, { seed: "seed" }],
    ["a stop", { stop: "x" }, { stop_sequences: "stop" }],
    [
      "five stops",
      { stop: ["a", "b", "c", "d", "e"] },
      { stop_sequences: "stop", native_chat: "stop" },
    ],
    ["log probabilities", { logprobs: true, top_logprobs: 2 }, { token_logprobs: "logprobs" }],
    ["alternatives without them", { top_logprobs: 2 }, { native_chat: "top_logprobs" }],
    ["verbosity", { verbosity: "low" }, { verbosity: "verbosity" }],
    ["an effort", { reasoning_effort: "xhigh" }, { effort_xhigh: "reasoning_effort" }],
    ["no effort", { reasoning_effort: "none" }, { effort_none: "reasoning_effort" }],
    [
      "another vendor's effort",
      { reasoning_effort: "default" },
      { native_chat: "reasoning_effort" },
    ],
    ["a limit of nothing", { max_tokens: 0 }, { native_chat: "max_tokens" }],
    ["two limits", { max_tokens: 1, max_completion_tokens: 1 }, { native_chat: "max_tokens" }],
    ["choices", { n: 2 }, { native_chat: "n" }],
    ["audio out", { modalities: ["text", "audio"] }, { native_chat: "modalities" }],
    ["a prediction", { prediction: { type: "content" } }, { native_chat: "prediction" }],
    ["hosted search", { web_search_options: {} }, { native_chat: "web_search_options" }],
    ["legacy functions", { functions: [{ name: "f" }] }, { native_chat: "functions" }],
    [
      "an unknown stream option",
      { stream: true, stream_options: { x: 1 } },
      { native_chat: "stream_options.x" },
    ],
    ["several turns", { messages: [user, user] }, { conversation: "messages[1]" }],
    [
      "system text",
      { messages: [{ role: "system", content: "s" }, user] },
      { conversation: "messages[1]" },
    ],
    [
      "system text alone",
      { messages: [{ role: "system", content: "s" }] },
      { conversation: "messages[0]", native_chat: "messages[0]" },
    ],
    [
      "system text later",
      { messages: [user, { role: "developer", content: "s" }, user] },
      { conversation: "messages[1]", mid_conversation_system: "messages[1]" },
    ],
    [
      "an answer begun by the caller",
      { messages: [user, { role: "assistant", content: "I" }] },
      { conversation: "messages[1]", native_chat: "messages[1]" },
    ],
    ["a picture by value", image("data:image/png;base64,QQ=="), { conversation: "messages[0]" }],
    [
      "a picture by name",
      image("https://x.example/a.png", "auto"),
      { conversation: "messages[0]", image_url: "messages[0].content[0].image_url.url" },
    ],
    [
      "a picture's detail",
      image("data:image/png;base64,QQ==", "low"),
      { conversation: "messages[0]", image_detail: "messages[0].content[0].image_url.detail" },
    ],
    [
      "a picture by another scheme",
      image("gs://bucket/a.png"),
      { conversation: "messages[0]", native_chat: "messages[0].content[0].image_url.url" },
    ],
    ["a PDF", file("application/pdf"), { conversation: "messages[0]" }],
    [
      "another file",
      file("text/csv"),
      { conversation: "messages[0]", file_of_other_type: "messages[0].content[0].file.file_data" },
    ],
    [
      "another vendor's member of a part",
      content({ type: "text", text: "x", cache_control: { type: "ephemeral", scope: "s" } }),
      { native_chat: "messages[0].content[0].cache_control" },
    ],
    [
      "a cache mark",
      content({ type: "text", text: "x", cache_control: { type: "ephemeral" } }),
      {},
    ],
    [
      "another vendor's part",
      content({ type: "video_url" }),
      { conversation: "messages[0]", native_chat: "messages[0].content[0]" },
    ],
    [
      "a picture as a tool's result",
      {
        messages: [
          user,
          { role: "tool", tool_call_id: "c", content: [{ type: "image_url", image_url: "x" }] },
        ],
      },
      { conversation: "messages[1]", native_chat: "messages[1].content[0]" },
    ],
    [
      "calls in the history",
      assistant({ tool_calls: [{ ...call, index: 0 }] }),
      { conversation: "messages[1]" },
    ],
    [
      "custom calls in the history",
      assistant({ tool_calls: [{ id: "c", type: "custom", custom: { name: "f", input: "" } }] }),
      { conversation: "messages[1]", native_chat: "messages[1].tool_calls[0]" },
    ],
    [
      "another vendor's member of a message",
      assistant({ content: "x", prefix: true }),
      { conversation: "messages[1]", native_chat: "messages[1].prefix" },
    ],
    [
      "a legacy function's result",
      { messages: [user, { role: "function", name: "f", content: "1" }] },
      { conversation: "messages[1]", native_chat: "messages[1]" },
    ],
    ["tools", tools, { conversation: "tools" }],
    [
      "a strict tool",
      { tools: [{ type: "function", function: { name: "f", strict: true } }] },
      { conversation: "tools", tool_strict: "tools[0].function.strict" },
    ],
    [
      "a custom tool",
      { tools: [{ type: "custom" }] },
      { conversation: "tools", native_chat: "tools[0].type" },
    ],
    [
      "another vendor's member of a tool",
      { tools: [{ ...tool, other: 1 }] },
      { conversation: "tools", native_chat: "tools[0].other" },
    ],
    [
      "one call at a time",
      { tools: [tool, other], parallel_tool_calls: false },
      { conversation: "tools", parallel_tool_calls_off: "parallel_tool_calls" },
    ],
    [
      "one call of the only tool",
      { ...tools, parallel_tool_calls: false },
      { conversation: "tools", one_tool_called_once: "parallel_tool_calls" },
    ],
    ["a free choice", { ...tools, tool_choice: "auto" }, { conversation: "tools" }],
    [
      "some tool",
      { ...tools, tool_choice: "required" },
      { conversation: "tools", tool_choice_required: "tool_choice" },
    ],
    ["some tool of none", { tool_choice: "required" }, { native_chat: "tool_choice" }],
    [
      "one tool of several",
      { tools: [tool, other], tool_choice: { type: "function", function: { name: "f" } } },
      { conversation: "tools", tool_choice_named: "tool_choice" },
    ],
    [
      "the only tool, which is some tool",
      { ...tools, tool_choice: { type: "function", function: { name: "f" } } },
      { conversation: "tools", tool_choice_required: "tool_choice" },
    ],
    [
      "a tool that is not there",
      { ...tools, tool_choice: { type: "function", function: { name: "g" } } },
      { conversation: "tools", native_chat: "tool_choice" },
    ],
    [
      "a custom tool by name",
      { ...tools, tool_choice: { type: "custom", custom: { name: "f" } } },
      { conversation: "tools", native_chat: "tool_choice" },
    ],
    [
      "a selection of tools",
      {
        ...tools,
        tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [tool] } },
      },
      { conversation: "tools", tool_choice_allowed: "tool_choice" },
    ],
    [
      "a forced tool with reasoning",
      { ...tools, tool_choice: "required", reasoning_effort: "low" },
      {
        conversation: "tools",
        effort_low: "reasoning_effort",
        forced_tool_with_reasoning: "tool_choice",
        tool_choice_required: "tool_choice",
      },
    ],
    ["a schema", schema, {}],
    [
      "a schema without a schema",
      { response_format: { type: "json_schema" } },
      { native_chat: "response_format" },
    ],
    [
      "a schema with reasoning",
      { ...schema, reasoning_effort: "low" },
      { constrained_schema: "response_format", effort_low: "reasoning_effort" },
    ],
    [
      "a schema with a forced tool",
      { ...schema, ...tools, tool_choice: "required" },
      {
        constrained_schema: "response_format",
        conversation: "tools",
        schema_with_tools: "response_format",
        tool_choice_required: "tool_choice",
      },
    ],
    [
      "a schema without reasoning",
      { ...schema, reasoning_effort: "none" },
      { effort_none: "reasoning_effort" },
    ],
  ])("%s", (_, more, features) => {
    const { shape, paths } = parse(more);
    expect(
      Object.fromEntries(shape.features.map((feature) => [feature, paths.get(feature)])),
    ).toEqual(features);
  });

  it("are reported with the member that first requires each", () => {
    const { paths } = parse({
      ...tools,
      logprobs: true,
      ...content({ type: "file", file: { file_data: "x" } }),
    });
    expect([paths.get("tools"), paths.get("logprobs"), paths.get("file_input")]).toEqual([
      "tools[0]",
      "logprobs",
      "messages[0].content[0]",
    ]);
  });
});

describe("signed reasoning in the history", () => {
  const signed = (...details: readonly JsonObject[]) =>
    parse(assistant({ content: "a", reasoning_details: details }));

  it("names the families that our tags name, each once", () => {
    const request = signed(
      { type: "reasoning.text", text: "t", signature: tagSignature("b", "c2ln") },
      { type: "reasoning.encrypted", data: tagSignature("a", "c2ln"), index: 1 },
      { type: "reasoning.text", text: "t", signature: tagSignature("b", "c2ln") },
      { type: "reasoning.summary", summary: "s" },
    );
    expect(request.shape.signatureFamilies).toEqual(["a", "b"]);
    expect(request.shape.features).not.toContain("native_chat");
  });

  it.each<[JsonObject]>([
    [{ type: "reasoning.text", text: "t", signature: "c2ln" }],
    [{ type: "reasoning.encrypted", data: "c2ln" }],
    [{ type: "reasoning.encrypted", data: "c2ln", format: "vendor-v1" }],
    [{ type: "reasoning.other", signature: "c2ln" }],
  ])("admits %j at endpoints of its protocol with models without a family", (detail) => {
    const { shape, paths } = signed(detail);
    expect(shape.signatureFamilies).toEqual(["none"]);
    expect(paths.get("native_chat")).toBe("messages[1].reasoning_details");
  });

  it("names the family of a signature beside a vendor's members", () => {
    const data = tagSignature("a", "c2ln");
    const { shape, paths } = signed({ type: "reasoning.encrypted", data, format: "vendor-v1" });
    expect(shape.signatureFamilies).toEqual(["a"]);
    expect(paths.get("native_chat")).toBe("messages[1].reasoning_details[0].format");
  });

  it.each(["skip_thought_signature_validator", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="])(
    "reads %s in a call as no signature",
    (signature) => {
      const tool_calls = [{ ...call, extra_content: { vendor: { thought_signature: signature } } }];
      expect(parse(assistant({ content: null, tool_calls })).shape.signatureFamilies).toEqual([]);
    },
  );

  it.each<[JsonObject]>([
    [{ type: "reasoning.text", text: "t", signature: "" }],
    [{ type: "reasoning.encrypted", data: "" }],
    [{ type: "reasoning.encrypted" }],
    [{ type: "reasoning.text", text: "t", format: "vendor-v1" }],
    [{ type: "reasoning.text", text: 5 }],
    [{ type: "reasoning.other" }],
  ])("admits %j only at the provider that signed it", (detail) => {
    const { shape, paths } = signed(detail);
    expect(shape.signatureFamilies).toEqual([]);
    expect(paths.get("native_chat")).toMatch(/^messages\[1\]\.reasoning_details\[0\](\.format)?$/);
  });
});
