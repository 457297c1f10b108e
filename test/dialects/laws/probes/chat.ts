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
  TEXT,
  type Probe,
} from "./probe.ts";

const user = { role: "user", content: "What is the weather in Ghent?" } as const;
const tool = {
  type: "function",
  function: { name: "look_up", description: "Looks it up.", parameters: PARAMETERS },
} as const;
const tools = [tool, { type: "function", function: { name: "send" } }] as const;
const call = {
  id: "call_1",
  type: "function",
  function: { name: "look_up", arguments: '{"city":"Ghent"}' },
} as const;
const schemaFormat = {
  type: "json_schema",
  json_schema: { name: "weather", schema: SCHEMA },
} as const;

const said = (says: string, ...messages: readonly JsonValue[]): Probe =>
  inside("messages", says, { messages });
const part = (says: string, content: JsonObject): Probe =>
  said(says, { role: "user", content: [content] });
const answered = (says: string, assistant: JsonObject): Probe =>
  said(says, user, { role: "assistant", ...assistant }, user);

const MESSAGES: readonly Probe[] = [
  said("one user's text", user),
  said("a list of one text", { role: "user", content: [{ type: "text", text: "Hello" }] }),
  said("several texts in a message", {
    role: "user",
    content: [
      { type: "text", text: "One" },
      { type: "text", text: "Two" },
    ],
  }),
  said("a leading `system` message", { role: "system", content: "Be brief." }, user),
  said("a leading `developer` message", { role: "developer", content: "Be brief." }, user),
  said(
    "two leading system messages",
    { role: "system", content: "Be brief." },
    { role: "developer", content: "Be kind." },
    user,
  ),
  said(
    "a system message later on",
    user,
    { role: "assistant", content: "Rain." },
    { role: "system", content: "Be brief." },
    user,
  ),
  said("system messages only", { role: "system", content: "Say hello." }),
  said("several turns", user, { role: "assistant", content: "Rain." }, user),
  said("consecutive user messages", user, { role: "user", content: "And in Bruges?" }),
  said("empty text beside other text", {
    role: "user",
    content: [
      { type: "text", text: "" },
      { type: "text", text: "Hello" },
    ],
  }),
  said("an assistant message last", user, { role: "assistant", content: "It" }),
  said("an author's `name`", { ...user, name: "ann" }),
  answered("assistant text in parts", { content: [{ type: "text", text: "Rain." }] }),
  answered("a refusal in the history", { content: null, refusal: "I cannot say." }),
  answered("a refusal part in the history", {
    content: [{ type: "refusal", refusal: "I cannot say." }],
  }),
  answered("unsigned reasoning in the history", {
    content: "Rain.",
    reasoning_content: "It always rains.",
  }),
  answered("signed reasoning in the history", {
    content: "Rain.",
    reasoning_details: [
      { type: "reasoning.text", text: "It always rains.", signature: TAGGED_SIGNATURE },
    ],
  }),
  answered("hidden signed reasoning in the history", {
    content: "Rain.",
    reasoning_details: [{ type: "reasoning.encrypted", data: TAGGED_SIGNATURE }],
  }),
  answered("another provider's signed reasoning", {
    content: "Rain.",
    reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "c2ln" }],
  }),
  answered("citations in the history", {
    content: "Rain.",
    annotations: [
      {
        type: "url_citation",
        url_citation: { url: "https://a.example", title: "A", start_index: 0, end_index: 4 },
      },
    ],
  }),
  answered("audio in the history", { audio: { id: "audio_1" } }),
  said(
    "the legacy role `function`",
    user,
    { role: "assistant", content: null, function_call: { name: "look_up", arguments: "{}" } },
    { role: "function", name: "look_up", content: "rain" },
  ),
  part("an image by value", {
    type: "image_url",
    image_url: { url: `data:image/png;base64,${PIXELS}` },
  }),
  part("an image by URL", {
    type: "image_url",
    image_url: { url: "https://images.example/a.png" },
  }),
  part("image detail `auto`", {
    type: "image_url",
    image_url: { url: `data:image/png;base64,${PIXELS}`, detail: "auto" },
  }),
  part("image detail `low`", {
    type: "image_url",
    image_url: { url: `data:image/png;base64,${PIXELS}`, detail: "low" },
  }),
  part("audio", { type: "input_audio", input_audio: { data: TEXT, format: "wav" } }),
  part("a PDF file", {
    type: "file",
    file: { file_data: `data:application/pdf;base64,${PDF}`, filename: "a.pdf" },
  }),
  part("a PDF file without a name", {
    type: "file",
    file: { file_data: `data:application/pdf;base64,${PDF}` },
  }),
  part("a text file", {
    type: "file",
    file: { file_data: `data:text/plain;base64,${TEXT}`, filename: "a.txt" },
  }),
  part("a file of another type", {
    type: "file",
    file: { file_data: `data:text/csv;base64,${TEXT}`, filename: "a.csv" },
  }),
  part("a stored file", { type: "file", file: { file_id: "file-1" } }),
  part("a video by URL", { type: "video_url", video_url: { url: "https://videos.example/a.mp4" } }),
  part("an unknown part", { type: "hologram", data: "…" }),
  inside("messages", "tool calls and their results", {
    tools,
    messages: [
      user,
      { role: "assistant", content: null, tool_calls: [call, { ...call, id: "call_2" }] },
      { role: "tool", tool_call_id: "call_1", content: "rain" },
      { role: "tool", tool_call_id: "call_2", content: [{ type: "text", text: "sun" }] },
    ],
  }),
  inside("messages", "text after a tool call's result", {
    tools,
    messages: [
      user,
      { role: "assistant", content: "Let me see.", tool_calls: [call] },
      { role: "tool", tool_call_id: "call_1", content: "rain" },
      user,
    ],
  }),
  inside("messages", "tool arguments that are empty text", {
    tools,
    messages: [
      user,
      { role: "assistant", tool_calls: [{ ...call, function: { name: "send", arguments: "" } }] },
      { role: "tool", tool_call_id: "call_1", content: "done" },
    ],
  }),
  inside("messages", "tool arguments that are not an object", {
    tools,
    messages: [
      user,
      {
        role: "assistant",
        tool_calls: [{ ...call, function: { name: "send", arguments: "[1]" } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "done" },
    ],
  }),
  inside("messages", "call ids of other characters", {
    tools,
    messages: [
      user,
      { role: "assistant", tool_calls: [{ ...call, id: "call:1/a" }] },
      { role: "tool", tool_call_id: "call:1/a", content: "rain" },
    ],
  }),
  inside("messages", "a custom tool's call", {
    messages: [
      user,
      {
        role: "assistant",
        tool_calls: [{ id: "call_1", type: "custom", custom: { name: "shell", input: "ls" } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "a" },
    ],
  }),
];

const TOOLS: readonly Probe[] = [
  member("tools", "functions", tools),
  member("tools", "a strict function", [
    { type: "function", function: { ...tool.function, strict: true } },
  ]),
  member("tools", "a function that is not strict", [
    { type: "function", function: { ...tool.function, strict: false } },
  ]),
  member("tools", "a custom tool", [{ type: "custom", custom: { name: "shell" } }]),
  member("tools", "a hosted tool", [{ type: "web_search" }]),
  member("tools", "an unknown tool", [{ type: "teleport" }]),
  member("tool_choice", "`auto`", "auto", { tools }),
  member("tool_choice", "`none`", "none", { tools }),
  member("tool_choice", "`required`", "required", { tools }),
  member(
    "tool_choice",
    "one function",
    { type: "function", function: { name: "send" } },
    { tools },
  ),
  member(
    "tool_choice",
    "the only function",
    { type: "function", function: { name: "look_up" } },
    { tools: [tool] },
  ),
  member(
    "tool_choice",
    "allowed tools",
    {
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "send" } }] },
    },
    { tools },
  ),
  member(
    "tool_choice",
    "allowed tools, required",
    {
      type: "allowed_tools",
      allowed_tools: {
        mode: "required",
        tools: [{ type: "function", function: { name: "send" } }],
      },
    },
    { tools },
  ),
  member("tool_choice", "`required` with reasoning", "required", {
    tools,
    reasoning_effort: "high",
  }),
  member("parallel_tool_calls", "true", true, { tools }),
  member("parallel_tool_calls", "false", false, { tools }),
  member("parallel_tool_calls", "false, with one function", false, { tools: [tool] }),
  member("functions", "", [{ name: "look_up", parameters: PARAMETERS }]),
  member("function_call", "", "auto", { functions: [{ name: "look_up" }] }),
];

export const CHAT_PROBES: readonly Probe[] = [
  member("model", "", "r"),
  ...MESSAGES,
  ...TOOLS,
  member("response_format", "`text`", { type: "text" }),
  member("response_format", "`json_object`", { type: "json_object" }),
  member("response_format", "`json_schema`", schemaFormat),
  member("response_format", "a strict `json_schema`", {
    type: "json_schema",
    json_schema: { ...schemaFormat.json_schema, description: "The weather.", strict: true },
  }),
  member("response_format", "`json_schema` with reasoning", schemaFormat, {
    reasoning_effort: "high",
  }),
  ...["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) =>
    member("reasoning_effort", `\`${effort}\``, effort),
  ),
  member("temperature", "up to 1", 0.5),
  member("temperature", "above 1", 1.5),
  member("top_p", "", 0.5),
  member("frequency_penalty", "", 0.5),
  member("frequency_penalty", "0", 0),
  member("presence_penalty", "", -0.5),
  member("logit_bias", "", { 50256: -100 }),
  member("logprobs", "", true),
  member("top_logprobs", "", 3, { logprobs: true }),
  member("seed", "", 7),
  member("stop", "one", "END"),
  member("stop", "up to four", ["a", "b", "c", "d"]),
  member("stop", "more than four", ["a", "b", "c", "d", "e"]),
  member("max_completion_tokens", "", 1_000),
  member("max_tokens", "", 1_000),
  member("n", "1", 1),
  member("n", "2", 2),
  member("verbosity", "", "low"),
  member("modalities", "text", ["text"]),
  member("modalities", "audio", ["text", "audio"], { audio: { voice: "alloy", format: "wav" } }),
  member("audio", "", { voice: "alloy", format: "wav" }, { modalities: ["text", "audio"] }),
  member("moderation", "", { model: "omni-moderation-latest" }),
  member("prediction", "", { type: "content", content: "Rain" }),
  member("web_search_options", "", { search_context_size: "low" }),
  member("stream", "", true),
  member("stream_options", "usage at the end", { include_usage: true }, { stream: true }),
  member("stream_options", "obfuscation off", { include_obfuscation: false }, { stream: true }),
  member("service_tier", "`auto`", "auto"),
  member("service_tier", "`default`", "default"),
  member("service_tier", "`flex`", "flex"),
  member("prompt_cache_key", "", "cache-1"),
  member("prompt_cache_retention", "", "24h"),
  member("prompt_cache_options", "", { mode: "implicit" }),
  member("store", "false", false),
  member("store", "true", true),
  member("metadata", "", { team: "blue" }),
  member("user", "", "user-1"),
  member("safety_identifier", "", "hash-1"),
  member("provider", "", PREFERENCES),
];
