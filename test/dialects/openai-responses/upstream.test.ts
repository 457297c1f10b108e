import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { bytesOf, generate, parseWire, TARGET, wire } from "./support.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const responsesUpstream = upstreamFor("generate", "openai-responses");

const created = {
  type: "response.created",
  response: { id: "r", model: "gpt", status: "in_progress" },
};
const end = (status: string, more: JsonObject = {}): JsonObject => ({
  type: `response.${status}`,
  response: { id: "r", status, output: [], ...more },
});
const item = (kind: "added" | "done", index: number, value: JsonObject): JsonObject => ({
  type: `response.output_item.${kind}`,
  output_index: index,
  item: value,
});
const event = (type: string, index: number, more: JsonObject): JsonObject => ({
  type: `response.${type}`,
  output_index: index,
  content_index: 0,
  ...more,
});
const message = (...content: readonly JsonObject[]): JsonObject => ({
  type: "message",
  id: "m",
  role: "assistant",
  content,
});
const call = (json: string): JsonObject => ({
  type: "function_call",
  id: "f",
  call_id: "c",
  name: "fn",
  arguments: json,
});
const text = (value: string) => ({ kind: "text", text: value, logprobs: [], citations: [] });

/** Blocks and ending of a stream; cut into single bytes it must say the same. */
function answer(...events: readonly JsonObject[]) {
  const whole = collectAnswer(parseWire(wire(created, ...events)));
  expect(collectAnswer(parseWire(wire(created, ...events).replaceAll("\n", "\r\n"), 1))).toEqual(
    whole,
  );
  return whole;
}

describe("a provider's stream", () => {
  it("is malformed where a piece follows for a call that was whole", () => {
    const { failure, finish } = answer(
      item("added", 0, call("")),
      event("function_call_arguments.delta", 0, { delta: '{"x":1}' }),
      item("added", 1, { ...call(""), call_id: "d", id: "g" }),
      event("function_call_arguments.delta", 1, { delta: "{}" }),
      event("function_call_arguments.delta", 0, { delta: ',"y":2}' }),
      end("completed"),
    );
    expect(finish).toBeNull();
    expect(failure).toMatchObject({ kind: "malformed", code: "torn_tool_call" });
  });

  it("has a call with an empty object where an item's arguments are no text", () => {
    for (const value of [1, null, {}]) {
      const { blocks } = answer(
        item("done", 0, { ...call(""), arguments: value }),
        end("completed"),
      );
      expect(blocks).toMatchObject([{ kind: "tool_call", arguments: "{}" }]);
    }
  });

  it.each<[string, readonly JsonObject[], readonly object[], string]>([
    [
      "deltas",
      [
        item("added", 0, message()),
        event("output_text.delta", 0, { delta: "a" }),
        event("output_text.delta", 0, { delta: "b" }),
        event("output_text.done", 0, { text: "ab" }),
        item("done", 0, message({ type: "output_text", text: "ab" })),
        end("completed"),
      ],
      [text("ab")],
      "stop",
    ],
    [
      "text that is only done",
      [item("added", 0, message()), event("output_text.done", 0, { text: "ab" }), end("completed")],
      [text("ab")],
      "stop",
    ],
    [
      "text that is only in its part",
      [
        item("added", 0, message()),
        event("content_part.done", 0, { part: { type: "output_text", text: "ab" } }),
        end("completed"),
      ],
      [text("ab")],
      "stop",
    ],
    [
      "text that is only in its item",
      [item("done", 0, message({ type: "output_text", text: "ab" })), end("completed")],
      [text("ab")],
      "stop",
    ],
    [
      "text that is only in the end",
      [end("completed", { output: [message({ type: "output_text", text: "ab" })] })],
      [text("ab")],
      "stop",
    ],
    [
      "text counted from 1",
      [
        item("added", 0, message()),
        event("output_text.delta", 0, { delta: "ab", content_index: 1 }),
        item("done", 0, message({ type: "output_text", text: "ab" })),
        end("completed"),
      ],
      [text("ab")],
      "stop",
    ],
    [
      "positions omitted",
      [
        item("added", 2, message()),
        event("output_text.delta", 2, { delta: "ab" }),
        item("done", 2, message({ type: "output_text", text: "ab" })),
        end("completed", { output: [message({ type: "output_text", text: "ab" })] }),
      ],
      [text("ab")],
      "stop",
    ],
    [
      "ids that change",
      [
        item("added", 0, message()),
        event("output_text.delta", 0, { delta: "ab" }),
        item("done", 0, { ...message({ type: "output_text", text: "ab" }), id: "other" }),
        end("completed", {
          output: [{ ...message({ type: "output_text", text: "ab" }), id: "third" }],
        }),
      ],
      [text("ab")],
      "stop",
    ],
    [
      "a call",
      [
        item("added", 0, call("")),
        event("function_call_arguments.delta", 0, { delta: '{"a"' }),
        event("function_call_arguments.delta", 0, { delta: ":1}" }),
        event("function_call_arguments.done", 0, { arguments: '{"a":1}' }),
        item("done", 0, call('{"a":1}')),
        end("completed"),
      ],
      [{ kind: "tool_call", id: "c", name: "fn", arguments: '{"a":1}' }],
      "tool_calls",
    ],
    [
      "arguments that are only done",
      [
        item("added", 0, call("")),
        event("function_call_arguments.done", 0, { arguments: '{"a":1}' }),
        end("completed"),
      ],
      [{ kind: "tool_call", id: "c", name: "fn", arguments: '{"a":1}' }],
      "tool_calls",
    ],
    [
      "a call that is only in its item",
      [item("done", 0, call('{"a":1}')), end("completed")],
      [{ kind: "tool_call", id: "c", name: "fn", arguments: '{"a":1}' }],
      "tool_calls",
    ],
    [
      "a call without arguments",
      [item("done", 0, call("")), end("completed")],
      [{ kind: "tool_call", id: "c", name: "fn", arguments: "{}" }],
      "tool_calls",
    ],
    [
      "a refusal",
      [
        event("refusal.delta", 0, { delta: "no" }),
        event("refusal.done", 0, { refusal: "no" }),
        end("completed"),
      ],
      [{ kind: "refusal", text: "no" }],
      "refusal",
    ],
    [
      "a refusal that is only done",
      [event("refusal.done", 0, { refusal: "no" }), end("completed")],
      [{ kind: "refusal", text: "no" }],
      "refusal",
    ],
    [
      "the limit",
      [
        event("output_text.delta", 0, { delta: "a" }),
        end("incomplete", { incomplete_details: { reason: "max_output_tokens" } }),
      ],
      [text("a")],
      "length",
    ],
    [
      "the filter",
      [end("incomplete", { incomplete_details: { reason: "content_filter" } })],
      [],
      "content_filter",
    ],
    [
      "unknown events",
      [{ type: "response.shining" }, { type: "keepalive" }, end("completed")],
      [],
      "stop",
    ],
  ])("%s", (_, events, blocks, reason) => {
    expect(answer(...events)).toMatchObject({
      model: "gpt",
      blocks,
      finish: { reason },
      failure: null,
    });
  });

  const thinking = (more: JsonObject = {}): JsonObject => ({
    type: "reasoning",
    id: "rs",
    summary: [],
    ...more,
  });
  it.each<[string, readonly JsonObject[], string, boolean, string | null]>([
    [
      "a summary",
      [
        item("added", 0, thinking()),
        event("reasoning_summary_text.delta", 0, { delta: "a" }),
        event("reasoning_summary_text.delta", 0, { summary_index: 0, delta: "a" }),
        event("reasoning_summary_text.done", 0, { summary_index: 0, text: "aa" }),
        event("reasoning_summary_text.delta", 0, { summary_index: 1, delta: "b" }),
        item(
          "done",
          0,
          thinking({ summary: [{ text: "aa" }, { text: "b" }], encrypted_content: "x" }),
        ),
      ],
      "aa\n\nb",
      true,
      "x",
    ],
    [
      "a summary that is only in its item",
      [
        item(
          "done",
          0,
          thinking({
            summary: [
              { type: "summary_text", text: "a" },
              { type: "summary_text", text: "b" },
            ],
          }),
        ),
      ],
      "a\n\nb",
      true,
      null,
    ],
    [
      "full text",
      [
        event("reasoning_text.delta", 0, { delta: "a" }),
        event("reasoning_text.done", 0, { text: "a" }),
      ],
      "a",
      false,
      null,
    ],
    [
      "full text by the specification's name",
      [event("reasoning.delta", 0, { delta: "a" }), event("reasoning.done", 0, { text: "a" })],
      "a",
      false,
      null,
    ],
    [
      "full text that is only done",
      [event("reasoning_text.done", 0, { text: "a" })],
      "a",
      false,
      null,
    ],
    [
      "full text that is only in its part",
      [event("reasoning_part.done", 0, { part: { type: "reasoning_text", text: "a" } })],
      "a",
      false,
      null,
    ],
    [
      "full text that is only in its item",
      [item("done", 0, thinking({ content: [{ type: "reasoning_text", text: "a" }] }))],
      "a",
      false,
      null,
    ],
    [
      "nothing but a seal",
      [
        item("added", 0, thinking({ encrypted_content: "early" })),
        item("done", 0, thinking({ encrypted_content: "x" })),
      ],
      "",
      false,
      "x",
    ],
  ])("reasoning: %s", (_, events, reported, summary, signature) => {
    const family = signature === null ? null : "family";
    expect(answer(...events, end("completed")).blocks).toEqual([
      { kind: "reasoning", text: reported, summary, signature, family },
    ]);
  });

  it("does not pass on a seal without a family that reads it", () => {
    const target = { ...TARGET, model: { ...TARGET.model, signatureFamily: null } };
    const sealed = item("done", 0, thinking({ encrypted_content: "x", summary: [{ text: "a" }] }));
    const events = parseWire(wire(created, sealed, end("completed")), 7, target);
    expect(collectAnswer(events).blocks).toMatchObject([{ text: "a", signature: null }]);
    expect(events).toContainEqual({ type: "dropped", field: "signature_dropped" });
  });

  it("reports probabilities and citations once", () => {
    const logprob = {
      token: "a",
      logprob: -1,
      bytes: [97],
      top_logprobs: [{ token: "b", logprob: -2, bytes: [98] }],
    };
    const cited = {
      type: "url_citation",
      url: "https://x.example",
      title: "X",
      start_index: 0,
      end_index: 1,
    };
    const file = { type: "file_citation", file_id: "f" };
    const faulty = [{ token: "b" }, { logprob: -1 }, null];
    const part = {
      type: "output_text",
      text: "a",
      annotations: [cited, file],
      logprobs: [logprob, ...faulty],
    };
    const expected = {
      kind: "text",
      text: "a",
      logprobs: [{ token: "a", logprob: -1, bytes: [97], top: logprob.top_logprobs }],
      citations: [{ url: "https://x.example", title: "X", start: 0, end: 1 }],
    };
    const streamed = [
      event("output_text.delta", 0, { delta: "a", logprobs: part.logprobs }),
      event("output_text.annotation.added", 0, { annotation: cited }),
      event("content_part.done", 0, { part }),
      item("done", 0, message(part)),
    ];
    for (const events of [streamed, [item("done", 0, message(part))]]) {
      expect(answer(...events, end("completed")).blocks).toEqual([expected]);
    }
    expect(parseWire(wire(created, ...streamed, end("completed")))).toContainEqual({
      type: "dropped",
      field: "citations_dropped",
    });
  });

  it("keeps blocks apart that a provider interleaves", () => {
    const two = (index: number, id: string): JsonObject => ({
      ...call(""),
      call_id: id,
      id,
      output_index: index,
    });
    const events = [
      item("added", 0, two(0, "x")),
      item("added", 1, two(1, "y")),
      event("function_call_arguments.delta", 1, { delta: '{"b":' }),
      event("function_call_arguments.delta", 0, { delta: '{"a":1}' }),
      event("function_call_arguments.delta", 1, { delta: "2}" }),
      end("completed"),
    ];
    expect(answer(...events).blocks).toMatchObject([
      { id: "x", arguments: '{"a":1}' },
      { id: "y", arguments: '{"b":2}' },
    ]);
  });

  it("reads usage, and leaves missing counts unknown", () => {
    const usage = { input_tokens: 9, output_tokens: 3, input_tokens_details: { cached_tokens: 4 } };
    expect(answer(end("completed", { usage })).usage).toEqual({
      input: 9,
      output: 3,
      cacheRead: 4,
      cacheWrite: null,
      reasoning: null,
    });
    expect(answer(end("failed", { usage })).usage).toMatchObject({ input: 9 });
    expect(answer(end("completed")).usage).toBeNull();
  });

  const secret = "the provider's own text";
  it.each<[string, string, string, string | null]>([
    ["cut short", wire(created, event("output_text.delta", 0, { delta: "a" })), "truncated", null],
    ["nothing", "", "truncated", null],
    ["[DONE] without an end", `${wire(created)}data: [DONE]\n\n`, "truncated", null],
    ["not JSON", "data: {oops\n\n", "malformed", null],
    ["no resource", wire({ type: "response.completed" }), "malformed", null],
    [
      "a hosted item",
      wire(created, item("added", 0, { type: "web_search_call", id: "w" })),
      "malformed",
      "unexpected_output_item",
    ],
    [
      "a hosted item at the end",
      wire(created, end("completed", { output: [{ type: "mcp_call" }] })),
      "malformed",
      "unexpected_output_item",
    ],
    [
      "a call without a name",
      wire(created, item("added", 0, { type: "function_call", id: "f" })),
      "malformed",
      "unnamed_call",
    ],
    [
      "another reason",
      wire(created, end("incomplete", { incomplete_details: { reason: secret } })),
      "malformed",
      "unknown_finish_reason",
    ],
    [
      "a failed answer",
      wire(created, end("failed", { error: { code: "rate_limit_exceeded", message: secret } })),
      "error_frame",
      "rate_limit_exceeded",
    ],
    [
      "an error event",
      wire({ type: "error", error: { code: secret, message: secret } }),
      "error_frame",
      null,
    ],
    [
      "a flat error event",
      wire({ type: "error", code: "insufficient_quota", message: secret }),
      "error_frame",
      "insufficient_quota",
    ],
    ["an error without a type", `data: {"error":{"message":"${secret}"}}\n\n`, "error_frame", null],
  ])("fails: %s", (_, stream, kind, code) => {
    const events = parseWire(stream);
    expect(events[0]).toMatchObject({ type: "start" });
    expect(events.at(-1)).toEqual({
      type: "failure",
      failure: { kind, status: null, retryAfter: null, code },
    });
    expect(JSON.stringify(events)).not.toContain(secret);
    expect(events.filter(({ type }) => type === "failure" || type === "finish")).toHaveLength(1);
  });

  it("has no event after its end", () => {
    const stream = wire(
      created,
      end("completed"),
      event("output_text.delta", 0, { delta: "late" }),
      end("failed"),
    );
    expect(parseWire(stream).at(-1)).toMatchObject({ type: "finish", reason: "stop" });
    const parser = responsesUpstream.parseStream(generate(), TARGET);
    parser.push(new TextEncoder().encode(stream));
    expect(parser.endAnswer()).toEqual([]);
  });

  it("ends at an event beyond the size limit", () => {
    const parser = responsesUpstream.parseStream(generate(), TARGET);
    expect(parser.push(new Uint8Array(17 * 1024 * 1024).fill(97)).at(-1)).toMatchObject({
      failure: { kind: "too_large" },
    });
  });
});

describe("a provider's whole answer", () => {
  const read = (body: unknown) => responsesUpstream.parseAnswer(bytesOf(body), generate(), TARGET);

  it("means the same as its stream", () => {
    const output = [
      {
        type: "reasoning",
        id: "rs",
        summary: [{ type: "summary_text", text: "why" }],
        encrypted_content: "x",
      },
      message(
        { type: "output_text", text: "a", annotations: [] },
        { type: "refusal", refusal: "no" },
      ),
      call("{}"),
    ];
    const usage = { input_tokens: 1, output_tokens: 2 };
    const whole = read({ model: "gpt", status: "completed", output, usage });
    const streamed = parseWire(
      wire(
        created,
        ...output.map((one, index) => item("done", index, one)),
        end("completed", { usage }),
      ),
    );
    expect(collectAnswer(whole)).toEqual(collectAnswer(streamed));
    expect(collectAnswer(whole).finish).toEqual({ reason: "tool_calls", stopSequence: null });
  });

  it.each<[unknown, string, string | null]>([
    [[], "malformed", null],
    [{ status: "in_progress", output: [] }, "malformed", null],
    [{ status: "completed" }, "malformed", null],
    [
      { status: "completed", output: [{ type: "web_search_call" }] },
      "malformed",
      "unexpected_output_item",
    ],
    [
      { status: "incomplete", output: [], incomplete_details: { reason: "steered" } },
      "malformed",
      "unknown_finish_reason",
    ],
    [
      { status: "failed", output: [], error: { code: "server_error" } },
      "error_frame",
      "server_error",
    ],
    [{ error: { code: "insufficient_quota" } }, "error_frame", "insufficient_quota"],
  ])("fails: %j", (body, kind, code) => {
    const events = read(body);
    expect(events[0]).toMatchObject({ type: "start" });
    expect(events.at(-1)).toMatchObject({ type: "failure", failure: { kind, code } });
  });

  it("counts tokens", () => {
    const count = (body: unknown) =>
      responsesUpstream.parseAnswer(bytesOf(body), generate({ purpose: "count" }), TARGET);
    expect(
      collectAnswer(count({ object: "response.input_tokens", input_tokens: 42 })),
    ).toMatchObject({
      usage: { input: 42, output: null },
      finish: { reason: "stop" },
    });
    expect(collectAnswer(count({ object: "response.input_tokens" })).failure).toMatchObject({
      kind: "malformed",
    });
  });

  it("reads an error's code and never its text", () => {
    const body = {
      error: { message: "secret", code: "context_length_exceeded", type: "invalid_request_error" },
    };
    expect(responsesUpstream.readError(400, bytesOf(body))).toEqual({
      kind: "rejected",
      status: 400,
      retryAfter: null,
      code: "context_length_exceeded",
    });
  });
});
