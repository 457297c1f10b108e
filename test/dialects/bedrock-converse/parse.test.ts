import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { JsonValue } from "../../../src/canon/json.ts";
import { dialect } from "../../../src/dialects/bedrock-converse/dialect.ts";
import { frames, hello, targetWith, parseEvents, withTools, type Event } from "./target.ts";
import { codec, encodeFrame } from "./wire.ts";

const { generate: converseUpstream } = dialect;

const start: Event = { messageStart: { role: "assistant" } };
const delta = (contentBlockIndex: number, change: JsonValue): Event => ({
  contentBlockDelta: { contentBlockIndex, delta: change, p: "abcd" },
});
const opened = (contentBlockIndex: number, toolUse: JsonValue): Event => ({
  contentBlockStart: { contentBlockIndex, start: { toolUse } },
});
const close = (contentBlockIndex: number): Event => ({ contentBlockStop: { contentBlockIndex } });
const stop = (stopReason: string): Event => ({ messageStop: { stopReason } });
const counts = {
  inputTokens: 5,
  outputTokens: 9,
  totalTokens: 21,
  cacheReadInputTokens: 3,
  cacheWriteInputTokens: 4,
};
const metadata: Event = { metadata: { usage: counts, metrics: { latencyMs: 1 } } };
const usage = { input: 12, output: 9, cacheRead: 3, cacheWrite: 4, reasoning: null };

const said = (...events: readonly Event[]) => parseEvents(frames([start, ...events]));
const whole = (
  answer: JsonValue,
  request: GenerateRequest = withTools,
): readonly InferenceEvent[] =>
  converseUpstream.parseAnswer(
    new TextEncoder().encode(JSON.stringify(answer)),
    request,
    targetWith(),
  );
const answer = (content: readonly JsonValue[], stopReason = "end_turn") => ({
  output: { message: { role: "assistant", content } },
  stopReason,
  usage: counts,
});

describe("a stream", () => {
  it("reports reasoning, text and calls, in their order", () => {
    const events = said(
      delta(0, { reasoningContent: { text: "h" } }),
      delta(0, { reasoningContent: { text: "m" } }),
      delta(0, { reasoningContent: { signature: "Eq" } }),
      delta(0, { reasoningContent: { signature: "oB" } }),
      close(0),
      delta(1, { reasoningContent: { redactedContent: "YQ==" } }),
      delta(1, { reasoningContent: { redactedContent: "Yg==" } }),
      close(1),
      delta(2, { text: "" }),
      delta(2, {
        citation: {
          title: "t",
          location: { web: { url: "https://a.example", domain: "a.example" } },
        },
      }),
      delta(2, {
        citation: {
          title: "facts",
          location: { documentChar: { documentIndex: 0, start: 0, end: 3 } },
        },
      }),
      delta(2, { text: "see" }),
      delta(2, { novelty: {} }),
      close(2),
      opened(3, { toolUseId: "tooluse_1", name: "f", type: "tool_use" }),
      delta(3, { toolUse: { input: "" } }),
      delta(3, { toolUse: { input: '{"a"' } }),
      delta(3, { toolUse: { input: ":1}" } }),
      close(3),
      opened(4, { toolUseId: "tooluse_2", name: "g" }),
      close(4),
      { novelty: {} },
      stop("tool_use"),
      metadata,
    );
    expect(events).toEqual([
      { type: "start", model: null },
      { type: "open", index: 0, block: { kind: "reasoning", summary: false } },
      { type: "reasoning", index: 0, text: "h" },
      { type: "reasoning", index: 0, text: "m" },
      { type: "signature", index: 0, signature: "EqoB", family: "family" },
      { type: "close", index: 0 },
      { type: "open", index: 1, block: { kind: "reasoning", summary: false } },
      { type: "signature", index: 1, signature: "redacted:YWI=", family: "family" },
      { type: "close", index: 1 },
      { type: "dropped", field: "citations_dropped" },
      { type: "open", index: 2, block: { kind: "text" } },
      { type: "text", index: 2, text: "see", logprobs: [] },
      { type: "dropped", field: "unknown_content_dropped" },
      {
        type: "citation",
        index: 2,
        citation: { url: "https://a.example", title: "t", start: null, end: null },
      },
      { type: "close", index: 2 },
      { type: "open", index: 3, block: { kind: "tool_call", id: "tooluse_1", name: "f" } },
      { type: "arguments", index: 3, json: '{"a"' },
      { type: "arguments", index: 3, json: ":1}" },
      { type: "close", index: 3 },
      { type: "open", index: 4, block: { kind: "tool_call", id: "tooluse_2", name: "g" } },
      { type: "arguments", index: 4, json: "{}" },
      { type: "close", index: 4 },
      { type: "usage", usage },
      { type: "finish", reason: "tool_calls", stopSequence: null },
    ]);
  });

  it("is whole where it ends after the stop, without counts or with earlier ones", () => {
    const uncounted = said(delta(0, { text: "a" }), close(0), stop("end_turn"));
    expect(uncounted.at(-1)).toEqual({ type: "finish", reason: "stop", stopSequence: null });
    expect(collectAnswer(uncounted).usage).toBeNull();
    const early = said(delta(0, { text: "a" }), close(0), metadata, stop("end_turn"));
    expect(early.at(-1)).toEqual({ type: "finish", reason: "stop", stopSequence: null });
    expect(collectAnswer(early).usage).toEqual(usage);
    // Half of the counts have arrived: nothing that was said is missing.
    const [cut = new Uint8Array()] = frames([metadata]);
    const half = parseEvents([
      ...frames([start, delta(0, { text: "a" }), stop("end_turn")]),
      cut.subarray(0, 30),
    ]);
    expect(half.at(-1)).toMatchObject({ type: "finish", reason: "stop" });
  });

  it("without a stop is truncated, with any other events", () => {
    for (const events of [[], [delta(0, { text: "a" }), close(0), metadata]])
      expect(said(...events).at(-1)).toMatchObject({
        type: "failure",
        failure: { kind: "truncated" },
      });
    expect(parseEvents([])).toEqual([
      { type: "failure", failure: expect.objectContaining({ kind: "truncated" }) },
    ]);
  });

  it.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop_sequence"],
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "context_window"],
    ["tool_use", "tool_calls"],
    ["guardrail_intervened", "content_filter"],
    ["content_filtered", "content_filter"],
  ])("the stop reason %s finishes with %s", (stopReason, reason) => {
    expect(said(stop(stopReason), metadata).at(-1)).toEqual({
      type: "finish",
      reason,
      stopSequence: null,
    });
    expect(whole(answer([], stopReason)).at(-1)).toEqual({
      type: "finish",
      reason,
      stopSequence: null,
    });
  });

  it.each([
    ["malformed_model_output", "malformed_model_output"],
    ["malformed_tool_use", "malformed_tool_use"],
  ])("the stop reason %s is a failure, with the counts before it", (stopReason, code) => {
    for (const events of [
      said(delta(0, { text: "a" }), stop(stopReason), metadata),
      whole(answer([{ text: "a" }], stopReason)),
    ]) {
      expect(events.at(-1)).toMatchObject({
        type: "failure",
        failure: { kind: "malformed", code },
      });
      expect(events).toContainEqual(expect.objectContaining({ type: "usage" }));
    }
  });

  it.each(["pause_turn", "constructor", "a_new_one"])(
    "%s after output is an answer cut short, on record",
    (reason) => {
      for (const events of [
        said(delta(0, { text: "a" }), stop(reason), metadata),
        whole(answer([{ text: "a" }], reason)),
      ]) {
        expect(events).toContainEqual({ type: "dropped", field: "finish_reason_unknown" });
        expect(events.at(-1)).toEqual({ type: "finish", reason: "other", stopSequence: null });
      }
      const failure = { kind: "malformed", code: "unknown_finish_reason" };
      expect(said(stop(reason), metadata).at(-1)).toMatchObject({ type: "failure", failure });
    },
  );

  it("names the stop sequence where there can be only one", () => {
    const ended = (sequences: readonly string[]) =>
      parseEvents(frames([start, stop("stop_sequence"), metadata]), {
        ...hello,
        stop: sequences,
      }).at(-1);
    expect(ended(["END"])).toMatchObject({ stopSequence: "END" });
    expect(ended(["END", "STOP"])).toMatchObject({ stopSequence: null });
  });

  it.each([
    ["throttlingException", "rate_limited"],
    ["serviceUnavailableException", "overloaded"],
    ["internalServerException", "server_error"],
    ["modelStreamErrorException", "model_stream_error"],
    ["validationException", "invalid_request"],
    ["somethingElse", null],
  ])("the exception %s fails the stream at any position, also after the stop", (type, code) => {
    const headers = { ":message-type": "exception", ":exception-type": type };
    const exception = encodeFrame(headers, { message: "canary", originalStatusCode: 500 });
    for (const before of [[], [start, delta(0, { text: "a" })], [start, stop("end_turn")]]) {
      const events = parseEvents([
        ...frames(before),
        exception,
        ...frames([stop("end_turn"), metadata]),
      ]);
      expect(events.at(-1)).toEqual({
        type: "failure",
        failure: { kind: "error_frame", status: null, retryAfter: null, code },
      });
      expect(JSON.stringify(events)).not.toContain("canary");
    }
  });

  it("an error frame of the connection fails the stream too", () => {
    const headers = {
      ":message-type": "error",
      ":error-code": "InternalServerException",
      ":error-message": "canary",
    };
    expect(parseEvents([encodeFrame(headers, {})])).toEqual([
      {
        type: "failure",
        failure: { kind: "error_frame", status: null, retryAfter: null, code: "server_error" },
      },
    ]);
  });

  it.each<[string, Event[]]>([
    ["a delta without an index", [{ contentBlockDelta: { delta: { text: "a" } } }]],
    ["a delta of nothing", [{ contentBlockDelta: { contentBlockIndex: 0 } }]],
    ["arguments of a call that was never made", [delta(0, { toolUse: { input: "{}" } })]],
    [
      "arguments of a call that is over",
      [opened(0, { toolUseId: "a", name: "f" }), close(0), delta(0, { toolUse: { input: "1" } })],
    ],
    [
      "arguments of another call",
      [opened(0, { toolUseId: "a", name: "f" }), delta(1, { toolUse: { input: "1" } })],
    ],
    ["a text after the stop", [stop("end_turn"), delta(0, { text: "a" })]],
    ["a second stop", [stop("end_turn"), stop("end_turn")]],
    [
      "redacted reasoning of no bytes",
      [
        delta(0, { reasoningContent: { redactedContent: "YQ" } }),
        delta(0, { reasoningContent: { redactedContent: "%" } }),
        close(0),
      ],
    ],
  ])("%s is malformed", (_name, events) => {
    expect(said(...events).at(-1)).toMatchObject({
      type: "failure",
      failure: { kind: "malformed" },
    });
  });

  it.each<[string, Event]>([
    [
      "a tool that the provider runs",
      opened(0, { toolUseId: "a", name: "n", type: "server_tool_use" }),
    ],
    [
      "its result",
      { contentBlockStart: { contentBlockIndex: 0, start: { toolResult: { toolUseId: "a" } } } },
    ],
    ["a piece of it", delta(0, { toolResult: [{ text: "a" }] })],
    [
      "an image",
      { contentBlockStart: { contentBlockIndex: 0, start: { image: { format: "png" } } } },
    ],
    ["a piece of it", delta(0, { image: { source: {} } })],
  ])("%s is malformed, because it was not requested", (_name, event) => {
    expect(said(event).at(-1)).toMatchObject({
      failure: { kind: "malformed", code: "unexpected_output_item" },
    });
  });

  it("frames that are damaged, no JSON or without a type are malformed", () => {
    const sound = frames([start]);
    const [broken = new Uint8Array()] = frames([delta(0, { text: "a" })]);
    broken[broken.length - 10] = 0;
    const header = { type: "string", value: "contentBlockDelta" } as const;
    const event = { type: "string", value: "event" } as const;
    const body = new TextEncoder().encode("{");
    const noJson = codec.encode({
      headers: { ":event-type": header, ":message-type": event },
      body,
    });
    for (const frame of [
      broken,
      noJson,
      encodeFrame({ ":message-type": "event" }, {}),
      encodeFrame({}, {}),
    ]) {
      expect(
        parseEvents([...sound, frame, ...frames([stop("end_turn"), metadata])]).at(-1),
      ).toMatchObject({
        failure: { kind: "malformed", code: null },
      });
    }
  });

  it("with a damaged frame after its stop fails, because the frame's content is unknown", () => {
    const [broken = new Uint8Array()] = frames([metadata]);
    broken[broken.length - 10] = 0;
    const events = parseEvents([...frames([start, stop("end_turn")]), broken]);
    expect(events.at(-1)).toMatchObject({ failure: { kind: "malformed" } });
  });

  it("a frame beyond the limit is not waited for", () => {
    const huge = codec.encode({ headers: {}, body: new Uint8Array(16 * 1024 * 1024) });
    expect(parseEvents([huge.subarray(0, 12)]).at(-1)).toMatchObject({
      failure: { kind: "too_large" },
    });
  });

  it("omits a signature that cannot be read back, and records it once", () => {
    const events = parseEvents(
      frames([
        start,
        delta(0, { reasoningContent: { text: "a" } }),
        delta(0, { reasoningContent: { signature: "s" } }),
        close(0),
        delta(1, { reasoningContent: { signature: "s" } }),
        close(1),
        stop("end_turn"),
        metadata,
      ]),
      hello,
      targetWith({ signatureFamily: null }),
    );
    expect(events.filter(({ type }) => type === "dropped")).toEqual([
      { type: "dropped", field: "signature_dropped" },
    ]);
    expect(events.some(({ type }) => type === "signature")).toBe(false);
  });

  it("citations without a text are omitted", () => {
    const events = said(
      delta(0, { citation: { location: { web: { url: "https://a.example" } } } }),
      close(0),
      stop("end_turn"),
    );
    expect(events.map(({ type }) => type)).toEqual(["start", "dropped", "finish"]);
  });
});

describe("a block that was not closed before the end", () => {
  const text = delta(0, { text: "a" });

  it.each([
    ["never", [start, text, stop("end_turn"), metadata]],
    ["after it", [start, text, stop("end_turn"), close(0), metadata]],
  ])("is closed by it: %s", (_, events) => {
    const reported = parseEvents(frames(events));
    expect(collectAnswer(reported)).toMatchObject({
      blocks: [{ text: "a" }],
      finish: { reason: "stop" },
      failure: null,
    });
  });

  it("fails where the block continues after the end", () => {
    expect(parseEvents(frames([start, text, stop("end_turn"), text])).at(-1)).toMatchObject({
      type: "failure",
    });
  });
});

describe("a call where no tool was offered", () => {
  const request: GenerateRequest = { ...withTools, toolChoice: { mode: "none" } };
  const calling = [
    start,
    opened(0, { toolUseId: "a", name: "unavailable" }),
    delta(0, { toolUse: { input: "{}" } }),
    close(0),
    delta(1, { text: "b" }),
    close(1),
    stop("tool_use"),
    metadata,
  ];

  it("is a failure, streamed and whole: the text may be incomplete", () => {
    const failure = { kind: "malformed", code: "unexpected_output_item" };
    expect(parseEvents(frames(calling), request).at(-1)).toMatchObject({
      type: "failure",
      failure,
    });
    const read = whole(
      answer([{ text: "b" }, { toolUse: { toolUseId: "a", name: "f", input: {} } }], "tool_use"),
      request,
    );
    expect(read.at(-1)).toMatchObject({ type: "failure", failure });
  });
});

describe("a whole answer", () => {
  it("means the same as its stream", () => {
    const reported = whole({
      output: {
        message: {
          role: "assistant",
          content: [
            { reasoningContent: { reasoningText: { text: "hm", signature: "EqoB" } } },
            { reasoningContent: { redactedContent: "YWI=" } },
            { type: "text", text: "see" },
            {
              citationsContent: {
                content: [{ text: "it " }, { text: "is" }],
                citations: [{ title: "t", location: { web: { url: "https://a.example" } } }],
              },
            },
            { toolUse: { toolUseId: "tooluse_1", name: "f", input: { a: 1 }, type: "tool_use" } },
          ],
        },
      },
      stopReason: "end_turn",
      usage: { inputTokens: 5, outputTokens: 9, cacheReadInputTokens: 3, cacheWriteInputTokens: 4 },
      trace: { guardrail: { modelOutput: ["canary"] } },
    });
    expect(JSON.stringify(reported)).not.toContain("canary");
    expect(collectAnswer(reported)).toMatchObject({
      model: null,
      blocks: [
        { kind: "reasoning", text: "hm", signature: "EqoB", family: "family" },
        { kind: "reasoning", text: "", signature: "redacted:YWI=" },
        { kind: "text", text: "see" },
        { kind: "text", text: "it is", citations: [{ url: "https://a.example", title: "t" }] },
        { kind: "tool_call", id: "tooluse_1", name: "f", arguments: '{"a":1}' },
      ],
      usage,
      // Some models call a tool and say that they have ended their turn.
      finish: { reason: "tool_calls" },
    });
  });

  it("keeps the numbers of arguments", () => {
    const body =
      '{"output":{"message":{"content":[{"toolUse":{"toolUseId":"a","name":"f","input":{"n":9007199254740993}}}]}},"stopReason":"tool_use"}';
    const events = converseUpstream.parseAnswer(
      new TextEncoder().encode(body),
      withTools,
      targetWith(),
    );
    expect(events).toContainEqual({ type: "arguments", index: 0, json: '{"n":9007199254740993}' });
    expect(events.at(-1)).toMatchObject({ type: "finish" });
  });

  it.each<[string, JsonValue, string | null]>([
    ["no object", [], null],
    ["no message", { output: {}, stopReason: "end_turn" }, null],
    ["a block of nothing", answer(["a"]), null],
    ["a block of another kind", answer([{ image: {} }]), "unexpected_output_item"],
    [
      "a tool that the provider runs",
      answer([{ toolUse: { type: "server_tool_use", input: {} } }, { text: "a" }]),
      "unexpected_output_item",
    ],
    ["no reason to stop", { output: { message: { content: [] } } }, "unknown_finish_reason"],
  ])("with %s is malformed", (_name, body, code) => {
    expect(whole(body).at(-1)).toMatchObject({
      type: "failure",
      failure: { kind: "malformed", code },
    });
  });

  it("to a count is read from inputTokens, and malformed where that is no number", () => {
    const counting: GenerateRequest = { ...hello, purpose: "count" };
    expect(collectAnswer(whole({ inputTokens: 375 }, counting))).toMatchObject({
      usage: { input: 375, output: null },
      finish: { reason: "stop" },
    });
    expect(whole({ inputTokens: "375" }, counting)).toMatchObject([
      { failure: { kind: "malformed" } },
    ]);
  });
});

describe("an error answer", () => {
  it.each([
    [
      400,
      { message: "The model returned the following errors: Input Tokens Exceeded: canary" },
      "rejected",
      "context_length_exceeded",
    ],
    [
      400,
      { message: "Input is too long for requested model." },
      "rejected",
      "context_length_exceeded",
    ],
    [400, { message: "canary" }, "rejected", null],
    [
      400,
      { message: "canary", __type: "com.amazon.coral.service#ValidationException" },
      "rejected",
      "invalid_request",
    ],
    [403, { message: "The security token included in the request is invalid." }, "auth", null],
    [404, { __type: "ResourceNotFoundException" }, "not_found", "model_not_found"],
    [408, {}, "timeout_first_byte", null],
    [424, { message: "canary", originalStatusCode: 400 }, "server_error", null],
    [429, { __type: "ThrottlingException" }, "rate_limited", "rate_limited"],
    [500, {}, "server_error", null],
    [503, {}, "overloaded", null],
  ] as const)("%i %j is %s", (status, body, kind, code) => {
    const failure = converseUpstream.readError(
      status,
      new TextEncoder().encode(JSON.stringify(body)),
    );
    expect(failure).toEqual({ kind, status, retryAfter: null, code });
  });

  it("that is not JSON is judged by its status", () => {
    expect(converseUpstream.readError(502, new TextEncoder().encode("<html>")).kind).toBe(
      "server_error",
    );
  });
});
