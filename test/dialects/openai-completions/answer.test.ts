import { codedError } from "../../../src/canon/error-codes.ts";
import type { FinishReason, InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { AnswerContext } from "../../../src/dialects/dialect.ts";
import { completionsSurface } from "../../../src/dialects/openai-completions/dialect.ts";
import { NO_EDITS, NO_HEADERS, contextOf, targetOf } from "../laws/target.ts";
import { describe, expect, it } from "vitest";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const completionsUpstream = upstreamFor("generate", "openai-completions");

const encoder = new TextEncoder();
const target = targetOf("openai-completions");

function contextFor(more: JsonObject = {}): AnswerContext {
  const request = completionsSurface.parse({ model: "r", prompt: "x", ...more }, 10, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return contextOf(request);
}

const context = contextFor();
const canonical = completionsSurface.translation.toCanon(context.request, "reject", NO_EDITS);
if ("code" in canonical) throw new Error(canonical.message);
const { request } = canonical;

const event = (data: unknown): string =>
  `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const chunk = (text: string | null, finish: string | null = null, more: JsonObject = {}): string =>
  event({
    id: "cmpl-1",
    object: "text_completion",
    created: 1,
    model: "davinci:v2",
    choices: [{ index: 0, text, logprobs: null, finish_reason: finish }],
    ...more,
  });
const usage = {
  prompt_tokens: 10,
  completion_tokens: 4,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 3 },
};

function read(stream: string): readonly InferenceEvent[] {
  const parser = completionsUpstream.parseStream(request, target);
  return [...parser.push(encoder.encode(stream)), ...parser.endAnswer()];
}

function readWhole(body: unknown): readonly InferenceEvent[] {
  return completionsUpstream.parseAnswer(
    encoder.encode(typeof body === "string" ? body : JSON.stringify(body)),
    request,
    target,
  );
}

const last = (events: readonly InferenceEvent[]): InferenceEvent | undefined => events.at(-1);

describe("a provider's stream", () => {
  it("becomes one text block, usage, and the finish reason last", () => {
    const events = read(
      `${chunk("He")}${chunk("llo")}${chunk("", "length")}${event({ choices: [], usage })}${event("[DONE]")}`,
    );
    expect(events).toEqual([
      { type: "start", model: "davinci:v2" },
      { type: "open", index: 0, block: { kind: "text" } },
      { type: "text", index: 0, text: "He", logprobs: [] },
      { type: "text", index: 0, text: "llo", logprobs: [] },
      {
        type: "usage",
        usage: { input: 10, output: 4, cacheRead: 3, cacheWrite: null, reasoning: null },
      },
      { type: "close", index: 0 },
      { type: "finish", reason: "length", stopSequence: null },
    ]);
  });

  it.each<[string, string, object]>([
    [
      "without [DONE], but with a reason, is whole",
      chunk("a", "stop"),
      { type: "finish", reason: "stop" },
    ],
    [
      "whose last event has no blank line is whole",
      `${chunk("a", "stop")}data: [DONE]`,
      { type: "finish", reason: "stop" },
    ],
    [
      "that ends in the middle of the event after the reason is malformed",
      `${chunk("a", "stop")}data: {"usa`,
      { type: "failure", failure: { kind: "malformed" } },
    ],
    [
      "that was filtered says so",
      `${chunk("a", "content_filter")}${event("[DONE]")}`,
      { type: "finish", reason: "content_filter" },
    ],
    [
      "without any text may be whole",
      `${chunk("", "stop")}${event("[DONE]")}`,
      { type: "finish", reason: "stop" },
    ],
    [
      "that just ends is not whole",
      chunk("a"),
      { type: "failure", failure: { kind: "truncated" } },
    ],
    [
      "that ends in the middle of its first event is not whole",
      'data: {"cho',
      { type: "failure", failure: { kind: "malformed" } },
    ],
    ["of nothing is not whole", "", { type: "failure", failure: { kind: "truncated" } }],
    [
      "of nothing but [DONE] is not whole",
      event("[DONE]"),
      { type: "failure", failure: { kind: "truncated" } },
    ],
    [
      "with an error object has failed",
      `${chunk("a")}${event({ error: { message: "secret", code: "rate_limit_exceeded" } })}${chunk("b", "stop")}`,
      { type: "failure", failure: { kind: "error_frame", code: "rate_limit_exceeded" } },
    ],
    [
      "with an error event has failed",
      `${chunk("a")}event: error\n${event({ message: "secret" })}`,
      { type: "failure", failure: { kind: "error_frame", code: null } },
    ],
    [
      "of something that is not JSON is malformed",
      event("{oops"),
      { type: "failure", failure: { kind: "malformed" } },
    ],
    [
      "of chat chunks is malformed",
      event({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] }),
      { type: "failure", failure: { kind: "malformed" } },
    ],
    [
      "with a second choice that was not requested is malformed",
      event({ choices: [{ index: 1, text: "a", finish_reason: null }] }),
      { type: "failure", failure: { kind: "malformed" } },
    ],
    [
      "with an unknown reason after text is cut short",
      `${chunk("a", "bored")}${event("[DONE]")}`,
      { type: "finish", reason: "other" },
    ],
    [
      "with an unknown reason and no text has failed",
      `${chunk("", "bored")}${event("[DONE]")}`,
      { type: "failure", failure: { kind: "malformed", code: "unknown_finish_reason" } },
    ],
    [
      "that says tool calls has failed",
      chunk("a", "tool_calls"),
      { type: "failure", failure: { kind: "malformed", code: "unknown_finish_reason" } },
    ],
    [
      "that says [DONE] after some text and gives no reason has failed",
      `${chunk("a")}${event("[DONE]")}`,
      { type: "failure", failure: { kind: "malformed", code: "missing_finish_reason" } },
    ],
    [
      "that says error has failed",
      chunk("a", "error"),
      { type: "failure", failure: { kind: "error_frame" } },
    ],
  ])("%s", (_name, stream, terminal) => {
    const events = read(stream);
    expect(last(events)).toMatchObject(terminal);
    expect(events.filter(({ type }) => type === "finish" || type === "failure")).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  it("with an event of more than sixteen mebibytes is ended", () => {
    const parser = completionsUpstream.parseStream(request, target);
    const piece = encoder.encode(`data: ${"x".repeat(1024 * 1024)}`);
    const events = Array.from({ length: 17 }, () => parser.push(piece)).flat();
    expect(last(events)).toMatchObject({ type: "failure", failure: { kind: "too_large" } });
    expect([...parser.push(encoder.encode(event("[DONE]"))), ...parser.endAnswer()]).toEqual([]);
  });
});

describe("a provider's whole answer", () => {
  it("becomes the same events as a stream of it", () => {
    expect(
      readWhole({
        model: "m1",
        choices: [{ index: 0, text: "hello", finish_reason: "stop" }],
        usage,
      }),
    ).toEqual([
      { type: "start", model: "m1" },
      { type: "open", index: 0, block: { kind: "text" } },
      { type: "text", index: 0, text: "hello", logprobs: [] },
      {
        type: "usage",
        usage: { input: 10, output: 4, cacheRead: 3, cacheWrite: null, reasoning: null },
      },
      { type: "close", index: 0 },
      { type: "finish", reason: "stop", stopSequence: null },
    ]);
  });

  it.each<[string, unknown, object]>([
    ["without a reason is malformed", { choices: [{ text: "a" }] }, { kind: "malformed" }],
    ["without choices is malformed", { object: "text_completion" }, { kind: "malformed" }],
    [
      "of a chat message is malformed",
      { choices: [{ index: 0, message: { content: "a" }, finish_reason: "stop" }] },
      { kind: "malformed" },
    ],
    ["that is not JSON is malformed", "<html>", { kind: "malformed" }],
    [
      "that is an error is one",
      { error: { message: "secret", code: "insufficient_quota" } },
      { kind: "error_frame", code: "insufficient_quota" },
    ],
  ])("%s", (_name, body, failure) => {
    expect(last(readWhole(body))).toMatchObject({ type: "failure", failure });
    expect(JSON.stringify(readWhole(body))).not.toContain("secret");
  });

  it("with an error status is judged by the status, and its text is not kept", () => {
    const bytes = encoder.encode(
      JSON.stringify({ error: { message: "secret", code: "context_length_exceeded" } }),
    );
    expect(completionsUpstream.readError(400, bytes)).toEqual({
      kind: "rejected",
      status: 400,
      retryAfter: null,
      code: "context_length_exceeded",
    });
    expect(completionsUpstream.readError(401, encoder.encode("secret"))).toMatchObject({
      kind: "auth",
      code: null,
    });
  });
});

/** What another protocol's provider might say to a request for text. */
const reported: readonly InferenceEvent[] = [
  { type: "start", model: "up-1" },
  { type: "open", index: 0, block: { kind: "reasoning", summary: false } },
  { type: "reasoning", index: 0, text: "hmm" },
  { type: "signature", index: 0, signature: "sig", family: "family" },
  { type: "close", index: 0 },
  { type: "open", index: 1, block: { kind: "text" } },
  { type: "text", index: 1, text: "Hé", logprobs: [] },
  { type: "text", index: 1, text: "llo", logprobs: [] },
  {
    type: "citation",
    index: 1,
    citation: { url: "https://a.example", title: null, start: null, end: null },
  },
  { type: "close", index: 1 },
  { type: "usage", usage: { input: 10, output: 4, cacheRead: 3, cacheWrite: null, reasoning: 2 } },
  { type: "finish", reason: "stop", stopSequence: null },
];

function print(
  events: readonly InferenceEvent[],
  answered: AnswerContext,
): { text: string; dropped: readonly string[] } {
  const renderer = completionsSurface.translation.renderStream(answered);
  const bytes = events.flatMap((item) => renderer.push(item));
  return {
    text: bytes.map((item) => new TextDecoder().decode(item)).join(""),
    dropped: [...renderer.dropped],
  };
}

const chunksOf = (text: string): readonly JsonObject[] =>
  text
    .split("\n\n")
    .filter((item) => item.startsWith("data: {"))
    .map((item): JsonObject => JSON.parse(item.slice(6)));

describe("the client's answer", () => {
  it("is a stream of text chunks, one with the reason, and [DONE]", () => {
    const { text, dropped } = print(reported, contextFor({ stream: true }));
    const envelope = {
      id: "cmpl-law",
      object: "text_completion",
      created: 1_700_000_000,
      model: "up-1",
    };
    expect(chunksOf(text)).toEqual([
      { ...envelope, choices: [{ text: "Hé", index: 0, logprobs: null, finish_reason: null }] },
      { ...envelope, choices: [{ text: "llo", index: 0, logprobs: null, finish_reason: null }] },
      { ...envelope, choices: [{ text: "", index: 0, logprobs: null, finish_reason: "stop" }] },
    ]);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(dropped).toEqual(["reasoning_dropped", "signature_dropped", "citations_dropped"]);
  });

  it("has null usage on all chunks and the counts on a last one where that was requested", () => {
    const answered = contextFor({ stream: true, stream_options: { include_usage: true } });
    const chunks = chunksOf(print(reported, answered).text);
    expect(chunks.map((item) => item.usage).slice(0, -1)).toEqual([null, null, null]);
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 4,
        total_tokens: 14,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
    const unknown = chunksOf(
      print(
        reported.filter(({ type }) => type !== "usage"),
        answered,
      ).text,
    );
    expect(unknown.every((item) => item.usage === null)).toBe(true);
  });

  it("means the same whole", () => {
    const { body, dropped } = completionsSurface.translation.renderAnswer(
      collectAnswer(reported),
      context,
    );
    expect(body).toEqual({
      id: "cmpl-law",
      object: "text_completion",
      created: 1_700_000_000,
      model: "up-1",
      choices: [{ text: "Héllo", index: 0, logprobs: null, finish_reason: "stop" }],
      usage: {
        prompt_tokens: 10,
        completion_tokens: 4,
        total_tokens: 14,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
    expect(dropped.toSorted()).toEqual([
      "citations_dropped",
      "reasoning_dropped",
      "signature_dropped",
    ]);
    const unknown = completionsSurface.translation.renderAnswer(
      { ...collectAnswer(reported), usage: null, model: null },
      context,
    );
    expect(unknown.body).not.toHaveProperty("usage");
    expect(unknown.body).toHaveProperty("model", "public-model");
  });

  it.each<[FinishReason, string | null, string, readonly string[]]>([
    ["stop", null, "stop", []],
    ["stop_sequence", "END", "stop", ["stop_sequence_unnamed"]],
    ["length", null, "length", []],
    ["context_window", null, "length", []],
    ["refusal", null, "content_filter", []],
    ["content_filter", null, "content_filter", []],
  ])("ends for %s %s as %s, streamed and whole", (reason, stopSequence, finish, expected) => {
    const events: readonly InferenceEvent[] = [
      { type: "start", model: null },
      { type: "finish", reason, stopSequence },
    ];
    const streamed = print(events, context);
    expect(chunksOf(streamed.text).at(-1)).toMatchObject({
      choices: [{ text: "", finish_reason: finish }],
    });
    const whole = completionsSurface.translation.renderAnswer(collectAnswer(events), context);
    expect(whole.body).toMatchObject({ choices: [{ text: "", finish_reason: finish }] });
    expect([streamed.dropped, whole.dropped]).toEqual([expected, expected]);
  });

  it("never shows a refusal as a completion, nor a tool call as a text", () => {
    const events: readonly InferenceEvent[] = [
      { type: "start", model: null },
      { type: "open", index: 0, block: { kind: "refusal" } },
      { type: "refusal", index: 0, text: "I cannot." },
      { type: "close", index: 0 },
      { type: "open", index: 1, block: { kind: "tool_call", id: "c", name: "f" } },
      { type: "arguments", index: 1, json: "{}" },
      { type: "close", index: 1 },
      { type: "finish", reason: "stop", stopSequence: null },
    ];
    const streamed = print(events, context);
    expect(chunksOf(streamed.text).map(({ choices }) => choices)).toMatchObject([
      [{ text: "I cannot." }],
      [{ text: "", finish_reason: "content_filter" }],
    ]);
    const whole = completionsSurface.translation.renderAnswer(collectAnswer(events), context);
    expect(whole.body).toMatchObject({
      choices: [{ text: "I cannot.", finish_reason: "content_filter" }],
    });
    expect([streamed.dropped, whole.dropped]).toEqual([
      ["refusal_as_text", "tool_call_dropped"],
      ["refusal_as_text", "tool_call_dropped"],
    ]);
  });

  it("that cannot be finished ends with our error and [DONE], before any chunk too", () => {
    const error = codedError("upstream_truncated", "The answer broke off.");
    for (const events of [[], reported.slice(0, 7)]) {
      const renderer = completionsSurface.translation.renderStream(context);
      for (const item of events) renderer.push(item);
      const text = new TextDecoder().decode(renderer.fail(error));
      expect(text).toMatch(
        /^data: \{"error":\{"message":"The answer broke off\..*"code":"upstream_truncated"\}\}\n\ndata: \[DONE\]\n\n$/,
      );
    }
  });
});

describe("a relayed stream", () => {
  const relayed = (more: JsonObject, stream: string) => {
    const observer = completionsSurface.relay.observe(contextFor({ stream: true, ...more }));
    const sent = observer.push(encoder.encode(stream));
    const { ending, events } = observer.endStream();
    return {
      ending,
      text: [...sent, ...events].map((item) => new TextDecoder().decode(item)).join(""),
    };
  };

  it("is unchanged, except for usage that only we requested", () => {
    const body = `${chunk("a", null, { extra: 1 })}${chunk("", "stop")}`;
    const counted = `${body}${event({ choices: [], usage })}${event("[DONE]")}`;
    expect(relayed({}, counted).text).toBe(`${body}${event("[DONE]")}`);
    expect(relayed({ stream_options: { include_usage: true } }, counted).text).toBe(counted);
    expect(relayed({}, counted).ending).toMatchObject({
      failure: null,
      finish: "stop",
      usage: { input: 10, output: 4, cacheRead: 3 },
    });
  });

  it.each<[JsonObject, readonly number[], boolean]>([
    [{ n: 2 }, [0], false],
    [{ n: 2 }, [0, 1], true],
    [{ prompt: ["a", "b"], n: 2 }, [0, 1, 2], false],
    [{ prompt: ["a", "b"], n: 2 }, [0, 1, 2, 3], true],
    [{ prompt: [[1], [2]] }, [0], false],
    [{ prompt: [1, 2] }, [0], true],
  ])("of %j with the ended choices %j is whole: %s", (more, ended, whole) => {
    const stream = ended
      .map((index) => event({ choices: [{ index, text: "a", finish_reason: "stop" }] }))
      .join("");
    const { ending } = relayed(more, stream);
    expect(ending.failure?.kind ?? null).toBe(whole ? null : "truncated");
  });

  it("that fails is not ended as if it were whole", () => {
    for (const stream of [
      chunk("a"),
      `${chunk("a")}${event({ error: { message: "secret" } })}`,
      `${chunk("a")}${event("{oops")}`,
    ]) {
      const { ending, text } = relayed({}, stream);
      expect(ending.failure).not.toBeNull();
      expect(text).toBe(chunk("a"));
    }
  });

  it("a whole answer is judged like its stream", () => {
    const judge = (body: unknown) =>
      completionsSurface.relay.readAnswer(encoder.encode(JSON.stringify(body)), context);
    const body = { choices: [{ index: 0, text: "a", finish_reason: "length" }], usage };
    const answer = judge(body);
    expect(answer.ending).toMatchObject({ failure: null, finish: "length", usage: { input: 10 } });
    expect(JSON.parse(new TextDecoder().decode(answer.bytes))).toEqual(body);
    expect(judge({ choices: [{ text: "a" }] }).ending).toMatchObject({
      failure: null,
      finish: "other",
    });
    expect(judge({ choices: [{ text: "a", finish_reason: null }] }).ending.failure).toMatchObject({
      code: "missing_finish_reason",
    });
    expect(judge({ error: { message: "m" } }).ending.failure).toMatchObject({
      kind: "error_frame",
    });
  });
});
