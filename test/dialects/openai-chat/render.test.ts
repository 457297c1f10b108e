import fc from "fast-check";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { collectAnswer } from "../../../src/dialects/answer-events.ts";
import type { FinishReason, InferenceEvent, OpenBlock } from "../../../src/canon/generate/event.ts";
import { readSignature } from "../../../src/canon/generate/signature.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { contextOf, targetOf } from "../laws/target.ts";
import { chunksOf, parse, refusal } from "./bodies.ts";
import { canon } from "./canon.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const finish = (reason: FinishReason, stopSequence: string | null = null): InferenceEvent => ({
  type: "finish",
  reason,
  stopSequence,
});
const usage: InferenceEvent = {
  type: "usage",
  usage: { input: 3, output: 4, cacheRead: 1, cacheWrite: null, reasoning: 2 },
};

/** Blocks with their deltas, opened and closed. */
function story(
  ...blocks: readonly (readonly [OpenBlock, ...(readonly string[])])[]
): readonly InferenceEvent[] {
  const reported = blocks.flatMap(([block, ...deltas], index): readonly InferenceEvent[] => [
    { type: "open", index, block },
    ...deltas.map((content): InferenceEvent => {
      if (block.kind === "tool_call") return { type: "arguments", index, json: content };
      return block.kind === "text"
        ? { type: "text", index, text: content, logprobs: [] }
        : { type: block.kind, index, text: content };
    }),
    { type: "close", index },
  ]);
  return [{ type: "start", model: "m" }, ...reported];
}

function render(events: readonly InferenceEvent[], more: JsonObject = {}) {
  const renderer = chatSurface.translation.renderStream(
    contextOf(parse({ stream: true, ...more })),
  );
  const sent = events.flatMap((event) => [...renderer.push(event)]);
  return { sent, ...chunksOf(sent), dropped: [...renderer.dropped] };
}

const answerOf = (events: readonly InferenceEvent[], more: JsonObject = {}) =>
  chatSurface.translation.renderAnswer(collectAnswer(events), contextOf(parse(more)));
const choiceOf = (chunk: JsonObject | undefined) =>
  ((chunk?.choices ?? []) as readonly JsonObject[])[0] ?? {};
const text: OpenBlock = { kind: "text" };
const reasoning: OpenBlock = { kind: "reasoning", summary: false };
const call = (id: string): OpenBlock => ({ kind: "tool_call", id, name: "f" });
const included = { stream_options: { include_usage: true } };

describe("a rendered stream", () => {
  it("is chunks of one id: role first, deltas, one finish, [DONE]", () => {
    const common = {
      id: "chatcmpl-law",
      object: "chat.completion.chunk",
      created: 1_700_000_000,
      model: "m",
    };
    const choice = { index: 0, logprobs: null, finish_reason: null };
    expect(render([...story([text, "a", "b"]), usage, finish("stop")])).toMatchObject({
      done: true,
      dropped: [],
      chunks: [
        { ...common, choices: [{ ...choice, delta: { role: "assistant", content: "" } }] },
        { ...common, choices: [{ ...choice, delta: { content: "a" } }] },
        { ...common, choices: [{ ...choice, delta: { content: "b" } }] },
        { ...common, choices: [{ ...choice, delta: {}, finish_reason: "stop" }] },
      ],
    });
  });

  it("ends with the counts on request, and every chunk before has usage null", () => {
    const { chunks } = render([...story([text, "a"]), usage, finish("stop")], included);
    expect(chunks.map((chunk) => chunk.usage)).toEqual([
      null,
      null,
      null,
      {
        prompt_tokens: 3,
        completion_tokens: 4,
        total_tokens: 7,
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    ]);
    expect(chunks.at(-1)?.choices).toEqual([]);
    expect(
      render([...story([text, "a"]), usage, finish("stop")]).chunks.some(
        (chunk) => "usage" in chunk,
      ),
    ).toBe(false);
    expect(render([...story([text, "a"]), finish("stop")], included).chunks).toHaveLength(3);
  });

  it("names a call on its first fragment only, each with the call's number", () => {
    const { chunks } = render([
      ...story([call("c"), "{", "}"], [call("d"), "{}"]),
      finish("tool_calls"),
    ]);
    const calls = chunks.flatMap(
      (chunk) => (choiceOf(chunk).delta as { tool_calls?: JsonObject[] }).tool_calls ?? [],
    );
    const first = (index: number, id: string) => ({
      index,
      id,
      type: "function",
      function: { name: "f", arguments: "" },
    });
    expect(calls).toEqual([
      first(0, "c"),
      { index: 0, function: { arguments: "{" } },
      { index: 0, function: { arguments: "}" } },
      first(1, "d"),
      { index: 1, function: { arguments: "{}" } },
    ]);
  });

  it.each<[FinishReason, string]>([
    ["stop", "stop"],
    ["stop_sequence", "stop"],
    ["length", "length"],
    ["context_window", "length"],
    ["tool_calls", "tool_calls"],
    ["refusal", "content_filter"],
    ["content_filter", "content_filter"],
  ])("prints %s as %s, whole and streamed", (reason, expected) => {
    const events = [...story([text, "a"]), finish(reason)];
    expect(choiceOf(render(events).chunks.at(-1)).finish_reason).toBe(expected);
    expect(choiceOf(answerOf(events).body).finish_reason).toBe(expected);
  });

  it("records a stop sequence that it cannot name", () => {
    const events = [...story([text, "a"]), finish("stop_sequence", "x")];
    expect(render(events).dropped).toEqual(["stop_sequence_unnamed"]);
    expect(answerOf(events).dropped).toEqual(["stop_sequence_unnamed"]);
  });

  it("sends log probabilities on request", () => {
    const logprobs = [{ token: "a", logprob: -1, bytes: null, top: [] }];
    const [start, open, , close] = story([text, "a"]);
    const said: InferenceEvent = { type: "text", index: 0, text: "a", logprobs };
    const events = [start, open, said, close, finish("stop")].filter(
      (event) => event !== undefined,
    );
    const printed = {
      content: [{ token: "a", logprob: -1, bytes: null, top_logprobs: [] }],
      refusal: null,
    };
    expect(choiceOf(render(events, { logprobs: true }).chunks[1]).logprobs).toEqual(printed);
    expect(choiceOf(render(events).chunks[1]).logprobs).toBeNull();
    expect(choiceOf(answerOf(events, { logprobs: true }).body).logprobs).toEqual(printed);
    expect(choiceOf(answerOf(events).body).logprobs).toBeNull();
  });

  it("puts citations into the message's text, counting code points", () => {
    const cite = (index: number, start: number | null): InferenceEvent => ({
      type: "citation",
      index,
      citation: { url: "u", title: null, start, end: null },
    });
    const events = [...story([text, "🙂b"], [text, "cd"])];
    const cited = [
      ...events.slice(0, 3),
      cite(0, 1),
      ...events.slice(3, 6),
      cite(1, null),
      ...events.slice(6),
      finish("stop"),
    ];
    const at = (start_index: number, end_index: number) => ({
      type: "url_citation",
      url_citation: { url: "u", title: "", start_index, end_index },
    });
    const message = choiceOf(answerOf(cited).body).message;
    expect(message).toMatchObject({ content: "🙂bcd", annotations: [at(1, 2), at(2, 4)] });
    const streamed = render(cited).chunks.flatMap(
      (chunk) => (choiceOf(chunk).delta as { annotations?: JsonObject[] })?.annotations ?? [],
    );
    expect(streamed).toEqual([
      { index: 0, ...at(1, 2) },
      { index: 1, ...at(2, 4) },
    ]);
  });

  it("drops a citation of no page, on record", () => {
    const nowhere: InferenceEvent = {
      type: "citation",
      index: 0,
      citation: { url: null, title: "t", start: 0, end: 1 },
    };
    const [start, open, said, close] = story([text, "a"]);
    const events = [start, open, said, nowhere, close, finish("stop")].filter(
      (event) => event !== undefined,
    );
    expect(render(events).dropped).toEqual(["citations_dropped"]);
    expect(answerOf(events).dropped).toEqual(["citations_dropped"]);
  });

  it("fails in the grammar of the surface, before any event and after some", () => {
    const error = refusal({ store: true });
    for (const events of [[], story([text, "a"])]) {
      const renderer = chatSurface.translation.renderStream(contextOf(parse({ stream: true })));
      for (const event of events) renderer.push(event);
      expect(new TextDecoder().decode(renderer.fail(error))).toMatch(
        /^data: \{"error":.*\n\ndata: \[DONE\]\n\n$/,
      );
    }
  });
});

describe("reasoning on the way out", () => {
  const signature = (index: number): InferenceEvent => ({
    type: "signature",
    index,
    signature: "c2ln",
    family: "f",
  });
  const reported = story(
    [reasoning, "a", "b"],
    [{ kind: "reasoning", summary: true }, "s"],
    [text, "x"],
  );
  const events = [
    ...reported.slice(0, 4),
    signature(0),
    ...reported.slice(4, 7),
    signature(1),
    ...reported.slice(7),
    finish("stop"),
  ];

  it("has tagged signatures beside the text, whole and streamed, and is read back unchanged", () => {
    const message = choiceOf(answerOf(events).body).message as JsonObject;
    const details = message.reasoning_details as readonly JsonObject[];
    expect(message).toMatchObject({ content: "x", reasoning_content: "abs" });
    expect(details.map(({ type }) => type)).toEqual([
      "reasoning.text",
      "reasoning.summary",
      "reasoning.encrypted",
    ]);
    expect(readSignature(details[0]?.signature as string, "")).toEqual({
      family: "f",
      signature: "c2ln",
    });
    const streamed = render(events).chunks.flatMap(
      (chunk) =>
        (choiceOf(chunk).delta as { reasoning_details?: JsonObject[] }).reasoning_details ?? [],
    );
    expect(streamed).toEqual(details.map((detail, index) => ({ ...detail, index })));

    const next = {
      messages: [{ role: "user", content: "hi" }, message, { role: "user", content: "go on" }],
    };
    expect(parse(next).shape).toMatchObject({ signatureFamilies: ["f"] });
    const canonical = chatSurface.translation.toCanon(parse(next), "reject", {
      maxOutputTokens: null,
      stripFields: [],
    });
    if ("code" in canonical) throw new Error(canonical.message);
    const signed = { kind: "reasoning", signature: "c2ln", family: "f" };
    expect(canonical.request.turns[1]).toMatchObject({
      content: [
        { ...signed, text: "ab", summary: false },
        { ...signed, text: "s", summary: true },
        { kind: "text", text: "x" },
      ],
    });
    expect(canonical.dropped).toEqual([]);
  });

  it("is text alone without a signature", () => {
    const message = choiceOf(answerOf([...reported, finish("stop")]).body).message;
    expect(message).toMatchObject({ reasoning_content: "abs" });
    expect(message).toMatchObject({ reasoning_details: undefined });
  });
});

describe("a whole answer", () => {
  it("is one completion, without counts where the provider has none", () => {
    expect(answerOf([...story([text, "a"]), finish("stop")]).body).toEqual({
      id: "chatcmpl-law",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "a", refusal: null },
          logprobs: null,
          finish_reason: "stop",
        },
      ],
    });
  });

  it.each<[string, readonly InferenceEvent[], JsonObject, readonly string[]]>([
    ["nothing", [...story(), finish("stop")], { content: "", refusal: null }, []],
    [
      "a refusal",
      [...story([{ kind: "refusal" }, "no"]), finish("refusal")],
      { content: null, refusal: "no" },
      [],
    ],
    [
      "calls",
      [...story([call("c"), "{}"]), finish("tool_calls")],
      { content: null, tool_calls: [{ id: "c", type: "function" }] },
      [],
    ],
    [
      "text after a call",
      [...story([call("c"), "{}"], [text, "a"]), finish("tool_calls")],
      { content: "a" },
      ["parts_reordered"],
    ],
  ])("of %s has its message", (_, events, message, dropped) => {
    const answer = answerOf(events);
    expect(choiceOf(answer.body).message).toMatchObject(message);
    expect(answer.dropped).toEqual(dropped);
  });

  it("has only the counts that the provider reported", () => {
    const some: InferenceEvent = {
      type: "usage",
      usage: { input: 3, output: null, cacheRead: null, cacheWrite: 1, reasoning: null },
    };
    expect(answerOf([...story([text, "a"]), some, finish("stop")]).body.usage).toEqual({
      prompt_tokens: 3,
      prompt_tokens_details: { cache_write_tokens: 1 },
    });
  });
});

const blocks = fc.array(
  fc.oneof(
    fc.tuple(
      fc.constant(text),
      fc.string({ minLength: 1 }),
      fc.string({ minLength: 1, unit: "grapheme" }),
    ),
    fc.tuple(fc.constant(reasoning), fc.string({ minLength: 1 })),
    fc.tuple(
      fc.nat(99).map((number) => call(`c${number}`)),
      fc.constantFrom("{}", '{"a":"\\n🙂"}'),
    ),
  ),
  { maxLength: 5 },
);

/** Blocks of a kind that follow each other are one in this protocol's streams. */
function joined(events: readonly InferenceEvent[]): readonly string[] {
  const said: string[] = [];
  let last = "";
  for (const block of collectAnswer(events).blocks) {
    const content = block.kind === "tool_call" ? `${block.id} ${block.arguments}` : block.text;
    if (block.kind === last && block.kind !== "tool_call")
      said.push(`${said.pop() ?? ""}${content}`);
    else said.push(`${block.kind} ${content}`);
    last = block.kind;
  }
  return said;
}

describe("there and back", () => {
  it("a rendered stream, parsed again, reports the same", () => {
    fc.assert(
      fc.property(
        blocks,
        fc.constantFrom<FinishReason>("stop", "length", "content_filter"),
        (parts, reason) => {
          const hasCall = parts.some(([block]) => block.kind === "tool_call");
          const events = [
            ...story(...parts),
            usage,
            finish(hasCall && reason === "stop" ? "tool_calls" : reason),
          ];
          const { sent } = render(events, included);
          const parser = chatUpstream.parseStream(canon(), targetOf("openai-chat"));
          const back = [...sent.flatMap((event) => [...parser.push(event)]), ...parser.endAnswer()];
          // Calls of one id are one call to everybody.
          const ids = parts.flatMap(([block]) => (block.kind === "tool_call" ? [block.id] : []));
          fc.pre(new Set(ids).size === ids.length);
          expect(joined(back)).toEqual(joined(events));
          expect(collectAnswer(back)).toMatchObject({
            finish: collectAnswer(events).finish,
            usage: collectAnswer(events).usage,
          });
        },
      ),
    );
  });

  it("the official client's strict stream helper reads the same as from the whole answer", async () => {
    const events = [
      ...story([reasoning, "r"], [text, "a", "b"], [call("c"), "{", "}"], [call("d"), "{}"]),
      usage,
      finish("tool_calls"),
    ];
    const body = Buffer.concat(render(events, included).sent);
    const client = new OpenAI({
      apiKey: "none",
      baseURL: "http://127.0.0.1:9/v1",
      maxRetries: 0,
      fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
    });
    const stream = client.chat.completions.stream({
      model: "r",
      messages: [{ role: "user", content: "hi" }],
      ...included,
    });
    const final = await stream.finalChatCompletion();
    const whole = answerOf(events).body;
    expect(final.choices[0]?.message).toMatchObject({ content: "ab", reasoning_content: "r" });
    expect(final.choices[0]?.message.tool_calls).toMatchObject(
      (choiceOf(whole).message as { tool_calls: JsonObject[] }).tool_calls,
    );
    expect(final.choices[0]?.finish_reason).toBe("tool_calls");
    expect(final.usage).toEqual(whole.usage);
  });
});
