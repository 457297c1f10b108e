import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import type { InferenceEvent } from "../../src/canon/generate/event.ts";
import type { GenerateRequest, Turn } from "../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../src/canon/json.ts";
import type { WholeAnswer } from "../../src/dialects/dialect.ts";
import { formatSseEvent } from "../../src/dialects/sse.ts";
import { cpuTimeOf } from "../support/cpu-time.ts";
import { contextFor, requestFor } from "./laws/speak.ts";
import { NO_EDITS } from "./laws/target.ts";
import { PROTOCOLS } from "./laws/table.ts";
import { canon, text } from "./openai-chat/canon.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** More than the arguments of one call may be where the engine puts them on its stack. */
const MANY = 150_000;
const DEEP = 200_000;
const deepJson = `{"a":${"[".repeat(DEEP)}${"]".repeat(DEEP)}}`;

function reported(json: string): readonly InferenceEvent[] {
  return [
    { type: "start", model: "m" },
    { type: "open", index: 0, block: { kind: "tool_call", id: "c", name: "look_up" } },
    { type: "arguments", index: 0, json },
    { type: "close", index: 0 },
    { type: "finish", reason: "tool_calls", stopSequence: null },
  ];
}

describe.each(PROTOCOLS.filter(({ telling }) => telling.calls))(
  "arguments nested 200,000 deep, $name",
  (protocol) => {
    const { translation, relay } = protocol.spoken.surface;
    const request = requestFor(protocol);

    it("are printed as the text that they are, streamed and whole", () => {
      const renderer = translation.renderStream(contextFor(protocol));
      const sent = reported(deepJson).flatMap((event) => renderer.push(event));
      expect(sent.length).toBeGreaterThan(0);
      const { body } = translation.renderAnswer(
        collectAnswer(reported(deepJson)),
        contextFor(protocol),
      );
      expect(JSON.stringify(body)).toContain(JSON.stringify(deepJson));
    });

    it("are malformed as JSON of an answer", () => {
      const { body } = translation.renderAnswer(
        collectAnswer(reported("{}")),
        contextFor(protocol),
      );
      const whole = JSON.stringify({ ...body, unheard: "HERE" }).replace('"HERE"', deepJson);
      const events = protocol.upstream.parseAnswer(encoder.encode(whole), request, protocol.target);
      expect(events.at(-1)).toMatchObject({ type: "failure", failure: { kind: "malformed" } });
      expect(
        relay.readAnswer(encoder.encode(whole), contextFor(protocol)).ending.failure?.kind,
      ).toBe("malformed");
    });

    it("are malformed as JSON in a stream", () => {
      const renderer = translation.renderStream(contextFor(protocol));
      const events = reported("{}").flatMap((event) => renderer.push(event));
      const stream = events.map((event) =>
        decoder.decode(event).replace(/^data: \{/m, `data: {"unheard":${deepJson},`),
      );
      const parser = protocol.upstream.parseStream(request, protocol.target);
      const read = [...pushed(parser, stream.join("")), ...parser.endAnswer()];
      expect(read.at(-1)).toMatchObject({ type: "failure", failure: { kind: "malformed" } });
      const observer = relay.observe(contextFor(protocol));
      pushed(observer, stream.join(""));
      expect(observer.endStream().ending.failure?.kind).toBe("malformed");
    });
  },
);

/** Bytes as they arrive from a socket. */
function pushed<Reported>(
  stream: { readonly push: (chunk: Uint8Array) => readonly Reported[] },
  stuff: string,
): Reported[] {
  const bytes = encoder.encode(stuff);
  const all: Reported[] = [];
  for (let start = 0; start < bytes.length; start += CHUNK) {
    for (const one of stream.push(bytes.subarray(start, start + CHUNK))) all.push(one);
  }
  return all;
}

const CHUNK = 65_536;

describe("arguments in the history nested 200,000 deep", () => {
  it("are refused by every surface that has them as text", () => {
    const chat = {
      messages: [
        { role: "user", content: "hi" },
        {
          role: "assistant",
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: deepJson } }],
        },
        { role: "tool", tool_call_id: "c", content: "ok" },
      ],
    };
    const responses = {
      input: [
        { role: "user", content: "hi" },
        { type: "function_call", call_id: "c", name: "f", arguments: deepJson },
        { type: "function_call_output", call_id: "c", output: "ok" },
      ],
    };
    const bodies: readonly (readonly [string, JsonObject])[] = [
      ["openai-chat", chat],
      ["openai-responses", responses],
    ];
    for (const [name, body] of bodies) {
      expect(canonOf(name, body)).toMatchObject({ status: 400, code: "invalid_tool_arguments" });
    }
  });
});

function canonOf(name: string, more: JsonObject) {
  const spoken = PROTOCOLS.find((protocol) => protocol.name === name)?.spoken;
  if (spoken === undefined) throw new Error(name);
  const { stream: _, ...smallest } = spoken.body;
  const request = spoken.surface.parse({ ...smallest, ...more }, 100, { version: null, betas: [] });
  if ("code" in request) throw new Error(request.message);
  return spoken.surface.translation.toCanon(request, "reject", NO_EDITS);
}

function turnsOf(name: string, more: JsonObject): GenerateRequest["turns"] {
  const canonical = canonOf(name, more);
  if ("code" in canonical) throw new Error(canonical.message);
  return canonical.request.turns;
}

describe("very long lists from outside", () => {
  const blocks = Array.from({ length: MANY }, () => ({ type: "text", text: "a" }));
  const parts = Array.from({ length: MANY }, () => text("a"));

  it.each(PROTOCOLS.filter(({ name }) => name !== "openai-completions"))(
    "150,000 parts of a turn, and of the next one of the same role, are formatted: $name",
    ({ upstream, target }) => {
      const user: Turn = { role: "user", name: null, content: parts };
      const said: Turn = { role: "assistant", name: null, content: parts };
      const formatted = upstream.format(canon({ turns: [user, user, said, said, user] }), target);
      expect("code" in formatted).toBe(false);
    },
  );

  it("150,000 parts of an assistant message are read", () => {
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: blocks },
      { role: "user", content: "hi" },
    ];
    expect(turnsOf("openai-chat", { messages })[1]?.role).toBe("assistant");
    expect(turnsOf("anthropic-messages", { messages })[1]?.role).toBe("assistant");
    const content = Array.from({ length: MANY }, () => ({ type: "output_text", text: "a" }));
    const input = [
      { role: "user", content: "hi" },
      { role: "assistant", content },
      { role: "user", content: "hi" },
    ];
    expect(turnsOf("openai-responses", { input })[1]?.role).toBe("assistant");
  });

  it("100,000 tool results are read in bounded time", () => {
    const ids = Array.from({ length: 100_000 }, (_, index) => `c${index}`);
    const calls = ids.map((id) => ({
      id,
      type: "function",
      function: { name: "f", arguments: "{}" },
    }));
    const answers = ids.map((id) => ({ role: "tool", tool_call_id: id, content: "ok" }));
    const messages = [{ role: "assistant", tool_calls: calls }, ...answers];
    const time = cpuTimeOf(() => {
      const [, results] = turnsOf("openai-chat", { messages });
      expect(results?.role === "tool" && results.results.length).toBe(100_000);
    });
    expect(time).toBeLessThan(5_000);
  });

  it.each(PROTOCOLS)(
    "300,000 comments before the first event do not fail a stream: $name",
    (protocol) => {
      const { translation, relay } = protocol.spoken.surface;
      const renderer = translation.renderStream(contextFor(protocol));
      const events: readonly InferenceEvent[] = [
        { type: "start", model: "m" },
        { type: "open", index: 0, block: { kind: "text" } },
        { type: "text", index: 0, text: "a", logprobs: [] },
        { type: "close", index: 0 },
        { type: "finish", reason: "stop", stopSequence: null },
      ];
      const stream = events
        .flatMap((event) => renderer.push(event))
        .map((event) => decoder.decode(event));
      const observer = relay.observe(contextFor(protocol));
      const sent = pushed(observer, ":\n\n".repeat(300_000) + stream.join(""));
      expect(sent.length).toBeGreaterThan(300_000);
      expect(observer.endStream().ending.failure).toBeNull();
    },
  );

  it("150,000 deltas that wait for one call's arguments are read to the finish", () => {
    const chat = PROTOCOLS.find(({ name }) => name === "openai-chat");
    if (chat === undefined) throw new Error("no chat");
    const chunk = (delta: JsonObject, finish: string | null = null): JsonObject => ({
      choices: [{ index: 0, delta, finish_reason: finish }],
    });
    const call = { index: 0, id: "c", function: { name: "f", arguments: "{" } };
    const bytes = [
      chunk({ tool_calls: [call] }),
      ...Array.from({ length: MANY }, () => chunk({ content: "a" })),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "}" } }] }, "stop"),
    ].map((one) => decoder.decode(formatSseEvent(JSON.stringify(one))));
    const parser = chat.upstream.parseStream(requestFor(chat), chat.target);
    const read = [...pushed(parser, `${bytes.join("")}data: [DONE]\n\n`), ...parser.endAnswer()];
    expect(read.at(-1)).toMatchObject({ type: "finish" });
  });

  it("150,000 parts of one item are read", () => {
    const responses = PROTOCOLS.find(({ name }) => name === "openai-responses");
    if (responses === undefined) throw new Error("no responses");
    const content = Array.from({ length: MANY }, () => ({
      type: "output_text",
      text: "a",
      annotations: [],
    }));
    const response = {
      model: "m",
      status: "completed",
      output: [{ type: "message", id: "m", content }],
    };
    const event = { type: "response.completed", response };
    const parser = responses.upstream.parseStream(requestFor(responses), responses.target);
    const bytes = formatSseEvent(JSON.stringify(event), "response.completed");
    const read = [...parser.push(bytes), ...parser.endAnswer()];
    expect(read.at(-1)).toMatchObject({ type: "finish" });
    const whole: WholeAnswer = responses.spoken.surface.relay.readAnswer(
      encoder.encode(JSON.stringify(response)),
      contextFor(responses),
    );
    expect(whole.ending.failure).toBeNull();
  });
});
