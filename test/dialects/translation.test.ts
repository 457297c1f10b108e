import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import type { InferenceEvent, OpenBlock } from "../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../src/canon/generate/generate-request.ts";
import type { EventParser, EventRenderer } from "../../src/dialects/dialect.ts";
import {
  endCheck,
  firstCall,
  stopCut,
  TranslatedStream,
  emulateFormat,
  filtered,
} from "../../src/dialects/translated-stream.ts";
import { forOneTool, prepareTranslation } from "../../src/dialects/translate-request.ts";
import type { Feature } from "../../src/canon/capability.ts";
import { route, shape } from "../support/table.ts";
import { targetOf } from "./laws/target.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const usage = { input: 1, output: 2, cacheRead: null, cacheWrite: null, reasoning: null };

/** A parser that gives one list of events a chunk, and one at the end. */
function parserOf(
  chunks: readonly (readonly InferenceEvent[])[],
  atEnd: readonly InferenceEvent[],
): EventParser {
  let next = 0;
  return { push: () => chunks[next++] ?? [], endAnswer: () => atEnd };
}

/** Prints the name of each event. */
const renderer: EventRenderer = {
  dropped: new Set(["signature_dropped"] as const),
  push: (event) => (event.type === "dropped" ? [] : [encoder.encode(`${event.type};`)]),
  fail: (error) => encoder.encode(`failed ${error.code};`),
};

const text = (bytes: readonly Uint8Array[]) => bytes.map((one) => decoder.decode(one)).join("");
const start: InferenceEvent = { type: "start", model: "m" };
const open: InferenceEvent = { type: "open", index: 0, block: { kind: "text" } };
const finish: InferenceEvent = { type: "finish", reason: "stop", stopSequence: null };
const failure = { kind: "error_frame", status: null, retryAfter: null, code: null } as const;

describe("a translated stream", () => {
  const droppedField: InferenceEvent = { type: "dropped", field: "citations_dropped" };
  const citation = { url: null, title: null, start: null, end: null };
  const thinking: InferenceEvent = {
    type: "open",
    index: 0,
    block: { kind: "reasoning", summary: false },
  };
  it.each<[string, InferenceEvent, boolean]>([
    ["the beginning", start, false],
    ["counts", { type: "usage", usage }, false],
    ["a dropped field", droppedField, false],
    ["a block of text that opens", open, false],
    ["a block of reasoning that opens", thinking, false],
    ["no text", { type: "text", index: 0, text: "", logprobs: [] }, false],
    ["no refusal", { type: "refusal", index: 0, text: "" }, false],
    ["no reasoning", { type: "reasoning", index: 0, text: "" }, false],
    ["no arguments", { type: "arguments", index: 0, json: "" }, false],
    ["a block that closes", { type: "close", index: 0 }, false],
    ["a failure", { type: "failure", failure }, false],
    ["text", { type: "text", index: 0, text: " ", logprobs: [] }, true],
    ["a refusal", { type: "refusal", index: 0, text: "n" }, true],
    ["reasoning", { type: "reasoning", index: 0, text: "h" }, true],
    ["a signature", { type: "signature", index: 0, signature: "s", family: "f" }, true],
    ["a call", { type: "open", index: 0, block: { kind: "tool_call", id: "c", name: "f" } }, true],
    ["arguments", { type: "arguments", index: 0, json: "{" }, true],
    ["a citation", { type: "citation", index: 0, citation }, true],
    ["an end", finish, true],
  ])("%s (%j) is output: %s", (_, event, isOutput) => {
    const stream = new TranslatedStream(parserOf([[event], []], []), renderer);
    stream.push(new Uint8Array());
    expect(stream.hasOutput).toBe(isOutput);
    stream.push(new Uint8Array());
    stream.endStream();
    expect(stream.hasOutput).toBe(isOutput);
  });

  it("passes events as they are made, and has no output where the provider fails before the first text", () => {
    const chunks = [
      [start, open],
      [{ type: "failure", failure } as const, finish],
    ];
    const stream = new TranslatedStream(parserOf(chunks, []), renderer);
    expect(text(stream.push(new Uint8Array()))).toBe("start;open;");
    expect(text(stream.push(new Uint8Array()))).toBe("");
    expect(stream.failure).toEqual(failure);
    expect(stream.endStream().ending.failure).toEqual(failure);
    expect(stream.hasOutput).toBe(false);
  });

  it("has no output where its only output is an end that the surface cannot have", () => {
    const stream = new TranslatedStream(
      filtered(parserOf([[start, finish]], []), [endCheck({ impossibleEnds: ["stop"] })]),
      renderer,
    );
    stream.push(new Uint8Array());
    expect(stream).toMatchObject({ hasOutput: false, failure: { kind: "malformed" } });
  });

  it("is done at its finish, reports dropped fields of both sides, and ignores later events", () => {
    const stream = new TranslatedStream(
      parserOf([[start, droppedField, { type: "usage", usage }, finish, open], [open]], []),
      renderer,
    );
    expect(text(stream.push(new Uint8Array()))).toBe("start;usage;finish;");
    expect(stream.hasEnded).toBe(true);
    expect(text(stream.push(new Uint8Array()))).toBe("");
    expect(stream.endStream()).toEqual({
      events: [],
      ending: {
        failure: null,
        finish: "stop",
        usage,
        dropped: ["citations_dropped", "signature_dropped"],
      },
    });
  });

  it.each([
    ["length", null],
    ["tool_calls", { kind: "malformed", code: "malformed_tool_use" }],
  ] as const)(
    "with arguments that are no object fails where its end is a success: %s",
    (reason, failed) => {
      const events = [...call(0, "f", '{"a":'), { ...finish, reason }] as const;
      const last = endCheck({ parsesArguments: true })(events).at(-1);
      expect(last).toMatchObject(
        failed === null ? { reason } : { type: "failure", failure: failed },
      );
    },
  );

  it("is truncated where the parser ends without a terminal", () => {
    const stream = new TranslatedStream(parserOf([[start, open]], []), renderer);
    stream.push(new Uint8Array());
    expect(stream.endStream().ending).toMatchObject({
      failure: { kind: "truncated" },
      finish: null,
    });
  });
});

const request: GenerateRequest = {
  purpose: "generate",
  turns: [{ role: "user", name: null, content: [{ kind: "text", text: "hi", cache: null }] }],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  format: {
    kind: "json_schema",
    name: "a",
    description: null,
    schema: { type: "object" },
    strict: true,
  },
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

describe("a request with one tool", () => {
  const tool = { name: "f", description: null, parameters: null, strict: null, cache: null };
  const once = {
    ...request,
    tools: [tool],
    toolChoice: { mode: "named", name: "f" },
    parallelToolCalls: false,
  } as const;

  it("is expressed in another way only where the endpoint lacks the value", () => {
    const able = { features: ["parallel_tool_calls_off", "tool_choice_named"] as const };
    expect(forOneTool(once, able)).toEqual({ request: once, firstCallOnly: false });
    expect(forOneTool(once, { features: [] })).toEqual({
      request: { ...once, toolChoice: { mode: "required" }, parallelToolCalls: null },
      firstCallOnly: true,
    });
    const two = { ...once, tools: [tool, { ...tool, name: "g" }] };
    expect(forOneTool(two, { features: [] })).toEqual({ request: two, firstCallOnly: false });
  });

  const calls: InferenceEvent = { type: "finish", reason: "tool_calls", stopSequence: null };
  const several = [
    start,
    ...call(0, "f", '{"a":1}'),
    ...call(1, "f", '{"a":2}'),
    { type: "open", index: 2, block: { kind: "text" } },
    { type: "text", index: 2, text: "so", logprobs: [] },
    { type: "close", index: 2 },
    ...call(3, "f", '{"a":3}'),
    calls,
  ] as const satisfies readonly InferenceEvent[];

  it("gets the first call and all other blocks, and records further calls as dropped", () => {
    const kept = firstCall()(several);
    expect(collectAnswer(kept).blocks).toMatchObject([
      { kind: "tool_call", arguments: '{"a":1}' },
      { kind: "text", text: "so" },
    ]);
    expect(kept.filter(({ type }) => type === "dropped")).toEqual([
      { type: "dropped", field: "further_calls_dropped" },
    ]);
    expect(kept.flatMap((event) => (event.type === "open" ? [event.index] : []))).toEqual([0, 1]);
    const one = [start, ...call(0, "f", "{}"), calls];
    expect(firstCall()(one)).toEqual(one);
  });

  it("gets the same from a stream, for every cut", () => {
    const parser = filtered(
      parserOf(
        several.map((event) => [event]),
        [],
      ),
      [firstCall()],
    );
    expect(several.flatMap(() => parser.push(new Uint8Array(0)))).toEqual(firstCall()(several));
  });
});

describe("stop sequences that the router honours", () => {
  const said = (...texts: readonly string[]): readonly InferenceEvent[] => [
    start,
    { type: "open", index: 0, block: { kind: "text" } },
    ...texts.map((one): InferenceEvent => ({ type: "text", index: 0, text: one, logprobs: [] })),
    { type: "close", index: 0 },
    { type: "usage", usage },
    { type: "finish", reason: "stop", stopSequence: null },
  ];

  it.each<[readonly string[], readonly string[], string, string | null]>([
    [["Observation:"], ["Think. Observation: x"], "Think. ", "Observation:"],
    [["Observation:"], ["Think. Obser", "vation", ": x", "y"], "Think. ", "Observation:"],
    [["aab"], ["aa", "a", "b"], "a", "aab"],
    [["\n\n", "END"], ["a\nEND\n\n"], "a\n", "END"],
    [["END"], ["END"], "", "END"],
    [["END"], ["an EN"], "an EN", null],
    [["END"], ["E", "N", "d"], "ENd", null],
  ])("the stop sequences %j in %j leave %j", (stops, texts, left, stopSequence) => {
    const events = said(...texts);
    const whole = collectAnswer(stopCut(stops)(events));
    const parser = filtered(
      parserOf(
        events.map((event) => [event]),
        [],
      ),
      [stopCut(stops)],
    );
    const streamed = collectAnswer(events.flatMap(() => parser.push(new Uint8Array(0))));
    for (const answer of [whole, streamed]) {
      expect(answer).toMatchObject({ blocks: [{ kind: "text", text: left }], failure: null });
      expect(answer.finish).toEqual({
        reason: stopSequence === null ? "stop" : "stop_sequence",
        stopSequence,
      });
    }
    expect(whole.usage).toEqual(usage);
    // The provider is not waited for: counts that have not come are unknown.
    expect(streamed.usage).toEqual(stopSequence === null ? usage : null);
  });

  it("keeps the log probabilities of text that waits", () => {
    const token = (name: string) => ({ token: name, logprob: -1, bytes: null, top: [] });
    const events = said("E", "x").map((event) =>
      event.type === "text" ? { ...event, logprobs: [token(event.text)] } : event,
    );
    expect(collectAnswer(stopCut(["END"])(events)).blocks).toMatchObject([
      { text: "Ex", logprobs: [token("E"), token("x")] },
    ]);
  });

  it.each<[readonly Feature[], readonly string[], readonly string[], readonly string[]]>([
    [[], ["a", " "], [], ["a", " "]],
    [["stop_sequences"], ["a", " "], ["a"], [" "]],
    [["stop_sequences"], ["a", "b", "c", "d", "e"], ["a", "b", "c", "d"], ["e"]],
    [
      ["stop_sequences", "stop_sequences_over_4", "stop_sequences_blank"],
      ["a", "b", "c", "d", "\n"],
      ["a", "b", "c", "d", "\n"],
      [],
    ],
  ])("with %j, of the stop sequences %j the endpoint gets %j", (features, stop, sent, stops) => {
    const target = {
      ...targetOf("openai-chat"),
      endpoint: { ...targetOf("openai-chat").endpoint, features },
    };
    const canonical = {
      request: { ...request, format: null, seed: 7, stop },
      stripped: [],
      dropped: [],
    };
    const prepared = prepareTranslation(
      canonical,
      route("r", "a", []),
      shape(),
      target,
      chatUpstream,
    );
    if ("code" in prepared) throw new Error(prepared.code);
    expect(prepared).toMatchObject({ stops, fitted: { stop: sent, seed: null } });
    expect(prepared.dropped).toContain("seed_dropped");
    expect(prepared.dropped.includes("stops_by_router")).toBe(stops.length > 0);
  });
});

describe("a response schema requested as a tool", () => {
  const calls: InferenceEvent = { type: "finish", reason: "tool_calls", stopSequence: null };

  it("forces the tool, and its arguments are the answer's text", () => {
    const emulation = emulateFormat(request, ENDPOINT);
    expect(emulation.request).toMatchObject({
      format: null,
      tools: [{ name: "json_response", parameters: { type: "object" } }],
      toolChoice: { mode: "named", name: "json_response" },
      parallelToolCalls: false,
    });
    const answer = collectAnswer(
      emulation.unfold()([start, ...call(0, "json_response", '{"a":1}'), calls]),
    );
    expect(answer.blocks).toEqual([{ kind: "text", text: '{"a":1}', logprobs: [], citations: [] }]);
    expect(answer.finish?.reason).toBe("stop");
  });

  it("leaves the caller's own tools to the model, under any name", () => {
    const own = {
      name: "json_response",
      description: null,
      parameters: null,
      strict: null,
      cache: null,
    };
    const emulation = emulateFormat({ ...request, tools: [own] }, ENDPOINT);
    expect(emulation.request.toolChoice).toEqual({ mode: "required" });
    expect(emulation.request.tools.map(({ name }) => name)).toEqual([
      "json_response",
      "json_response_2",
    ]);
    const answer = collectAnswer(
      emulation.unfold()([start, ...call(0, "json_response", "{}"), calls]),
    );
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
    ["text alone", spoken],
    ["nothing", []],
  ])("is a failure where the answer is not one document: %s", (_, events) => {
    const answer = collectAnswer(
      emulateFormat(request, ENDPOINT).unfold()([start, ...events, calls]),
    );
    expect(answer).toMatchObject({
      finish: null,
      failure: { kind: "malformed", code: "format_not_followed" },
    });
  });

  it("accepts the text of a model that ignores the tool and answers in JSON", () => {
    const { unfold } = emulateFormat({ ...request, format: { kind: "json_object" } }, ENDPOINT);
    const said = spoken.map((event) =>
      event.type === "text" ? { ...event, text: '{"a":1}' } : event,
    );
    const answer = collectAnswer(unfold()([start, ...said, { ...calls, reason: "stop" }]));
    expect(answer).toMatchObject({
      blocks: [{ kind: "text", text: '{"a":1}' }],
      finish: { reason: "stop" },
    });
    const cut = collectAnswer(unfold()([start, ...spoken, { ...calls, reason: "length" }]));
    expect(cut).toMatchObject({ finish: { reason: "length" }, failure: null });
  });

  it("describes the tool for any JSON object, which models call without arguments otherwise", () => {
    const { tools } = emulateFormat(
      { ...request, format: { kind: "json_object" } },
      ENDPOINT,
    ).request;
    expect(tools).toMatchObject([{ parameters: { type: "object" } }]);
    expect(tools[0]?.description).toContain("members");
  });

  it("has output with the answer's first character, not with the call that we requested", () => {
    const [opened, said] = call(0, "json_response", "{}");
    if (opened === undefined || said === undefined) throw new Error("no call");
    const parser = filtered(parserOf([[start, opened], [said]], []), [
      emulateFormat(request, ENDPOINT).unfold(),
    ]);
    const stream = new TranslatedStream(parser, renderer);
    stream.push(new Uint8Array());
    expect(stream.hasOutput).toBe(false);
    stream.push(new Uint8Array());
    expect(stream.hasOutput).toBe(true);
  });

  it("is streamed as it is answered", () => {
    const parser = filtered(parserOf([call(0, "json_response", "{}")], [calls]), [
      emulateFormat(request, ENDPOINT).unfold(),
    ]);
    expect(collectAnswer([...parser.push(new Uint8Array()), ...parser.endAnswer()])).toMatchObject({
      blocks: [{ kind: "text", text: "{}" }],
      finish: { reason: "stop" },
    });
  });
});

it("a delta of another kind than its block changes nothing in the collected answer", () => {
  const deltas: readonly (InferenceEvent & { readonly index: number })[] = [
    { type: "text", index: 0, text: "a", logprobs: [] },
    { type: "citation", index: 0, citation: { url: "u", title: null, start: null, end: null } },
    { type: "refusal", index: 0, text: "b" },
    { type: "reasoning", index: 0, text: "c" },
    { type: "signature", index: 0, signature: "d", family: "f" },
    { type: "arguments", index: 0, json: "{}" },
  ];
  const blocks: readonly [OpenBlock, ...string[]][] = [
    [{ kind: "text" }, "text", "citation"],
    [{ kind: "refusal" }, "refusal"],
    [{ kind: "reasoning", summary: false }, "reasoning", "signature"],
    [{ kind: "tool_call", id: "c", name: "f" }, "arguments"],
  ];
  for (const [block, ...takes] of blocks) {
    const opened: InferenceEvent = { type: "open", index: 0, block };
    for (const delta of deltas) {
      const isChanged =
        JSON.stringify(collectAnswer([opened, delta])) !== JSON.stringify(collectAnswer([opened]));
      expect(isChanged, `${delta.type} in ${block.kind}`).toBe(takes.includes(delta.type));
    }
  }
});
