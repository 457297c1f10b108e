import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/canon/generate/answer.ts";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../src/canon/generate/generate-request.ts";
import type { EventParser, EventRenderer } from "../../src/dialects/dialect.ts";
import { emulateSchema } from "../../src/dialects/translation/emulate-schema.ts";
import { TranslatedStream } from "../../src/dialects/translation/translated-stream.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const usage = { input: 1, output: 2, cacheRead: null, cacheWrite: null, reasoning: null };

/** A parser that gives one list of events a chunk, and one at the end. */
function parserOf(chunks: readonly (readonly InferenceEvent[])[], atEnd: readonly InferenceEvent[]): EventParser {
  let next = 0;
  return { push: () => chunks[next++] ?? [], end: () => atEnd };
}

/** Prints the name of each event. */
const renderer: EventRenderer = {
  losses: ["signature_dropped"],
  push: (event) => (event.type === "loss" ? [] : [encoder.encode(`${event.type};`)]),
  fail: (error) => encoder.encode(`failed ${error.code};`),
};

const text = (bytes: readonly Uint8Array[]) => bytes.map((one) => decoder.decode(one)).join("");
const start: InferenceEvent = { type: "start", model: "m" };
const open: InferenceEvent = { type: "open", index: 0, block: { kind: "text" } };
const finish: InferenceEvent = { type: "finish", reason: "stop", stopSequence: null };
const failure = { kind: "error_frame", status: null, retryAfter: null, code: null } as const;

describe("a translated stream", () => {
  it("commits to a provider only when it has said something", () => {
    const stream = new TranslatedStream(parserOf([[start, { type: "usage", usage }], [open]], []), renderer);
    expect(text(stream.push(new Uint8Array()))).toBe("");
    expect(text(stream.push(new Uint8Array()))).toBe("start;usage;open;");
  });

  it("gives nothing where the provider fails before it has said anything", () => {
    const stream = new TranslatedStream(parserOf([[start], [{ type: "failure", failure }]], []), renderer);
    stream.push(new Uint8Array());
    expect(text(stream.push(new Uint8Array()))).toBe("");
    expect(stream.failure).toEqual(failure);
    expect(stream.end().ending.failure).toEqual(failure);
  });

  it("is done at its finish, says what was lost on both sides, and takes nothing after it", () => {
    const lost: InferenceEvent = { type: "loss", loss: "citations_dropped" };
    const stream = new TranslatedStream(
      parserOf([[start, lost, { type: "usage", usage }, finish, open], [open]], []),
      renderer,
    );
    expect(text(stream.push(new Uint8Array()))).toBe("start;usage;finish;");
    expect(stream.done).toBe(true);
    expect(text(stream.push(new Uint8Array()))).toBe("");
    expect(stream.end()).toEqual({
      events: [],
      ending: { failure: null, finish: "stop", usage, losses: ["citations_dropped", "signature_dropped"] },
    });
  });

  it("is truncated where the parser ends without a terminal", () => {
    const stream = new TranslatedStream(parserOf([[start, open]], []), renderer);
    stream.push(new Uint8Array());
    expect(stream.end().ending).toMatchObject({ failure: { kind: "truncated" }, finish: null });
  });
});

const request: GenerateRequest = {
  purpose: "generate",
  turns: [{ role: "user", name: null, content: [{ kind: "text", text: "hi", cache: null }] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  format: { kind: "json_schema", name: "a", description: null, schema: { type: "object" }, strict: true },
  maxOutputTokens: null,
  temperature: null,
  topP: null,
  topK: null,
  frequencyPenalty: null,
  presencePenalty: null,
  logitBias: null,
  seed: null,
  stop: [],
  logprobs: null,
  reasoning: null,
  verbosity: null,
  hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null },
  stream: false,
};

const ENDPOINT = { features: ["parallel_tool_calls_off"] as const };

function call(index: number, name: string, json: string): readonly InferenceEvent[] {
  return [
    { type: "open", index, block: { kind: "tool_call", id: `c${index}`, name } },
    { type: "arguments", index, json },
    { type: "close", index },
  ];
}

describe("a response schema asked for as a tool", () => {
  const calls: InferenceEvent = { type: "finish", reason: "tool_calls", stopSequence: null };

  it("forces the tool, and its arguments are the answer's text", () => {
    const emulation = emulateSchema(request, ENDPOINT);
    expect(emulation.request).toMatchObject({
      format: null,
      tools: [{ name: "json_response", parameters: { type: "object" } }],
      toolChoice: { mode: "named", name: "json_response" },
      parallelToolCalls: false,
    });
    const answer = collectAnswer(emulation.map([start, ...call(0, "json_response", '{"a":1}'), calls]));
    expect(answer.blocks).toEqual([{ kind: "text", text: '{"a":1}', logprobs: [], citations: [] }]);
    expect(answer.finish?.reason).toBe("stop");
  });

  it("leaves the caller's own tools to the model, whatever they are called", () => {
    const own = { name: "json_response", description: null, parameters: null, strict: null, cache: null };
    const emulation = emulateSchema({ ...request, tools: [own] }, ENDPOINT);
    expect(emulation.request.toolChoice).toEqual({ mode: "required" });
    expect(emulation.request.tools.map(({ name }) => name)).toEqual(["json_response", "json_response_2"]);
    const answer = collectAnswer(emulation.map([start, ...call(0, "json_response", "{}"), calls]));
    expect(answer.blocks).toMatchObject([{ kind: "tool_call", name: "json_response" }]);
    expect(answer.finish?.reason).toBe("tool_calls");
  });

  const spoken: readonly InferenceEvent[] = [
    { type: "open", index: 0, block: { kind: "text" } },
    { type: "text", index: 0, text: "Sure! ", logprobs: [] },
    { type: "close", index: 0 },
  ];

  it.each([
    ["text before it", [...spoken, ...call(1, "json_response", "{}")]],
    ["a second call", [...call(0, "json_response", "{}"), ...call(1, "json_response", "{}")]],
  ])("is a failure where the answer is not one document: %s", (_, events) => {
    const answer = collectAnswer(emulateSchema(request, ENDPOINT).map([start, ...events, calls]));
    expect(answer).toMatchObject({ finish: null, failure: { kind: "malformed" } });
  });

  it("streams as it answers", () => {
    const parser = emulateSchema(request, ENDPOINT).wrap(parserOf([call(0, "json_response", "{}")], [calls]));
    expect(collectAnswer([...parser.push(new Uint8Array()), ...parser.end()])).toMatchObject({
      blocks: [{ kind: "text", text: "{}" }],
      finish: { reason: "stop" },
    });
  });
});
