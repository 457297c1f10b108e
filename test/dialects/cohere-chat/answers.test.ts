import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { dialect } from "../../../src/dialects/cohere-chat/dialect.ts";
import { brokenLaws } from "../laws/arbitrary/events.ts";
import { DISGUISES, joined, pieces, singleBytes, someCuts } from "../laws/arbitrary/wire.ts";
import { asking, target } from "./target.ts";

const { generate: cohereChatUpstream } = dialect;

const encoder = new TextEncoder();
const request = asking();

/** The bytes of one event. */
function event(type: string, more: JsonObject = {}): Uint8Array {
  return encoder.encode(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
}

const inMessage = (message: JsonObject): JsonObject => ({ delta: { message } });
const start = event(
  "message-start",
  inMessage({ role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] }),
);
const open = (index: number, type: string): Uint8Array =>
  event("content-start", { index, ...inMessage({ content: { type, [type]: "" } }) });
const text = (index: number, said: string, more: JsonObject = {}): Uint8Array =>
  event("content-delta", { index, ...inMessage({ content: { text: said } }), ...more });
const thought = (index: number, said: string): Uint8Array =>
  event("content-delta", { index, ...inMessage({ content: { thinking: said } }) });
const close = (index: number): Uint8Array => event("content-end", { index });
const plan = (said: string): Uint8Array => event("tool-plan-delta", inMessage({ tool_plan: said }));
const call = (index: number, id: string, name: string): Uint8Array =>
  event("tool-call-start", {
    index,
    ...inMessage({ tool_calls: { id, type: "function", function: { name, arguments: "" } } }),
  });
const json = (index: number, fragment: string): Uint8Array =>
  event("tool-call-delta", {
    index,
    ...inMessage({ tool_calls: { function: { arguments: fragment } } }),
  });
const called = (index: number): Uint8Array => event("tool-call-end", { index });
const cite = (citation: JsonObject): Uint8Array =>
  event("citation-start", { index: 0, ...inMessage({ citations: citation }) });
const end = (finish_reason: string, more: JsonObject = {}): Uint8Array =>
  event("message-end", { delta: { finish_reason, ...more } });
const done = encoder.encode("data: [DONE]\n\n");

const usage = {
  billed_units: { input_tokens: 1, output_tokens: 2 },
  tokens: { input_tokens: 508, output_tokens: 86, reasoning_tokens: 28 },
  cached_tokens: 144,
};
const counts = { input: 508, output: 86, cacheRead: 144, cacheWrite: null, reasoning: 28 };

function reported(...bytes: readonly Uint8Array[]): readonly InferenceEvent[] {
  return reportedOf(request, bytes);
}

function reportedOf(
  requested: typeof request,
  bytes: readonly Uint8Array[],
): readonly InferenceEvent[] {
  const parser = cohereChatUpstream.parseStream(requested, target);
  const events = [...bytes.flatMap((piece) => parser.push(piece)), ...parser.endAnswer()];
  expect(brokenLaws(events)).toEqual([]);
  return events;
}

function whole(answer: unknown, requested = request): readonly InferenceEvent[] {
  const events = cohereChatUpstream.parseAnswer(
    encoder.encode(JSON.stringify(answer)),
    requested,
    target,
  );
  expect(brokenLaws(events)).toEqual([]);
  return events;
}

const answerOf = (events: readonly InferenceEvent[]) => collectAnswer(events);
const failureOf = (events: readonly InferenceEvent[]) => collectAnswer(events).failure;

const thinking = [
  start,
  open(0, "thinking"),
  thought(0, "h"),
  thought(0, "m"),
  close(0),
  open(1, "text"),
  text(1, "Grüße"),
  text(1, " 🚦"),
  close(1),
  end("COMPLETE", { usage }),
  done,
];
const calling = [
  start,
  plan("I will "),
  plan("look."),
  call(0, "a", "look_up"),
  json(0, '{"n"'),
  json(0, ":1}"),
  called(0),
  call(1, "b", "send"),
  called(1),
  end("TOOL_CALL", { usage }),
  done,
];

describe("a stream", () => {
  it("reports reasoning and text in separate blocks, and every count", () => {
    expect(reported(...thinking)).toEqual([
      { type: "start", model: null },
      { type: "open", index: 0, block: { kind: "reasoning", summary: false } },
      { type: "reasoning", index: 0, text: "h" },
      { type: "reasoning", index: 0, text: "m" },
      { type: "close", index: 0 },
      { type: "open", index: 1, block: { kind: "text" } },
      { type: "text", index: 1, text: "Grüße", logprobs: [] },
      { type: "text", index: 1, text: " 🚦", logprobs: [] },
      { type: "close", index: 1 },
      { type: "usage", usage: counts },
      { type: "finish", reason: "stop", stopSequence: null },
    ]);
  });

  it("reports a plan as text, and calls with their arguments; one without any has an empty object", () => {
    expect(answerOf(reported(...calling))).toEqual({
      model: null,
      blocks: [
        { kind: "text", text: "I will look.", logprobs: [], citations: [] },
        { kind: "tool_call", id: "a", name: "look_up", arguments: '{"n":1}' },
        { kind: "tool_call", id: "b", name: "send", arguments: "{}" },
      ],
      usage: counts,
      finish: { reason: "tool_calls", stopSequence: null },
      failure: null,
    });
  });

  it("reads null arguments as none, for every cut", () => {
    for (const fragments of [["null"], ["nu", "ll"], [" null "], ["n", "", "ull"]]) {
      const events = reported(
        start,
        call(0, "a", "look_up"),
        ...fragments.map((fragment) => json(0, fragment)),
        called(0),
        end("TOOL_CALL"),
      );
      expect(answerOf(events).blocks).toEqual([
        { kind: "tool_call", id: "a", name: "look_up", arguments: "{}" },
      ]);
    }
  });

  it("reports calls that overlap one after the other", () => {
    const events = reported(
      start,
      call(0, "a", "x"),
      call(1, "b", "y"),
      json(1, '{"b":'),
      json(0, '{"a":1}'),
      json(1, "2}"),
      called(1),
      called(0),
      end("TOOL_CALL"),
    );
    expect(answerOf(events).blocks).toMatchObject([
      { arguments: '{"a":1}' },
      { arguments: '{"b":2}' },
    ]);
  });

  it.each([
    ["COMPLETE", "stop"],
    ["STOP_SEQUENCE", "stop_sequence"],
    ["MAX_TOKENS", "length"],
    ["TOOL_CALL", "tool_calls"],
  ])("that ends with %s has the finish reason %s", (given, reason) => {
    expect(
      answerOf(reported(start, open(0, "text"), text(0, "a"), end(given))).finish?.reason,
    ).toBe(reason);
  });

  it("with calls finishes with tool_calls, unless its length was cut", () => {
    const bytes = [start, call(0, "a", "x"), json(0, "{}"), called(0)];
    expect(answerOf(reported(...bytes, end("COMPLETE"))).finish?.reason).toBe("tool_calls");
    expect(answerOf(reported(...bytes, end("MAX_TOKENS"))).finish?.reason).toBe("length");
  });

  it.each<[string, JsonObject, string, string | null]>([
    ["ERROR", {}, "error_frame", null],
    [
      "ERROR",
      { error: "secret text", error_type: "INVALID_TOOL_GENERATION" },
      "error_frame",
      "tool_use_failed",
    ],
    ["ERROR", { error: "secret text", error_type: "secret" }, "error_frame", null],
    ["TIMEOUT", {}, "error_frame", "generation_timeout"],
    ["ERROR_TOXIC", {}, "error_frame", null],
    ["", {}, "truncated", null],
  ])("that ends with %j and %j is a failure, never a stop", (reason, more, kind, code) => {
    const events = reported(
      start,
      open(0, "text"),
      text(0, "half an"),
      end(reason, { usage, ...more }),
      done,
    );
    expect(events.at(-1)).toEqual({
      type: "failure",
      failure: { kind, code, status: null, retryAfter: null },
    });
    expect(answerOf(events).usage).toEqual(counts);
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  it.each(["constructor", "SOMETHING_NEW"])(
    "that ends with %j after output is cut short, on record",
    (reason) => {
      const events = reported(
        start,
        open(0, "text"),
        text(0, "half an"),
        end(reason, { usage }),
        done,
      );
      expect(events.slice(-2)).toEqual([
        { type: "dropped", field: "finish_reason_unknown" },
        { type: "finish", reason: "other", stopSequence: null },
      ]);
      expect(answerOf(events).usage).toEqual(counts);
      expect(failureOf(reported(start, end(reason), done))).toMatchObject({
        code: "unknown_finish_reason",
      });
    },
  );

  it("records a piece of an unknown kind as dropped, and is malformed where it has no other", () => {
    const novel = event("novel-delta", { index: 0, ...inMessage({ novel: "a" }) });
    const events = reported(start, novel, open(0, "text"), text(0, "a"), end("COMPLETE"), done);
    expect(events).toContainEqual({ type: "dropped", field: "unknown_content_dropped" });
    expect(answerOf(events).finish?.reason).toBe("stop");
    expect(failureOf(reported(start, novel, end("COMPLETE"), done))).toMatchObject({
      code: "unexpected_output_item",
    });
  });

  it("is malformed where a piece follows for a call that was whole", () => {
    const torn = [
      call(0, "a", "f"),
      json(0, '{"x":1}'),
      call(1, "b", "g"),
      json(1, "{}"),
      json(0, ',"y":2}'),
    ];
    const events = reported(start, ...torn, called(0), called(1), end("TOOL_CALL"), done);
    expect(failureOf(events)).toMatchObject({ kind: "malformed", code: "torn_tool_call" });
  });

  it.each<[string, readonly Uint8Array[], string, string | null]>([
    ["nothing", [], "truncated", null],
    ["no end", [start, open(0, "text"), text(0, "a"), close(0)], "truncated", null],
    ["[DONE] alone", [start, done], "truncated", null],
    ["no JSON", [start, encoder.encode("data: {\n\n")], "malformed", null],
    [
      "an unknown part",
      [start, event("content-start", { index: 0, ...inMessage({ content: { type: "video" } }) })],
      "malformed",
      "unexpected_output_item",
    ],
    ["a call without a name", [start, call(0, "a", "")], "malformed", null],
    ["a call without an id", [start, call(0, "", "x")], "malformed", null],
    ["a call twice", [start, call(0, "a", "x"), call(0, "b", "y")], "malformed", null],
    ["arguments of nothing", [start, json(4, "{}")], "malformed", null],
    [
      "an error event",
      [start, encoder.encode('event: error\ndata: {"message":"too many tokens: secret"}\n\n')],
      "error_frame",
      "context_length_exceeded",
    ],
    [
      "an error without a name",
      [encoder.encode('data: {"message":"secret"}\n\n')],
      "error_frame",
      null,
    ],
    ["an object that is nothing", [encoder.encode("data: {}\n\n")], "malformed", null],
  ])("with %s is a failure", (_name, bytes, kind, code) => {
    const events = reported(...bytes);
    expect(failureOf(events)).toMatchObject({ kind, code });
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  it("skips unknown events and comments", () => {
    const events = reported(
      encoder.encode(": keep-alive\n\n"),
      start,
      event("debug", { prompt: "x" }),
      event("content-sparkle"),
      open(0, "text"),
      text(0, "a"),
      end("COMPLETE"),
    );
    expect(answerOf(events)).toMatchObject({ blocks: [{ text: "a" }], finish: { reason: "stop" } });
  });

  it("has no event after its end", () => {
    const parser = cohereChatUpstream.parseStream(request, target);
    parser.push(start);
    expect(parser.push(end("COMPLETE")).at(-1)).toMatchObject({ type: "finish" });
    expect([
      ...parser.push(text(0, "more")),
      ...parser.push(end("ERROR")),
      ...parser.endAnswer(),
    ]).toEqual([]);
  });

  it("is too large where an event has no end", () => {
    const parser = cohereChatUpstream.parseStream(request, target);
    const events = parser.push(new Uint8Array(16 * 1024 * 1024 + 1).fill(97));
    expect(failureOf(events)?.kind).toBe("too_large");
  });

  it("has only the provider's counts", () => {
    for (const nothing of [
      undefined,
      {},
      { billed_units: usage.billed_units },
      { tokens: { input_tokens: -1 } },
    ]) {
      expect(
        answerOf(reported(start, end("COMPLETE", nothing === undefined ? {} : { usage: nothing })))
          .usage,
      ).toBeNull();
    }
  });

  it.each(Object.entries(DISGUISES))(
    "means the same with %s, cut at every byte",
    (_name, disguise) => {
      for (const stream of [thinking, calling]) {
        const bytes = encoder.encode(disguise(new TextDecoder().decode(joined(stream))));
        expect(reported(...singleBytes(bytes))).toEqual(reported(...stream));
      }
    },
  );

  it("means the same for every cut, and is a failure where it breaks off before its end", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(thinking, calling),
        someCuts,
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (stream, cuts, share) => {
          const bytes = joined(stream.slice(0, -1));
          expect(reported(...pieces(bytes, cuts))).toEqual(reported(...stream));
          // The last blank line may be missing, so the last two bytes prove nothing.
          const cut = bytes.subarray(0, Math.floor(share * (bytes.length - 2)));
          expect(reported(...pieces(cut, cuts)).at(-1)).toMatchObject({
            type: "failure",
            failure: { kind: expect.stringMatching(/truncated|malformed/) },
          });
        },
      ),
    );
  });
});

const source = (url: string | null, title?: string): JsonObject => ({
  type: "document",
  id: "doc:0",
  document: {
    id: "doc:0",
    text: "…",
    ...(url === null ? {} : { url }),
    ...(title === undefined ? {} : { title }),
  },
});

describe("citations", () => {
  const cited = (more: JsonObject, ...sources: readonly JsonObject[]): JsonObject => ({
    start: 1,
    end: 3,
    text: "bc",
    sources,
    type: "TEXT_CONTENT",
    ...more,
  });

  it("name the sources of a text: one for each source with an address", () => {
    const bytes = [
      start,
      open(0, "thinking"),
      thought(0, "hm"),
      open(1, "text"),
      text(1, "abcd"),
      cite(
        cited({ content_index: 1 }, source("https://a.example", "A"), {
          type: "tool",
          id: "1",
          tool_output: { url: "https://b.example" },
        }),
      ),
      text(1, "e"),
      end("COMPLETE"),
    ];
    const { blocks } = answerOf(reported(...bytes));
    expect(blocks[1]).toMatchObject({
      text: "abcde",
      citations: [
        { url: "https://a.example", title: "A", start: 1, end: 3 },
        { url: "https://b.example", title: null, start: 1, end: 3 },
      ],
    });
    expect(reported(...bytes).filter(({ type }) => type === "dropped")).toEqual([]);
  });

  it.each<[string, JsonObject]>([
    ["a source of the request's own", cited({}, source(null))],
    ["no source", cited({})],
    ["a plan", cited({ type: "PLAN" }, source("https://a.example"))],
    ["another part", cited({ content_index: 7 }, source("https://a.example"))],
  ])("of %s are reported as dropped, once", (_name, citation) => {
    const events = reported(
      start,
      open(0, "text"),
      text(0, "abcd"),
      cite(citation),
      cite(citation),
      end("COMPLETE"),
    );
    expect(events.filter(({ type }) => type === "dropped")).toEqual([
      { type: "dropped", field: "citations_dropped" },
    ]);
    expect(answerOf(events).blocks).toEqual([
      { kind: "text", text: "abcd", logprobs: [], citations: [] },
    ]);
  });

  it("are the same in a whole answer, and count from the start of their part", () => {
    const citation = cited({}, source("https://a.example"));
    const content = [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "abcd" },
      { type: "text", text: "efgh" },
    ];
    const message = {
      role: "assistant",
      content,
      citations: [{ ...citation, content_index: 2 }, citation],
    };
    const { blocks } = answerOf(whole({ id: "1", message, finish_reason: "COMPLETE" }));
    expect(blocks).toMatchObject([
      { kind: "reasoning" },
      { text: "abcd", citations: [{ url: "https://a.example" }] },
      { text: "efgh", citations: [{ url: "https://a.example" }] },
    ]);
  });
});

describe("log probabilities", () => {
  const requested = asking({ logprobs: 0 });
  const entry = (said: string, ...logprobs: readonly number[]): JsonObject => ({
    text: said,
    token_ids: logprobs.map(() => 1),
    logprobs,
  });

  it("arrive with the text of their piece; those of several tokens are summed and recorded", () => {
    const bytes = [
      start,
      open(0, "text"),
      text(0, "ab", { logprobs: entry("ab", -0.5) }),
      text(0, "cd", { logprobs: entry("cd", -1, -2) }),
      end("COMPLETE"),
    ];
    const events = reportedOf(requested, bytes);
    expect(answerOf(events).blocks).toMatchObject([
      {
        text: "abcd",
        logprobs: [
          { token: "ab", logprob: -0.5, bytes: null, top: [] },
          { token: "cd", logprob: -3 },
        ],
      },
    ]);
    expect(events.filter(({ type }) => type === "dropped")).toEqual([
      { type: "dropped", field: "logprobs_coarser" },
    ]);
    expect(answerOf(reported(...bytes)).blocks).toMatchObject([{ logprobs: [] }]);
  });

  it("of a whole answer belong to its text, and not to its reasoning", () => {
    const content = [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "ab" },
    ];
    const answer = {
      message: { content },
      finish_reason: "COMPLETE",
      logprobs: [entry("hm", -9), entry("a", -1), entry("b", -2)],
    };
    expect(answerOf(whole(answer, requested)).blocks[1]).toMatchObject({
      logprobs: [
        { token: "a", logprob: -1 },
        { token: "b", logprob: -2 },
      ],
    });
    expect(
      answerOf(whole({ ...answer, logprobs: [entry("x", -1)] }, requested)).blocks[1],
    ).toMatchObject({
      logprobs: [],
    });
  });
});

describe("a whole answer", () => {
  it("means the same as its stream", () => {
    const message = {
      role: "assistant",
      tool_plan: "I will look.",
      tool_calls: [
        { id: "a", type: "function", function: { name: "look_up", arguments: '{"n":1}' } },
        { id: "b", type: "function", function: { name: "send", arguments: "null" } },
      ],
    };
    expect(answerOf(whole({ id: "1", message, finish_reason: "TOOL_CALL", usage }))).toEqual(
      answerOf(reported(...calling)),
    );
    const content = [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "Grüße 🚦" },
    ];
    expect(
      answerOf(whole({ id: "1", message: { content }, finish_reason: "COMPLETE", usage })),
    ).toEqual(answerOf(reported(...thinking)));
  });

  it.each<[string, unknown, string, string | null]>([
    ["no object", [], "malformed", null],
    ["another protocol's object", { text: "secret", generation_id: "1" }, "malformed", null],
    [
      "an error",
      { id: "1", message: "too many tokens: max tokens must be less than secret" },
      "error_frame",
      "max_tokens_exceeded",
    ],
    ["no reason", { message: { content: [] } }, "truncated", null],
    [
      "a reason of failure",
      { message: { content: [] }, finish_reason: "ERROR" },
      "error_frame",
      null,
    ],
    [
      "a part that is nothing",
      { message: { content: ["a"] }, finish_reason: "COMPLETE" },
      "malformed",
      "unexpected_output_item",
    ],
    [
      "a call that is none",
      { message: { tool_calls: [{}] }, finish_reason: "TOOL_CALL" },
      "malformed",
      "unexpected_output_item",
    ],
  ])("with %s is a failure", (_name, answer, kind, code) => {
    const events = whole(answer);
    expect(failureOf(events)).toMatchObject({ kind, code });
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  it("without content is an answer without blocks", () => {
    expect(
      answerOf(whole({ message: { role: "assistant" }, finish_reason: "COMPLETE" })),
    ).toMatchObject({
      blocks: [],
      finish: { reason: "stop" },
    });
  });
});

describe("an error status", () => {
  it.each([
    [
      400,
      {
        message:
          "too many tokens: total number of tokens in the prompt cannot exceed 4081 - secret",
      },
      "rejected",
      "context_length_exceeded",
    ],
    [400, { message: "secret" }, "rejected", null],
    [401, { message: "invalid api token secret" }, "auth", null],
    [404, {}, "not_found", null],
    [429, { message: "secret" }, "rate_limited", null],
    [498, { message: "secret" }, "rejected", null],
    [500, "secret", "server_error", null],
    [503, null, "overloaded", null],
  ])("%i is a failure without the provider's text", (status, body, kind, code) => {
    const failure = cohereChatUpstream.readError(status, encoder.encode(JSON.stringify(body)));
    expect(failure).toEqual({ kind, status, code, retryAfter: null });
  });
});
