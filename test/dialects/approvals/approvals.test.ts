import { describe, expect, it } from "vitest";
import type { Capability } from "../../../src/canon/capability.ts";
import { CAPABILITY_NAMES } from "../../../src/canon/capability.ts";
import type { JsonObject, JsonValue } from "../../../src/canon/json.ts";
import { answerTo, passes } from "./what-passes.ts";

const RESPONSES = "/v1/responses";
const MESSAGES = "/api/v1/messages";
const CHAT = "/v1/chat/completions";

const input = (...items: readonly JsonValue[]): JsonObject => ({ model: "r", input: items });
const tools = (...list: readonly JsonValue[]): JsonObject => ({ model: "r", input: "a", tools: list });
const messages = (...list: readonly JsonValue[]): JsonObject => ({ model: "r", max_tokens: 9, messages: list });
const said = (role: string, ...content: readonly JsonValue[]): JsonObject => messages({ role, content });
const answered = (...content: readonly JsonValue[]): JsonObject =>
  messages({ role: "assistant", content }, { role: "user", content: "a" });

const HOSTED: readonly (readonly [Capability, JsonObject])[] = [
  ["mcp", { type: "mcp", server_label: "a", server_url: "https://example.com" }],
  ["web_search", { type: "web_search_preview_2025_03_11" }],
  ["code_execution", { type: "shell" }],
  ["code_execution", { type: "code_interpreter", container: { type: "auto" } }],
  ["computer_use", { type: "computer_use_preview", display_width: 1, display_height: 1, environment: "linux" }],
  ["image_output", { type: "image_generation" }],
  ["file_search", { type: "file_search", vector_store_ids: [] }],
  ["custom_tools", { type: "custom", name: "a" }],
];

/** Positions of a tool's definition in a responses body. */
const IN_RESPONSES: readonly (readonly [string, (tool: JsonObject) => JsonObject])[] = [
  ["tools", (tool) => tools(tool)],
  ["a namespace", (tool) => tools({ type: "namespace", name: "a", tools: [tool] })],
  ["additional_tools", (tool) => input({ type: "additional_tools", role: "developer", tools: [tool] })],
  ["tool_search_output", (tool) => input({ type: "tool_search_output", tools: [tool] })],
  ["a position of tomorrow", (tool) => input({ type: "tool_search_call", later: { deeper: [{ tools: [tool] }] } })],
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
  ["compaction", (tool) => answered({ type: "compaction", content: "a", tool_changes: [addition(tool)] })],
];

/** What the evidence records as needed; all capabilities are approved. */
function needsOf(surface: string, body: JsonObject): readonly Capability[] {
  const answer = answerTo(surface, body, CAPABILITY_NAMES);
  if ("code" in answer) throw new Error(`${answer.code}: ${answer.message}`);
  return answer.needs;
}

describe("a hosted tool needs its own approval", () => {
  it.each(IN_RESPONSES.flatMap(([name, at]) => HOSTED.map(([needs, tool]) => [name, needs, at(tool)] as const)))(
    "of responses in %s: %s",
    (_name, needs, body) => {
      expect(passes(RESPONSES, body, ["tools"])).toBe(false);
      expect(passes(RESPONSES, body, ["tools", needs])).toBe(true);
      expect(needsOf(RESPONSES, body)).toContain(needs);
    },
  );

  it.each(IN_MESSAGES.flatMap(([name, at]) => ON_SERVERS.map(([needs, tool]) => [name, needs, at(tool)] as const)))(
    "of messages in %s: %s",
    (_name, needs, body) => {
      expect(passes(MESSAGES, body, ["tools"])).toBe(false);
      expect(passes(MESSAGES, body, ["tools", needs])).toBe(true);
      expect(needsOf(MESSAGES, body)).toContain(needs);
    },
  );
});

it.each<[string, string, JsonObject]>([
  ["tool changes of a compaction", "tools", answered({ type: "compaction", tool_changes: [{ type: "tool_removal" }] })],
  [
    "an effort of a system message in the list",
    "reasoning",
    messages({ role: "user", content: "a" }, { role: "system", content: "b", output_config: { effort: "low" } }),
  ],
])("messages: %s needs %s", (_name, needs, body) => {
  expect(passes(MESSAGES, body, [])).toBe(false);
  expect(needsOf(MESSAGES, body)).toContain(needs);
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
    ["tools[0].container.file_ids", tools({ type: "code_interpreter", container: { type: "auto", file_ids: ["a"] } })],
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
      tools({ type: "shell", environment: { type: "local", skills: [{ type: "skill_reference", skill_id: "a" }] } }),
    ],
    ["tools[0].vector_store_ids", tools({ type: "file_search", vector_store_ids: ["a"] })],
    ["tools[0].input_image_mask.file_id", tools({ type: "image_generation", input_image_mask: { file_id: "a" } })],
    ["input[0].output[0].file_id", input({ type: "custom_tool_call_output", call_id: "a", output: [image] })],
    [
      "input[0].output.file_id",
      input({ type: "computer_call_output", call_id: "a", output: { type: "computer_screenshot", file_id: "a" } }),
    ],
    [
      "input[0].tools[0].container",
      input({ type: "tool_search_output", tools: [{ type: "code_interpreter", container: "cntr_a" }] }),
    ],
  ])("%s", (param, body) => {
    expect(answerTo(RESPONSES, body, CAPABILITY_NAMES)).toMatchObject({ code: "unsupported_stateful_feature", param });
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
  expect(answerTo(surface, body, CAPABILITY_NAMES)).toMatchObject({ code: "unsupported_routing_field", param });
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
    [MESSAGES, "unknown_content_part", "messages[0].content[0].type", answered({ type: "hologram" })],
    [MESSAGES, "unknown_content_part", "messages[0].content[0].type", said("user", { type: "hologram" })],
    [
      MESSAGES,
      "unknown_content_part",
      "messages[0].content[0].content[0].type",
      answered({ type: "mcp_tool_result", tool_use_id: "a", content: [{ type: "hologram" }] }),
    ],
    [CHAT, "unknown_content_part", "messages[0].content[0].type", said("user", { type: "hologram" })],
  ])("%s: %s at %s is refused, and relayed where the route forwards", (surface, code, param, body) => {
    expect(answerTo(surface, body, CAPABILITY_NAMES)).toMatchObject({ status: 400, code, param });
    expect(answerTo(surface, body, CAPABILITY_NAMES, "strip")).toMatchObject({ code, param });
    expect(passes(surface, body, CAPABILITY_NAMES, "forward")).toBe(true);
  });

  it("is refused as a tool on every route, because its approval is not known", () => {
    const body = input({ type: "tool_search_output", tools: [{ type: "hologram" }] });
    expect(answerTo(RESPONSES, body, CAPABILITY_NAMES, "forward")).toMatchObject({
      code: "unknown_tool_type",
      param: "input[0].tools[0].type",
    });
  });

  it("is the caller's own where it stands in a schema, in arguments or in a call's input", () => {
    const own = { type: "hologram", file_id: "a", model: "b", effort: "c", tools: [{ type: "mcp" }] };
    const call = { type: "tool_use", id: "a", name: "f", input: own };
    const tool = { name: "f", input_schema: { type: "object", properties: { mcp: own } }, defer_loading: true };
    expect(passes(MESSAGES, { ...answered(call), tools: [tool] }, ["tools"])).toBe(true);
    const format = { type: "json_schema", json_schema: own };
    expect(
      passes(CHAT, { ...messages({ role: "user", content: "a" }), response_format: format }, ["json_schema"]),
    ).toBe(true);
    const search = { type: "tool_search_call", arguments: own };
    expect(passes(RESPONSES, input(search, { role: "user", content: "a" }), ["tools"])).toBe(true);
  });
});
