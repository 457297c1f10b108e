import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { ProviderRow } from "../../../src/canon/table.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../../src/dialects/anthropic-messages/dialect.ts";
import { codedError } from "../../../src/canon/error-codes.ts";
import {
  answered,
  body,
  contextOf,
  decoder,
  encoder,
  frame,
  hello,
  NO_EDITS,
  NO_HEADERS,
  read,
  targetWith,
} from "./target.ts";

const { relay } = messagesSurface;
type Edits = Parameters<typeof relay.edit>[4];

function edit(
  value: JsonObject,
  edits: Partial<Edits> = {},
  provider: Partial<ProviderRow> = {},
  headers = NO_HEADERS,
) {
  const { endpoint, provider: row } = targetWith({}, provider);
  return relay.edit(read(value, headers), endpoint, row, "reject", { ...NO_EDITS, ...edits });
}

describe("the request on its way to a provider of the same protocol", () => {
  it.each([
    ["{ ", "{"],
    [[{ type: "text", text: "{\n" }], [{ type: "text", text: "{" }]],
  ])(
    "has a prefilled answer that ends in white space, %j, without the space, on record",
    (content, sent) => {
      const said = { role: "user", content: "a" };
      const edited = edit(body({ messages: [said, { role: "assistant", content }] }));
      expect(edited.body.messages).toEqual([said, { role: "assistant", content: sent }]);
      expect(edited.dropped).toEqual(["prefill_trimmed"]);
      expect(
        edit(body({ messages: [said, { role: "assistant", content: sent }, said] })).dropped,
      ).toEqual([]);
    },
  );

  it("is unchanged except for the model's name, our members and the user's identity", () => {
    const value = body({
      metadata: { user_id: "u" },
      provider: { only: ["p"] },
      system: "s",
      temperature: 0,
    });
    const { body: sent, stripped } = edit(value);
    expect(JSON.parse(JSON.stringify(sent))).toEqual({
      ...hello,
      model: "upstream-a",
      system: "s",
      temperature: 0,
    });
    expect(stripped).toEqual(["metadata"]);
    expect(relay.path(targetWith().endpoint)).toBe("/v1/messages");
    expect(countTokensSurface.relay.path(targetWith().endpoint)).toBe("/v1/messages/count_tokens");
  });

  it("forwards or strips unknown members by unknown_fields of the route", () => {
    const { endpoint, provider } = targetWith();
    const value: JsonObject = JSON.parse(
      JSON.stringify({ ...hello, novelty: 1 }).replace("novelty", "__proto__"),
    );
    expect(
      JSON.stringify(relay.edit(read(value), endpoint, provider, "forward", NO_EDITS).body),
    ).toContain('"__proto__":1');
    const { body: sent, stripped } = relay.edit(read(value), endpoint, provider, "strip", NO_EDITS);
    expect([JSON.stringify(sent).includes("__proto__"), stripped]).toEqual([
      false,
      ["unknown_field"],
    ]);
  });

  it("loses members of policies, and has a lower limit and thinking budget", () => {
    const thinking = { type: "enabled", budget_tokens: 5_000 };
    const value = body({ max_tokens: 8_000, thinking, service_tier: "auto" });
    const { body: sent, stripped } = edit(value, {
      maxOutputTokens: 4_000,
      stripFields: ["service_tier"],
    });
    expect(sent).toMatchObject({
      max_tokens: 4_000,
      thinking: { type: "enabled", budget_tokens: 3_999 },
    });
    expect(stripped).toEqual(["service_tier"]);
    expect(edit(value, { maxOutputTokens: 9_000 }).body).toMatchObject({
      max_tokens: 8_000,
      thinking,
    });
    expect(edit(value, { maxOutputTokens: 10 }).body).toMatchObject({
      thinking: { budget_tokens: 1_024 },
    });
    // The caller's own mistake is for the provider to name.
    expect(
      edit(body({ max_tokens: 2_000, thinking }), { maxOutputTokens: 4_000 }).body,
    ).toMatchObject({ thinking });
  });

  it("a count is sent without an output limit", () => {
    const { endpoint, provider } = targetWith();
    const request = read(
      { model: "r", messages: hello.messages ?? [] },
      NO_HEADERS,
      countTokensSurface,
    );
    const { body: sent } = countTokensSurface.relay.edit(request, endpoint, provider, "reject", {
      ...NO_EDITS,
      maxOutputTokens: 5,
    });
    expect(Object.keys(sent).toSorted()).toEqual(["messages", "model"]);
  });

  it("has the caller's version, or the older one where the provider has no other", () => {
    const newest = { version: "2026-10-21", betas: [] };
    expect(edit(hello).headers).toEqual(["anthropic-version", "2023-06-01"]);
    expect(edit(hello, {}, {}, newest).headers).toEqual(["anthropic-version", "2026-10-21"]);
    const old = { flags: ["version_2023_06_01_only"] };
    expect(edit(hello, {}, old, newest).headers).toEqual(["anthropic-version", "2023-06-01"]);
  });

  it("sends the beta flags that the provider's row lists, and records that others were omitted", () => {
    const headers = { version: null, betas: ["a-1", "b-2", "c-3"] };
    const { headers: sent, stripped } = edit(hello, {}, { betas: ["c-3", "a-1"] }, headers);
    expect(sent).toEqual(["anthropic-version", "2023-06-01", "anthropic-beta", "a-1,c-3"]);
    expect(stripped).toEqual(["anthropic-beta"]);
    expect(edit(hello, {}, { betas: ["a-1"] }, { version: null, betas: ["a-1"] }).stripped).toEqual(
      [],
    );
    expect(edit(hello, {}, {}, headers).headers).toEqual(["anthropic-version", "2023-06-01"]);
  });

  it("has signatures without our tags, and no unsigned reasoning", () => {
    const text = { type: "text", text: "x" };
    const value = answered(
      { type: "thinking", thinking: "a", signature: "sbx1.anthropic.EqoB" },
      { type: "redacted_thinking", data: "sbx1.anthropic.EmwK" },
      { type: "thinking", thinking: "b", signature: "sbx1.unsigned." },
      { type: "thinking", thinking: "c", signature: "" },
      text,
    );
    const before = JSON.stringify(value);
    const { body: sent, stripped } = edit(value);
    expect(sent.messages).toMatchObject([
      {},
      {
        content: [
          { type: "thinking", thinking: "a", signature: "EqoB" },
          { type: "redacted_thinking", data: "EmwK" },
          // A provider's own.
          { type: "thinking", thinking: "c", signature: "" },
          text,
        ],
      },
      {},
    ]);
    expect(stripped).toEqual(["thinking"]);
    // The caller's body may be tried elsewhere.
    expect(JSON.stringify(value)).toBe(before);
  });

  it("messages that need no change are the caller's own", () => {
    const value = answered({ type: "thinking", thinking: "a", signature: "EqoB" });
    expect(edit(value).body.messages).toBe(value.messages);
  });
});

const start = frame({
  type: "message_start",
  message: { model: "m", content: [], usage: { input_tokens: 7, output_tokens: 1 } },
});
const ping = frame({ type: "ping" });
const open = frame({
  type: "content_block_start",
  index: 0,
  content_block: { type: "text", text: "" },
});
const delta = frame({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: "hi" },
});
const close = frame({ type: "content_block_stop", index: 0 });
const change = frame({
  type: "message_delta",
  delta: { stop_reason: "end_turn", stop_sequence: null },
  usage: { output_tokens: 9, cache_read_input_tokens: 5 },
});
const stop = frame({ type: "message_stop" });
const overloaded = frame({
  type: "error",
  error: { type: "overloaded_error", message: "secret text" },
});

const observe = () => relay.observe(contextOf());

describe("the stream on its way back", () => {
  it("is relayed byte for byte, unknown events and all, and its usage is added up", () => {
    const unknown = frame({ type: "content_block_novelty", index: 0 });
    const events = [start, open, ping, delta, unknown, close, change, stop];
    const observer = observe();
    expect(events.flatMap((event) => observer.push(event))).toEqual(events);
    expect(observer.hasEnded).toBe(true);
    expect(observer.endStream()).toEqual({
      events: [],
      ending: {
        failure: null,
        finish: "stop",
        usage: { input: 12, output: 9, cacheRead: 5, cacheWrite: null, reasoning: null },
        dropped: [],
        edits: 0,
      },
    });
  });

  it("has no output where the provider has only begun", () => {
    const observer = observe();
    const begun = [ping, encoder.encode(": hello\n\n"), start, ping, open];
    expect(begun.flatMap((event) => observer.push(event))).toEqual(begun);
    expect(observer.push(overloaded)).toEqual([]);
    expect(observer.failure).toMatchObject({ kind: "error_frame", code: "overloaded_error" });
    expect(observer.endStream().events).toEqual([]);
    expect(observer.hasOutput).toBe(false);
  });

  it("never relays an error event", () => {
    const observer = observe();
    const sent = [start, open, overloaded, delta].flatMap((event) => observer.push(event));
    expect(sent).toEqual([start, open]);
    expect(observer.endStream().ending.failure?.kind).toBe("error_frame");
  });

  it.each([
    ["truncated", [start, open, delta, close, change]],
    ["truncated", [start]],
    ["truncated", []],
    ["malformed", [open]],
    ["malformed", [start, encoder.encode("data: {oops\n\n")]],
    ["malformed", [start, open, start]],
  ] as const)("fails as %s: %#", (kind, events) => {
    const observer = observe();
    for (const event of events) observer.push(event);
    expect(observer.endStream().ending.failure?.kind).toBe(kind);
  });

  it("fails as too_large at an event that does not end", () => {
    const observer = observe();
    observer.push(start);
    const chunk = new Uint8Array(1024 * 1024).fill(97);
    for (let count = 0; count < 17; count += 1) observer.push(chunk);
    expect(observer.failure?.kind).toBe("too_large");
  });

  it("ends properly where the last blank line is missing", () => {
    const observer = observe();
    for (const event of [start, open, close, change]) observer.push(event);
    observer.push(stop.subarray(0, -2));
    const { ending, events } = observer.endStream();
    expect(ending.failure).toBeNull();
    expect(events.map((bytes) => decoder.decode(bytes)).join("")).toBe(decoder.decode(stop));
  });

  it.each([
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "context_window"],
    ["tool_use", "tool_calls"],
    ["refusal", "refusal"],
    ["pause_turn", "pause"],
    ["of_the_future", "other"],
  ])("the stop reason %s is recorded as %s", (reason, finish) => {
    const observer = observe();
    for (const event of [
      start,
      frame({ type: "message_delta", delta: { stop_reason: reason } }),
      stop,
    ])
      observer.push(event);
    expect(observer.endStream().ending).toMatchObject({ failure: null, finish });
  });

  it("ends with our error event where it fails", () => {
    const error = codedError("upstream_truncated", "It broke off.");
    expect(decoder.decode(observe().fail(error))).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"It broke off. (request id req_1)","details":{"error_code":"upstream_truncated"}},"request_id":"req_1"}\n\n',
    );
  });
});

describe("the whole answer on its way back", () => {
  const judge = (value: unknown) =>
    relay.readAnswer(encoder.encode(JSON.stringify(value)), contextOf());

  it("is unchanged", () => {
    const answer = {
      type: "message",
      content: [{ type: "novelty" }],
      stop_reason: "pause_turn",
      usage: { input_tokens: 1, output_tokens: 2, cache_creation_input_tokens: 3 },
    };
    const { ending, bytes } = judge(answer);
    expect(decoder.decode(bytes)).toBe(JSON.stringify(answer));
    expect(ending).toMatchObject({
      failure: null,
      finish: "pause",
      usage: { input: 4, output: 2, cacheWrite: 3 },
    });
  });

  it("counts the rounds that the totals omit", () => {
    const usage = {
      input_tokens: 10,
      output_tokens: 20,
      iterations: [
        { type: "compaction", input_tokens: 100, output_tokens: 200 },
        { type: "advisor_message", input_tokens: 1_000, output_tokens: 2_000 },
        { type: "message", input_tokens: 10, output_tokens: 20 },
      ],
    };
    expect(judge({ content: [], stop_reason: "end_turn", usage }).ending.usage).toMatchObject({
      input: 110,
      output: 220,
    });
  });

  it.each([
    ["malformed", "text"],
    ["malformed", { type: "message", content: [] }],
    ["malformed", { type: "message", stop_reason: "end_turn" }],
    ["error_frame", { type: "error", error: { type: "api_error", message: "secret text" } }],
  ])("fails as %s: %j", (kind, value) => {
    const { ending, bytes } = judge(value);
    expect([ending.failure?.kind, bytes.length]).toEqual([kind, 0]);
    expect(JSON.stringify(ending)).not.toContain("secret");
  });

  it("a count is read from input_tokens, and malformed without it", () => {
    const count = (value: unknown) =>
      countTokensSurface.relay.readAnswer(encoder.encode(JSON.stringify(value)), contextOf())
        .ending;
    expect(count({ input_tokens: 12, context_management: null })).toMatchObject({
      failure: null,
      usage: { input: 12 },
    });
    for (const value of [{}, { input_tokens: "12" }, { input_tokens: -1 }, []]) {
      expect(count(value).failure?.kind).toBe("malformed");
    }
  });
});
