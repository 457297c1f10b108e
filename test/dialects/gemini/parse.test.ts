import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { dialect } from "../../../src/dialects/gemini/dialect.ts";
import { MAXIMUM_EVENT_BYTES } from "../../../src/dialects/sse.ts";
import { brokenLaws } from "../laws/arbitrary/events.ts";
import { encoder, frame, hello, targetWith } from "./target.ts";

const { generate: geminiUpstream } = dialect;

const target = targetWith();

/** One piece of an answer. */
const piece = (
  parts: readonly JsonObject[],
  more: JsonObject = {},
  outer: JsonObject = {},
): JsonObject => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...more }],
  modelVersion: "gemini-x-001",
  responseId: "abc",
  ...outer,
});
const STOP = { finishReason: "STOP" };

function stream(
  pieces: readonly (JsonObject | Uint8Array)[],
  request: Partial<GenerateRequest> = {},
  position = target,
): readonly InferenceEvent[] {
  const parser = geminiUpstream.parseStream({ ...hello, ...request }, position);
  const reported = pieces.flatMap((item) =>
    parser.push(item instanceof Uint8Array ? item : frame(item)),
  );
  const events = [...reported, ...parser.endAnswer()];
  expect(brokenLaws(events)).toEqual([]);
  return events;
}

function whole(answer: unknown, request: Partial<GenerateRequest> = {}): readonly InferenceEvent[] {
  const events = geminiUpstream.parseAnswer(
    encoder.encode(JSON.stringify(answer)),
    { ...hello, ...request },
    target,
  );
  expect(brokenLaws(events)).toEqual([]);
  return events;
}

describe("a stream", () => {
  it("reports thoughts, texts and calls, in their order", () => {
    const events = stream([
      piece(
        [{ text: "hm", thought: true }],
        {},
        { usageMetadata: { promptTokenCount: 5, thoughtsTokenCount: 2 } },
      ),
      piece([{ text: "a" }]),
      piece([{ text: "b" }], {}, { usageMetadata: { promptTokenCount: 5, thoughtsTokenCount: 2 } }),
      piece([
        { functionCall: { name: "f", args: { n: 1 } }, thoughtSignature: "AA" },
        { functionCall: { name: "g" } },
      ]),
      piece([{ text: "" }], STOP, {
        usageMetadata: {
          promptTokenCount: 5,
          candidatesTokenCount: 7,
          thoughtsTokenCount: 2,
          totalTokenCount: 14,
        },
      }),
      piece([{ text: "late" }], STOP),
    ]);
    const usage = (output: number | null) => ({
      type: "usage",
      usage: { input: 5, output, cacheRead: null, cacheWrite: null, reasoning: 2 },
    });
    expect(events).toEqual([
      { type: "start", model: "gemini-x-001" },
      usage(null),
      { type: "open", index: 0, block: { kind: "reasoning", summary: true } },
      { type: "reasoning", index: 0, text: "hm" },
      { type: "close", index: 0 },
      { type: "open", index: 1, block: { kind: "text" } },
      { type: "text", index: 1, text: "a", logprobs: [] },
      { type: "text", index: 1, text: "b", logprobs: [] },
      { type: "close", index: 1 },
      { type: "open", index: 2, block: { kind: "reasoning", summary: false } },
      { type: "signature", index: 2, signature: "call.AA", family: "gemini" },
      { type: "close", index: 2 },
      { type: "open", index: 3, block: { kind: "tool_call", id: "call_abc_0", name: "f" } },
      { type: "arguments", index: 3, json: '{"n":1}' },
      { type: "close", index: 3 },
      { type: "open", index: 4, block: { kind: "tool_call", id: "call_abc_1", name: "g" } },
      { type: "arguments", index: 4, json: "{}" },
      { type: "close", index: 4 },
      usage(9),
      { type: "open", index: 5, block: { kind: "text" } },
      { type: "text", index: 5, text: "late", logprobs: [] },
      { type: "close", index: 5 },
      { type: "finish", reason: "tool_calls", stopSequence: null },
    ]);
  });

  it("reads text, calls and counts after the first finish reason", () => {
    const counted = (candidatesTokenCount: number) => ({
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount },
    });
    const answer = collectAnswer(
      stream([
        piece([], STOP, counted(1)),
        piece([{ text: "a" }], STOP),
        piece([{ functionCall: { name: "f", args: {} } }], STOP),
        { ...counted(3) },
      ]),
    );
    expect(answer.blocks).toMatchObject([{ text: "a" }, { name: "f" }]);
    expect(answer.finish?.reason).toBe("tool_calls");
    expect(answer.usage).toMatchObject({ input: 5, output: 3 });
  });

  it("reads a repeated call with the same id, name and arguments once", () => {
    const call = { functionCall: { id: "1", name: "f", args: { a: 1 } } };
    const other = { functionCall: { id: "1", name: "f", args: { a: 2 } } };
    const { blocks } = collectAnswer(stream([piece([call]), piece([call, other], STOP)]));
    expect(blocks).toMatchObject([{ arguments: '{"a":1}' }, { arguments: '{"a":2}' }]);
    const without = { functionCall: { name: "f", args: {} } };
    expect(collectAnswer(stream([piece([without, without], STOP)])).blocks).toHaveLength(2);
  });

  it("keeps signatures with their parts: text, empty text, thought", () => {
    const { blocks } = collectAnswer(
      stream([
        piece([{ text: "hm", thought: true, thoughtSignature: "TH" }]),
        piece([{ text: "a" }, { text: "b", thoughtSignature: "TX" }, { text: "c" }]),
        piece([{ text: "", thoughtSignature: "EM" }], STOP),
      ]),
    );
    expect(blocks).toMatchObject([
      { kind: "reasoning", text: "hm", signature: "thought.TH" },
      { kind: "text", text: "a" },
      { kind: "reasoning", text: "", signature: "text.TX" },
      { kind: "text", text: "b" },
      { kind: "text", text: "c" },
      { kind: "reasoning", text: "", signature: "empty.EM" },
    ]);
  });

  it("drops signatures that no family can read, and records it once", () => {
    const events = stream(
      [
        piece(
          [
            { functionCall: { name: "f" }, thoughtSignature: "AA" },
            { text: "x", thought: true, thoughtSignature: "B" },
          ],
          STOP,
        ),
      ],
      {},
      targetWith({ signatureFamily: null }),
    );
    expect(events.filter(({ type }) => type === "dropped")).toHaveLength(1);
    expect(collectAnswer(events).blocks.map(({ kind }) => kind)).toEqual([
      "tool_call",
      "reasoning",
    ]);
  });

  it("keeps the provider's ids, generates unique ones, and keeps the digits of numbers", () => {
    const raw = encoder.encode(
      'data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"x","name":"f","args":{"n":9007199254740993}}},{"functionCall":{"id":"x","name":"f"}}]},"finishReason":"STOP"}]}\n\n',
    );
    const { blocks } = collectAnswer(stream([raw]));
    expect(blocks).toMatchObject([
      { id: "x", arguments: '{"n":9007199254740993}' },
      { id: "call_1", arguments: "{}" },
    ]);
  });

  it("has log probabilities where they were requested", () => {
    const token = { token: "a", logProbability: -0.5, tokenId: 7 };
    const result = {
      logprobsResult: {
        chosenCandidates: [token],
        topCandidates: [{ candidates: [token, { token: "b" }] }],
      },
    };
    const answer = [piece([{ text: "t", thought: true }, { text: "a" }], { ...STOP, ...result })];
    const [, block] = collectAnswer(stream(answer, { logprobs: 2 })).blocks;
    expect(block).toMatchObject({
      logprobs: [
        {
          token: "a",
          logprob: -0.5,
          bytes: null,
          top: [
            { token: "a", logprob: -0.5, bytes: null },
            { token: "b", logprob: 0, bytes: null },
          ],
        },
      ],
    });
    expect(collectAnswer(stream(answer)).blocks[1]).toMatchObject({ logprobs: [] });
  });

  it("cites sources, and records those that it cannot cite", () => {
    const cite = (parts: readonly JsonObject[], more: JsonObject) => {
      const events = stream([piece(parts, { ...STOP, ...more })]);
      const [block] = collectAnswer(events).blocks;
      return [
        block?.kind === "text" ? block.citations : [],
        events.some(({ type }) => type === "dropped"),
      ];
    };
    const citation = { url: "https://a.example", title: null, start: null, end: null };
    const sources = [{ startIndex: 1, uri: "https://a.example" }];
    expect(cite([{ text: "a" }], { citationMetadata: { citationSources: sources } })).toEqual([
      [citation],
      false,
    ]);
    expect(cite([{ text: "a" }], { citationMetadata: { citations: [...sources, {}] } })).toEqual([
      [citation],
      true,
    ]);
    expect(
      cite([{ functionCall: { name: "f" } }], { citationMetadata: { citations: sources } }),
    ).toEqual([[], true]);
    expect(cite([{ text: "a" }], { groundingMetadata: { webSearchQueries: ["q"] } })).toEqual([
      [],
      true,
    ]);
  });

  it("without a finish reason is truncated; data that is too large or no JSON is malformed", () => {
    const failureOf = (pieces: readonly (JsonObject | Uint8Array)[]) =>
      collectAnswer(stream(pieces)).failure;
    expect(failureOf([])).toMatchObject({ kind: "truncated" });
    expect(failureOf([piece([{ text: "a" }])])).toMatchObject({ kind: "truncated" });
    expect(failureOf([encoder.encode("data: {\n\n")])).toMatchObject({ kind: "malformed" });
    expect(failureOf([encoder.encode("data: [1]\n\n")])).toMatchObject({ kind: "malformed" });
    expect(failureOf([new Uint8Array(MAXIMUM_EVENT_BYTES + 1).fill(97)])).toMatchObject({
      kind: "too_large",
    });
    const cut = frame(piece([{ text: "a" }], STOP)).subarray(0, -4);
    expect(collectAnswer(stream([cut])).finish?.reason).toBe("stop");
  });

  it("that fails in the middle reports our code without the provider's text", () => {
    const error = { error: { code: 503, status: "UNAVAILABLE", message: "canary" } };
    for (const item of [error, encoder.encode(`data: ${JSON.stringify([error])}\n\n`)]) {
      const events = stream([piece([{ text: "a" }]), item]);
      expect(events.at(-1)).toEqual({
        type: "failure",
        failure: { kind: "error_frame", status: 503, retryAfter: null, code: "unavailable" },
      });
      expect(JSON.stringify(events)).not.toContain("canary");
    }
  });
});

describe("an answer", () => {
  it.each([
    ["STOP", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content_filter"],
    ["RECITATION", "content_filter"],
    ["LANGUAGE", "content_filter"],
    ["BLOCKLIST", "content_filter"],
    ["PROHIBITED_CONTENT", "content_filter"],
    ["SPII", "content_filter"],
    ["MODEL_ARMOR", "content_filter"],
    ["IMAGE_SAFETY", "content_filter"],
    ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
    ["IMAGE_RECITATION", "content_filter"],
    ["IMAGE_OTHER", "content_filter"],
  ])("that ended with %s has the finish reason %s", (finishReason, reason) => {
    expect(whole(piece([{ text: "a" }], { finishReason })).at(-1)).toEqual({
      type: "finish",
      reason,
      stopSequence: null,
    });
  });

  it.each(["FINISH_REASON_UNSPECIFIED", "OTHER", "CONTINUATION", "NEWS", "constructor", 1])(
    "that ended with %s after output is cut short, on record",
    (finishReason) => {
      const events = whole(piece([{ text: "a" }], { finishReason }));
      expect(events).toContainEqual({ type: "dropped", field: "finish_reason_unknown" });
      expect(events.at(-1)).toEqual({ type: "finish", reason: "other", stopSequence: null });
      const failure = { kind: "malformed", code: "unknown_finish_reason" };
      expect(whole(piece([], { finishReason })).at(-1)).toMatchObject({ type: "failure", failure });
    },
  );

  it.each([
    ["MALFORMED_FUNCTION_CALL", "error_frame", "malformed_function_call"],
    ["MALFORMED_RESPONSE", "error_frame", "malformed_response"],
    ["UNEXPECTED_TOOL_CALL", "error_frame", "unexpected_tool_call"],
    ["TOO_MANY_TOOL_CALLS", "error_frame", "too_many_tool_calls"],
    ["MISSING_THOUGHT_SIGNATURE", "error_frame", "missing_thought_signature"],
    ["NO_IMAGE", "error_frame", "no_image"],
    [null, "malformed", "unknown_finish_reason"],
  ])("that ended with %s failed", (finishReason, kind, code) => {
    expect(whole(piece([{ text: "a" }], { finishReason })).at(-1)).toMatchObject({
      type: "failure",
      failure: { kind, code },
    });
  });

  it("that was blocked before it began is filtered, streamed or not", () => {
    const answer = {
      promptFeedback: { blockReason: "SAFETY" },
      usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
    };
    for (const events of [whole(answer), stream([answer])]) {
      expect(collectAnswer(events)).toMatchObject({
        finish: { reason: "content_filter" },
        usage: { input: 4, output: 0 },
      });
    }
  });

  it.each([
    [{}, null],
    [{ candidates: [] }, null],
    ["text", null],
    [[piece([{ text: "a" }], STOP)], null],
    [piece([{ executableCode: { code: "1" } }], STOP), "unexpected_output_item"],
    [
      piece([{ inlineData: { mimeType: "image/png", data: "AA==" } }], STOP),
      "unexpected_output_item",
    ],
    [piece([{ functionCall: { name: "f", willContinue: true } }], STOP), "unexpected_output_item"],
    [piece([{ functionCall: { name: "" } }], STOP), null],
    [piece([{ functionCall: { name: "f", args: [] } }], STOP), null],
    [{ candidates: [{ ...STOP }, { ...STOP, index: 1 }] }, "unexpected_output_item"],
    [{ candidates: [{ ...STOP, index: 1 }] }, "unexpected_output_item"],
  ])("that is invalid is a failure: %j", (answer, code) => {
    expect(whole(answer).at(-1)).toMatchObject({
      type: "failure",
      failure: { kind: "malformed", code },
    });
  });

  it("with empty content is an answer without blocks", () => {
    expect(collectAnswer(whole({ candidates: [{ content: {}, ...STOP }] }))).toMatchObject({
      blocks: [],
      finish: { reason: "stop" },
    });
  });

  it.each([
    [{ promptTokenCount: 5, candidatesTokenCount: 3, thoughtsTokenCount: 2 }, [5, 5, null, 2]],
    [
      { promptTokenCount: 5, toolUsePromptTokenCount: 4, candidatesTokenCount: 3 },
      [9, 3, null, null],
    ],
    [{ promptTokenCount: 5, cachedContentTokenCount: 4, candidatesTokenCount: 3 }, [5, 3, 4, null]],
    [{ promptTokenCount: 5, thoughtsTokenCount: 2, totalTokenCount: 7 }, [5, 2, null, 2]],
    [{ promptTokenCount: 5 }, [5, null, null, null]],
    [{ candidatesTokenCount: 3 }, [null, 3, null, null]],
  ])("of %j has the counts %j", (usageMetadata, [input, output, cacheRead, reasoning]) => {
    expect(collectAnswer(whole(piece([{ text: "a" }], STOP, { usageMetadata }))).usage).toEqual({
      input,
      output,
      cacheRead,
      cacheWrite: null,
      reasoning,
    });
  });

  it("without counts has no usage", () => {
    expect(
      collectAnswer(whole(piece([], STOP, { usageMetadata: { trafficType: "ON_DEMAND" } }))).usage,
    ).toBeNull();
  });

  it("to a count is read from totalTokens, and malformed without it", () => {
    expect(collectAnswer(whole({ totalTokens: 7 }, { purpose: "count" }))).toMatchObject({
      usage: { input: 7, output: null },
      finish: { reason: "stop" },
    });
    expect(whole({}, { purpose: "count" })).toMatchObject([
      { type: "failure", failure: { kind: "malformed" } },
    ]);
  });
});

describe("an error", () => {
  const read = (status: number, error: unknown) =>
    geminiUpstream.readError(status, encoder.encode(JSON.stringify(error)));

  it.each([
    [400, { status: "INVALID_ARGUMENT" }, "rejected", "invalid_argument"],
    [400, { status: "FAILED_PRECONDITION" }, "rejected", "failed_precondition"],
    [
      400,
      { status: "INVALID_ARGUMENT", message: "The input token count (9) exceeds the maximum" },
      "rejected",
      "context_length_exceeded",
    ],
    [403, { status: "PERMISSION_DENIED" }, "auth", "permission_denied"],
    [404, { status: "NOT_FOUND" }, "not_found", "model_not_found"],
    [429, { status: "RESOURCE_EXHAUSTED" }, "rate_limited", "rate_limit_exceeded"],
    [500, { status: "INTERNAL" }, "server_error", "internal"],
    [503, { status: "UNAVAILABLE" }, "overloaded", "unavailable"],
    [400, { status: "canary" }, "rejected", null],
    [400, { status: "toString" }, "rejected", null],
  ])("%i %j is %s, with the code %s", (status, error, kind, code) => {
    expect(read(status, { error })).toEqual({ kind, status, retryAfter: null, code });
  });

  it("about the router's own key is auth, and not the caller's mistake", () => {
    const details = [{ reason: "API_KEY_INVALID" }];
    expect(
      read(400, { error: { status: "INVALID_ARGUMENT", message: "canary", details } }),
    ).toEqual({
      kind: "auth",
      status: 400,
      retryAfter: null,
      code: "api_key_invalid",
    });
  });

  it("has the delay before a retry", () => {
    const delayed = (retryDelay: unknown) =>
      read(429, [{ error: { details: [{ retryDelay }] } }]).retryAfter;
    expect([
      delayed("33.0405s"),
      delayed("0s"),
      delayed("99999999s"),
      delayed("soon"),
      delayed(3),
    ]).toEqual([33_041, 0, null, null, null]);
  });

  it("that is not JSON is judged by its status", () => {
    expect(geminiUpstream.readError(502, encoder.encode("<html>"))).toMatchObject({
      kind: "server_error",
      code: null,
    });
  });
});
