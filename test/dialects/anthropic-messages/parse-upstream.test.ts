import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { ModelRow } from "../../../src/canon/table.ts";
import { mergedUsage, readUsage } from "../../../src/dialects/anthropic-messages/read-answer.ts";
import { dialect } from "../../../src/dialects/anthropic-messages/dialect.ts";
import { canon, encoder, frame, hello, targetWith } from "./target.ts";

const { generate: messagesUpstream } = dialect;

type Frame = JsonObject & { readonly type: string };

const plain = canon(hello);

function parseEvents(
  events: readonly (Frame | Uint8Array)[],
  request: Partial<GenerateRequest> = {},
  model: Partial<ModelRow> = {},
): readonly InferenceEvent[] {
  const parser = messagesUpstream.parseStream({ ...plain, ...request }, targetWith(model));
  const reported = events.flatMap((event) =>
    parser.push(event instanceof Uint8Array ? event : frame(event)),
  );
  return [...reported, ...parser.endAnswer()];
}

const start = {
  type: "message_start",
  message: {
    model: "m",
    content: [],
    usage: { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 1 },
  },
};
const open = (content_block: JsonObject, index = 0) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (change: JsonObject, index = 0) => ({
  type: "content_block_delta",
  index,
  delta: change,
});
const close = (index = 0) => ({ type: "content_block_stop", index });
const ended = (stop_reason: string | null, more: JsonObject = {}) => ({
  type: "message_delta",
  delta: { stop_reason, stop_sequence: null, ...more },
  usage: { output_tokens: 9, output_tokens_details: { thinking_tokens: 2 } },
});
const stop = { type: "message_stop" };
const usage = (output: number | null, reasoning: number | null) => ({
  input: 8,
  output,
  cacheRead: 3,
  cacheWrite: null,
  reasoning,
});

describe("a stream of messages", () => {
  it("reports thinking, text and calls, in their order", () => {
    const events = parseEvents([
      start,
      { type: "ping" },
      open({ type: "thinking", thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking: "hm" }),
      delta({ type: "signature_delta", signature: "EqoB" }),
      close(),
      open({ type: "redacted_thinking", data: "EmwK" }),
      close(),
      open({ type: "text", text: "" }),
      delta({ type: "text_delta", text: "see" }),
      delta({
        type: "citations_delta",
        citation: { type: "web_search_result_location", url: "https://a.example", title: "t" },
      }),
      delta({ type: "citations_delta", citation: { type: "char_location", document_index: 0 } }),
      delta({ type: "novelty_delta" }),
      close(),
      open({ type: "tool_use", id: "toolu_1", name: "f", input: {} }),
      delta({ type: "input_json_delta", partial_json: "" }),
      delta({ type: "input_json_delta", partial_json: '{"a"' }),
      delta({ type: "input_json_delta", partial_json: ":1}" }),
      close(),
      open({ type: "tool_use", id: "toolu_2", name: "g", input: {} }),
      close(),
      { type: "novelty" },
      ended("tool_use"),
      stop,
      { type: "message_start", message: {} },
    ]);
    expect(events).toEqual([
      { type: "start", model: "m" },
      { type: "usage", usage: usage(null, null) },
      { type: "open", index: 0, block: { kind: "reasoning", summary: false } },
      { type: "reasoning", index: 0, text: "hm" },
      { type: "signature", index: 0, signature: "EqoB", family: "anthropic" },
      { type: "close", index: 0 },
      { type: "open", index: 1, block: { kind: "reasoning", summary: false } },
      { type: "signature", index: 1, signature: "redacted:EmwK", family: "anthropic" },
      { type: "close", index: 1 },
      { type: "open", index: 2, block: { kind: "text" } },
      { type: "text", index: 2, text: "see", logprobs: [] },
      {
        type: "citation",
        index: 2,
        citation: { url: "https://a.example", title: "t", start: null, end: null },
      },
      { type: "dropped", field: "citations_dropped" },
      { type: "dropped", field: "unknown_content_dropped" },
      { type: "close", index: 2 },
      { type: "open", index: 3, block: { kind: "tool_call", id: "toolu_1", name: "f" } },
      { type: "arguments", index: 3, json: '{"a"' },
      { type: "arguments", index: 3, json: ":1}" },
      { type: "close", index: 3 },
      { type: "open", index: 4, block: { kind: "tool_call", id: "toolu_2", name: "g" } },
      { type: "arguments", index: 4, json: "{}" },
      { type: "close", index: 4 },
      { type: "usage", usage: usage(9, 2) },
      { type: "finish", reason: "tool_calls", stopSequence: null },
    ]);
  });

  it.each(["text", "thinking"])("reads a piece of %s of a block that was not begun", (kind) => {
    const reported = parseEvents([
      start,
      delta({ type: `${kind}_delta`, [kind]: "x" }),
      close(),
      ended("end_turn"),
      stop,
    ]);
    expect(reported.filter((event) => "text" in event)).toMatchObject([{ index: 0, text: "x" }]);
    expect(reported.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
  });

  it("reads a block after the reason", () => {
    const text = (value: string) => [
      open({ type: "text", text: "" }),
      delta({ type: "text_delta", text: value }),
      close(),
    ];
    const reported = parseEvents([start, ...text("a"), ended("end_turn"), ...text("b"), stop]);
    expect(reported.filter((event) => "text" in event)).toMatchObject([
      { text: "a" },
      { text: "b" },
    ]);
  });

  it.each(["pause_turn", "novelty"])(
    "%s after output is an answer cut short, on record",
    (reason) => {
      const reported = parseEvents([
        start,
        open({ type: "text", text: "a" }),
        close(),
        ended(reason),
        stop,
      ]);
      expect(reported.slice(-2)).toEqual([
        { type: "dropped", field: "finish_reason_unknown" },
        { type: "finish", reason: "other", stopSequence: null },
      ]);
    },
  );

  it("a signature that cannot be read back later is dropped and recorded", () => {
    const events = [
      start,
      open({ type: "thinking", thinking: "x", signature: "EqoB" }),
      close(),
      ended("end_turn"),
      stop,
    ];
    const reported = parseEvents(events, {}, { signatureFamily: null });
    expect(reported).toContainEqual({ type: "dropped", field: "signature_dropped" });
    expect(reported.some(({ type }) => type === "signature")).toBe(false);
    expect(parseEvents(events)).toContainEqual({
      type: "signature",
      index: 0,
      signature: "EqoB",
      family: "anthropic",
    });
  });

  it("thinking is a summary where one was requested", () => {
    const reasoning = { effort: "low", budget: null, adaptive: false, display: "auto" } as const;
    const reported = parseEvents(
      [start, open({ type: "thinking", thinking: "x" }), close(), ended("end_turn"), stop],
      {
        reasoning,
      },
    );
    expect(reported).toContainEqual({
      type: "open",
      index: 0,
      block: { kind: "reasoning", summary: true },
    });
  });

  it.each([
    ["end_turn", {}, { reason: "stop", stopSequence: null }],
    ["stop_sequence", { stop_sequence: "END" }, { reason: "stop_sequence", stopSequence: "END" }],
    ["max_tokens", {}, { reason: "length" }],
    ["model_context_window_exceeded", {}, { reason: "context_window" }],
    ["tool_use", {}, { reason: "tool_calls" }],
    ["refusal", {}, { reason: "refusal" }],
  ])("the stop reason %s finishes the stream", (reason, more, finish) => {
    expect(parseEvents([start, ended(reason, more), stop]).at(-1)).toMatchObject({
      type: "finish",
      ...finish,
    });
  });

  it("tool calls finish with tool_calls, though the provider reports end_turn", () => {
    const reported = parseEvents([
      start,
      open({ type: "tool_use", id: "1", name: "f", input: { a: 1 } }),
      close(),
      ended("end_turn"),
      stop,
    ]);
    expect(reported).toContainEqual({ type: "arguments", index: 0, json: '{"a":1}' });
    expect(reported.at(-1)).toMatchObject({ reason: "tool_calls" });
  });

  const failing: readonly (readonly [string, readonly (Frame | Uint8Array)[], JsonObject])[] = [
    [
      "a pause",
      [start, ended("pause_turn"), stop],
      { kind: "malformed", code: "unknown_finish_reason" },
    ],
    [
      "an unknown reason",
      [start, ended("novelty"), stop],
      { kind: "malformed", code: "unknown_finish_reason" },
    ],
    ["no reason", [start, ended(null), stop], { kind: "malformed", code: "unknown_finish_reason" }],
    [
      "a server's tool",
      [
        start,
        open({ type: "server_tool_use", id: "s", name: "web_search", input: {} }),
        close(),
        ended("end_turn"),
        stop,
      ],
      { kind: "malformed", code: "unexpected_output_item" },
    ],
    ["no end", [start, ended("end_turn")], { kind: "truncated" }],
    ["no beginning", [ended("end_turn"), stop], { kind: "malformed" }],
    ["nothing", [], { kind: "truncated" }],
    [
      "another answer in the middle",
      [start, open({ type: "text", text: "" }), start],
      { kind: "malformed" },
    ],
    [
      "a piece of a call of no block",
      [start, delta({ type: "input_json_delta", partial_json: "{}" })],
      { kind: "malformed" },
    ],
    [
      "text in a call",
      [
        start,
        open({ type: "tool_use", id: "1", name: "f" }),
        delta({ type: "text_delta", text: "x" }),
      ],
      { kind: "malformed" },
    ],
    ["no JSON", [start, encoder.encode("data: {oops\n\n")], { kind: "malformed" }],
    [
      "an error event",
      [start, { type: "error", error: { type: "overloaded_error", message: "secret text" } }],
      { kind: "error_frame", code: "overloaded_error" },
    ],
    [
      "an error of unknown type",
      [encoder.encode('event: error\ndata: {"error":{"type":"secret text"}}\n\n')],
      { kind: "error_frame", code: null },
    ],
  ];

  it.each(failing)("%s is a failure", (_name, events, failure) => {
    const reported = parseEvents(events);
    expect(reported.at(-1)).toMatchObject({ type: "failure", failure });
    expect(reported.filter(({ type }) => type === "failure" || type === "finish")).toHaveLength(1);
    expect(JSON.stringify(reported)).not.toContain("secret");
  });

  it("a repeated message_start is read once", () => {
    expect(
      parseEvents([start, start, ended("end_turn"), stop]).filter(({ type }) => type === "start"),
    ).toHaveLength(1);
  });

  it("a message that is complete in message_start is reported", () => {
    const message = {
      model: "m",
      content: [{ type: "text", text: "hi" }],
      stop_reason: "end_turn",
    };
    const answer = collectAnswer(parseEvents([{ type: "message_start", message }, stop]));
    expect(answer).toMatchObject({ blocks: [{ text: "hi" }], finish: { reason: "stop" } });
  });

  it("the last event needs no blank line", () => {
    expect(
      parseEvents([start, ended("end_turn"), encoder.encode('data: {"type":"message_stop"}')]).at(
        -1,
      )?.type,
    ).toBe("finish");
  });
});

describe("a whole message", () => {
  const read = (value: unknown, request: Partial<GenerateRequest> = {}) =>
    messagesUpstream.parseAnswer(
      encoder.encode(JSON.stringify(value)),
      { ...plain, ...request },
      targetWith(),
    );

  it("reports the same as its stream", () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "EqoB" },
      { type: "text", text: "see", citations: [{ url: "https://a.example" }] },
      { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 } },
    ];
    const reported = read({
      model: "m",
      content,
      stop_reason: "tool_use",
      usage: { input_tokens: 1, output_tokens: 2 },
    });
    const streamed = parseEvents([
      { type: "message_start", message: { model: "m", content: [] } },
      ...content.flatMap((block, index) => [open(block, index), close(index)]),
      {
        type: "message_delta",
        delta: { stop_reason: "tool_use" },
        usage: { input_tokens: 1, output_tokens: 2 },
      },
      stop,
    ]);
    expect(collectAnswer(reported)).toEqual(collectAnswer(streamed));
    expect(reported.at(-1)).toEqual({ type: "finish", reason: "tool_calls", stopSequence: null });
  });

  it.each([
    ["malformed", []],
    ["malformed", { stop_reason: "end_turn" }],
    ["error_frame", { type: "error", error: { type: "api_error", message: "secret text" } }],
  ])("fails as %s: %j", (kind, value) => {
    expect(read(value)).toEqual([{ type: "failure", failure: expect.objectContaining({ kind }) }]);
  });

  it("no block follows an unexpected one", () => {
    const reported = read({
      content: [{ type: "novelty" }, { type: "text", text: "x" }],
      stop_reason: "end_turn",
      usage: {},
    });
    expect(reported.map(({ type }) => type)).toEqual(["start", "failure"]);
  });

  it("a count is read from input_tokens, and malformed without it", () => {
    const count = { purpose: "count" } as const;
    expect(collectAnswer(read({ input_tokens: 12 }, count))).toMatchObject({
      usage: { input: 12 },
      failure: null,
    });
    expect(read({}, count)).toMatchObject([{ type: "failure", failure: { kind: "malformed" } }]);
  });
});

describe("an answer with an error status", () => {
  const read = (status: number, value: unknown) =>
    messagesUpstream.readError(status, encoder.encode(JSON.stringify(value)));
  const error = (type: string, message: string, details?: JsonObject) => ({
    type: "error",
    error: { type, message, details },
  });

  it.each([
    [400, error("invalid_request_error", "secret text"), "rejected", null],
    [
      400,
      error("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum"),
      "rejected",
      "context_length_exceeded",
    ],
    [
      400,
      error("invalid_request_error", "x", { error_code: "tool_name_conflict" }),
      "rejected",
      "tool_name_conflict",
    ],
    [401, error("authentication_error", "secret text"), "auth", null],
    [404, error("not_found_error", "model: secret text"), "not_found", "not_found_error"],
    [413, error("request_too_large", "secret text"), "rejected", "request_too_large"],
    [429, error("rate_limit_error", "secret text"), "rate_limited", "rate_limit_error"],
    [500, "secret text", "server_error", null],
    [529, error("overloaded_error", "secret text"), "overloaded", "overloaded_error"],
  ])("with the status %s and %j is %s, with the code %s", (status, value, kind, code) => {
    // The member is judged where the request is known (test/http/callers-mistakes.test.ts).
    const { param: _, ...rest } = read(status, value);
    expect(rest).toEqual({ kind, status, retryAfter: null, code });
  });
});

it("usage is unknown until the provider has sent some", () => {
  const none = mergedUsage(null, null, false);
  expect(readUsage(none)).toBeNull();
  expect(readUsage(mergedUsage(none, { output_tokens: 1 }, false))).toMatchObject({ output: 1 });
});

it.each<[string, JsonObject, JsonObject]>([
  ["an empty object", { cache_creation: { ephemeral_1h_input_tokens: 4 } }, { cache_creation: {} }],
  [
    "an object that lacks it",
    { output_tokens_details: { thinking_tokens: 2 } },
    { output_tokens_details: { other: 1 } },
  ],
  [
    "an empty list",
    { input_tokens: 9, iterations: [{ type: "compaction", input_tokens: 64 }] },
    { iterations: [] },
  ],
  ["a text", { input_tokens: 9 }, { input_tokens: "x" }],
  ["null", { output_tokens: 9, cache_read_input_tokens: 1 }, { cache_read_input_tokens: null }],
])("a count of a stream is not taken back by %s", (_, first, later) => {
  const begun = mergedUsage(null, first, false);
  expect(readUsage(mergedUsage(begun, later, false))).toEqual(readUsage(first));
});
