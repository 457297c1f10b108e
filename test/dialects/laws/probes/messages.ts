import type { JsonObject, JsonValue } from "../../../../src/canon/json.ts";
import {
  inside,
  member,
  PARAMETERS,
  PDF,
  PIXELS,
  PREFERENCES,
  SCHEMA,
  TAGGED_SIGNATURE,
  type Probe,
} from "./probe.ts";

const user = { role: "user", content: "What is the weather in Ghent?" } as const;
const tool = { name: "look_up", description: "Looks it up.", input_schema: PARAMETERS } as const;
const tools = [tool, { name: "send", input_schema: { type: "object", properties: {} } }] as const;
const call = {
  type: "tool_use",
  id: "toolu_1",
  name: "look_up",
  input: { city: "Ghent" },
} as const;
const result = { type: "tool_result", tool_use_id: "toolu_1", content: "rain" } as const;
const mark = { type: "ephemeral" } as const;
const schemaFormat = { type: "json_schema", schema: SCHEMA } as const;

const said = (says: string, ...messages: readonly JsonValue[]): Probe =>
  inside("messages", says, { messages });
const block = (says: string, ...content: readonly JsonObject[]): Probe =>
  said(says, { role: "user", content });
const answered = (says: string, ...content: readonly JsonObject[]): Probe =>
  said(says, user, { role: "assistant", content }, user);
const called = (says: string, called_: JsonObject, ...results: readonly JsonObject[]): Probe =>
  inside("messages", says, {
    tools,
    messages: [user, { role: "assistant", content: [called_] }, { role: "user", content: results }],
  });

const MESSAGES: readonly Probe[] = [
  said("one user's text", user),
  block("a list of one text", { type: "text", text: "Hello" }),
  block("several texts in a message", { type: "text", text: "One" }, { type: "text", text: "Two" }),
  said("a leading `system` message", { role: "system", content: "Be brief." }, user),
  said(
    "a system message later on",
    user,
    { role: "assistant", content: "Rain." },
    { role: "system", content: "Be brief." },
    user,
  ),
  said("several turns", user, { role: "assistant", content: "Rain." }, user),
  said("consecutive user messages", user, { role: "user", content: "And in Bruges?" }),
  said("an assistant message last", user, { role: "assistant", content: "It" }),
  block("a cache mark", { type: "text", text: "Hello", cache_control: mark }),
  block("a cache mark with a time", {
    type: "text",
    text: "Hello",
    cache_control: { type: "ephemeral", ttl: "1h" },
  }),
  block("an image by value", {
    type: "image",
    source: { type: "base64", media_type: "image/png", data: PIXELS },
  }),
  block("an image by URL", {
    type: "image",
    source: { type: "url", url: "https://images.example/a.png" },
  }),
  block("a stored image", { type: "image", source: { type: "file", file_id: "file_1" } }),
  block("a PDF document", {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: PDF },
    title: "A",
  }),
  block("a text document", {
    type: "document",
    source: { type: "text", media_type: "text/plain", data: "plain" },
  }),
  block("a document of blocks", {
    type: "document",
    source: { type: "content", content: [{ type: "text", text: "plain" }] },
  }),
  block("a document by URL", {
    type: "document",
    source: { type: "url", url: "https://files.example/a.pdf" },
  }),
  block("a document with citations", {
    type: "document",
    source: { type: "base64", media_type: "application/pdf", data: PDF },
    citations: { enabled: true },
  }),
  block("a `search_result`", {
    type: "search_result",
    source: "https://a.example",
    title: "A",
    content: [{ type: "text", text: "Rain" }],
  }),
  block("an unknown block", { type: "hologram" }),
  answered("citations in the history", {
    type: "text",
    text: "Rain.",
    citations: [
      {
        type: "char_location",
        cited_text: "Rain",
        document_index: 0,
        document_title: "A",
        start_char_index: 0,
        end_char_index: 4,
      },
    ],
  }),
  answered(
    "unsigned thinking in the history",
    { type: "thinking", thinking: "It always rains.", signature: "" },
    { type: "text", text: "Rain." },
  ),
  answered(
    "signed thinking in the history",
    { type: "thinking", thinking: "It always rains.", signature: TAGGED_SIGNATURE },
    { type: "text", text: "Rain." },
  ),
  answered(
    "redacted thinking in the history",
    { type: "redacted_thinking", data: TAGGED_SIGNATURE },
    { type: "text", text: "Rain." },
  ),
  answered(
    "another provider's signed thinking",
    { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" },
    { type: "text", text: "Rain." },
  ),
  answered(
    "a hosted tool's call",
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "rain" } },
    { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] },
    { type: "text", text: "Rain." },
  ),
  called("a tool's call and its result", call, result),
  called("a result in parts", call, { ...result, content: [{ type: "text", text: "rain" }] }),
  called("a result that is an error", call, { ...result, is_error: true }),
  called("a result that is none", call, { ...result, is_error: false }),
  called("an image in a result", call, {
    ...result,
    content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXELS } }],
  }),
  called("text after a result", call, result, { type: "text", text: "And in Bruges?" }),
  called(
    "cache marks on a call and its result",
    { ...call, cache_control: mark },
    { ...result, cache_control: mark },
  ),
];

const TOOLS: readonly Probe[] = [
  member("tools", "a client's own", tools),
  member("tools", "of type `custom`", [{ ...tool, type: "custom" }]),
  member("tools", "strict", [{ ...tool, strict: true }]),
  member("tools", "with a cache mark", [{ ...tool, cache_control: mark }]),
  member("tools", "streamed eagerly", [{ ...tool, eager_input_streaming: true }]),
  member("tools", "with examples", [{ ...tool, input_examples: [{ city: "Ghent" }] }]),
  member("tools", "deferred", [{ ...tool, defer_loading: true }]),
  member("tools", "`web_search`", [{ type: "web_search_20250305", name: "web_search" }]),
  member("tools", "`code_execution`", [
    { type: "code_execution_20250825", name: "code_execution" },
  ]),
  member("tools", "`computer`", [
    { type: "computer_20250124", name: "computer", display_width_px: 1, display_height_px: 1 },
  ]),
  member("tools", "an unknown tool", [{ type: "teleport_1", name: "teleport" }]),
  member("tool_choice", "`auto`", { type: "auto" }, { tools }),
  member("tool_choice", "`none`", { type: "none" }, { tools }),
  member("tool_choice", "`any`", { type: "any" }, { tools }),
  member("tool_choice", "one tool", { type: "tool", name: "send" }, { tools }),
  member("tool_choice", "the only tool", { type: "tool", name: "look_up" }, { tools: [tool] }),
  member(
    "tool_choice",
    "`any` with thinking",
    { type: "any" },
    { tools, thinking: { type: "adaptive" } },
  ),
  member(
    "tool_choice",
    "no parallel calls",
    { type: "auto", disable_parallel_tool_use: true },
    { tools },
  ),
  member(
    "tool_choice",
    "no parallel calls of the only tool",
    { type: "auto", disable_parallel_tool_use: true },
    { tools: [tool] },
  ),
];

const thinking = (says: string, value: JsonObject): Probe => member("thinking", says, value);

/** What both operations may say. */
const SHARED: readonly Probe[] = [
  member("model", "", "r"),
  ...MESSAGES,
  member("system", "one text", "Be brief."),
  member("system", "in parts, with a cache mark", [
    { type: "text", text: "Be brief." },
    { type: "text", text: "Be kind.", cache_control: mark },
  ]),
  ...TOOLS,
  thinking("`disabled`", { type: "disabled" }),
  thinking("`adaptive`", { type: "adaptive" }),
  thinking("`adaptive`, summarized", { type: "adaptive", display: "summarized" }),
  thinking("`adaptive`, omitted", { type: "adaptive", display: "omitted" }),
  thinking("a budget", { type: "enabled", budget_tokens: 1_024 }),
  ...["low", "medium", "high", "xhigh", "max"].map((effort) =>
    member("output_config", `\`effort\` ${effort}`, { effort }),
  ),
  member("output_config", "`format`", { format: schemaFormat }),
  member(
    "output_config",
    "`format` with thinking",
    { format: schemaFormat },
    { thinking: { type: "adaptive" } },
  ),
  member("output_config", "`task_budget`", { task_budget: { type: "tokens", total: 10_000 } }),
  member("output_format", "", schemaFormat),
  member("context_management", "keeps all thinking", {
    edits: [{ type: "clear_thinking_20251015", keep: "all" }],
  }),
  member("context_management", "edits the conversation", {
    edits: [{ type: "clear_tool_uses_20250919" }],
  }),
  member("compaction", "", { type: "auto" }),
  member("mcp_servers", "", [{ type: "url", name: "a", url: "https://mcp.example" }]),
  member("cache_control", "", mark),
  member("speed", "`standard`", "standard"),
  member("speed", "`fast`", "fast"),
  member("inference_geo", "", "eu"),
  member("user_profile_id", "", "profile-1"),
  member("provider", "", PREFERENCES),
];

export const COUNT_TOKENS_PROBES: readonly Probe[] = SHARED;

export const MESSAGES_PROBES: readonly Probe[] = [
  ...SHARED,
  member("max_tokens", "", 1_000),
  member("max_tokens", "0", 0),
  member("temperature", "", 0.5),
  {
    ...member("temperature", "under version 2026-10-21", 0.5),
    headers: { version: "2026-10-21", betas: [] },
  },
  member("top_p", "", 0.5),
  member("top_k", "", 40),
  member("stop_sequences", "up to four", ["a", "b", "c", "d"]),
  member("stop_sequences", "more than four", ["a", "b", "c", "d", "e"]),
  member("stream", "", true),
  member("service_tier", "`auto`", "auto"),
  member("service_tier", "`standard_only`", "standard_only"),
  member("service_tier", "another", "priority"),
  member("diagnostics", "", { trace: true }),
  member("diagnostics", "`previous_message_id`", { previous_message_id: "msg_1" }),
  member("container", "", "container_1"),
  member("thread", "", { id: "thread_1" }),
  member("billing_policy", "", { type: "billing_policy", bill_to: "user_profile" }),
  member("fallback_credit_token", "", "token"),
  member("fallbacks", "", [{ model: "other" }]),
  member("metadata", "", { user_id: "user-1" }),
];
