import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/canon/json.ts";
import {
  countTokensSurface,
  messagesSurface,
} from "../../../src/dialects/anthropic-messages/dialect.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { joined } from "../laws/arbitrary/wire.ts";
import { exchangeTo, sentBy, type Journey } from "./hosted.ts";
import { body, decoder, encoder, frame, hello } from "./target.ts";

const FLAG = "vertex_raw_predict";
const CHAT: JsonObject = { model: "r", messages: [{ role: "user", content: "hello" }] };
const upstreamModel = "claude-sonnet-4-5@20250929";

const relayed = (value: JsonObject = hello, journey: Journey = {}) =>
  exchangeTo(FLAG, messagesSurface, value, { upstreamModel, ...journey });

describe("a request to Vertex AI's rawPredict", () => {
  it("has the model in the path, the version in the body and the betas in their header", () => {
    const journey: Journey = {
      headers: { version: "2026-10-21", betas: ["a-1", "b-2", "c-3"] },
      provider: { betas: ["a-1", "c-3"] },
    };
    const exchange = relayed(body({ metadata: { user_id: "u" } }), journey);
    expect(sentBy(exchange)).toEqual({
      path: "/models/claude-sonnet-4-5@20250929:rawPredict",
      headers: ["anthropic-beta", "a-1,c-3"],
      body: {
        anthropic_version: "vertex-2023-10-16",
        max_tokens: 100,
        messages: hello.messages,
      },
      stripped: ["metadata", "anthropic-beta"],
    });
    expect(exchange.streamType).toBe("text/event-stream");
  });

  it("requests a stream by its path and by the body's member", () => {
    const { path, headers, body: sent } = sentBy(relayed(body({ stream: true })));
    expect([path, headers, sent.stream]).toEqual([
      "/models/claude-sonnet-4-5@20250929:streamRawPredict",
      [],
      true,
    ]);
    const { path: whole, body: requested } = sentBy(relayed(body({ stream: false })));
    expect([whole, requested.stream]).toEqual([
      "/models/claude-sonnet-4-5@20250929:rawPredict",
      false,
    ]);
  });

  it("cannot leave its segment of the path", () => {
    expect(relayed(hello, { upstreamModel: "../a?b#c" }).path).toBe(
      "/models/..%2Fa%3Fb%23c:rawPredict",
    );
  });

  it("omits members that only Anthropic accepts, and the caller's version and betas", () => {
    const value = body({ service_tier: "auto", anthropic_beta: ["x-1"], anthropic_version: "x" });
    const { body: sent, stripped } = sentBy(relayed(value, { unknownFields: "forward" }));
    expect(sent).toEqual({
      anthropic_version: "vertex-2023-10-16",
      max_tokens: 100,
      messages: hello.messages,
    });
    expect(stripped).toEqual(["service_tier", "unknown_field", "unknown_field"]);
  });

  it("is the same when it came in another protocol", () => {
    expect(
      sentBy(exchangeTo(FLAG, chatSurface, { ...CHAT, stream: true }, { upstreamModel })),
    ).toEqual({
      path: "/models/claude-sonnet-4-5@20250929:streamRawPredict",
      headers: [],
      body: {
        anthropic_version: "vertex-2023-10-16",
        max_tokens: 4_096,
        messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
        stream: true,
      },
      stripped: [],
    });
  });

  it("counts tokens at a separate path, with the model in the body", () => {
    const value: JsonObject = { model: "r", messages: hello.messages ?? [] };
    const exchange = exchangeTo(FLAG, countTokensSurface, value, { upstreamModel });
    const { path, headers, body: sent } = sentBy(exchange);
    expect([path, headers]).toEqual(["/models/count-tokens:rawPredict", []]);
    expect(sent).toEqual({
      anthropic_version: "vertex-2023-10-16",
      model: upstreamModel,
      messages: hello.messages,
    });
    const { ending, bytes } = exchange.answer(encoder.encode('{"input_tokens":5}'));
    expect([decoder.decode(bytes), ending.usage?.input]).toEqual(['{"input_tokens":5}', 5]);
  });

  it("names no images and documents by their address", () => {
    expect(DIALECTS["anthropic-messages"].flags.vertex_raw_predict.withdraws).toEqual([
      "image_url",
      "file_url",
    ]);
  });
});

describe("an answer of Vertex AI", () => {
  it("is relayed byte for byte as a stream, unknown events included", () => {
    const events = [
      frame({ type: "vertex_event" }),
      frame({ type: "message_start", message: { usage: { input_tokens: 1 } } }),
      frame({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
      frame({ type: "message_stop" }),
    ];
    const stream = relayed(body({ stream: true })).stream();
    const sent = events.flatMap((event) => stream.push(event));
    expect(decoder.decode(joined(sent))).toBe(decoder.decode(joined(events)));
    expect(stream.endStream().ending).toMatchObject({ failure: null, finish: "stop" });
  });

  it.each([
    [
      400,
      { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 9" } },
      "rejected",
      "context_length_exceeded",
    ],
    [
      529,
      { type: "error", error: { type: "overloaded_error", message: "secret text" } },
      "overloaded",
      "overloaded_error",
    ],
    [
      429,
      { error: { code: 429, message: "secret text", status: "RESOURCE_EXHAUSTED" } },
      "rate_limited",
      "rate_limit_exceeded",
    ],
    [
      403,
      [{ error: { code: 403, message: "secret text", status: "PERMISSION_DENIED" } }],
      "auth",
      "permission_denied",
    ],
    [
      404,
      { error: { code: 404, message: "secret text", status: "NOT_FOUND" } },
      "not_found",
      "model_not_found",
    ],
    [500, "secret text", "server_error", null],
  ])("an error is read in either shape: %i %j", (status, error, kind, code) => {
    const failure = relayed().readError(status, encoder.encode(JSON.stringify(error)));
    expect(failure).toEqual({ kind, status, retryAfter: null, code });
  });
});
