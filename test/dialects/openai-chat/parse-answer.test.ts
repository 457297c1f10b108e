import type { Answer, InferenceEvent } from "../../../src/canon/generate/event.ts";
import type { GenerateRequest } from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import { MAXIMUM_EVENT_BYTES, formatSseEvent } from "../../../src/dialects/sse.ts";
import { MODEL, targetOf } from "../laws/target.ts";
import { canon } from "./canon.ts";
import { brokenLaws } from "./event-laws.ts";
import { describe, expect, it } from "vitest";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const target = targetOf("openai-chat");
const chunk = (
  delta: JsonObject | null,
  finish: string | null = null,
  more: JsonObject = {},
): JsonObject => ({
  id: "chatcmpl-1",
  model: "m",
  choices: delta === null ? [] : [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const done = "[DONE]";
const tool = (more: JsonObject): JsonObject => ({ tool_calls: [more] });
const usage = {
  prompt_tokens: 3,
  completion_tokens: 4,
  prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 2 },
};

function bytesOf(lines: readonly (JsonObject | string)[]): Uint8Array {
  return Buffer.concat(
    lines.map((line) => formatSseEvent(typeof line === "string" ? line : JSON.stringify(line))),
  );
}

function stream(
  lines: readonly (JsonObject | string)[],
  more: Partial<GenerateRequest> = {},
  at = target,
): readonly InferenceEvent[] {
  const bytes = bytesOf(lines);
  const parser = chatUpstream.parseStream(canon({ stream: true, ...more }), at);
  const events = [...parser.push(bytes), ...parser.endAnswer()];
  expect(brokenLaws(events)).toEqual([]);
  expect([...parser.push(bytes), ...parser.endAnswer()]).toEqual([]);
  // Cut after every byte, the same is reported.
  const slow = chatUpstream.parseStream(canon({ stream: true, ...more }), at);
  const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
  expect([...pieces.flatMap((piece) => [...slow.push(piece)]), ...slow.endAnswer()]).toEqual(
    events,
  );
  return events;
}

function whole(
  body: unknown,
  more: Partial<GenerateRequest> = {},
  at = target,
): readonly InferenceEvent[] {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const events = chatUpstream.parseAnswer(bytes, canon(more), at);
  expect(brokenLaws(events)).toEqual([]);
  return events;
}

const shortOf = (answer: Answer): readonly string[] =>
  answer.blocks.map((block) =>
    block.kind === "tool_call"
      ? `${block.id} ${block.name}(${block.arguments})`
      : `${block.kind}: ${block.text}`,
  );
const droppedBy = (events: readonly InferenceEvent[]) =>
  events.flatMap((event) => (event.type === "dropped" ? [event.field] : []));
const finishOf = (events: readonly InferenceEvent[]) => collectAnswer(events).finish?.reason;
const failureOf = (events: readonly InferenceEvent[]) => collectAnswer(events).failure;

describe("a stream of a chat provider", () => {
  it("is reported event by event", () => {
    expect(
      stream([
        chunk({ role: "assistant", content: "" }),
        chunk({ content: "a" }),
        chunk({}, "stop"),
        done,
      ]),
    ).toEqual([
      { type: "start", model: "m" },
      { type: "open", index: 0, block: { kind: "text" } },
      { type: "text", index: 0, text: "a", logprobs: [] },
      { type: "close", index: 0 },
      { type: "finish", reason: "stop", stopSequence: null },
    ]);
  });

  it.each<[string, readonly (JsonObject | string)[]]>([
    ["beside the finish reason", [chunk({ content: "a" }), chunk({}, "stop", { usage }), done]],
    [
      "in a chunk of its own",
      [chunk({ content: "a" }, "stop"), chunk(null, null, { usage }), done],
    ],
    [
      "in every chunk",
      [
        chunk({ content: "a" }, null, { usage: { ...usage, completion_tokens: 1 } }),
        chunk({}, "stop", { usage }),
      ],
    ],
    ["where Groq puts it", [chunk({ content: "a" }, "stop", { x_groq: { usage } }), done]],
    ["before anything else", [chunk(null, null, { usage }), chunk({ content: "a" }, "stop"), done]],
  ])("finds the counts %s", (_, lines) => {
    expect(collectAnswer(stream(lines)).usage).toEqual({
      input: 3,
      output: 4,
      cacheRead: 1,
      cacheWrite: 2,
      reasoning: null,
    });
  });

  it.each<[string, readonly (JsonObject | string)[], readonly string[], string]>([
    ["no [DONE]", [chunk({ content: "a" }, "stop")], ["text: a"], "stop"],
    [
      "several finish chunks",
      [chunk({ content: "a" }, "stop"), chunk({}, "stop"), done],
      ["text: a"],
      "stop",
    ],
    [
      "Azure's first chunk",
      [chunk(null, null, { id: "", model: "" }), chunk({ content: "a" }, "stop"), done],
      ["text: a"],
      "stop",
    ],
    [
      "Perplexity's message so far",
      [
        {
          model: "m",
          choices: [
            { index: 0, delta: { content: "a" }, message: { content: "a" }, finish_reason: null },
          ],
        },
        {
          model: "m",
          choices: [
            {
              index: 0,
              delta: { content: "b" },
              message: { content: "ab" },
              finish_reason: "stop",
            },
          ],
        },
      ],
      ["text: ab"],
      "stop",
    ],
    [
      "a whole message instead of deltas",
      [{ choices: [{ message: { content: "a" }, finish_reason: "stop" }] }],
      ["text: a"],
      "stop",
    ],
    [
      "reasoning_content",
      [chunk({ reasoning_content: "r" }), chunk({ content: "a" }, "stop")],
      ["reasoning: r", "text: a"],
      "stop",
    ],
    [
      "reasoning",
      [chunk({ reasoning: "r", content: "" }), chunk({ content: "a" }, "stop")],
      ["reasoning: r", "text: a"],
      "stop",
    ],
    [
      "reasoning in both members",
      [chunk({ reasoning: "r", reasoning_content: "r" }), chunk({ content: "a" }, "stop")],
      ["reasoning: r", "text: a"],
      "stop",
    ],
    [
      "parts of thinking",
      [
        chunk({ content: [{ type: "thinking", thinking: [{ type: "text", text: "r" }] }] }),
        chunk({ content: [{ type: "text", text: "a" }] }, "stop"),
      ],
      ["reasoning: r", "text: a"],
      "stop",
    ],
    [
      "a part of thinking without text",
      [chunk({ content: [{ type: "thinking" }] }), chunk({ content: "a" }, "stop")],
      ["text: a"],
      "stop",
    ],
    ["a refusal", [chunk({ refusal: "no" }), chunk({}, "stop"), done], ["refusal: no"], "refusal"],
    ["a value for length", [chunk({ content: "a" }, "model_length"), done], ["text: a"], "length"],
    [
      "interleaved calls",
      [
        chunk(tool({ index: 0, id: "c", function: { name: "f", arguments: "" } })),
        chunk(tool({ index: 1, id: "d", function: { name: "g", arguments: "{" } })),
        chunk(tool({ index: 0, function: { arguments: '{"a":1}' } })),
        chunk(tool({ index: 1, function: { arguments: "}" } }), "tool_calls"),
        done,
      ],
      ['c f({"a":1})', "d g({})"],
      "tool_calls",
    ],
    [
      "calls without an index",
      [
        chunk(
          {
            tool_calls: [
              { id: "c", function: { name: "f", arguments: "{}" } },
              { id: "d", function: { name: "g", arguments: "{}" } },
            ],
          },
          "tool_calls",
        ),
      ],
      ["c f({})", "d g({})"],
      "tool_calls",
    ],
    [
      "one index for all calls",
      [
        chunk(tool({ index: 0, id: "c", function: { name: "f", arguments: "{}" } })),
        chunk(tool({ index: 0, id: "d", function: { name: "f", arguments: "{" } })),
        chunk(tool({ index: 0, id: "", function: { name: "", arguments: "}" } }), "tool_calls"),
      ],
      ["c f({})", "d f({})"],
      "tool_calls",
    ],
    [
      "a fragment without index and id",
      [
        chunk(tool({ id: "c", function: { name: "f", arguments: "{" } })),
        chunk(tool({ function: { arguments: "}" } }), "tool_calls"),
      ],
      ["c f({})"],
      "tool_calls",
    ],
    [
      "a name after the arguments",
      [
        chunk(tool({ index: 0, id: "c", function: { arguments: '{"a":' } })),
        chunk(tool({ index: 0, function: { name: "f", arguments: "1}" } }), "tool_calls"),
      ],
      ['c f({"a":1})'],
      "tool_calls",
    ],
    [
      "a call without arguments",
      [chunk(tool({ index: 0, id: "c", function: { name: "f" } }), "tool_calls")],
      ["c f({})"],
      "tool_calls",
    ],
    [
      "arguments as an object",
      [
        chunk(
          tool({ index: 0, id: "c", function: { name: "f", arguments: { a: 1 } } }),
          "tool_calls",
        ),
      ],
      ['c f({"a":1})'],
      "tool_calls",
    ],
    [
      "calls without ids",
      [
        chunk(
          {
            tool_calls: [
              { index: 0, function: { name: "f", arguments: "{}" } },
              { index: 1, function: { name: "f", arguments: "{}" } },
            ],
          },
          "tool_calls",
        ),
      ],
      ["call_chatcmpl-1_0 f({})", "call_chatcmpl-1_1 f({})"],
      "tool_calls",
    ],
    [
      "the older form of a call",
      [
        chunk({ function_call: { name: "f", arguments: "{" } }),
        chunk({ function_call: { arguments: "}" } }, "function_call"),
      ],
      ["call_chatcmpl-1_0 f({})"],
      "tool_calls",
    ],
    [
      "a call that ends with stop",
      [chunk(tool({ index: 0, id: "c", function: { name: "f", arguments: "{}" } }), "stop"), done],
      ["c f({})"],
      "tool_calls",
    ],
  ])("understands %s", (_, lines, blocks, reason) => {
    const events = stream(lines);
    expect(shortOf(collectAnswer(events))).toEqual(blocks);
    expect(finishOf(events)).toBe(reason);
    expect(droppedBy(events)).toEqual([]);
  });

  it.each<[string, readonly (JsonObject | string)[], string, string | null]>([
    ["nothing", [], "truncated", null],
    ["[DONE] alone", [done], "truncated", null],
    [
      "[DONE] after a role",
      [chunk({ role: "assistant", content: "" }), done],
      "malformed",
      "missing_finish_reason",
    ],
    ["[DONE] after a text", [chunk({ content: "a" }), done], "malformed", "missing_finish_reason"],
    [
      "[DONE] after an empty reason",
      [chunk({ content: "a" }, ""), done],
      "malformed",
      "missing_finish_reason",
    ],
    ["[DONE] after counts", [chunk(null, null, { usage }), done], "truncated", null],
    ["a cut", [chunk({ content: "a" })], "truncated", null],
    [
      "an error object",
      [
        chunk({ content: "a" }),
        { error: { code: "rate_limit_exceeded", message: "secret" } },
        done,
      ],
      "error_frame",
      "rate_limit_exceeded",
    ],
    ["the finish reason error", [chunk({ content: "a" }, "error"), done], "error_frame", null],
    [
      "a lack of resources",
      [chunk({ content: "a" }, "insufficient_system_resource"), done],
      "overloaded",
      null,
    ],
    [
      "an unknown finish reason",
      [chunk({ content: "" }, "novelty"), done],
      "malformed",
      "unknown_finish_reason",
    ],
    ["a network error", [chunk({ content: "a" }, "network_error"), done], "error_frame", null],
    [
      "a failure that a gateway calls a stop",
      [
        chunk({ content: "" }),
        { choices: [{ delta: {}, finish_reason: "stop", native_finish_reason: "error" }] },
        done,
      ],
      "error_frame",
      null,
    ],
    [
      "a piece of a call that was whole",
      [
        chunk(tool({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } })),
        chunk(tool({ index: 1, id: "b", function: { name: "g", arguments: "{}" } })),
        chunk(tool({ index: 0, function: { arguments: ',"y":2}' } })),
        chunk({}, "tool_calls"),
        done,
      ],
      "malformed",
      "torn_tool_call",
    ],
    [
      "output after the reason, and no end after it",
      [chunk({ content: "a" }, "stop"), chunk({ content: "b" })],
      "truncated",
      null,
    ],
    [
      "nothing but parts of unknown kinds",
      [chunk({ content: [{ type: "novel" }] }, "stop"), done],
      "malformed",
      "unexpected_output_item",
    ],
    ["text that is not JSON", [chunk({ content: "a" }), "<html>"], "malformed", null],
    ["JSON that is no object", ["[1]"], "malformed", null],
    [
      "an answer that was not requested",
      [{ choices: [{ index: 1, delta: { content: "a" } }] }],
      "malformed",
      "unexpected_output_item",
    ],
    [
      "a custom tool",
      [chunk(tool({ id: "c", type: "custom", custom: { name: "f" } }))],
      "malformed",
      "unexpected_output_item",
    ],
    [
      "a part that is a picture",
      [chunk({ content: [{ type: "image_url" }] })],
      "malformed",
      "unexpected_output_item",
    ],
    ["pictures", [chunk({ images: [{}] })], "malformed", "unexpected_output_item"],
    [
      "a call without a name",
      [chunk(tool({ index: 0, id: "c", function: { arguments: "{}" } }), "tool_calls"), done],
      "malformed",
      null,
    ],
  ])("fails with %s", (_, lines, kind, code) => {
    const events = stream(lines);
    expect(failureOf(events)).toEqual({ kind, status: null, retryAfter: null, code });
    expect(JSON.stringify(events)).not.toContain("secret");
  });

  it("reports no event of a chunk after its failure", () => {
    const call = { index: 0, id: "c", function: { name: "f", arguments: "{}" } };
    const events = stream([
      chunk({ content: [{ type: "text", text: "a" }, { type: "image_url" }], tool_calls: [call] }),
    ]);
    expect(shortOf(collectAnswer(events))).toEqual(["text: a"]);
  });

  it.each<[string, readonly JsonObject[]]>([
    [
      "whose first fragment has no function",
      [
        { index: 0, id: "c", type: "function", function: null },
        { index: 0, id: null, function: { name: "get_weather", arguments: "{}" } },
      ],
    ],
    [
      "whose name comes in pieces",
      [
        { index: 0, id: "c", function: { name: "get_" } },
        { index: 0, function: { name: "weather", arguments: "{}" } },
      ],
    ],
    [
      "whose name grows",
      [
        { index: 0, id: "c", function: { name: "get" } },
        { index: 0, function: { name: "get_weather" } },
        { index: 0, function: { arguments: "{}" } },
      ],
    ],
    [
      "whose name is repeated",
      [
        { index: 0, id: "c", function: { name: "get_weather", arguments: "{" } },
        { index: 0, function: { name: "get_weather", arguments: "}" } },
      ],
    ],
  ])("reads a call %s", (_, fragments) => {
    const named = (name: string) => ({
      name,
      description: null,
      parameters: null,
      strict: null,
      cache: null,
    });
    const tools = [named("get"), named("get_weather")];
    const events = stream(
      [...fragments.map((fragment) => chunk(tool(fragment))), chunk({}, "tool_calls"), done],
      {
        tools,
      },
    );
    expect(shortOf(collectAnswer(events))).toEqual(["c get_weather({})"]);
  });

  it("ignores entries of the list of calls that are empty", () => {
    const empty = [null, {}].map((entry) => chunk({ tool_calls: [entry] }));
    const events = stream([
      ...empty,
      chunk({ content: "a" }),
      chunk({ tool_calls: null }, "stop"),
      done,
    ]);
    expect([shortOf(collectAnswer(events)), finishOf(events)]).toEqual([["text: a"], "stop"]);
  });

  it("reads parts of the content, and records those of unknown kinds as dropped", () => {
    const summary = [{ type: "summary_text", text: "hm" }];
    const content = [
      { type: "reasoning", summary },
      { type: "output_text", text: "a" },
      { type: "reference" },
      { type: "novel" },
    ];
    const events = stream([chunk({ content }, "stop"), done]);
    expect(shortOf(collectAnswer(events))).toEqual(["reasoning: hm", "text: a"]);
    expect(droppedBy(events)).toEqual(["citations_dropped", "unknown_content_dropped"]);
  });

  it("names the stop sequence that the provider names", () => {
    const ended = (stop_reason: string | number) =>
      collectAnswer(
        stream([
          { choices: [{ delta: { content: "a" }, finish_reason: "stop", stop_reason }] },
          done,
        ]),
      ).finish;
    expect(ended("END")).toEqual({ reason: "stop_sequence", stopSequence: "END" });
    expect(ended("end_turn")).toEqual({ reason: "stop", stopSequence: null });
    expect(ended(128_001)).toEqual({ reason: "stop", stopSequence: null });
  });

  it("puts the signature of a call or a text before it, or drops it on record where no family reads it", () => {
    const extra_content = { google: { thought_signature: "c2ln" } };
    const call = { index: 0, id: "c", function: { name: "f", arguments: "{}" }, extra_content };
    const lines = [
      chunk({ content: "a", extra_content }),
      chunk(tool(call)),
      chunk({}, "tool_calls"),
      done,
    ];
    expect(collectAnswer(stream(lines)).blocks).toMatchObject([
      { kind: "reasoning", signature: "text.c2ln", family: "family" },
      { kind: "text", text: "a" },
      { kind: "reasoning", signature: "call.c2ln", family: "family" },
      { kind: "tool_call", name: "f" },
    ]);
    const unread = stream(lines, {}, targetOf("openai-chat", { ...MODEL, signatureFamily: null }));
    expect(droppedBy(unread)).toEqual(["signature_dropped"]);
  });

  it("ignores events of blank data", () => {
    const blank = new TextEncoder().encode("data:\n\ndata:  \n\n");
    const parser = chatUpstream.parseStream(canon(), target);
    const events = [
      blank,
      bytesOf([chunk({ content: "a" }, "stop")]),
      blank,
      bytesOf([done]),
    ].flatMap((bytes) => [...parser.push(bytes)]);
    expect(finishOf([...events, ...parser.endAnswer()])).toBe("stop");
  });

  it("fails with an error event, with any data", () => {
    const parser = chatUpstream.parseStream(canon(), target);
    const events = parser.push(formatSseEvent('{"message":"secret"}', "error"));
    expect(failureOf(events)?.kind).toBe("error_frame");
  });

  it("fails with an event that does not end", () => {
    const parser = chatUpstream.parseStream(canon(), target);
    expect(failureOf(parser.push(new Uint8Array(MAXIMUM_EVENT_BYTES + 1).fill(65)))?.kind).toBe(
      "too_large",
    );
  });

  it("reads CRLF, comments, missing spaces and a missing last blank line", () => {
    const text = `: hello\r\n\r\ndata:${JSON.stringify(chunk({ content: "a" }))}\r\n\r\ndata:${JSON.stringify(chunk({}, "stop"))}\r\n`;
    const parser = chatUpstream.parseStream(canon(), target);
    expect(finishOf([...parser.push(new TextEncoder().encode(text)), ...parser.endAnswer()])).toBe(
      "stop",
    );
  });

  it("reports log probabilities where they were requested, and only there", () => {
    const entry = { token: "a", logprob: -0.5, bytes: [97], top_logprobs: [{ token: "b" }] };
    const lines = [
      {
        choices: [
          {
            index: 0,
            delta: { content: "a" },
            logprobs: { content: [entry, {}] },
            finish_reason: "stop",
          },
        ],
      },
    ];
    const reported = (logprobs: number | null) =>
      collectAnswer(stream(lines, { logprobs })).blocks[0];
    expect(reported(1)).toMatchObject({
      logprobs: [{ token: "a", logprob: -0.5, bytes: [97], top: [{ token: "b" }] }],
    });
    expect(reported(null)).toMatchObject({ logprobs: [] });
  });

  it("reports citations", () => {
    const cited = {
      type: "url_citation",
      url_citation: { url: "u", title: "t", start_index: 0, end_index: 1, content: "x" },
    };
    const [block] = collectAnswer(
      stream([chunk({ content: "a" }), chunk({ annotations: [cited, { type: "file" }] }, "stop")]),
    ).blocks;
    expect(block).toMatchObject({ citations: [{ url: "u", title: "t", start: 0, end: 1 }] });
  });
});

describe("positions of citations", () => {
  it("count from their block, where the message's text is in several", () => {
    const cited = (start_index: number, end_index: number) => ({
      annotations: [
        { type: "url_citation", url_citation: { url: "u", title: "t", start_index, end_index } },
      ],
    });
    const events = stream([
      chunk({ content: "🙂b" }),
      chunk(cited(1, 2)),
      chunk({ reasoning: "r" }),
      chunk({ content: "cd" }),
      chunk(cited(2, 4)),
      chunk(cited(0, 4), "stop"),
    ]);
    const positions = collectAnswer(events).blocks.map((block) =>
      block.kind === "text" ? block.citations.map(({ start, end }) => [start, end]) : null,
    );
    expect(positions).toEqual([
      [[1, 2]],
      null,
      [
        [0, 2],
        [0, 2],
      ],
    ]);
  });
});

describe("signed reasoning", () => {
  const detailed = (...details: readonly JsonObject[]) =>
    details.map((detail) => chunk({ reasoning_details: [detail] }));
  const lines = [
    ...detailed(
      { type: "reasoning.text", text: "a" },
      { type: "reasoning.text", text: "b", signature: "" },
      { type: "reasoning.text", signature: "one" },
      { type: "reasoning.encrypted", data: "two" },
      { type: "reasoning.summary", summary: "s" },
      { type: "reasoning.encrypted", data: "three" },
      { type: "reasoning.text", text: "c" },
    ),
    chunk({ content: "x" }, "stop"),
    done,
  ];

  it("that is hidden is a separate block after unsigned text", () => {
    const hidden = [
      ...detailed(
        { type: "reasoning.text", text: "a" },
        { type: "reasoning.encrypted", data: "two" },
      ),
    ];
    const [first, second] = collectAnswer(
      stream([...hidden, chunk({ content: "x" }, "stop")]),
    ).blocks;
    expect([first, second]).toMatchObject([
      { text: "a", signature: null },
      { text: "", signature: "two" },
    ]);
  });

  it("is reported with the model's family, a signature to a block", () => {
    const reasoning = collectAnswer(stream(lines)).blocks.filter(
      ({ kind }) => kind === "reasoning",
    );
    expect(reasoning).toEqual([
      { kind: "reasoning", text: "ab", summary: false, signature: "one", family: "family" },
      { kind: "reasoning", text: "", summary: false, signature: "two", family: "family" },
      { kind: "reasoning", text: "s", summary: true, signature: "three", family: "family" },
      { kind: "reasoning", text: "c", summary: false, signature: null, family: null },
    ]);
  });

  it("loses its signatures, once and on record, where the model has no family", () => {
    const events = stream(lines, {}, targetOf("openai-chat", { ...MODEL, signatureFamily: null }));
    expect(droppedBy(events)).toEqual(["signature_dropped"]);
    expect(JSON.stringify(events)).not.toContain('"signature":');
  });

  it("is reported once where its text is sent beside the details", () => {
    const both = chunk({
      reasoning: "a",
      reasoning_details: [{ type: "reasoning.text", text: "a", signature: "one" }],
    });
    const [block] = collectAnswer(stream([both, chunk({ content: "x" }, "stop")])).blocks;
    expect(block).toMatchObject({ text: "a", signature: "one" });
  });
});

describe("a whole answer of a chat provider", () => {
  const answer = (
    message: JsonObject,
    finish_reason: string | null = "stop",
    more: JsonObject = {},
  ) => ({
    id: "chatcmpl-1",
    model: "m",
    choices: [{ index: 0, message, finish_reason }],
    ...more,
  });

  it("is reported as the stream that it could have been", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    const events = whole(
      answer(
        { content: "a", reasoning: "r", tool_calls: [call, { ...call, id: "d" }] },
        "tool_calls",
        { usage },
      ),
    );
    expect(shortOf(collectAnswer(events))).toEqual([
      "reasoning: r",
      "text: a",
      "c f({})",
      "d f({})",
    ]);
    expect(collectAnswer(events)).toMatchObject({
      model: "m",
      usage: { input: 3, output: 4 },
      finish: { reason: "tool_calls" },
    });
  });

  it("reads the message beside an empty delta", () => {
    const body = {
      choices: [{ index: 0, delta: {}, message: { content: "a" }, finish_reason: "stop" }],
    };
    expect(shortOf(collectAnswer(whole(body)))).toEqual(["text: a"]);
  });

  it.each(["", "novelty"])("that ends with %j after output is cut short, on record", (reason) => {
    expect(whole(answer({ content: "a" }, reason)).slice(-2)).toEqual([
      { type: "dropped", field: "finish_reason_unknown" },
      { type: "finish", reason: "other", stopSequence: null },
    ]);
  });

  it.each<[JsonObject, object]>([
    [
      {
        prompt_tokens: 5,
        completion_tokens: 2,
        total_tokens: 307,
        completion_tokens_details: { reasoning_tokens: 300 },
      },
      { input: 5, output: 302, reasoning: 300 },
    ],
    [
      {
        prompt_tokens: 5,
        completion_tokens: 302,
        total_tokens: 307,
        completion_tokens_details: { reasoning_tokens: 300 },
      },
      { input: 5, output: 302 },
    ],
    [
      {
        prompt_tokens: 5,
        completion_tokens: 2,
        completion_tokens_details: { reasoning_tokens: 300 },
      },
      { output: 302 },
    ],
    [
      { prompt_tokens: 35, completion_tokens: 12, total_tokens: 109 },
      { input: 35, output: 74 },
    ],
    [
      {
        prompt_tokens: 9,
        completion_tokens: 201,
        total_tokens: 585,
        prompt_tokens_details: { audio_tokens: 375 },
      },
      { input: 384, output: 201 },
    ],
    [
      {
        prompt_tokens: 100,
        completion_tokens: 2,
        prompt_cache_hit_tokens: 64,
        prompt_cache_miss_tokens: 36,
      },
      { input: 100, cacheRead: 64 },
    ],
    [
      { prompt_tokens: 100, completion_tokens: 2, cached_tokens: 64 },
      { input: 100, cacheRead: 64 },
    ],
    [
      {
        prompt_tokens: 10,
        completion_tokens: 2,
        total_tokens: 200,
        prompt_tokens_details: { cached_tokens: 188 },
      },
      { input: 198, output: 2 },
    ],
  ])("counts %j as %j", (given, counts) => {
    expect(collectAnswer(whole({ ...answer({ content: "a" }), usage: given })).usage).toMatchObject(
      counts,
    );
    const inChoice = { index: 0, delta: { content: "a" }, finish_reason: "stop", usage: given };
    expect(collectAnswer(stream([{ choices: [inChoice] }, done])).usage).toMatchObject(counts);
  });

  it("with an empty text is an answer without blocks", () => {
    expect(whole(answer({ content: "" }))).toMatchObject([
      { type: "start" },
      { type: "finish", reason: "stop" },
    ]);
  });

  it.each<[unknown, string, string | null]>([
    [{ choices: [] }, "malformed", null],
    [{ choices: [{ finish_reason: "stop" }] }, "malformed", null],
    [answer({ content: "a" }, null), "malformed", "missing_finish_reason"],
    [answer({ content: "" }, ""), "malformed", "unknown_finish_reason"],
    [answer({ content: "" }, "novelty"), "malformed", "unknown_finish_reason"],
    [answer({ content: "a" }, "error"), "error_frame", null],
    [{ error: { code: "content_filter" } }, "error_frame", "content_filter"],
    [[], "malformed", null],
    ["text", "malformed", null],
  ])("fails: %j", (body, kind, code) => {
    expect(failureOf(whole(body))).toMatchObject({ kind, code });
  });
});
