import Anthropic from "@anthropic-ai/sdk";
import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { FinishReason, InferenceEvent } from "../../../src/canon/generate/event.ts";
import { codedError } from "../../../src/canon/error-codes.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../../src/dialects/anthropic-messages/dialect.ts";
import { body, contextOf, decoder, read } from "./target.ts";

const { renderStream, renderAnswer } = messagesSurface.translation;
const usage = { input: 10, output: 5, cacheRead: 3, cacheWrite: 2, reasoning: 1 };
const finish = (reason: FinishReason, stopSequence: string | null = null): InferenceEvent => ({
  type: "finish",
  reason,
  stopSequence,
});

/** An answer with one of everything. */
const reported: readonly InferenceEvent[] = [
  { type: "start", model: "m" },
  { type: "open", index: 0, block: { kind: "reasoning", summary: false } },
  { type: "reasoning", index: 0, text: "hm" },
  { type: "signature", index: 0, signature: "gAAA", family: "gpt" },
  { type: "close", index: 0 },
  { type: "open", index: 1, block: { kind: "reasoning", summary: false } },
  { type: "signature", index: 1, signature: "redacted:EmwK", family: "claude" },
  { type: "close", index: 1 },
  { type: "open", index: 2, block: { kind: "reasoning", summary: true } },
  { type: "reasoning", index: 2, text: "unsigned" },
  { type: "close", index: 2 },
  { type: "open", index: 3, block: { kind: "text" } },
  { type: "text", index: 3, text: "let ", logprobs: [] },
  { type: "text", index: 3, text: "me", logprobs: [] },
  {
    type: "citation",
    index: 3,
    citation: { url: "https://a.example", title: null, start: null, end: null },
  },
  { type: "close", index: 3 },
  { type: "open", index: 4, block: { kind: "tool_call", id: "call_1", name: "f" } },
  { type: "arguments", index: 4, json: '{"a":' },
  { type: "arguments", index: 4, json: "[1]}" },
  { type: "close", index: 4 },
  { type: "usage", usage },
  finish("tool_calls"),
];

function print(events: readonly InferenceEvent[], context = contextOf()) {
  const renderer = renderStream(context);
  const bytes = events.flatMap((event) => renderer.push(event));
  return { text: bytes.map((one) => decoder.decode(one)), dropped: [...renderer.dropped] };
}

const dataOf = (event: string | undefined) =>
  JSON.parse(/^data: (.*)$/m.exec(event ?? "")?.[1] ?? "null");

describe("an answer as a stream of messages", () => {
  it("has every event at its position", () => {
    const { text, dropped } = print(reported);
    const names = text.map((event) => /^event: (\w+)\ndata: \{"type":"\1"/.exec(event)?.[1]);
    expect(names.map((name) => name?.replace("content_block_", ""))).toEqual(
      [
        "message_start",
        "start delta delta stop",
        "start stop",
        "start delta delta stop",
        "start delta delta stop",
        "start delta delta stop",
        "message_delta",
        "message_stop",
      ].flatMap((block) => block.split(" ")),
    );
    expect(dropped).toEqual(["citations_dropped"]);
    expect(dataOf(text[0]).message).toMatchObject({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      stop_reason: null,
    });
    expect(dataOf(text.at(-2))).toEqual({
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null, stop_details: null },
      usage: {
        input_tokens: 5,
        cache_creation_input_tokens: 2,
        cache_read_input_tokens: 3,
        output_tokens: 5,
        output_tokens_details: { thinking_tokens: 1 },
        server_tool_use: null,
      },
    });
  });

  it("reports counts that are known before the first text in message_start", () => {
    const { text } = print([
      { type: "start", model: null },
      { type: "usage", usage: { ...usage, output: null } },
      finish("stop"),
    ]);
    expect(dataOf(text[0]).message).toMatchObject({
      model: "upstream-a",
      usage: { input_tokens: 5, output_tokens: 0 },
    });
  });

  it("records usage_unknown where the provider gave no counts", () => {
    expect(print([{ type: "start", model: null }, finish("stop")]).dropped).toEqual([
      "usage_unknown",
    ]);
    expect(
      print([{ type: "start", model: null }, { type: "usage", usage }, finish("stop")]).dropped,
    ).toEqual([]);
  });

  it.each([
    ["stop", "end_turn"],
    ["length", "max_tokens"],
    ["context_window", "model_context_window_exceeded"],
    ["tool_calls", "tool_use"],
    ["refusal", "refusal"],
    ["content_filter", "refusal"],
    ["stop_sequence", "stop_sequence"],
  ] as const)("the finish %s is rendered as the stop reason %s", (reason, stopReason) => {
    const { text } = print([{ type: "start", model: null }, finish(reason, "END")]);
    expect(dataOf(text.at(-2)).delta).toMatchObject({
      stop_reason: stopReason,
      stop_sequence: reason === "stop_sequence" ? "END" : null,
      stop_details: stopReason === "refusal" ? { type: "refusal" } : null,
    });
  });

  it("records stop_sequence_unnamed where the provider does not name the stop sequence", () => {
    const context = contextOf(read(body({ stop_sequences: ["END"] })));
    const events = [
      { type: "start", model: null },
      { type: "usage", usage },
    ] as const;
    expect(print([...events, finish("stop")], context).dropped).toEqual(["stop_sequence_unnamed"]);
    expect(print([...events, finish("stop_sequence", "END")], context).dropped).toEqual([]);
    expect(print([...events, finish("stop_sequence")], context).dropped).toEqual([
      "stop_sequence_unnamed",
    ]);
  });
});

/** The official client over bytes that we printed. */
function client(bytes: string, type = "text/event-stream"): Anthropic {
  return new Anthropic({
    apiKey: "k",
    maxRetries: 0,
    fetch: () => Promise.resolve(new Response(bytes, { headers: { "content-type": type } })),
  });
}

const requested = {
  model: "r",
  max_tokens: 100,
  messages: [{ role: "user", content: "hello" }],
} as const;

describe("the official client", () => {
  it("collects the stream to the message that the whole answer is", async () => {
    const message = await client(print(reported).text.join(""))
      .messages.stream({ ...requested, messages: [...requested.messages] })
      .finalMessage();
    const whole = renderAnswer(collectAnswer(reported), contextOf());
    expect(JSON.parse(JSON.stringify(message))).toMatchObject(
      JSON.parse(JSON.stringify(whole.body)),
    );
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "hm", signature: "sbx1.gpt.gAAA" },
      { type: "redacted_thinking", data: "sbx1.claude.EmwK" },
      { type: "thinking", thinking: "unsigned", signature: "sbx1.unsigned.summary:" },
      { type: "text", text: "let me" },
      { type: "tool_use", id: "call_1", name: "f", input: { a: [1] } },
    ]);
    expect(whole.dropped).toEqual(["citations_dropped"]);
  });

  it("returns reasoning in a form that we can read again", async () => {
    const message = await client(print(reported).text.join(""))
      .messages.stream({ ...requested, messages: [...requested.messages] })
      .finalMessage();
    const again = read(
      body({
        messages: [
          { role: "user", content: "hello" },
          { role: "assistant", content: JSON.parse(JSON.stringify(message.content)) },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "call_1", content: "ok" }],
          },
        ],
      }),
    );
    expect(again.shape).toMatchObject({ signatureFamilies: ["claude", "gpt"] });
    expect(again.shape.features).not.toContain("native_messages");
    const made = messagesSurface.translation.toCanon(again, "reject", {
      maxOutputTokens: null,
      stripFields: [],
    });
    expect(made).toMatchObject({
      request: {
        turns: [
          {},
          {
            content: [
              { text: "hm", signature: "gAAA", family: "gpt" },
              { text: "", signature: "redacted:EmwK", family: "claude" },
              { text: "unsigned", signature: null },
              { text: "let me" },
              { id: "call_1", arguments: '{"a":[1]}' },
            ],
          },
          { role: "tool" },
        ],
      },
    });
  });

  it("throws where the stream fails, before the first text and after it", async () => {
    const error = codedError("upstream_truncated", "It broke off.");
    for (const events of [[], reported.slice(0, 13)]) {
      const renderer = renderStream(contextOf());
      const bytes = [...events.flatMap((event) => renderer.push(event)), renderer.fail(error)];
      const text = bytes.map((one) => decoder.decode(one)).join("");
      const stream = client(text).messages.stream({
        ...requested,
        messages: [...requested.messages],
      });
      await expect(stream.finalMessage()).rejects.toMatchObject({
        type: "api_error",
        error: { request_id: "req_1" },
      });
    }
  });

  it("reads a count", async () => {
    const answer = collectAnswer([
      { type: "start", model: null },
      { type: "usage", usage: { ...usage, input: 12 } },
      finish("stop"),
    ]);
    const { body: count } = countTokensSurface.translation.renderAnswer(answer, contextOf());
    const counted = await client(JSON.stringify(count), "application/json").messages.countTokens({
      model: "r",
      messages: [...requested.messages],
    });
    expect(counted.input_tokens).toBe(12);
  });
});

describe("a whole answer", () => {
  const blocks = (...events: InferenceEvent[]) =>
    collectAnswer([
      { type: "start", model: "m" },
      ...events,
      { type: "usage", usage },
      finish("length"),
    ]);
  const call = (json: string): InferenceEvent[] => [
    { type: "open", index: 0, block: { kind: "tool_call", id: "1", name: "f" } },
    { type: "arguments", index: 0, json },
    { type: "close", index: 0 },
  ];

  it("keeps the numbers of arguments", () => {
    const { body: message } = renderAnswer(blocks(...call('{"n":9007199254740993}')), contextOf());
    expect(JSON.stringify(message)).toContain('"input":{"n":9007199254740993}');
  });

  it.each(['{"path":"/tm', "[1]", "9007199254740993"])(
    "arguments that are no object are kept under INVALID_JSON, on record: %s",
    (json) => {
      const { body: message, dropped } = renderAnswer(blocks(...call(json)), contextOf());
      expect(message.content).toMatchObject([{ type: "tool_use", input: { INVALID_JSON: json } }]);
      expect(dropped).toEqual(["tool_arguments_normalised"]);
    },
  );

  it("renders a refusal as text with the stop reason refusal", () => {
    const { body: message } = renderAnswer(
      collectAnswer([
        { type: "start", model: "m" },
        { type: "open", index: 0, block: { kind: "refusal" } },
        { type: "refusal", index: 0, text: "no" },
        { type: "close", index: 0 },
        finish("refusal"),
      ]),
      contextOf(),
    );
    expect(message).toMatchObject({
      content: [{ type: "text", text: "no" }],
      stop_reason: "refusal",
      stop_details: { type: "refusal" },
    });
  });

  it("rendering a count without its number throws", () => {
    const answer = collectAnswer([{ type: "start", model: null }, finish("stop")]);
    expect(() => countTokensSurface.translation.renderAnswer(answer, contextOf())).toThrow(
      "without a count",
    );
  });
});
