import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { ProtocolHeaders } from "../../../src/canon/request.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../../src/dialects/anthropic-messages/dialect.ts";
import {
  COUNT_TOKENS_SCHEMA,
  MESSAGES_SCHEMA,
} from "../../../src/dialects/anthropic-messages/dialect.ts";
import { parseJsonBytes } from "../../../src/dialects/json.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { bodyValidator } from "../../../src/http/validate-body.ts";
import { answered, body, encoder, hello, NEWEST, NO_HEADERS, read, saying } from "./target.ts";

const validate = bodyValidator(MESSAGES_SCHEMA);
const validateCount = bodyValidator(COUNT_TOKENS_SCHEMA);

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } };
const imageUrl = { type: "image", source: { type: "url", url: "https://a.example/a.png" } };
const pdf = {
  type: "document",
  source: { type: "base64", media_type: "application/pdf", data: "aGk=" },
};
const note = { type: "document", source: { type: "text", media_type: "text/plain", data: "hi" } };
const call = { type: "tool_use", id: "toolu_1", name: "f", input: {} };
const tool = { name: "f", input_schema: { type: "object" } };
const schema = { type: "json_schema", schema: { type: "object" } };
const result = (content: unknown) =>
  ({ type: "tool_result", tool_use_id: "toolu_1", content }) as JsonObject;

/** Body → what it requires besides: needs, features. */
const ASKING: readonly (readonly [string, JsonObject, readonly string[], readonly string[]])[] = [
  ["one text", hello, [], []],
  ["one text block", saying({ type: "text", text: "hi" }), [], []],
  [
    "two text blocks",
    saying({ type: "text", text: "a" }, { type: "text", text: "b" }),
    [],
    ["conversation"],
  ],
  ["system text", body({ system: "s" }), [], ["conversation"]],
  ["empty system text", body({ system: "" }), [], []],
  ["no tools", body({ tools: [] }), [], []],
  ["temperature", body({ temperature: 0.5 }), [], ["sampling"]],
  ["temperature that is null", body({ temperature: null }), [], []],
  ["top_p", body({ top_p: 1 }), [], ["sampling"]],
  ["top_k", body({ top_k: 5 }), [], ["top_k"]],
  ["a stop sequence", body({ stop_sequences: ["a"] }), [], ["stop_sequences"]],
  ["no stop sequence", body({ stop_sequences: [] }), [], []],
  [
    "five stop sequences",
    body({ stop_sequences: ["a", "b", "c", "d", "e"] }),
    [],
    ["stop_sequences", "stop_sequences_over_4"],
  ],
  ["a limit of nothing", body({ max_tokens: 0 }), [], ["native_messages"]],
  ["an image", saying(image), ["image_input"], ["conversation"]],
  ["an image by URL", saying(imageUrl), ["image_input"], ["conversation", "image_url"]],
  ["a PDF", saying(pdf), ["file_input"], ["conversation"]],
  ["a plain text file", saying(note), ["file_input"], ["conversation"]],
  [
    "a file by URL",
    saying({ type: "document", source: { type: "url", url: "https://a.example/a.pdf" } }),
    ["file_input"],
    ["conversation", "file_url"],
  ],
  [
    "a document of blocks",
    saying({ type: "document", source: { type: "content", content: [image] } }),
    ["file_input", "image_input"],
    ["conversation", "native_messages"],
  ],
  [
    "a document of another type",
    saying({ type: "document", source: { type: "base64", media_type: "text/csv", data: "aGk=" } }),
    ["file_input"],
    ["conversation", "native_messages"],
  ],
  [
    "citations",
    saying({ ...pdf, citations: { enabled: true } }),
    ["file_input"],
    ["conversation", "native_messages"],
  ],
  [
    "citations that are off",
    saying({ ...pdf, citations: { enabled: false } }),
    ["file_input"],
    ["conversation"],
  ],
  [
    "a document's context",
    saying({ ...pdf, context: "c" }),
    ["file_input"],
    ["conversation", "native_messages"],
  ],
  ["a document's title", saying({ ...pdf, title: "t" }), ["file_input"], ["conversation"]],
  ["tools", body({ tools: [tool] }), ["tools"], ["conversation"]],
  [
    "a strict tool",
    body({ tools: [{ ...tool, strict: true }] }),
    ["tools"],
    ["conversation", "tool_strict"],
  ],
  [
    "a tool of type custom",
    body({ tools: [{ ...tool, type: "custom", strict: false }] }),
    ["tools"],
    ["conversation"],
  ],
  [
    "a tool whose arguments come early",
    body({ tools: [{ ...tool, eager_input_streaming: true }] }),
    ["tools"],
    ["conversation"],
  ],
  [
    "a tool that is loaded later",
    body({ tools: [{ ...tool, defer_loading: true }] }),
    ["tools"],
    ["conversation"],
  ],
  [
    "a tool with examples",
    body({ tools: [{ ...tool, input_examples: [{}] }] }),
    ["tools"],
    ["conversation"],
  ],
  [
    "a tool for other callers",
    body({ tools: [{ ...tool, allowed_callers: ["code_execution_20260120"] }] }),
    ["tools"],
    ["conversation", "native_messages"],
  ],
  [
    "a tool whose own members say nothing",
    body({
      tools: [{ ...tool, defer_loading: false, input_examples: [], allowed_callers: ["direct"] }],
    }),
    ["tools"],
    ["conversation"],
  ],
  ...(
    [
      ["web_search_20260318", "web_search"],
      ["web_fetch_20250910", "web_search"],
      ["code_execution_20260521", "code_execution"],
      ["bash_20250124", "code_execution"],
      ["text_editor_20250728", "code_execution"],
      ["computer_20250124", "computer_use"],
      ["browser_toolset_20260801", "computer_use"],
      ["memory_20250818", "tools"],
      ["tool_search_tool_bm25_20251119", "tools"],
      ["mcp_toolset", "mcp"],
    ] as const
  ).map(
    ([type, need]) =>
      [
        `a tool of type ${type}`,
        body({ tools: [{ type, name: "t" }] }),
        [need],
        ["conversation", "native_messages"],
      ] as const,
  ),
  [
    "an MCP server",
    body({ mcp_servers: [{ type: "url", name: "s", url: "https://a.example" }] }),
    ["mcp"],
    ["native_messages"],
  ],
  ["no MCP server", body({ mcp_servers: [] }), [], []],
  [
    "any tool",
    body({ tools: [tool], tool_choice: { type: "any" } }),
    ["tools"],
    ["conversation", "tool_choice_required"],
  ],
  [
    "one tool of several",
    body({ tools: [tool, { ...tool, name: "g" }], tool_choice: { type: "tool", name: "f" } }),
    ["tools"],
    ["conversation", "tool_choice_named"],
  ],
  [
    "the only tool, which is some tool",
    body({ tools: [tool], tool_choice: { type: "tool", name: "f" } }),
    ["tools"],
    ["conversation", "tool_choice_required"],
  ],
  [
    "one call of the only tool",
    body({ tools: [tool], tool_choice: { type: "auto", disable_parallel_tool_use: true } }),
    ["tools"],
    ["conversation", "one_tool_called_once"],
  ],
  ["whichever tool", body({ tool_choice: { type: "auto" } }), [], []],
  [
    "one call at a time",
    body({ tool_choice: { type: "auto", disable_parallel_tool_use: true } }),
    [],
    ["parallel_tool_calls_off"],
  ],
  ["an unknown tool choice", body({ tool_choice: { type: "some" } }), [], ["native_messages"]],
  ["a schema", body({ output_config: { format: schema } }), ["json_schema"], []],
  ["a schema in the older member", body({ output_format: schema }), ["json_schema"], []],
  [
    "a schema of another kind",
    body({ output_config: { format: { type: "grammar" } } }),
    ["json_schema"],
    ["native_messages"],
  ],
  ["an effort", body({ output_config: { effort: "xhigh" } }), ["reasoning"], ["effort_xhigh"]],
  [
    "an unknown effort",
    body({ output_config: { effort: "huge" } }),
    ["reasoning"],
    ["native_messages"],
  ],
  [
    "a task budget",
    body({ output_config: { task_budget: { type: "tokens", total: 5 } } }),
    [],
    ["native_messages"],
  ],
  [
    "a budget",
    body({ thinking: { type: "enabled", budget_tokens: 1024 } }),
    ["reasoning"],
    ["reasoning_budget"],
  ],
  [
    "adaptive thinking",
    body({ thinking: { type: "adaptive", display: "omitted" } }),
    ["reasoning"],
    [],
  ],
  [
    "thinking of another way",
    body({ thinking: { type: "between_tools" } }),
    ["reasoning"],
    ["native_messages"],
  ],
  ["no thinking", body({ thinking: { type: "disabled" } }), [], ["effort_none"]],
  [
    "effort without thinking",
    body({ thinking: { type: "disabled" }, output_config: { effort: "low" } }),
    ["reasoning"],
    ["effort_low", "native_messages"],
  ],
  [
    "a display of its own",
    body({ thinking: { type: "adaptive", display: "updates" } }),
    ["reasoning"],
    ["native_messages"],
  ],
  [
    "a forced tool with thinking",
    body({ tools: [tool], thinking: { type: "adaptive" }, tool_choice: { type: "any" } }),
    ["reasoning", "tools"],
    ["conversation", "forced_tool_with_reasoning", "tool_choice_required"],
  ],
  [
    "a schema with thinking",
    body({ thinking: { type: "adaptive" }, output_config: { format: schema } }),
    ["json_schema", "reasoning"],
    ["constrained_schema"],
  ],
  [
    "a schema with a forced tool",
    body({ tools: [tool], tool_choice: { type: "tool", name: "f" }, output_format: schema }),
    ["json_schema", "tools"],
    ["constrained_schema", "conversation", "schema_with_tools", "tool_choice_required"],
  ],
  [
    "an edit that keeps everything",
    body({ context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] } }),
    [],
    [],
  ],
  [
    "an edit that takes something out",
    body({ context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } }),
    [],
    ["native_messages"],
  ],
  ["compaction", body({ compaction: { type: "summarize" } }), [], ["native_messages"]],
  [
    "hints",
    body({ speed: "fast", service_tier: "standard_only", cache_control: { type: "ephemeral" } }),
    [],
    [],
  ],
  [
    "a cache mark of another kind",
    body({ cache_control: { type: "ephemeral", ttl: "7d" } }),
    [],
    ["native_messages"],
  ],
  ["a tier of another kind", body({ service_tier: "gold" }), [], ["native_messages"]],
  ["identity", body({ metadata: { user_id: "u" } }), [], []],
  ["a call in the history", answered(call), ["tools"], ["conversation"]],
  [
    "a call by a program",
    answered({ ...call, caller: { type: "code_execution_20260120", tool_id: "t" } }),
    ["code_execution", "tools"],
    ["conversation", "native_messages"],
  ],
  ["a direct call", answered({ ...call, caller: { type: "direct" } }), ["tools"], ["conversation"]],
  ["a result", saying(result("hi")), ["tools"], ["conversation"]],
  [
    "a result with an image",
    saying(result([image])),
    ["image_input", "tools"],
    ["conversation", "tool_result_files"],
  ],
  [
    "a result with a file",
    saying(result([pdf])),
    ["file_input", "tools"],
    ["conversation", "tool_result_files"],
  ],
  [
    "a result with a reference",
    saying(result([{ type: "tool_reference", tool_name: "f" }])),
    ["tools"],
    ["conversation", "native_messages"],
  ],
  [
    "a search result",
    saying({
      type: "search_result",
      source: "s",
      title: "t",
      content: [{ type: "text", text: "x" }],
    }),
    [],
    ["conversation", "native_messages"],
  ],
  [
    "a server's tool",
    answered({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
    ["web_search"],
    ["conversation", "native_messages"],
  ],
  [
    "what a server's tool found",
    answered({ type: "bash_code_execution_tool_result", tool_use_id: "s", content: {} }),
    ["code_execution"],
    ["conversation", "native_messages"],
  ],
  [
    "an unknown block of an earlier answer",
    answered({ type: "fallback", from: {}, to: {} }, { type: "of_the_future" }),
    [],
    ["conversation", "native_messages"],
  ],
  [
    "a document in an assistant message of the older version",
    answered(pdf),
    ["file_input"],
    ["conversation", "native_messages"],
  ],
  [
    "citations in the history",
    answered({ type: "text", text: "x", citations: [{}] }),
    [],
    ["conversation"],
  ],
  [
    "system text between turns",
    body({
      messages: [
        { role: "user", content: "a" },
        { role: "system", content: "b" },
      ],
    }),
    [],
    ["conversation", "mid_conversation_system"],
  ],
  [
    "system text before all turns",
    body({
      messages: [
        { role: "system", content: "b" },
        { role: "user", content: "a" },
      ],
    }),
    [],
    ["conversation"],
  ],
  [
    "a system message with settings",
    body({
      messages: [
        { role: "system", content: "b", output_config: { effort: "low" } },
        { role: "user", content: "a" },
      ],
    }),
    ["reasoning"],
    ["conversation", "native_messages"],
  ],
  [
    "the beginning of the answer",
    body({
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: "{" },
      ],
    }),
    ["prefill"],
    ["conversation"],
  ],
  [
    "an answer that was paused",
    body({
      messages: [
        { role: "user", content: "a" },
        {
          role: "assistant",
          content: [{ type: "server_tool_use", id: "s", name: "web_fetch", input: {} }],
        },
      ],
    }),
    ["web_search"],
    ["conversation", "native_messages"],
  ],
];

describe("a requirement of a body", () => {
  it.each(ASKING)("%s", (_name, value, needs, features) => {
    expect(validate(value)).toBeNull();
    const { shape, paths } = read(value);
    expect(shape.needs).toEqual(needs);
    expect(shape.features).toEqual(features);
    // An error must be able to name the member.
    for (const name of [...needs, ...features])
      expect(paths.get(name as never), name).toBeDefined();
  });

  it("is met by an endpoint of the same protocol", () => {
    const facts = DIALECTS["anthropic-messages"];
    const features: ReadonlySet<string> = new Set([...facts.features, ...facts.optional]);
    const capabilities: ReadonlySet<string> = new Set(facts.expresses);
    for (const [name, , needs, uses] of ASKING) {
      expect(
        uses.filter((feature) => !features.has(feature)),
        name,
      ).toEqual([]);
      expect(
        needs.filter((capability) => !capabilities.has(capability)),
        name,
      ).toEqual([]);
    }
  });

  it("names the member that required it first", () => {
    const { paths } = read(
      body({
        messages: [
          {
            role: "user",
            content: [{ type: "text", text: "a" }, result([{ type: "text", text: "b" }, imageUrl])],
          },
          { role: "assistant", content: "x" },
        ],
      }),
    );
    expect(Object.fromEntries(paths)).toEqual({
      tools: "messages[0].content[1]",
      image_input: "messages[0].content[1].content[1]",
      tool_result_files: "messages[0].content[1].content[1]",
      image_url: "messages[0].content[1].content[1].source",
      conversation: "messages[1]",
      prefill: "messages[1]",
    });
  });

  it("signatures require the family that made them", () => {
    const families = (...content: JsonObject[]) =>
      read(answered(...content)).shape.signatureFamilies;
    expect(families({ type: "thinking", thinking: "x", signature: "EqoB" })).toEqual(["anthropic"]);
    expect(families({ type: "redacted_thinking", data: "EmwK" })).toEqual(["anthropic"]);
    expect(families({ type: "thinking", thinking: "", signature: "sbx1.gpt-5.gAAA" })).toEqual([
      "gpt-5",
    ]);
    expect(families({ type: "redacted_thinking", data: "sbx1.claude.EmwK" })).toEqual(["claude"]);
    expect(families({ type: "thinking", thinking: "x", signature: "" })).toEqual([]);
    expect(families({ type: "thinking", thinking: "x", signature: "sbx1.unsigned." })).toEqual([]);
  });

  it("a coding agent's request fits endpoints of every protocol", () => {
    const agent = body({
      max_tokens: 128_000,
      stream: true,
      metadata: { user_id: "u" },
      thinking: { type: "adaptive" },
      output_config: { effort: "medium" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      system: [{ type: "text", text: "s", cache_control: { type: "ephemeral", ttl: "1h" } }],
      tools: [{ ...tool, description: "d", eager_input_streaming: true }],
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
        },
        { role: "system", content: "reminder" },
      ],
    });
    expect(validate(agent)).toBeNull();
    expect(messagesSurface.refuseUnknown(agent, "reject")).toBeNull();
    expect(read(agent).shape).toMatchObject({
      features: ["conversation", "effort_medium", "mid_conversation_system"],
      needs: ["reasoning", "tools"],
      maxOutput: "to_200k",
      reasoningEffort: "medium",
      stream: true,
    });
  });

  it("counting is a separate operation, without max_tokens", () => {
    const counted = { model: "r", messages: [{ role: "user", content: "hi" }] };
    expect(validateCount(counted)).toBeNull();
    const { shape } = read(counted, NO_HEADERS, countTokensSurface);
    expect(shape).toMatchObject({
      operation: "messages.count_tokens",
      features: ["count_tokens"],
      stream: false,
    });
    const limited = read({ ...counted, max_tokens: 5 }, NO_HEADERS, countTokensSurface);
    expect(limited.shape.maxOutput).toBe("unspecified");
    expect(countTokensSurface.refuseUnknown({ ...counted, max_tokens: 5 }, "reject")).toMatchObject(
      {
        code: "unknown_field",
        param: "max_tokens",
      },
    );
    expect(validate(counted)).toMatchObject({ code: "missing_field", param: "max_tokens" });
  });
});

const previous = { diagnostics: { previous_message_id: "msg_1" } };

/** Body, headers → code, param. */
const REFUSED: readonly (readonly [string, JsonObject, ProtocolHeaders, string, string])[] = [
  [
    "a version of the future",
    hello,
    { version: "2027-01-01", betas: [] },
    "unsupported_version",
    "anthropic-version",
  ],
  [
    "a container",
    body({ container: "c" }),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "container",
  ],
  [
    "a container of skills",
    body({ container: { id: null, skills: [{ type: "anthropic", skill_id: "pdf" }] } }),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "container",
  ],
  [
    "an earlier message",
    body(previous),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "diagnostics.previous_message_id",
  ],
  [
    "a thread",
    body({ thread: { type: "create" } }),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "thread",
  ],
  [
    "a region",
    body({ inference_geo: "eu" }),
    NO_HEADERS,
    "unsupported_region_field",
    "inference_geo",
  ],
  [
    "other models",
    body({ fallbacks: [{ model: "x" }] }),
    NO_HEADERS,
    "unsupported_routing_field",
    "fallbacks",
  ],
  [
    "another model's advice",
    body({ tools: [{ type: "advisor_20260301", name: "advisor", model: "x" }] }),
    NO_HEADERS,
    "unsupported_routing_field",
    "tools[0].type",
  ],
  [
    "an unknown tool",
    body({ tools: [{ type: "time_machine" }] }),
    NO_HEADERS,
    "unknown_tool_type",
    "tools[0].type",
  ],
  [
    "an unknown block of the caller's",
    saying({ type: "smell" }),
    NO_HEADERS,
    "unknown_content_part",
    "messages[0].content[0].type",
  ],
  [
    "an unknown block in a result",
    saying(result([{ type: "smell" }])),
    NO_HEADERS,
    "unknown_content_part",
    "messages[0].content[0].content[0].type",
  ],
  [
    "a stored image",
    saying({ type: "image", source: { type: "file", file_id: "f" } }),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "messages[0].content[0].source.file_id",
  ],
  [
    "a stored document in a result",
    saying(result([{ type: "document", source: { type: "file", file_id: "f" } }])),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "messages[0].content[0].content[0].source.file_id",
  ],
  [
    "a stored image in a document of blocks",
    saying({
      type: "document",
      source: {
        type: "content",
        content: [{ type: "image", source: { type: "file", file_id: "f" } }],
      },
    }),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "messages[0].content[0].source.content[0].source.file_id",
  ],
  [
    "an upload",
    saying({ type: "container_upload", file_id: "f" }),
    NO_HEADERS,
    "unsupported_stateful_feature",
    "messages[0].content[0].file_id",
  ],
  [
    "two formats",
    body({
      output_format: schema,
      output_config: { format: { type: "json_schema", schema: { type: "array" } } },
    }),
    NO_HEADERS,
    "conflicting_fields",
    "output_format",
  ],
  ...["temperature", "top_p", "top_k"].map(
    (name) =>
      [
        `${name} under the newer version`,
        body({ [name]: 1 }),
        NEWEST,
        "removed_in_version",
        name,
      ] as const,
  ),
  [
    "a document in an assistant message under the newer version",
    answered(pdf),
    NEWEST,
    "removed_in_version",
    "messages[1].content[0]",
  ],
  [
    "citations on a user's text under the newer version",
    saying({ type: "text", text: "x", citations: [{}] }),
    NEWEST,
    "removed_in_version",
    "messages[0].content[0].citations",
  ],
];

describe("refused bodies", () => {
  it.each(REFUSED)("%s", (_name, value, headers, code, param) => {
    expect(validate(value)).toBeNull();
    const parsed = messagesSurface.parse(value, 100, headers);
    const error = "code" in parsed ? parsed : (parsed.unknownKind ?? parsed);
    expect(error).toMatchObject({ status: 400, code, param });
    // The sentence alone must say what to change: agents show nothing else.
    if ("code" in error) expect(error.message).toContain(param);
    if (code === "removed_in_version")
      expect(error).toMatchObject({ message: expect.stringContaining("2026-10-21") });
  });

  it("members without a value require no stored state", () => {
    const empty = body({
      container: { id: null, skills: [] },
      thread: null,
      fallbacks: [],
      inference_geo: null,
      diagnostics: { previous_message_id: null },
    });
    expect(validate(empty)).toBeNull();
    expect(read(empty).shape.features).toEqual([]);
  });

  it("a body is read alike under both versions", () => {
    expect(read(hello, { version: "2023-06-01", betas: [] }).shape).toEqual(
      read(hello, NEWEST).shape,
    );
    expect(
      read(answered({ type: "text", text: "x", citations: [{}] }), NEWEST).shape.needs,
    ).toEqual([]);
  });

  it("a number beyond a double is refused where an object is expected", () => {
    const value = parseJsonBytes(
      encoder.encode(`{"model":"r","max_tokens":1,"messages":[],"metadata":1e999}`),
    );
    expect(messagesSurface.parse(value as JsonObject, 100, NO_HEADERS)).toMatchObject({
      code: "invalid_type",
      param: "metadata",
    });
  });
});

/** What the schema refuses, with the member that it names. */
const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["no limit", { model: "r", messages: [{ role: "user", content: "a" }] }, "max_tokens"],
  ["a limit below nothing", body({ max_tokens: -1 }), "max_tokens"],
  ["no messages", body({ messages: [] }), "messages"],
  ["an unknown role", body({ messages: [{ role: "tool", content: "a" }] }), "messages[0].role"],
  ["no content", body({ messages: [{ role: "user" }] }), "messages[0].content"],
  ["a temperature above 1", body({ temperature: 1.5 }), "temperature"],
  [
    "a budget that is too small",
    body({ thinking: { type: "enabled", budget_tokens: 5 } }),
    "thinking.budget_tokens",
  ],
  ["no budget", body({ thinking: { type: "enabled" } }), "thinking.budget_tokens"],
  ["a tool without a schema", body({ tools: [{ name: "f" }] }), "tools[0].input_schema"],
  [
    "a call without input",
    answered({ type: "tool_use", id: "t", name: "f" }),
    "messages[1].content[0].input",
  ],
  ["input that is text", answered({ ...call, input: "{}" }), "messages[1].content[0].input"],
  ["text that is missing", saying({ type: "text" }), "messages[0].content[0].text"],
  ["an image without source", saying({ type: "image" }), "messages[0].content[0].source"],
  [
    "an image without data",
    saying({ type: "image", source: { type: "base64", media_type: "image/png" } }),
    "messages[0].content[0].source.data",
  ],
  ["a result of nothing", saying({ type: "tool_result" }), "messages[0].content[0].tool_use_id"],
  ["a named tool without a name", body({ tool_choice: { type: "tool" } }), "tool_choice.name"],
  ["an unknown preference", body({ provider: { regions: ["eu"] } }), "provider.regions"],
];

describe("bodies that the schema refuses", () => {
  it.each(INVALID)("%s", (_name, value, param) => {
    expect(validate(value as JsonObject)).toMatchObject({ status: 400, param });
  });

  it("an unknown member is refused by its name, with the name that was meant", () => {
    expect(messagesSurface.refuseUnknown(body({ stop_sequence: ["a"] }), "reject")).toMatchObject({
      code: "unknown_field",
      param: "stop_sequence",
      message: "Unknown field stop_sequence; did you mean stop_sequences?",
    });
    expect(messagesSurface.refuseUnknown(body({ stop_sequence: ["a"] }), "strip")).toBeNull();
  });
});
