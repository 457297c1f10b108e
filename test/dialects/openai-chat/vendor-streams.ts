import type { FailureKind } from "../../../src/canon/failure.ts";
import type { FinishReason } from "../../../src/canon/generate/event.ts";
import type { JsonObject } from "../../../src/canon/json.ts";

/**
 * Streams and errors of providers that differ from the protocol's own examples
 * (docs/protocols.md#chat-streams-of-providers), written after recorded exchanges, which
 * test/recorded/vendors.test.ts reads where they are available.
 */
interface Oddity {
  readonly name: string;
  /** As on the wire. */
  readonly stream: string;
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly string[];
  readonly finish?: FinishReason;
  readonly input?: number;
  /** Instead of all that. */
  readonly failure?: FailureKind;
  readonly code?: string;
}

function chunk(
  delta: JsonObject | null,
  finish: string | null = null,
  more: JsonObject = {},
): JsonObject {
  const choices = delta === null ? [] : [{ index: 0, delta, finish_reason: finish }];
  return { id: "x-1", object: "chat.completion.chunk", model: "m", choices, ...more };
}

function sse(...data: readonly (JsonObject | string)[]): string {
  return data
    .map((item) => `data: ${typeof item === "string" ? item : JSON.stringify(item)}\n\n`)
    .join("");
}

export const DONE = "[DONE]";
const hello = chunk({ role: "assistant", content: "Hello" });
const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 };
const filters = { hate: { filtered: false, severity: "safe" } };
const call = {
  index: 0,
  id: "D681PevKs",
  type: "function",
  function: { name: "f", arguments: "{}" },
};

export const ODDITIES: readonly Oddity[] = [
  {
    name: "Azure: filter results before the first choice and beside the last",
    stream: sse(
      {
        id: "",
        model: "",
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: filters }],
      },
      hello,
      { ...chunk({}, "stop"), content_filter_results: filters },
      chunk(null, null, { usage }),
      DONE,
    ),
    text: "Hello",
    finish: "stop",
    input: 7,
  },
  {
    name: "Azure: an answer that the filter cut short",
    stream: sse(hello, chunk({}, "content_filter"), DONE),
    text: "Hello",
    finish: "content_filter",
  },
  {
    name: "Mistral: a whole call in one delta, with the counts",
    stream: sse(chunk({ content: "", tool_calls: [call] }, "tool_calls", { usage }), DONE),
    calls: ["D681PevKs f {}"],
    finish: "tool_calls",
    input: 7,
  },
  {
    name: "Mistral: thinking as parts of the content",
    stream: sse(
      chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm" }] }] }),
      hello,
      chunk({ content: "" }, "model_length", { usage }),
      DONE,
    ),
    reasoning: "Hm",
    text: "Hello",
    finish: "length",
    input: 7,
  },
  {
    name: "Mistral: an answer that failed",
    stream: sse(hello, chunk({}, "error"), DONE),
    failure: "error_frame",
  },
  {
    name: "Groq: counts in an extension, reasoning apart",
    stream: sse(
      chunk({ reasoning: "Hm" }),
      hello,
      chunk({}, "stop", { x_groq: { id: "r", usage } }),
      DONE,
    ),
    reasoning: "Hm",
    text: "Hello",
    finish: "stop",
    input: 7,
  },
  {
    name: "Groq: an error event in the middle",
    stream: `${sse(hello)}event: error\n${sse({
      error: {
        message: "m",
        type: "invalid_request_error",
        code: "tool_use_failed",
        failed_generation: "secret",
      },
    })}${sse(DONE)}`,
    failure: "error_frame",
    code: "tool_use_failed",
  },
  {
    name: "DeepSeek: keep-alive comments, reasoning_content, a server that is full",
    stream: `: keep-alive\n\n${sse(chunk({ reasoning_content: "Hm", content: null }), hello, chunk({}, "insufficient_system_resource"), DONE)}`,
    failure: "overloaded",
  },
  {
    name: "DeepSeek: reasoning_content before the text",
    stream: `: keep-alive\n\n${sse(chunk({ reasoning_content: "Hm", content: null }), hello, chunk({ content: "" }, "stop", { usage }), DONE)}`,
    reasoning: "Hm",
    text: "Hello",
    finish: "stop",
    input: 7,
  },
  {
    name: "OpenRouter: processing comments, reasoning reported twice",
    stream: `: OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n${sse(
      chunk({
        content: "",
        reasoning: "Hm",
        reasoning_details: [{ type: "reasoning.text", text: "Hm", index: 0 }],
      }),
      hello,
      chunk({ content: "" }, "stop", { provider: "P" }),
      chunk(null, null, { usage: { ...usage, cost: 0.1 } }),
      DONE,
    )}`,
    reasoning: "Hm",
    text: "Hello",
    finish: "stop",
    input: 7,
  },
  {
    name: "OpenRouter: an error with a number for a code, beside a finished choice",
    stream: sse(hello, { ...chunk({ content: "" }, "error"), error: { code: 502, message: "m" } }),
    failure: "error_frame",
  },
  {
    name: "xAI: an error that is a text",
    stream: sse(hello, { code: "Some text", error: "more text" }, DONE),
    failure: "error_frame",
  },
  {
    name: "vLLM: a stop reason of its own, counts in every chunk",
    stream: sse(
      { ...hello, usage: { prompt_tokens: 7, completion_tokens: 0, total_tokens: 7 } },
      {
        ...chunk({ content: "" }, "stop"),
        choices: [{ index: 0, delta: {}, finish_reason: "stop", stop_reason: 128_001 }],
        usage,
      },
      DONE,
    ),
    text: "Hello",
    finish: "stop",
    input: 7,
  },
  {
    name: "vLLM, older: an error that is no member, and then the end",
    stream: sse(
      hello,
      { object: "error", message: "m", type: "InternalServerError", param: null, code: 500 },
      DONE,
    ),
    failure: "error_frame",
  },
  {
    name: "Ollama: two calls that both have the number 0",
    stream: sse(
      chunk({ tool_calls: [{ ...call, id: "call_1" }] }),
      chunk({ tool_calls: [{ ...call, id: "call_2" }] }),
      chunk({ content: "" }, "tool_calls"),
      DONE,
    ),
    calls: ["call_1 f {}", "call_2 f {}"],
    finish: "tool_calls",
  },
  {
    name: "Perplexity: the message so far in every chunk, lines that end with CR LF, no [DONE]",
    stream: sse(
      {
        ...hello,
        choices: [
          {
            index: 0,
            delta: { role: "assistant", content: "Hel" },
            message: { role: "assistant", content: "Hel" },
            finish_reason: null,
          },
        ],
        usage,
      },
      {
        ...hello,
        choices: [
          {
            index: 0,
            delta: { content: "lo" },
            message: { role: "assistant", content: "Hello" },
            finish_reason: null,
          },
        ],
        usage,
      },
      {
        ...hello,
        object: "chat.completion.done",
        choices: [
          {
            index: 0,
            delta: { content: "" },
            message: { role: "assistant", content: "Hello" },
            finish_reason: "stop",
          },
        ],
        usage,
      },
    ).replaceAll("\n", "\r\n"),
    text: "Hello",
    finish: "stop",
    input: 7,
  },
  {
    name: "GPUStack: no [DONE]",
    stream: sse(hello, chunk({}, "stop")),
    text: "Hello",
    finish: "stop",
  },
  {
    name: "a server that died behind a proxy: [DONE] and a reason that is null",
    stream: sse(hello, DONE),
    failure: "malformed",
    code: "missing_finish_reason",
  },
  {
    name: "without usage and without a role",
    stream: sse(chunk({ content: "Hello" }, "stop"), DONE),
    text: "Hello",
    finish: "stop",
  },
];
