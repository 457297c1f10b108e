import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/canon/json.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import { RESPONSES_FIELDS } from "../../../src/dialects/openai-responses/request-facts.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import { parse, refusal } from "./support.ts";

const fn = { type: "function", name: "f" };
const user = { role: "user", content: "hi" };
const schema = { type: "json_schema", name: "n", schema: { type: "object" } };
const part = (more: JsonObject): JsonObject => ({ input: [{ role: "user", content: [more] }] });
const items = (...input: readonly JsonValue[]): JsonObject => ({ input });
const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
const output = (value: JsonValue): JsonObject => ({
  type: "function_call_output",
  call_id: "c",
  output: value,
});

describe("the parser of a request", () => {
  it.each<[string, JsonObject, readonly string[], readonly string[]]>([
    ["a prompt", {}, [], []],
    [
      "one message of one text",
      items({ role: "user", content: [{ type: "input_text", text: "x" }] }),
      [],
      [],
    ],
    [
      "nulls, defaults and empty lists",
      {
        tools: [],
        text: {},
        include: [],
        reasoning: null,
        truncation: "disabled",
        background: false,
        store: false,
        previous_response_id: null,
        parallel_tool_calls: true,
        top_logprobs: 0,
        frequency_penalty: 0,
        tool_choice: "auto",
        context_management: [],
        max_tool_calls: null,
        stream_options: { include_obfuscation: false },
      },
      [],
      [],
    ],
    ["instructions", { instructions: "x" }, [], ["conversation"]],
    ["two turns", items(user, { role: "assistant", content: "a" }, user), [], ["conversation"]],
    [
      "an answer that stands last",
      items(user, { role: "assistant", content: "a" }),
      [],
      ["conversation", "native_responses"],
    ],
    [
      "system text later on",
      items(user, { role: "developer", content: "a" }, user),
      [],
      ["conversation", "mid_conversation_system"],
    ],
    ["functions", { tools: [fn] }, ["tools"], ["conversation"]],
    [
      "strict functions",
      { tools: [{ ...fn, strict: true }] },
      ["tools"],
      ["conversation", "tool_strict"],
    ],
    [
      "deferred functions",
      { tools: [{ ...fn, defer_loading: true }] },
      ["tools"],
      ["conversation", "native_responses"],
    ],
    [
      "functions that are not deferred",
      { tools: [{ ...fn, defer_loading: false }] },
      ["tools"],
      ["conversation"],
    ],
    [
      "a namespace with a custom tool",
      { tools: [{ type: "namespace", name: "n", tools: [fn, { type: "custom", name: "c" }] }] },
      ["custom_tools", "tools"],
      ["conversation", "native_responses"],
    ],
    ...(
      [
        ["custom", "custom_tools"],
        ["tool_search", "tools"],
        ["web_search", "web_search"],
        ["web_search_preview_2025_03_11", "web_search"],
        ["file_search", "file_search"],
        ["code_interpreter", "code_execution"],
        ["shell", "code_execution"],
        ["local_shell", "code_execution"],
        ["apply_patch", "code_execution"],
        ["programmatic_tool_calling", "code_execution"],
        ["computer", "computer_use"],
        ["computer_use_preview", "computer_use"],
        ["mcp", "mcp"],
        ["image_generation", "image_output"],
      ] as const
    ).map(([type, need]): [string, JsonObject, readonly string[], readonly string[]] => [
      `the tool ${type}`,
      { tools: [{ type }] },
      [need],
      ["conversation", "native_responses"],
    ]),
    ...(
      [
        ["web_search_call", ["web_search"]],
        ["code_interpreter_call", ["code_execution"]],
        ["mcp_call", ["mcp"]],
        ["computer_call_output", ["computer_use"]],
        ["custom_tool_call_output", ["custom_tools"]],
        ["compaction", []],
      ] as const
    ).map(([type, needs]): [string, JsonObject, readonly string[], readonly string[]] => [
      `the item ${type}`,
      items({ type, id: "x" }, user),
      needs,
      ["conversation", "native_responses"],
    ]),
    [
      "additional tools",
      items({ type: "additional_tools", role: "developer", tools: [{ type: "mcp" }] }, user),
      ["mcp", "tools"],
      ["conversation", "native_responses"],
    ],
    ["a call and its result", items(user, call, output("x")), ["tools"], ["conversation"]],
    [
      "a result with an image",
      items(user, call, output([{ type: "input_image", image_url: "data:image/png;base64,AA" }])),
      ["image_input", "tools"],
      ["conversation", "tool_result_files"],
    ],
    [
      "a call in a namespace",
      items(user, { ...call, namespace: "n" }, output("x")),
      ["tools"],
      ["conversation", "native_responses"],
    ],
    [
      "a direct call",
      items(user, { ...call, caller: { type: "direct" } }, output("x")),
      ["tools"],
      ["conversation"],
    ],
    [
      "a choice that demands",
      { tools: [fn], tool_choice: "required" },
      ["tools"],
      ["conversation", "tool_choice_required"],
    ],
    [
      "a choice that names",
      { tools: [fn, { ...fn, name: "other" }], tool_choice: fn },
      ["tools"],
      ["conversation", "tool_choice_named"],
    ],
    [
      "a choice of the only tool",
      { tools: [fn], tool_choice: fn },
      ["tools"],
      ["conversation", "tool_choice_required"],
    ],
    [
      "one call of the only tool",
      { tools: [fn], parallel_tool_calls: false },
      ["tools"],
      ["conversation", "one_tool_called_once"],
    ],
    [
      "a choice that allows",
      { tools: [fn], tool_choice: { type: "allowed_tools", mode: "auto", tools: [fn] } },
      ["tools"],
      ["conversation", "tool_choice_allowed"],
    ],
    [
      "a choice that allows unknown tools",
      {
        tools: [fn],
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", name: "g" }],
        },
      },
      ["tools"],
      ["conversation", "native_responses"],
    ],
    [
      "a choice of a hosted tool",
      { tool_choice: { type: "web_search_preview" } },
      ["web_search"],
      ["native_responses"],
    ],
    ["calls one at a time", { parallel_tool_calls: false }, [], ["parallel_tool_calls_off"]],
    [
      "forced tool with reasoning",
      { tools: [fn], tool_choice: "required", reasoning: { effort: "high" } },
      ["reasoning", "tools"],
      ["conversation", "effort_high", "forced_tool_with_reasoning", "tool_choice_required"],
    ],
    ["effort", { reasoning: { effort: "xhigh" } }, ["reasoning"], ["effort_xhigh"]],
    ["no effort", { reasoning: { effort: "none", summary: "auto" } }, [], ["effort_none"]],
    ["a summary", { reasoning: { summary: "auto" } }, ["reasoning"], []],
    [
      "a summary in the older member",
      { reasoning: { generate_summary: "concise" } },
      ["reasoning"],
      [],
    ],
    [
      "reasoning of all turns",
      { reasoning: { effort: "low", context: "all_turns" } },
      ["reasoning"],
      ["effort_low", "native_responses"],
    ],
    [
      "reasoning in the default ways",
      { reasoning: { effort: "low", context: "auto", mode: "standard" } },
      ["reasoning"],
      ["effort_low"],
    ],
    ["sampling", { temperature: 1, top_p: 0.5 }, [], ["sampling"]],
    ["a high temperature", { temperature: 1.5 }, [], ["sampling", "temperature_above_1"]],
    ["penalties", { presence_penalty: 0.5 }, [], ["penalties"]],
    [
      "log probabilities by include",
      { include: ["message.output_text.logprobs"] },
      ["logprobs"],
      ["token_logprobs"],
    ],
    ["log probabilities by number", { top_logprobs: 2 }, ["logprobs"], ["token_logprobs"]],
    ["sealed reasoning", { include: ["reasoning.encrypted_content"] }, [], []],
    [
      "other things included",
      { include: ["web_search_call.action.sources"] },
      [],
      ["native_responses"],
    ],
    ["verbosity", { text: { verbosity: "low" } }, [], ["verbosity"]],
    ["the default verbosity", { text: { verbosity: "medium" } }, [], []],
    ["a schema", { text: { format: schema } }, ["json_schema"], []],
    [
      "a schema by its alias",
      { response_format: { type: "json_schema", json_schema: { name: "n", schema: {} } } },
      ["json_schema"],
      [],
    ],
    ["a schema by its flat alias", { response_format: schema }, ["json_schema"], []],
    [
      "a schema with reasoning",
      { text: { format: schema }, reasoning: { effort: "low" } },
      ["json_schema", "reasoning"],
      ["constrained_schema", "effort_low"],
    ],
    ["JSON", { text: { format: { type: "json_object" } } }, ["json_object"], []],
    [
      "plain text",
      { text: { format: { type: "text" } }, response_format: { type: "text" } },
      [],
      [],
    ],
    ["truncation", { truncation: "auto" }, [], ["native_responses"]],
    ["few tool calls", { max_tool_calls: 1 }, [], ["native_responses"]],
    [
      "an image",
      part({ type: "input_image", image_url: "data:image/png;base64,AA" }),
      ["image_input"],
      ["conversation"],
    ],
    [
      "an image elsewhere",
      part({ type: "input_image", image_url: "https://x.example/i" }),
      ["image_input"],
      ["conversation", "image_url"],
    ],
    [
      "an image in detail",
      part({ type: "input_image", image_url: "data:image/png;base64,AA", detail: "high" }),
      ["image_input"],
      ["conversation", "image_detail"],
    ],
    [
      "an image as it was",
      part({ type: "input_image", image_url: "data:image/png;base64,AA", detail: "original" }),
      ["image_input"],
      ["conversation", "native_responses"],
    ],
    [
      "a PDF",
      part({ type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" }),
      ["file_input"],
      ["conversation"],
    ],
    [
      "another file",
      part({ type: "input_file", file_data: "data:text/csv;base64,AA" }),
      ["file_input"],
      ["conversation", "file_of_other_type"],
    ],
    [
      "a file that its URL holds",
      part({ type: "input_file", file_url: "data:application/pdf;base64,AA" }),
      ["file_input"],
      ["conversation"],
    ],
    [
      "a file elsewhere",
      part({ type: "input_file", file_url: "https://x.example/f" }),
      ["file_input"],
      ["conversation", "file_url"],
    ],
    [
      "the address of a file beside a member that is unknown",
      part({ type: "input_file", file_url: "https://x.example/f", unknown: 1 }),
      ["file_input"],
      ["conversation", "file_url", "native_responses"],
    ],
    [
      "audio",
      part({ type: "input_audio", input_audio: { data: "AA", format: "wav" } }),
      ["audio_input"],
      ["conversation"],
    ],
    [
      "an unknown member",
      part({ type: "input_text", text: "x", shade: 1 }),
      [],
      ["conversation", "native_responses"].slice(1),
    ],
    [
      "cache marks",
      part({ type: "input_text", text: "x", prompt_cache_breakpoint: { mode: "explicit" } }),
      [],
      [],
    ],
  ])("finds the needs and features of %s", (_, more, needs, features) => {
    const { shape } = parse(more);
    expect(shape.needs).toEqual(needs);
    expect(shape.features).toEqual(features.toSorted());
  });

  it.each<[JsonObject, string, string]>([
    [{ tools: [fn, { type: "web_search" }] }, "web_search", "tools[1].type"],
    [items(user, { type: "mcp_call" }), "mcp", "input[1].type"],
    [{ reasoning: { effort: "low" } }, "effort_low", "reasoning.effort"],
    [{ response_format: schema }, "json_schema", "response_format"],
    [{ text: { format: schema } }, "json_schema", "text.format"],
    [{ include: ["reasoning.encrypted_content", "x"] }, "native_responses", "include[1]"],
    [
      part({ type: "input_image", image_url: "https://x.example" }),
      "image_url",
      "input[0].content[0].image_url",
    ],
  ])("%j requires %s, named at the member %s", (more, requested, path) => {
    expect(Object.fromEntries(parse(more).paths)).toMatchObject({ [requested]: path });
  });

  it.each<[JsonObject, string, string]>([
    [{ store: true }, "unsupported_stateful_feature", "store"],
    [{ background: true }, "unsupported_stateful_feature", "background"],
    [{ previous_response_id: "resp_1" }, "unsupported_stateful_feature", "previous_response_id"],
    [{ conversation: "conv_1" }, "unsupported_stateful_feature", "conversation"],
    [{ prompt: { id: "p" } }, "unsupported_stateful_feature", "prompt"],
    [
      { context_management: [{ type: "compaction" }] },
      "unsupported_stateful_feature",
      "context_management",
    ],
    [
      { prompt_cache_options: { comparison_response_id: "resp_1" } },
      "unsupported_stateful_feature",
      "prompt_cache_options.comparison_response_id",
    ],
    [items({ type: "item_reference", id: "i" }), "unsupported_stateful_feature", "input[0]"],
    [items(user, { id: "i" }), "unsupported_stateful_feature", "input[1]"],
    [
      part({ type: "input_file", file_id: "f" }),
      "unsupported_stateful_feature",
      "input[0].content[0].file_id",
    ],
    [
      items(user, call, output([{ type: "input_image", file_id: "f" }])),
      "unsupported_stateful_feature",
      "input[2].output[0].file_id",
    ],
    [{ tools: [{ type: "teleport" }] }, "unknown_tool_type", "tools[0].type"],
    [{ tools: [{ type: "constructor" }] }, "unknown_tool_type", "tools[0].type"],
    [items({ type: "hologram" }), "unknown_item_type", "input[0].type"],
    [items({ type: "toString" }), "unknown_item_type", "input[0].type"],
    [part({ type: "hologram" }), "unknown_content_part", "input[0].content[0].type"],
    [items({ role: "tool", content: "x" }), "invalid_value", "input[0].role"],
    [items({ role: "user" }), "missing_field", "input[0].content"],
    [part({ type: "input_image" }), "missing_field", "input[0].content[0].image_url"],
    [
      items(user, { type: "function_call", call_id: "c", name: "f" }),
      "missing_field",
      "input[1].arguments",
    ],
    [
      { text: { format: schema }, response_format: { type: "json_object" } },
      "conflicting_fields",
      "response_format",
    ],
    [{ text: { format: { type: "json_schema", name: "n" } } }, "missing_field", "text.format"],
    [{ reasoning: JSON.rawJSON("1e999") }, "invalid_type", "reasoning"],
  ])("refuses %j", (more, code, param) => {
    expect(refusal(more)).toMatchObject({ status: 400, code, param });
  });

  it("accepts an alias with the same value", () => {
    const nested = {
      type: "json_schema",
      json_schema: { name: "n", schema: { type: "object" }, strict: null },
    };
    expect(parse({ text: { format: schema }, response_format: nested }).shape.needs).toEqual([
      "json_schema",
    ]);
  });

  it("names the family of the reasoning in the history", () => {
    const reasoning = (encrypted_content: string): JsonObject => ({
      type: "reasoning",
      summary: [],
      encrypted_content,
    });
    const { shape } = parse(
      items(user, reasoning("sbx1.claude.abc"), call, output("x"), reasoning("plain"), user),
    );
    expect(shape.signatureFamilies).toEqual(["claude", "openai"]);
    expect(
      parse(items(user, { type: "reasoning", summary: [] }, user)).shape.signatureFamilies,
    ).toEqual([]);
    expect(
      parse(items({ type: "compaction", encrypted_content: "x" }, user)).shape.signatureFamilies,
    ).toEqual(["openai"]);
  });

  it("accepts a coding agent's request", () => {
    const { shape } = parse({
      instructions: "You are an agent.",
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "rules" }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "go" }] },
      ],
      tools: [
        fn,
        { type: "custom", name: "patch" },
        { type: "web_search" },
        { type: "namespace", name: "n", tools: [fn] },
        { type: "tool_search" },
      ],
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "medium", summary: "auto" },
      store: false,
      stream: true,
      include: ["reasoning.encrypted_content"],
      prompt_cache_key: "k",
      text: { verbosity: "low" },
      client_metadata: { installation: "i" },
    });
    expect(shape.needs).toEqual(["custom_tools", "reasoning", "tools", "web_search"]);
  });
});

describe("the contract", () => {
  const validate = bodyValidator(responsesSurface.contract.body);
  const body = { model: "r", input: "hi" };

  it.each<[JsonObject, string | null]>([
    [{}, null],
    [{ text: {}, stream: false }, null],
    [{ input: [] }, "input"],
    [{ max_output_tokens: 15 }, "max_output_tokens"],
    [{ max_output_tokens: 16 }, null],
    [{ temperature: 2.1 }, "temperature"],
    [{ top_logprobs: 21 }, "top_logprobs"],
    [{ reasoning: { effort: "huge" } }, "reasoning.effort"],
    [{ input: [{ role: "user", content: [{ text: "x" }] }] }, "input[0].content[0].type"],
    [{ tools: [{ type: "function" }] }, "tools[0].name"],
    [{ provider: { only: ["x"], nope: 1 } }, "provider.nope"],
  ])("the first invalid member of %j is %s", (more, param) => {
    const error = validate({ ...body, ...more });
    expect(error === null ? null : error.param).toBe(param);
  });

  it("and the registry list the same members", () => {
    expect(new Set(Object.keys(responsesSurface.contract.body.properties ?? {}))).toEqual(
      new Set(Object.keys(RESPONSES_FIELDS)),
    );
  });

  it.each([
    [{ temprature: 1 }, "Unknown field temprature; did you mean temperature?", "temprature"],
    [{ stop: ["x"] }, "Unknown field stop", "stop"],
    [{ "my secret": 1 }, "The request has a member that responses requests do not have", null],
  ])("refuses unknown members: %j", (more, message, param) => {
    expect(responsesSurface.refuseUnknown({ ...body, ...more }, "reject")).toMatchObject({
      message,
      param,
    });
    expect(responsesSurface.refuseUnknown({ ...body, ...more }, "forward")).toBeNull();
  });
});
