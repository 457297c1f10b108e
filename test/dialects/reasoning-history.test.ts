import type { AnswerBlock, InferenceEvent } from "../../src/canon/generate/event.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { collectAnswer } from "../../src/dialects/answer-events.ts";
import { messagesSurface } from "../../src/dialects/anthropic-messages/dialect.ts";
import type { Surface } from "../../src/dialects/dialect.ts";
import { chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { responsesSurface } from "../../src/dialects/openai-responses/dialect.ts";
import { NO_EDITS, NO_HEADERS, contextOf, targetOf } from "./laws/target.ts";
import { chunksOf } from "./openai-chat/bodies.ts";
import { describe, expect, it } from "vitest";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const responsesUpstream = upstreamFor("generate", "openai-responses");

type Reasoning = Extract<AnswerBlock, { kind: "reasoning" }>;

const piece = (text: string, summary: boolean, signature: string | null): Reasoning => ({
  kind: "reasoning",
  text,
  summary,
  signature,
  family: signature === null ? null : "gpt",
});

function eventsOf(blocks: readonly Reasoning[]): readonly InferenceEvent[] {
  const reported = blocks.flatMap(
    ({ text, summary, signature }, index): readonly InferenceEvent[] => [
      { type: "open", index, block: { kind: "reasoning", summary } },
      ...(text === "" ? [] : [{ type: "reasoning", index, text } as const]),
      ...(signature === null
        ? []
        : [{ type: "signature", index, signature, family: "gpt" } as const]),
      { type: "close", index },
    ],
  );
  const index = blocks.length;
  return [
    { type: "start", model: "m" },
    ...reported,
    { type: "open", index, block: { kind: "text" } },
    { type: "text", index, text: "hi", logprobs: [] },
    { type: "close", index },
    { type: "finish", reason: "stop", stopSequence: null },
  ];
}

const user = { role: "user", content: "hi" };

interface Memory {
  readonly surface: Surface;
  readonly first: JsonObject;
  /** The second turn's body, made of the first one's answer as clients make it. */
  readonly second: (answer: JsonObject) => JsonObject;
  /** The same of a stream. */
  readonly joined: (events: readonly Uint8Array[]) => JsonObject;
}

const MEMORIES: readonly (Memory & { readonly name: string })[] = [
  {
    name: "messages",
    surface: messagesSurface,
    first: { model: "r", max_tokens: 9, messages: [user] },
    second: ({ content }) => ({
      model: "r",
      max_tokens: 9,
      messages: [user, { role: "assistant", content }, user],
    }),
    joined: (events) => ({ content: joinedBlocks(events) }),
  },
  {
    name: "chat",
    surface: chatSurface,
    first: { model: "r", messages: [user] },
    second: ({ choices }) => {
      const choice = Array.isArray(choices) ? choices[0] : null;
      const messages: JsonValue[] = [
        user,
        (isJsonObject(choice) ? choice.message : null) ?? null,
        user,
      ];
      return { model: "r", messages };
    },
    joined: (events) => ({ choices: [{ message: joinedMessage(events) }] }),
  },
  {
    name: "responses",
    surface: responsesSurface,
    first: { model: "r", input: "hi" },
    second: ({ output }) => ({
      model: "r",
      input: [user, ...(Array.isArray(output) ? output : []), user],
    }),
    joined: (events) => {
      const last = dataOf(events).findLast(({ type }) => type === "response.completed");
      return last !== undefined && isJsonObject(last.response) ? last.response : {};
    },
  },
];

function dataOf(events: readonly Uint8Array[]): readonly JsonObject[] {
  const lines = events.flatMap(
    (event) => /^data: (\{.*)$/m.exec(new TextDecoder().decode(event))?.[1] ?? [],
  );
  return lines.map((line) => JSON.parse(line));
}

function joinedBlocks(events: readonly Uint8Array[]): readonly JsonObject[] {
  const blocks: Record<string, JsonValue | undefined>[] = [];
  for (const { type, content_block: block, delta } of dataOf(events)) {
    if (type === "content_block_start" && isJsonObject(block)) blocks.push({ ...block });
    const last = blocks.at(-1);
    if (type !== "content_block_delta" || !isJsonObject(delta) || last === undefined) continue;
    for (const name of ["text", "thinking", "signature"]) {
      const said = typeof last[name] === "string" ? last[name] : "";
      if (typeof delta[name] === "string") last[name] = said + delta[name];
    }
  }
  return blocks;
}

/**
 * A list's items with one index are one item to clients that join deltas; the index is also its
 * position.
 */
function joinedMessage(events: readonly Uint8Array[]): JsonObject {
  const details: Record<string, JsonValue | undefined>[] = [];
  let content = "";
  let reasoning = "";
  for (const { choices } of chunksOf(events).chunks) {
    const choice = Array.isArray(choices) ? choices[0] : null;
    const delta = isJsonObject(choice) ? choice.delta : null;
    if (!isJsonObject(delta)) continue;
    if (typeof delta.content === "string") content += delta.content;
    if (typeof delta.reasoning_content === "string") reasoning += delta.reasoning_content;
    const added = delta.reasoning_details;
    for (const detail of Array.isArray(added) ? added : []) {
      const at = isJsonObject(detail) ? detail.index : null;
      if (typeof at !== "number") throw new Error("a detail without an index");
      details[at] = { ...details[at], ...(isJsonObject(detail) ? detail : {}) };
    }
  }
  return { role: "assistant", content, reasoning_content: reasoning, reasoning_details: details };
}

function read(surface: Surface, body: JsonObject) {
  const request = surface.parse(JSON.parse(JSON.stringify(body)), 10, NO_HEADERS);
  if ("code" in request) throw new Error(request.message);
  return request;
}

/** What the second turn's canon remembers of the first one's reasoning. */
function remembered({ surface, second }: Memory, answer: JsonObject): readonly Reasoning[] {
  const request = read(surface, second(answer));
  expect(request.shape.features.filter((feature) => feature.startsWith("native"))).toEqual([]);
  const canonical = surface.translation.toCanon(request, "reject", NO_EDITS);
  if ("code" in canonical) throw new Error(canonical.message);
  const [, said] = canonical.request.turns;
  return said?.role === "assistant" ? said.content.filter((part) => part.kind === "reasoning") : [];
}

const HISTORIES: readonly (readonly [string, readonly Reasoning[]])[] = [
  ["a signed summary", [piece("sum", true, "ENC1")]],
  ["signed text", [piece("all", false, "ENC1")]],
  ["hidden reasoning", [piece("", false, "ENC1")]],
  ["summaries, each signed", [piece("one", true, "ENC1"), piece("two", true, "ENC2")]],
  [
    "an unsigned summary before hidden reasoning",
    [piece("sum", true, null), piece("", false, "ENC2")],
  ],
  [
    "both ways together",
    [
      piece("one", true, "ENC1"),
      piece("two", true, null),
      piece("", false, "ENC2"),
      piece("all", false, "ENC3"),
    ],
  ],
];

describe.each(MEMORIES)("reasoning that is returned through $name", (memory) => {
  it.each(HISTORIES)("is unchanged, from a whole answer: %s", (_name, blocks) => {
    const context = contextOf(read(memory.surface, memory.first));
    const { body } = memory.surface.translation.renderAnswer(
      collectAnswer(eventsOf(blocks)),
      context,
    );
    expect(remembered(memory, body)).toEqual(blocks);
  });

  it.each(HISTORIES)("is unchanged, from a stream: %s", (_name, blocks) => {
    const context = contextOf(read(memory.surface, { ...memory.first, stream: true }));
    const renderer = memory.surface.translation.renderStream(context);
    const events = eventsOf(blocks).flatMap((event) => renderer.push(event));
    // Unsigned reasoning has no detail in a stream of chat: its text alone goes out, and it could
    // not be checked.
    const kept =
      memory.name === "chat" ? blocks.filter(({ signature }) => signature !== null) : blocks;
    expect(remembered(memory, memory.joined(events))).toEqual(kept);
  });

  it("is sent unchanged to the provider that signed it", () => {
    const context = contextOf(read(memory.surface, memory.first));
    const { body } = memory.surface.translation.renderAnswer(
      collectAnswer(eventsOf([piece("sum", true, "ENC1"), piece("", false, "ENC2")])),
      context,
    );
    const canonical = memory.surface.translation.toCanon(
      read(memory.surface, memory.second(body)),
      "reject",
      NO_EDITS,
    );
    if ("code" in canonical) throw new Error(canonical.message);
    const formatted = responsesUpstream.format(canonical.request, targetOf("openai-responses"));
    if ("code" in formatted) throw new Error(formatted.message);
    expect(formatted.body.input).toMatchObject([
      {},
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "sum" }],
        encrypted_content: "ENC1",
      },
      { type: "reasoning", summary: [], encrypted_content: "ENC2" },
      {},
      {},
    ]);
  });
});

describe("a marked signature on a relay", () => {
  it("is untagged for the provider, and a provider's own is unchanged", () => {
    const { endpoint, provider } = targetOf("anthropic-messages");
    const content = [
      { type: "thinking", thinking: "a", signature: "sbx1.gpt.summary:ENC1" },
      { type: "thinking", thinking: "b", signature: "summary:ENC2" },
      { type: "text", text: "hi" },
    ];
    const body = {
      model: "r",
      max_tokens: 9,
      messages: [user, { role: "assistant", content }, user],
    };
    const sent = messagesSurface.relay.edit(
      read(messagesSurface, body),
      endpoint,
      provider,
      "reject",
      NO_EDITS,
    ).body;
    expect(JSON.stringify(sent)).toContain('"signature":"ENC1"');
    expect(JSON.stringify(sent)).toContain('"signature":"summary:ENC2"');
  });
});
