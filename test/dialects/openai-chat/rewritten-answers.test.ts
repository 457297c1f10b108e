import { describe, expect, it } from "vitest";
import { editsIn } from "../../../src/canon/generate/edit.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import {
  planExchange,
  type ExchangePlan,
  upstreamFor,
} from "../../../src/dialects/exchange-plan.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { route } from "../../support/table.ts";
import { contextOf, NO_EDITS, targetOf } from "../laws/target.ts";
import { chunksOf, parse } from "./bodies.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const tool = (name: string) => ({
  type: "function",
  function: { name, parameters: { type: "object" } },
});
const question: JsonObject = { tools: [tool("f"), tool("g")], stream: true };

function plan(
  sent: JsonObject = question,
  flags: readonly string[] = ["rewritten_answers"],
): ExchangePlan {
  const request = parse(sent);
  const target = targetOf("openai-chat");
  const flagged = { ...target, provider: { ...target.provider, flags } };
  const context = contextOf(request);
  const options = {
    surface: chatSurface,
    request,
    prepared: null,
    route: route("r", "a", []),
    edits: NO_EDITS,
    context,
  };
  return planExchange(options, flagged, chatUpstream);
}

function chunk(choice: JsonObject | null, more: JsonObject = {}): string {
  const head = { id: "c1", object: "chat.completion.chunk", created: 1, model: "up" };
  const choices = choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }];
  return `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`;
}

/** The chunks that the caller gets of a provider's. */
function received(exchange: ExchangePlan, chunks: readonly string[]) {
  const stream = exchange.stream();
  const events = [...chunks, "data: [DONE]\n\n"].flatMap((one) =>
    stream.push(new TextEncoder().encode(one)),
  );
  const { ending, events: last } = stream.endStream();
  const { chunks: given, done } = chunksOf([...events, ...last]);
  const choices = given.flatMap(({ choices: all }) =>
    Array.isArray(all) ? all : [],
  ) as readonly JsonObject[];
  const calls = choices.flatMap((choice) => {
    const { delta } = choice as { readonly delta: { readonly tool_calls?: readonly JsonObject[] } };
    return delta.tool_calls ?? [];
  });
  return {
    ending,
    calls,
    done,
    ids: new Set(given.map(({ id }) => id)),
    finish: choices.at(-1)?.finish_reason,
  };
}

const call = (
  id: string | null,
  name: string | null,
  args: string,
  more: JsonObject = {},
): JsonObject => ({
  delta: { tool_calls: [{ id, type: "function", function: { name, arguments: args }, ...more }] },
});

const TWO = [
  { index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } },
  { index: 0, function: { arguments: '{"a":1}' } },
  { index: 1, id: "call_2", type: "function", function: { name: "g", arguments: "" } },
  { index: 1, function: { arguments: '{"b":2}' } },
];

describe("a server with rewritten answers", () => {
  it.each<[string, readonly JsonObject[], string]>([
    [
      "calls without an index",
      [call("call_1", "f", '{"a":1}'), call("call_2", "g", '{"b":2}')],
      "tool_calls",
    ],
    [
      "calls of the same index",
      [call("call_1", "f", '{"a":1}', { index: 0 }), call("call_2", "g", '{"b":2}', { index: 0 })],
      "tool_calls",
    ],
    [
      "an end of `stop` after calls",
      [call("call_1", "f", '{"a":1}', { index: 0 }), call("call_2", "g", '{"b":2}', { index: 1 })],
      "stop",
    ],
    [
      "a name that comes after its call",
      [
        { delta: { tool_calls: [{ id: "call_1", index: 0, type: "function", function: null }] } },
        call(null, "f", '{"a":1}', { index: 0 }),
        call("call_2", "g", '{"b":2}', { index: 1 }),
      ],
      "tool_calls",
    ],
  ])("%s: the caller gets calls in the protocol's form", (_what, deltas, reason) => {
    const chunks = [
      ...deltas.map((delta) => chunk(delta)),
      chunk({ delta: {}, finish_reason: reason }),
    ];
    const { ending, calls, done, finish } = received(plan(), chunks);
    expect(ending).toMatchObject({ failure: null, finish: "tool_calls", dropped: [] });
    expect({ calls, done, finish }).toEqual({ calls: TWO, done: true, finish: "tool_calls" });
  });

  it("has one id in every chunk, and records members that only the server has", () => {
    const first = chunk(null, { id: "", model: "", prompt_filter_results: [{ prompt_index: 0 }] });
    const chunks = [
      first,
      chunk({ delta: { content: "Hi" } }),
      chunk({ delta: {}, finish_reason: "stop" }),
    ];
    const { ending, ids, finish } = received(plan(), chunks);
    expect(ids).toEqual(new Set(["chatcmpl-law"]));
    expect(finish).toBe("stop");
    expect(ending.dropped).toEqual(["answer_members_dropped"]);
  });

  it("reads whole answers the same way", () => {
    const message = {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", function: { name: "f", arguments: "{}" } }],
    };
    const whole = {
      id: "c1",
      model: "up",
      choices: [{ message, finish_reason: "stop", timings: { ms: 5 } }],
    };
    const exchange = plan({ tools: [tool("f")] });
    const { ending, bytes } = exchange.answer(new TextEncoder().encode(JSON.stringify(whole)));
    expect(ending).toMatchObject({
      failure: null,
      finish: "tool_calls",
      dropped: ["answer_members_dropped"],
    });
    expect(JSON.parse(new TextDecoder().decode(bytes))).toMatchObject({
      object: "chat.completion",
      choices: [
        {
          index: 0,
          finish_reason: "tool_calls",
          message: { tool_calls: [{ type: "function", id: "c" }] },
        },
      ],
    });
  });

  it("is recorded, and its request is relayed with members that only the server has", () => {
    const exchange = plan({ ...question, messages: [{ role: "user", content: "hi", vendor: 1 }] });
    expect(editsIn(exchange.edits)).toContain("answer_rewritten");
    expect(exchange.translated).toBe(false);
    expect(JSON.parse(exchange.body())).toMatchObject({ messages: [{ vendor: 1 }] });
  });

  it.each<[JsonObject, readonly string[]]>([
    [question, []],
    [{ ...question, n: 2 }, ["rewritten_answers"]],
    [
      { ...question, modalities: ["text", "audio"], audio: { voice: "v", format: "mp3" } },
      ["rewritten_answers"],
    ],
    [{ functions: [{ name: "f" }] }, ["rewritten_answers"]],
  ])("relays answers of %j with the flags %j", (sent, flags) => {
    expect(editsIn(plan(sent, flags).edits)).not.toContain("answer_rewritten");
  });
});
