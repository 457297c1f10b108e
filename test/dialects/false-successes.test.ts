import { describe, expect, it } from "vitest";
import type { FailureKind } from "../../src/canon/failure.ts";
import type { JsonObject } from "../../src/canon/json.ts";
import { messagesSurface } from "../../src/dialects/anthropic-messages/dialect.ts";
import type { AnswerStream, Surface, Upstream } from "../../src/dialects/dialect.ts";
import type { GenerateDialect } from "../../src/dialects/table.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { completionsSurface } from "../../src/dialects/openai-completions/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { formatSseEvent } from "../../src/dialects/sse.ts";
import { checkedEnd, upstreamFor } from "../../src/dialects/exchange-plan.ts";
import { contextOf, NO_HEADERS, targetOf } from "./laws/target.ts";
import { canon } from "./openai-chat/canon.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");
const responsesUpstream = upstreamFor("generate", "openai-responses");
const completionsUpstream = upstreamFor("generate", "openai-completions");

const encoder = new TextEncoder();

interface Speaker {
  readonly dialect: GenerateDialect;
  /** `null` where no caller speaks the protocol. */
  readonly surface: Surface | null;
  readonly request: JsonObject;
  readonly upstream: Upstream;
}

const messages = [{ role: "user", content: "x" }];
const CHAT: Speaker = {
  dialect: "openai-chat",
  surface: chatSurface,
  request: { model: "r", messages },
  upstream: chatUpstream,
};
const COMPLETIONS: Speaker = {
  dialect: "openai-completions",
  surface: completionsSurface,
  request: { model: "r", prompt: "x" },
  upstream: completionsUpstream,
};
const MESSAGES: Speaker = {
  dialect: "anthropic-messages",
  surface: messagesSurface,
  request: { model: "r", max_tokens: 9, messages },
  upstream: upstreamFor("generate", "anthropic-messages"),
};
const RESPONSES: Speaker = {
  dialect: "openai-responses",
  surface: responsesSurface,
  request: { model: "r", input: "x" },
  upstream: responsesUpstream,
};
const GEMINI: Speaker = {
  dialect: "gemini",
  surface: null,
  request: {},
  upstream: upstreamFor("generate", "gemini"),
};

type Verdict = FailureKind | "success" | "no relay";

function contextFor({ surface, request }: Speaker, stream: boolean) {
  const parsed = surface?.parse({ ...request, stream }, 10, NO_HEADERS);
  if (parsed === undefined || "code" in parsed) throw new Error("the request was refused");
  return contextOf(parsed);
}

/** How a stream ends natively relayed, and translated. Every event comes alone. */
function streamed(speaker: Speaker, events: readonly Uint8Array[]): readonly Verdict[] {
  const { surface, upstream, dialect } = speaker;
  let relayed: Verdict = "no relay";
  if (surface !== null) {
    const observer = surface.relay.observe(contextFor(speaker, true));
    for (const event of events) observer.push(event);
    relayed = observer.endStream().ending.failure?.kind ?? "success";
  }
  const parser = upstream.parseStream(canon(), targetOf(dialect), "a");
  const last = [...events.flatMap((event) => parser.push(event)), ...parser.endAnswer()].at(-1);
  return [relayed, last?.type === "failure" ? last.failure.kind : "success"];
}

function whole(speaker: Speaker, answer: JsonObject): readonly Verdict[] {
  const { surface, upstream, dialect } = speaker;
  const bytes = encoder.encode(JSON.stringify(answer));
  const relayed =
    surface?.relay.readAnswer(bytes, contextFor(speaker, false)).ending.failure?.kind ?? "success";
  const last = upstream.parseAnswer(bytes, canon(), targetOf(dialect), "a").at(-1);
  return [relayed, last?.type === "failure" ? last.failure.kind : "success"];
}

const event = (value: JsonObject): Uint8Array =>
  formatSseEvent(JSON.stringify(value), typeof value.type === "string" ? value.type : null);

const chatChunk = (delta: JsonObject, finish: string | null = null): Uint8Array =>
  event({ id: "c", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] });
const textChunk = (text: string, finish: string | null = null): Uint8Array =>
  event({ id: "c", model: "m", choices: [{ index: 0, text, finish_reason: finish }] });
const DONE = formatSseEvent("[DONE]");
const call = { index: 0, id: "t", type: "function", function: { name: "f", arguments: "{}" } };

const start = event({
  type: "message_start",
  message: { id: "m", model: "m", content: [], stop_reason: null },
});
const opened = event({
  type: "content_block_start",
  index: 0,
  content_block: { type: "text", text: "" },
});
const said = event({
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: "a" },
});
const closed = event({ type: "content_block_stop", index: 0 });
const stopped = event({
  type: "message_delta",
  delta: { stop_reason: "end_turn" },
  usage: { output_tokens: 1 },
});
const stop = event({ type: "message_stop" });

const piece = (text: string, more: JsonObject = {}): Uint8Array =>
  event({ candidates: [{ content: { parts: [{ text }] }, index: 0, ...more }] });
const END = { finishReason: "STOP" };

describe("an answer with events after its finish", () => {
  it.each<[string, Speaker, readonly Uint8Array[]]>([
    [
      "chat: text",
      CHAT,
      [chatChunk({ content: "a" }), chatChunk({}, "stop"), chatChunk({ content: "b" }), DONE],
    ],
    [
      "chat: another end",
      CHAT,
      [chatChunk({ content: "a" }, "stop"), chatChunk({ content: "b" }, "stop")],
    ],
    [
      "chat: a call",
      CHAT,
      [chatChunk({ content: "a" }, "stop"), chatChunk({ tool_calls: [call] }), DONE],
    ],
    [
      "chat: reasoning",
      CHAT,
      [chatChunk({ content: "a" }, "stop"), chatChunk({ reasoning_content: "b" }), DONE],
    ],
    [
      "completions: text",
      COMPLETIONS,
      [textChunk("a"), textChunk("", "stop"), textChunk("b"), DONE],
    ],
    ["messages: a piece", MESSAGES, [start, opened, said, stopped, said, stop]],
    ["messages: a block", MESSAGES, [start, opened, said, closed, stopped, opened, said, stop]],
  ])("is whole with its protocol's end, relayed and translated: %s", (_, speaker, events) => {
    expect(streamed(speaker, events)).toEqual(["success", "success"]);
  });

  it.each<[string, Speaker, readonly Uint8Array[]]>([
    ["chat", CHAT, [chatChunk({ content: "a" }, "stop"), chatChunk({ content: "b" })]],
    ["completions", COMPLETIONS, [textChunk("a", "stop"), textChunk("b")]],
    ["messages", MESSAGES, [start, opened, said, closed, stopped, opened, said]],
  ])("is truncated without it, relayed and translated: %s", (_, speaker, events) => {
    expect(streamed(speaker, events)).toEqual(["truncated", "truncated"]);
  });

  it.each<[string, Speaker, readonly Uint8Array[]]>([
    [
      "chat: the finish again",
      CHAT,
      [chatChunk({ content: "a" }, "stop"), chatChunk({ content: "" }, "stop"), DONE],
    ],
    [
      "chat: annotations",
      CHAT,
      [chatChunk({ content: "a" }, "stop"), chatChunk({ annotations: [] }), DONE],
    ],
    ["completions: nothing", COMPLETIONS, [textChunk("a", "stop"), textChunk(""), DONE]],
    ["messages: the end of the block", MESSAGES, [start, opened, said, stopped, closed, stop]],
  ])("is whole where nothing follows the finish: %s", (_, speaker, events) => {
    expect(streamed(speaker, events)).toEqual(["success", "success"]);
  });
});

describe("a stream that is not UTF-8", () => {
  const broken = (bytes: Uint8Array): Uint8Array => {
    const copy = Uint8Array.from(bytes);
    copy[bytes.indexOf(0x7a)] = 0xff;
    return copy;
  };

  it.each<[string, Speaker, readonly Uint8Array[]]>([
    ["chat", CHAT, [chatChunk({ content: "z" }), chatChunk({}, "stop"), DONE]],
    ["completions", COMPLETIONS, [textChunk("z"), textChunk("", "stop"), DONE]],
    [
      "messages",
      MESSAGES,
      [
        start,
        opened,
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "z" } }),
      ],
    ],
    [
      "responses",
      RESPONSES,
      [event({ type: "response.output_text.delta", output_index: 0, delta: "z" })],
    ],
    ["a comment", CHAT, [encoder.encode(": z\n\n"), chatChunk({ content: "a" }, "stop"), DONE]],
  ])("is malformed, relayed and translated: %s", (_, speaker, events) => {
    const damaged = events.map((one) => (one.includes(0x7a) ? broken(one) : one));
    expect(damaged).not.toEqual(events);
    expect(streamed(speaker, damaged)).toEqual(["malformed", "malformed"]);
  });

  it("is malformed from gemini too", () => {
    expect(streamed(GEMINI, [broken(piece("z")), piece("", END)])).toEqual([
      "no relay",
      "malformed",
    ]);
  });

  it("is whole where a character is cut between two chunks", () => {
    const bytes = chatChunk({ content: "ö" }, "stop");
    const middle = bytes.indexOf(0xc3) + 1;
    expect(streamed(CHAT, [bytes.subarray(0, middle), bytes.subarray(middle), DONE])).toEqual([
      "success",
      "success",
    ]);
  });
});

describe("a response that is completed and has an error", () => {
  const output = [
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "a" }] },
  ];
  const response = (error: JsonObject | string | null): JsonObject => ({
    model: "m",
    status: "completed",
    output,
    error,
  });

  it.each([{ code: "server_error", message: "x" }, {}, "x"])("has failed: %j", (error) => {
    expect(whole(RESPONSES, response(error))).toEqual(["error_frame", "error_frame"]);
    const end = event({ type: "response.completed", response: response(error) });
    expect(streamed(RESPONSES, [end])).toEqual(["error_frame", "error_frame"]);
  });

  it("has not failed where the error is null", () => {
    expect(whole(RESPONSES, response(null))).toEqual(["success", "success"]);
    const end = event({ type: "response.completed", response: response(null) });
    expect(streamed(RESPONSES, [end])).toEqual(["success", "success"]);
  });
});

describe("a message with an error in it", () => {
  const error = { type: "overloaded_error", message: "x" };
  const text = { type: "text", text: "a" };
  const message = (more: JsonObject): JsonObject => ({
    type: "message",
    model: "m",
    content: [text],
    stop_reason: "end_turn",
    ...more,
  });

  it.each<[string, JsonObject]>([
    ["its type", message({ type: "error", error })],
    ["an error beside its content", message({ error })],
    ["a block of type error", message({ content: [text, { type: "error", error }] })],
  ])("has failed, whole: %s", (_, answer) => {
    expect(whole(MESSAGES, answer)).toEqual(["error_frame", "error_frame"]);
  });

  it.each<[string, readonly Uint8Array[]]>([
    [
      "the message",
      [event({ type: "message_start", message: { type: "error", error, content: [] } })],
    ],
    [
      "a block",
      [
        start,
        event({ type: "content_block_start", index: 0, content_block: { type: "error", error } }),
      ],
    ],
    [
      "a piece",
      [
        start,
        opened,
        event({ type: "content_block_delta", index: 0, delta: { type: "error", error } }),
      ],
    ],
    [
      "the end",
      [start, opened, said, event({ type: "message_delta", delta: { type: "error", error } })],
    ],
  ])("has failed, streamed: %s", (_, events) => {
    expect(streamed(MESSAGES, [...events, stopped, stop])).toEqual(["error_frame", "error_frame"]);
  });

  it("is an answer where a tool of the provider has failed", () => {
    const result = { type: "web_search_tool_result_error", error_code: "unavailable" };
    const block = { type: "web_search_tool_result", tool_use_id: "t", content: result };
    const [relayed] = whole(MESSAGES, message({ content: [text, block], error: null }));
    expect(relayed).toBe("success");
  });
});

describe("a choice with an error in it", () => {
  const error = { code: 502, message: "x" };
  it("has failed, whole and streamed", () => {
    const choice = {
      index: 0,
      message: { role: "assistant", content: "a" },
      finish_reason: "stop",
      error,
    };
    expect(whole(CHAT, { model: "m", choices: [choice] })).toEqual(["error_frame", "error_frame"]);
    const chunk = event({
      choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop", error }],
    });
    expect(streamed(CHAT, [chunk, DONE])).toEqual(["error_frame", "error_frame"]);
  });
});

describe("a stream that may have been cut after its finish", () => {
  const usage = event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } });
  const stream = (...events: readonly Uint8Array[]): AnswerStream => {
    const observer = chatSurface.relay.observe(contextFor(CHAT, true));
    for (const one of events) observer.push(one);
    return observer;
  };
  const finished = chatChunk({ content: "a" }, "stop");

  it("is truncated without its counts, and whole with them or with its protocol's mark", () => {
    const kinds = (events: readonly Uint8Array[], mayBeCut: boolean): Verdict =>
      checkedEnd(stream(...events), mayBeCut).ending.failure?.kind ?? "success";
    expect(kinds([finished], true)).toBe("truncated");
    expect(kinds([finished], false)).toBe("success");
    expect(kinds([finished, usage], true)).toBe("success");
    expect(kinds([finished, DONE], true)).toBe("success");
  });
});
