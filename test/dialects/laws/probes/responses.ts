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

const user = { type: "message", role: "user", content: "What is the weather in Ghent?" } as const;
const answer = {
  type: "message",
  role: "assistant",
  content: [{ type: "output_text", text: "Rain." }],
} as const;
const tool = {
  type: "function",
  name: "look_up",
  description: "Looks it up.",
  parameters: PARAMETERS,
  strict: false,
} as const;
const tools = [tool, { type: "function", name: "send", parameters: null, strict: false }] as const;
const call = {
  type: "function_call",
  call_id: "call_1",
  name: "look_up",
  arguments: '{"city":"Ghent"}',
} as const;
const output = { type: "function_call_output", call_id: "call_1", output: "rain" } as const;
const schemaFormat = { type: "json_schema", name: "weather", schema: SCHEMA } as const;

const said = (says: string, ...input: readonly JsonValue[]): Probe =>
  inside("input", says, { input });
const part = (says: string, content: JsonObject): Probe =>
  said(says, { role: "user", content: [content] });

const INPUT: readonly Probe[] = [
  inside("input", "one text", { input: "Hello" }),
  said("one user's message", user),
  said("a message without `type`", { role: "user", content: "Hello" }),
  said("several texts in a message", {
    role: "user",
    content: [
      { type: "input_text", text: "One" },
      { type: "input_text", text: "Two" },
    ],
  }),
  said("a leading `system` message", { role: "system", content: "Be brief." }, user),
  said("a leading `developer` message", { role: "developer", content: "Be brief." }, user),
  said("a system message later on", user, answer, { role: "system", content: "Be brief." }, user),
  said("several turns", user, answer, user),
  said("consecutive user messages", user, { role: "user", content: "And in Bruges?" }),
  said("ids and states of items", user, { ...answer, id: "msg_1", status: "completed" }, user),
  said("the phase of a message", user, { ...answer, phase: "final_answer" }, user),
  said("an assistant message last", user, answer),
  said(
    "a refusal in the history",
    user,
    { role: "assistant", content: [{ type: "refusal", refusal: "I cannot say." }] },
    user,
  ),
  said(
    "citations in the history",
    user,
    {
      role: "assistant",
      content: [
        {
          type: "output_text",
          text: "Rain.",
          annotations: [
            {
              type: "url_citation",
              url: "https://a.example",
              title: "A",
              start_index: 0,
              end_index: 4,
            },
          ],
        },
      ],
    },
    user,
  ),
  said(
    "log probabilities in the history",
    user,
    {
      role: "assistant",
      content: [
        {
          type: "output_text",
          text: "Rain.",
          logprobs: [{ token: "Rain", logprob: -0.5, bytes: [], top_logprobs: [] }],
        },
      ],
    },
    user,
  ),
  said(
    "unsigned reasoning in the history",
    user,
    { type: "reasoning", summary: [{ type: "summary_text", text: "It always rains." }] },
    answer,
    user,
  ),
  said(
    "signed reasoning in the history",
    user,
    {
      type: "reasoning",
      id: "rs_1",
      summary: [],
      content: [{ type: "reasoning_text", text: "It always rains." }],
      encrypted_content: TAGGED_SIGNATURE,
    },
    answer,
    user,
  ),
  said(
    "hidden signed reasoning in the history",
    user,
    { type: "reasoning", summary: [], encrypted_content: TAGGED_SIGNATURE },
    answer,
    user,
  ),
  said(
    "another provider's signed reasoning",
    user,
    { type: "reasoning", summary: [], encrypted_content: "c2lnbmVk" },
    answer,
    user,
  ),
  part("an image by value", { type: "input_image", image_url: `data:image/png;base64,${PIXELS}` }),
  part("an image by URL", { type: "input_image", image_url: "https://images.example/a.png" }),
  part("image detail `auto`", {
    type: "input_image",
    image_url: `data:image/png;base64,${PIXELS}`,
    detail: "auto",
  }),
  part("image detail `high`", {
    type: "input_image",
    image_url: `data:image/png;base64,${PIXELS}`,
    detail: "high",
  }),
  part("audio", { type: "input_audio", input_audio: { data: TEXT, format: "mp3" } }),
  part("a PDF file", {
    type: "input_file",
    file_data: `data:application/pdf;base64,${PDF}`,
    filename: "a.pdf",
  }),
  part("a PDF file without a name", {
    type: "input_file",
    file_data: `data:application/pdf;base64,${PDF}`,
  }),
  part("a text file", {
    type: "input_file",
    file_data: `data:text/plain;base64,${TEXT}`,
    filename: "a.txt",
  }),
  part("a file of another type", {
    type: "input_file",
    file_data: `data:text/csv;base64,${TEXT}`,
    filename: "a.csv",
  }),
  part("a file that its URL holds", {
    type: "input_file",
    file_url: `data:application/pdf;base64,${PDF}`,
  }),
  part("a file by URL", { type: "input_file", file_url: "https://files.example/a.pdf" }),
  part("a stored file", { type: "input_file", file_id: "file-1" }),
  part("a video", { type: "input_video", video_url: "https://videos.example/a.mp4" }),
  part("a cache mark", {
    type: "input_text",
    text: "Hello",
    prompt_cache_breakpoint: { mode: "explicit" },
  }),
  part("an unknown part", { type: "input_hologram", data: "…" }),
  inside("input", "function calls and their outputs", {
    tools,
    input: [
      user,
      call,
      { ...call, call_id: "call_2" },
      output,
      { ...output, call_id: "call_2", output: [{ type: "input_text", text: "sun" }] },
    ],
  }),
  inside("input", "an image in a function's output", {
    tools,
    input: [
      user,
      call,
      {
        ...output,
        output: [{ type: "input_image", image_url: `data:image/png;base64,${PIXELS}` }],
      },
    ],
  }),
  inside("input", "arguments that are empty text", {
    tools,
    input: [user, { ...call, arguments: "" }, output],
  }),
  inside("input", "arguments that are not an object", {
    tools,
    input: [user, { ...call, arguments: "7" }, output],
  }),
  inside("input", "call ids of other characters", {
    tools,
    input: [user, { ...call, call_id: "call:1/a" }, { ...output, call_id: "call:1/a" }],
  }),
  said(
    "a custom tool's call",
    user,
    { type: "custom_tool_call", call_id: "call_1", name: "shell", input: "ls" },
    { type: "custom_tool_call_output", call_id: "call_1", output: "a" },
  ),
  said(
    "a hosted tool's call",
    user,
    { type: "web_search_call", id: "ws_1", status: "completed" },
    answer,
    user,
  ),
  said("a stored item", { type: "item_reference", id: "msg_1" }),
  said("an unknown item", { type: "telepathy" }),
];

const TOOLS: readonly Probe[] = [
  member("tools", "functions", tools),
  member("tools", "a strict function", [{ ...tool, strict: true }]),
  member("tools", "a custom tool", [{ type: "custom", name: "shell" }]),
  member("tools", "a `namespace` of functions", [
    { type: "namespace", name: "weather", tools: [tool] },
  ]),
  member("tools", "`web_search`", [{ type: "web_search" }]),
  member("tools", "`file_search`", [{ type: "file_search", vector_store_ids: ["vs_1"] }]),
  member("tools", "`code_interpreter`", [
    { type: "code_interpreter", container: { type: "auto" } },
  ]),
  member("tools", "`computer`", [{ type: "computer" }]),
  member("tools", "`mcp`", [{ type: "mcp", server_label: "a", server_url: "https://mcp.example" }]),
  member("tools", "`image_generation`", [{ type: "image_generation" }]),
  member("tools", "an unknown tool", [{ type: "teleport" }]),
  member("tool_choice", "`auto`", "auto", { tools }),
  member("tool_choice", "`none`", "none", { tools }),
  member("tool_choice", "`required`", "required", { tools }),
  member("tool_choice", "one function", { type: "function", name: "send" }, { tools }),
  member(
    "tool_choice",
    "the only function",
    { type: "function", name: "look_up" },
    { tools: [tool] },
  ),
  member(
    "tool_choice",
    "allowed tools",
    { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "send" }] },
    { tools },
  ),
  member(
    "tool_choice",
    "a hosted tool",
    { type: "web_search" },
    { tools: [{ type: "web_search" }] },
  ),
  member("tool_choice", "`required` with reasoning", "required", {
    tools,
    reasoning: { effort: "high" },
  }),
  member("parallel_tool_calls", "true", true, { tools }),
  member("parallel_tool_calls", "false", false, { tools }),
  member("parallel_tool_calls", "false, with one function", false, { tools: [tool] }),
  member("max_tool_calls", "", 3, { tools }),
];

const reasoning = (says: string, value: JsonObject): Probe => member("reasoning", says, value);

export const RESPONSES_PROBES: readonly Probe[] = [
  member("model", "", "r"),
  ...INPUT,
  member("instructions", "", "Be brief."),
  ...TOOLS,
  member("text", "empty", {}),
  member("text", "`format` text", { format: { type: "text" } }),
  member("text", "`format` json_object", { format: { type: "json_object" } }),
  member("text", "`format` json_schema", { format: schemaFormat }),
  member("text", "a strict json_schema", {
    format: { ...schemaFormat, description: "The weather.", strict: true },
  }),
  member(
    "text",
    "json_schema with reasoning",
    { format: schemaFormat },
    { reasoning: { effort: "high" } },
  ),
  member("text", "`verbosity` low", { verbosity: "low" }),
  member("text", "`verbosity` medium", { verbosity: "medium" }),
  member("response_format", "as in chat completions", {
    type: "json_schema",
    json_schema: { name: "weather", schema: SCHEMA },
  }),
  member("response_format", "flat", schemaFormat),
  member(
    "response_format",
    "other than `text.format`",
    { type: "json_object" },
    { text: { format: schemaFormat } },
  ),
  ...["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((effort) =>
    reasoning(`\`effort\` ${effort}`, { effort }),
  ),
  reasoning("`summary`", { effort: "high", summary: "auto" }),
  reasoning("`generate_summary`", { effort: "high", generate_summary: "concise" }),
  reasoning("`context` auto", { effort: "high", context: "auto" }),
  reasoning("`mode` standard", { effort: "high", mode: "standard" }),
  reasoning("another `mode`", { effort: "high", mode: "pro" }),
  member("include", "encrypted reasoning", ["reasoning.encrypted_content"]),
  member("include", "log probabilities", ["message.output_text.logprobs"]),
  member("include", "anything else", ["web_search_call.action.sources"]),
  member("top_logprobs", "", 3),
  member("top_logprobs", "0", 0),
  member("temperature", "up to 1", 0.5),
  member("temperature", "above 1", 1.5),
  member("top_p", "", 0.5),
  member("frequency_penalty", "", 0.5),
  member("presence_penalty", "", -0.5),
  member("presence_penalty", "0", 0),
  member("max_output_tokens", "", 1_000),
  member("truncation", "`disabled`", "disabled"),
  member("truncation", "`auto`", "auto"),
  member("stream", "", true),
  member("stream_options", "obfuscation off", { include_obfuscation: false }, { stream: true }),
  member("service_tier", "`auto`", "auto"),
  member("service_tier", "`default`", "default"),
  member("service_tier", "`flex`", "flex"),
  member("prompt_cache_key", "", "cache-1"),
  member("prompt_cache_retention", "", "24h"),
  member("prompt_cache_options", "", { mode: "implicit" }),
  member("store", "false", false),
  member("store", "true", true),
  member("moderation", "", { model: "omni-moderation-latest" }),
  member("access_programs", "", { cyber: "standard" }),
  member("image", "", { context_compression: "auto" }),
  member("background_options", "", { mode: "any" }),
  member("background", "false", false),
  member("background", "true", true),
  member("previous_response_id", "", "resp_1"),
  member("conversation", "", "conv_1"),
  member("prompt", "", { id: "pmpt_1" }),
  member("context_management", "", [{ type: "compaction", compact_threshold: 1_000 }]),
  member("metadata", "", { team: "blue" }),
  member("user", "", "user-1"),
  member("safety_identifier", "", "hash-1"),
  member("client_metadata", "", { session: "s-1" }),
  member("provider", "", PREFERENCES),
];
