import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { codedError } from "../../../src/canon/error-codes.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../../src/dialects/anthropic-messages/dialect.ts";
import { parseJsonBytes } from "../../../src/dialects/json.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import type { ExchangePlan } from "../../../src/dialects/exchange-plan.ts";
import { encodeFrame } from "../bedrock-converse/wire.ts";
import { joined, pieces, someCuts } from "../laws/arbitrary/wire.ts";
import { exchangeTo, sentBy, type Journey } from "./hosted.ts";
import { body, decoder, encoder, frame, hello } from "./target.ts";

const FLAG = "bedrock_invoke";
const CHAT: JsonObject = { model: "r", messages: [{ role: "user", content: "hello" }] };
const COUNT: JsonObject = { model: "r", messages: hello.messages ?? [] };

const relayed = (value: JsonObject = hello, journey: Journey = {}) =>
  exchangeTo(FLAG, messagesSurface, value, journey);
const counted = (value: JsonObject = COUNT, journey: Journey = {}) =>
  exchangeTo(FLAG, countTokensSurface, value, journey);
const translated = (more: JsonObject = {}) => exchangeTo(FLAG, chatSurface, { ...CHAT, ...more });

describe("a request to Bedrock's InvokeModel", () => {
  it("has the model in the path, and the version and the betas in the body", () => {
    const journey: Journey = {
      upstreamModel: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
      headers: { version: "2026-10-21", betas: ["a-1", "b-2", "c-3"] },
      provider: { betas: ["a-1", "c-3"] },
    };
    const exchange = relayed(body({ metadata: { user_id: "u" } }), journey);
    expect(sentBy(exchange)).toEqual({
      path: "/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke",
      headers: [],
      body: {
        anthropic_version: "bedrock-2023-05-31",
        anthropic_beta: ["a-1", "c-3"],
        max_tokens: 100,
        messages: hello.messages,
      },
      stripped: ["metadata", "anthropic-beta"],
    });
    expect(exchange.streamType).toBe("application/vnd.amazon.eventstream");
  });

  it("requests a stream by its path, without a member in the body", () => {
    const { path, body: sent } = sentBy(relayed(body({ stream: true })));
    expect([path, Object.keys(sent).toSorted()]).toEqual([
      "/model/model/invoke-with-response-stream",
      ["anthropic_version", "max_tokens", "messages"],
    ]);
  });

  it("keeps the slashes of an ARN in one segment", () => {
    const upstreamModel = "arn:aws:bedrock:eu-west-1:1:application-inference-profile/x";
    expect(sentBy(relayed(hello, { upstreamModel })).path).toBe(
      "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Aapplication-inference-profile%2Fx/invoke",
    );
  });

  it("omits and records members that only Anthropic accepts", () => {
    const { body: sent, stripped } = sentBy(
      relayed(body({ service_tier: "auto", speed: "standard" })),
    );
    expect([Object.keys(sent).toSorted(), stripped]).toEqual([
      ["anthropic_version", "max_tokens", "messages"],
      ["service_tier", "speed"],
    ]);
  });

  it("cannot turn on betas that the provider's row does not list, nor choose the version", () => {
    const value: JsonObject = JSON.parse(
      JSON.stringify({
        ...hello,
        anthropic_beta: ["x-1"],
        anthropic_version: "x",
        novelty: 1,
      }).replace("novelty", "__proto__"),
    );
    const { body: print, stripped } = relayed(value, { unknownFields: "forward" });
    const sent = print();
    expect(sent).not.toContain("x-1");
    expect(sent).toContain('"__proto__":1');
    expect(JSON.parse(sent).anthropic_version).toBe("bedrock-2023-05-31");
    expect(stripped).toEqual(["unknown_field", "unknown_field"]);
  });

  it("keeps numbers beyond a double", () => {
    const tool =
      '{"name":"f","input_schema":{"type":"object","properties":{"n":{"maximum":9007199254740993}}}}';
    const value = parseJsonBytes(
      encoder.encode(JSON.stringify({ ...hello, tools: [] }).replace("[]", `[${tool}]`)),
    );
    if (!isJsonObject(value)) throw new Error("not an object");
    expect(relayed(value).body()).toContain("9007199254740993");
  });

  it("is the same when it came in another protocol", () => {
    const {
      path,
      headers,
      body: sent,
      stripped,
    } = sentBy(translated({ stream: true, service_tier: "default" }));
    expect({ path, headers, stripped }).toEqual({
      path: "/model/model/invoke-with-response-stream",
      headers: [],
      stripped: ["service_tier"],
    });
    expect(sent).toEqual({
      anthropic_version: "bedrock-2023-05-31",
      max_tokens: 4_096,
      messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
    });
  });

  it("has the protocol's own path, headers and body where the provider has no such flag", () => {
    const { path, headers, body: sent } = sentBy(relayed(hello, { provider: { flags: [] } }));
    expect([path, headers, sent]).toEqual([
      "/v1/messages",
      ["anthropic-version", "2023-06-01"],
      { ...hello, model: "model" },
    ]);
  });

  it("names no images and documents by their address", () => {
    expect(DIALECTS["anthropic-messages"].flags.bedrock_invoke.withdraws).toEqual([
      "image_url",
      "file_url",
    ]);
  });
});

/** The body that is counted, out of what is sent. */
function countedBody(exchange: ExchangePlan): JsonValue {
  const { input } = JSON.parse(exchange.body());
  expect(Object.keys(input)).toEqual(["invokeModel"]);
  return JSON.parse(Buffer.from(input.invokeModel.body, "base64").toString());
}

describe("a count at Bedrock", () => {
  it("wraps the body that would be sent, with the limit that Bedrock demands", () => {
    const exchange = counted({ ...COUNT, system: "Größe 😀" });
    expect(exchange.path).toBe("/model/model/count-tokens");
    expect(countedBody(exchange)).toEqual({
      anthropic_version: "bedrock-2023-05-31",
      max_tokens: 1,
      messages: hello.messages,
      system: "Größe 😀",
    });
  });

  it("has an output limit above the thinking budget", () => {
    const thinking = { type: "enabled", budget_tokens: 2_000 };
    expect(countedBody(counted({ ...COUNT, thinking }))).toMatchObject({
      max_tokens: 2_001,
      thinking,
    });
  });

  it("is answered in the protocol's format", () => {
    const { ending, bytes } = counted().answer(encoder.encode('{"inputTokens":18}'));
    expect([decoder.decode(bytes), ending.usage?.input, ending.failure]).toEqual([
      '{"input_tokens":18}',
      18,
      null,
    ]);
    for (const text of ["{}", '{"inputTokens":"18"}', '{"inputTokens":-1}', "[]", "no"]) {
      expect(counted().answer(encoder.encode(text)).ending.failure?.kind, text).toBe("malformed");
    }
  });
});

const start = {
  type: "message_start",
  message: { model: "m", content: [], usage: { input_tokens: 7 } },
};
const open = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
const delta = {
  type: "content_block_delta",
  index: 0,
  delta: { type: "text_delta", text: 'hé "amazon-bedrock-"' },
};
const close = { type: "content_block_stop", index: 0 };
const change = {
  type: "message_delta",
  delta: { stop_reason: "end_turn" },
  usage: { output_tokens: 9 },
};
const stop = { type: "message_stop" };
const ANSWER = [start, { type: "ping" }, open, delta, close, change, stop];
const METRICS = { "amazon-bedrock-invocationMetrics": { inputTokenCount: 7 } };

function chunk(text: string): Uint8Array {
  const bytes = Buffer.from(text).toString("base64");
  return encodeFrame({ ":event-type": "chunk", ":message-type": "event" }, { bytes, p: "abc" });
}

const chunks = (...events: readonly JsonObject[]) =>
  events.map((event) => chunk(JSON.stringify(event)));
const exception = (type: string, message = "secret text") =>
  encodeFrame({ ":exception-type": type, ":message-type": "exception" }, { message });

/** What the client gets, and how the answer ended. A failed stream has no end. */
function play(exchange: ExchangePlan, frames: readonly Uint8Array[]) {
  const stream = exchange.stream();
  const events = frames.flatMap((bytes) => stream.push(bytes));
  const { failure, usage } = stream;
  if (failure !== null)
    return { text: textOf(events), failure, usage, finish: null, hasEnded: stream.hasEnded };
  const { hasEnded } = stream;
  const { ending, events: rest } = stream.endStream();
  return { ...ending, text: textOf([...events, ...rest]), hasEnded };
}

const textOf = (events: readonly Uint8Array[]) => decoder.decode(joined(events));
const streaming = relayed(body({ stream: true }));
const sseOf = (...events: readonly (JsonObject & { type: string })[]) => textOf(events.map(frame));

describe("a stream of Bedrock's InvokeModel", () => {
  it("reaches the client as the protocol's own, without the cloud's measurements", () => {
    const frames = [...chunks(...ANSWER.slice(0, -1)), ...chunks({ ...stop, ...METRICS })];
    expect(play(streaming, frames)).toEqual({
      text: sseOf(...ANSWER),
      failure: null,
      finish: "stop",
      usage: { input: 7, output: 9, cacheRead: null, cacheWrite: null, reasoning: null },
      dropped: [],
      edits: 0,
      hasEnded: true,
    });
  });

  it("reads the same for every cut", () => {
    const bytes = joined(chunks(...ANSWER));
    const whole = play(streaming, [bytes]);
    fc.assert(
      fc.property(someCuts, (cuts) => {
        expect(play(streaming, pieces(bytes, cuts))).toEqual(whole);
      }),
    );
  });

  it("is not whole when any byte of its end is missing, relayed and translated", () => {
    const bytes = joined(chunks(...ANSWER));
    for (const exchange of [streaming, translated({ stream: true })]) {
      for (let length = 0; length < bytes.length; length += 1) {
        const { failure, hasEnded } = play(exchange, [bytes.subarray(0, length)]);
        expect([failure?.kind, hasEnded], String(length)).toEqual(["truncated", false]);
      }
      expect(play(exchange, [bytes])).toMatchObject({ failure: null, finish: "stop" });
    }
  });

  it("is malformed when any byte of it is damaged", () => {
    const bytes = joined(chunks(...ANSWER));
    for (let target = 0; target < bytes.length; target += 1) {
      const damaged = Uint8Array.from(bytes, (byte, index) => (index === target ? byte ^ 1 : byte));
      expect(play(streaming, [damaged]).failure?.kind, String(target)).toBe("malformed");
    }
  });

  it("keeps the events before a damaged frame, and fails without the rest", () => {
    const [first, ...rest] = chunks(start, open, delta);
    const damaged = Uint8Array.from(first ?? [], (byte) => byte);
    damaged[20] = (damaged[20] ?? 0) ^ 1;
    const { text, failure } = play(streaming, [...chunks(start, open), joined([damaged, ...rest])]);
    expect([text, failure?.kind]).toEqual([sseOf(start, open), "malformed"]);
  });

  it.each([
    ["throttlingException", "rate_limited"],
    ["internalServerException", "server_error"],
    ["modelStreamErrorException", "model_stream_error"],
    ["modelTimeoutException", "model_timeout"],
    ["serviceUnavailableException", "overloaded"],
    ["validationException", "invalid_request"],
    ["somethingElse", null],
  ])("an exception is a failure: %s", (type, code) => {
    const result = play(streaming, [
      ...chunks(start, open, close, change),
      exception(type),
      ...chunks(stop),
    ]);
    expect(result.failure).toEqual({ kind: "error_frame", status: null, retryAfter: null, code });
    // What the answer has cost so far is known, although its last event waited.
    expect(result.usage).toMatchObject({ input: 7, output: 9 });
    expect(JSON.stringify(result)).not.toContain("secret");
  });

  it("nothing that arrives together with an exception and after it reaches the client", () => {
    const bytes = joined([
      ...chunks(start, open),
      exception("throttlingException"),
      ...chunks(delta, close),
    ]);
    expect(play(streaming, [bytes])).toMatchObject({
      text: sseOf(start, open),
      failure: { code: "rate_limited" },
    });
  });

  it("counts the usage reported before it broke off", () => {
    expect(play(streaming, chunks(start, open, close, change))).toMatchObject({
      text: sseOf(start, open, close, change),
      failure: { kind: "truncated" },
      usage: { input: 7, output: 9 },
    });
  });

  it("an exception before the first text leaves the stream without output, so that another provider may answer", () => {
    const stream = streaming.stream();
    for (const bytes of [...chunks(start, open), exception("throttlingException")])
      stream.push(bytes);
    expect(stream).toMatchObject({ hasOutput: false, failure: { code: "rate_limited" } });
    stream.endStream();
    expect(stream.hasOutput).toBe(false);
  });

  it("an error event of the model's server inside a frame is a failure with its code", () => {
    const error = { type: "error", error: { type: "overloaded_error", message: "secret text" } };
    expect(play(streaming, chunks(start, open, error)).failure).toMatchObject({
      kind: "error_frame",
      code: "overloaded_error",
    });
  });

  it.each([
    [
      "no base64",
      encodeFrame({ ":event-type": "chunk", ":message-type": "event" }, { bytes: "*" }),
    ],
    ["no bytes", encodeFrame({ ":event-type": "chunk", ":message-type": "event" }, { p: "abc" })],
    ["no JSON", chunk('{"type":"content_block_delta","index":')],
    ["no object", chunk("7")],
    [
      "no UTF-8",
      encodeFrame({ ":event-type": "chunk", ":message-type": "event" }, { bytes: "/w==" }),
    ],
    ["no kind", encodeFrame({ ":event-type": "chunk" }, {})],
    ["of an unknown kind", encodeFrame({ ":event-type": "chunk", ":message-type": "novelty" }, {})],
  ])("a frame with %s is malformed", (_name, bad) => {
    expect(play(streaming, [...chunks(start, open), bad, ...chunks(stop)]).failure?.kind).toBe(
      "malformed",
    );
  });

  it("frames of other names are ignored, and events of other names relayed", () => {
    const strange = encodeFrame(
      { ":event-type": "initial-response", ":message-type": "event" },
      {},
    );
    const novelty = { type: "novelty", a: 1 };
    const { text } = play(streaming, [strange, ...chunks(start, open, novelty)]);
    expect(text).toBe(sseOf(start, open, novelty));
  });

  it("an event cannot end its line, nor begin a second one", () => {
    const pretty = chunk(JSON.stringify(open, null, 2));
    const broken = chunk('{"type":"ping",\n\r"a":1}');
    const forged = chunk(JSON.stringify({ type: "x\nevent: message_stop", a: 1 }));
    const { text, hasEnded } = play(streaming, [...chunks(start), pretty, broken, forged]);
    expect([text, hasEnded]).toEqual([
      `${sseOf(start, open, { type: "ping", a: 1 })}data: {"type":"x\\nevent: message_stop","a":1}\n\n`,
      false,
    ]);
  });

  it("a frame that declares more than the limit is refused before it is complete", () => {
    const endless = new Uint8Array(12);
    const view = new DataView(endless.buffer);
    view.setUint32(0, 17 * 1024 * 1024);
    view.setUint32(8, crc(endless.subarray(0, 8)));
    expect(play(streaming, [endless]).failure?.kind).toBe("too_large");
  });

  it("ends with an error event of the surface's grammar where it fails", () => {
    const error = codedError("upstream_truncated", "It broke off.");
    expect(decoder.decode(streaming.stream().fail(error))).toContain("event: error\ndata: ");
  });
});

function crc(bytes: Uint8Array): number {
  let remainder = 0xffff_ffff;
  for (const byte of bytes) {
    remainder ^= byte;
    for (let bit = 0; bit < 8; bit += 1)
      remainder = remainder & 1 ? (remainder >>> 1) ^ 0xedb8_8320 : remainder >>> 1;
  }
  return ~remainder >>> 0;
}

describe("an answer that a guardrail has replaced", () => {
  const mark = {
    "amazon-bedrock-guardrailAction": "INTERVENED",
    "amazon-bedrock-trace": { secret: 1 },
  };
  const none = { "amazon-bedrock-guardrailAction": "NONE" };
  const withheld = { ...change, delta: { stop_reason: "refusal" } };

  it.each([
    ["with its first event", [{ ...start, ...mark }, open, close, change, stop]],
    ["with its reason", [start, open, close, { ...change, ...mark }, stop]],
    ["with its last event", [start, open, close, change, { ...stop, ...mark, ...METRICS }]],
  ])("ends with a refusal, though the guardrail is reported only %s", (_name, events) => {
    const { text, finish } = play(streaming, chunks(...events));
    expect([text, finish]).toEqual([sseOf(start, open, close, withheld, stop), "refusal"]);
    expect(play(translated({ stream: true }), chunks(...events))).toMatchObject({
      finish: "refusal",
    });
  });

  it("is not reported where the guardrail did nothing", () => {
    const { text } = play(
      streaming,
      chunks(start, open, close, { ...change, ...none }, { ...stop, ...none }),
    );
    expect(text).toBe(sseOf(start, open, close, change, stop));
  });

  it("is a refusal when it arrives whole", () => {
    const answer = {
      type: "message",
      content: [{ type: "text", text: "n" }],
      stop_reason: "end_turn",
    };
    const judged = relayed().answer(encoder.encode(JSON.stringify({ ...answer, ...mark })));
    expect(JSON.parse(decoder.decode(judged.bytes))).toEqual({ ...answer, stop_reason: "refusal" });
    expect(judged.ending.finish).toBe("refusal");
    expect(
      relayed().answer(encoder.encode(JSON.stringify({ ...answer, ...none }))).ending.finish,
    ).toBe("stop");
  });
});

describe("a whole answer of Bedrock's InvokeModel", () => {
  it("is relayed byte for byte, even where a text mentions the cloud's members", () => {
    const text =
      '{ "type":"message","content":[{"type":"text","text":"\\"amazon-bedrock-\\""}],"stop_reason":"end_turn" }';
    const bytes = encoder.encode(text);
    expect(decoder.decode(relayed().answer(bytes).bytes)).toBe(text);
  });

  it("is relayed byte for byte, even where a tool has a parameter with their prefix", () => {
    const text =
      '{ "content":[{"type":"tool_use","input":{"amazon-bedrock-x":1}}],"stop_reason":"tool_use"}';
    expect(decoder.decode(relayed().answer(encoder.encode(text)).bytes)).toBe(text);
  });

  it("keeps large numbers where the cloud's members are taken out", () => {
    const answer =
      '{"content":[{"type":"tool_use","input":{"n":9007199254740993}}],"stop_reason":"tool_use",';
    const { bytes } = relayed().answer(encoder.encode(`${answer}"amazon-bedrock-trace":{}}`));
    expect(decoder.decode(bytes)).toBe(`${answer.slice(0, -1)}}`);
  });

  it("is malformed where it is no message", () => {
    for (const text of ["", "[]", '{"message":"x"}', '{"amazon-bedrock-trace":']) {
      expect(relayed().answer(encoder.encode(text)).ending.failure?.kind, text).toBe("malformed");
    }
  });

  it.each([
    [
      400,
      { message: "Input is too long for requested model." },
      "rejected",
      "context_length_exceeded",
    ],
    [400, { message: "secret text" }, "rejected", null],
    [403, { message: "secret text" }, "auth", null],
    [424, { message: "secret text" }, "server_error", null],
    [
      429,
      { __type: "ThrottlingException", message: "secret text" },
      "rate_limited",
      "rate_limited",
    ],
  ])("an error is read as the cloud's: %i", (status, error, kind, code) => {
    const failure = relayed().readError(status, encoder.encode(JSON.stringify(error)));
    expect(failure).toEqual({ kind, status, retryAfter: null, code });
  });
});
