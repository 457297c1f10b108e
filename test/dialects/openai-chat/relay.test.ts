import type { RequestEdits } from "../../../src/canon/decision.ts";
import { STRIPPABLE_FIELDS } from "../../../src/canon/policy.ts";
import { describe, expect, it } from "vitest";
import { editSet, NO_EDITS as UNCHANGED } from "../../../src/canon/generate/edit.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { tagSignature } from "../../../src/canon/generate/signature.ts";
import { CHAT_FIELDS } from "../../../src/dialects/openai-chat/parse-request.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { formatSseEvent } from "../../../src/dialects/sse.ts";
import { endpoint, provider } from "../../support/table.ts";
import { contextOf, NO_EDITS } from "../laws/target.ts";
import { parse, refusal } from "./bodies.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

describe("the request on its way upstream", () => {
  const edit = (
    more: JsonObject,
    flags: readonly string[] = [],
    mode: "reject" | "strip" | "forward" = "reject",
    edits: RequestEdits = NO_EDITS,
  ) => chatSurface.relay.edit(parse(more), endpoint("a"), provider("p", { flags }), mode, edits);

  it("changes the model, forbids storing, and is otherwise unchanged", () => {
    const messages = [{ role: "user", content: "hi", unknown_member: { deep: [1] } }];
    const { body, stripped } = edit({ messages, temperature: 0, seed: 1 });
    expect(body).toEqual({ model: "upstream-a", messages, temperature: 0, seed: 1, store: false });
    expect(stripped).toEqual([]);
  });

  it("omits and records the user's identity, and omits our own member", () => {
    const { body, stripped } = edit({
      user: "u",
      metadata: { a: "b" },
      safety_identifier: "s",
      provider: { only: ["p"] },
    });
    expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "store"]);
    expect(stripped.toSorted()).toEqual(["metadata", "safety_identifier", "user"]);
  });

  it("requests usage on streams, keeping the caller's other options", () => {
    const { body } = edit({ stream: true, stream_options: { include_obfuscation: false } });
    expect(body.stream_options).toEqual({ include_obfuscation: false, include_usage: true });
  });

  it("honours the flags of a provider", () => {
    const { body } = edit({ stream: true }, ["no_store_field", "no_stream_options"]);
    expect(Object.hasOwn(body, "store")).toBe(false);
    expect(Object.hasOwn(body, "stream_options")).toBe(false);
  });

  it("omits and records members that a flag forbids, where the caller sent them", () => {
    const requested = { stream: true, store: false, stream_options: { include_usage: true } };
    const { body, stripped } = edit(requested, ["no_store_field", "no_stream_options"]);
    expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "stream"]);
    expect(stripped.toSorted()).toEqual(["store", "stream_options"]);
    expect(edit({ stream: true }, ["no_store_field", "no_stream_options"]).stripped).toEqual([]);
  });

  it("forwards a member called __proto__ as a member", () => {
    const more: JsonObject = JSON.parse('{"__proto__":{"polluted":true}}');
    const { body } = edit(more, [], "forward");
    expect(JSON.stringify(body)).toContain('"__proto__":{"polluted":true}');
    expect(body.polluted).toBeUndefined();
  });

  it("forwards or strips unknown members by unknown_fields of the route", () => {
    expect(edit({ top_k: 1 }, [], "forward").body.top_k).toBe(1);
    const strip = edit({ top_k: 1 }, [], "strip");
    expect(Object.hasOwn(strip.body, "top_k")).toBe(false);
    expect(strip.stripped).toEqual(["unknown_field"]);
  });

  it.each([
    [{}, { max_completion_tokens: 100 }],
    [{ max_completion_tokens: 5_000 }, { max_completion_tokens: 100 }],
    [{ max_tokens: 5_000 }, { max_tokens: 100 }],
    [{ max_tokens: 50 }, { max_tokens: 50 }],
    [{ max_completion_tokens: 100 }, { max_completion_tokens: 100 }],
    [{ max_tokens: null }, { max_tokens: 100 }],
    [{ max_completion_tokens: null }, { max_completion_tokens: 100 }],
    [
      { max_completion_tokens: null, max_tokens: 5_000 },
      { max_completion_tokens: null, max_tokens: 100 },
    ],
    [{ max_completion_tokens: 5_000, max_tokens: 6_000 }, { max_completion_tokens: 100 }],
  ])("caps the output where the caller limits it, or sets the limit: %j", (requested, sent) => {
    const { body } = edit(requested, [], "reject", { ...NO_EDITS, maxOutputTokens: 100 });
    const limits = Object.entries(body).filter(([name]) => name.startsWith("max_"));
    expect(Object.fromEntries(limits)).toEqual(sent);
  });

  it("has signatures as their provider made them, and is otherwise unchanged", () => {
    const tagged = tagSignature("f", "c2ln");
    const details = [
      { type: "reasoning.text", text: "t", signature: tagged },
      { type: "reasoning.encrypted", data: tagged },
      { type: "reasoning.summary", summary: "s" },
      { type: "other", data: tagged },
    ];
    const assistant = { role: "assistant", content: "a", reasoning_details: details, unknown: 1 };
    const user = { role: "user", content: "hi" };
    const { body, headers } = edit({ messages: [user, assistant, user] });
    expect(headers).toEqual([]);
    expect(body.messages).toEqual([
      user,
      {
        ...assistant,
        reasoning_details: [
          { type: "reasoning.text", text: "t", signature: "c2ln" },
          { type: "reasoning.encrypted", data: "c2ln" },
          { type: "reasoning.summary", summary: "s" },
          { type: "other", data: tagged },
        ],
      },
      user,
    ]);
  });

  it("omits members of a policy, and records each once", () => {
    const edits: RequestEdits = {
      ...NO_EDITS,
      stripFields: ["prompt_cache_key", "service_tier", "user"],
    };
    const { body, stripped } = edit(
      { prompt_cache_key: "k", user: "u", seed: 1 },
      [],
      "reject",
      edits,
    );
    expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "seed", "store"]);
    expect(stripped.toSorted()).toEqual(["prompt_cache_key", "user"]);
  });

  it("every hint and every identity member may be taken out, and no other", () => {
    const fields = Object.keys(CHAT_FIELDS).filter((name) =>
      ["hint", "identity"].includes(CHAT_FIELDS[name]?.class ?? ""),
    );
    expect(fields.toSorted()).toEqual([...STRIPPABLE_FIELDS]);
  });
});

const chunk = (value: unknown): Uint8Array => formatSseEvent(JSON.stringify(value));
const delta = (text: string, finish: string | null = null, index = 0) =>
  chunk({ choices: [{ index, delta: { content: text }, finish_reason: finish }] });
const usage = chunk({
  choices: [],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});
const done = formatSseEvent("[DONE]");
const text = (events: readonly Uint8Array[]): string =>
  events.map((event) => new TextDecoder().decode(event)).join("");

function observe(events: readonly Uint8Array[], more: JsonObject = { stream: true }) {
  const observer = chatSurface.relay.observe(contextOf(parse(more)));
  const relayed = events.flatMap((event) => [...observer.push(event)]);
  const end = observer.endStream();
  return { relayed: text(relayed), closing: text(end.events), ...end.ending };
}

describe("a relayed stream", () => {
  it("succeeds by finish reason and [DONE], and reads usage", () => {
    const seen = observe([delta("a"), delta("", "stop"), usage, done]);
    expect(seen).toMatchObject({
      failure: null,
      finish: "stop",
      usage: { input: 3, output: 4 },
      closing: "",
    });
  });

  it.each([
    ["the first choice ends first", [delta("a", "length"), delta("b", "stop", 1)]],
    ["the first choice ends last", [delta("b", "stop", 1), delta("a", "length")]],
  ])("has the finish reason of the first choice, as a whole answer has: %s", (_, events) => {
    expect(observe([...events, done], { stream: true, n: 2 }).finish).toBe("length");
    const choices = [
      { index: 0, message: { content: "a" }, finish_reason: "length" },
      { index: 1, message: { content: "b" }, finish_reason: "stop" },
    ];
    const bytes = new TextEncoder().encode(JSON.stringify({ choices }));
    const whole = chatSurface.relay.readAnswer(bytes, contextOf(parse({ n: 2 })));
    expect(whole.ending.finish).toBe("length");
  });

  it("keeps the usage chunk to itself when the caller did not request it", () => {
    expect(observe([delta("a", "stop"), usage, done]).relayed).not.toContain("prompt_tokens");
    const requested = { stream: true, stream_options: { include_usage: true } };
    expect(observe([delta("a", "stop"), usage, done], requested).relayed).toContain(
      "prompt_tokens",
    );
  });

  it.each([
    ["no [DONE] but every choice finished", [delta("a", "stop")], {}],
    [
      "two choices, both finished",
      [delta("a"), delta("b", "stop", 1), delta("", "length")],
      { n: 2 },
    ],
  ])("succeeds with %s, and ends with [DONE]", (_, events, more) => {
    const seen = observe(events, { stream: true, ...more });
    expect(seen.failure).toBeNull();
    expect(seen.relayed + seen.closing).toMatch(/data: \[DONE\]\n\n$/);
  });

  it.each([
    ["nothing", [], {}, "truncated"],
    ["[DONE] alone", [done], {}, "truncated"],
    ["[DONE] after usage alone", [usage, done], {}, "truncated"],
    ["a cut", [delta("a"), delta("b")], {}, "truncated"],
    ["one choice of two unfinished", [delta("a", "stop"), delta("b", null, 1)], {}, "truncated"],
    ["one choice of two missing", [delta("a", "stop")], { n: 2 }, "truncated"],
    ["[DONE] and one choice of two", [delta("a", "stop"), done], { n: 2 }, "malformed"],
    ["[DONE] and a reason that is null", [delta("a"), done], {}, "malformed"],
    [
      "[DONE] and one reason of two that is null",
      [delta("a", "stop"), delta("b", null, 1), done],
      { n: 2 },
      "malformed",
    ],
    [
      "an error object",
      [delta("a"), chunk({ error: { message: "secret" } }), done],
      {},
      "error_frame",
    ],
    ["an error event", [delta("a"), formatSseEvent("{}", "error"), done], {}, "error_frame"],
    ["the finish reason error", [delta("a", "error"), done], {}, "error_frame"],
    [
      "a provider that ran out of resources",
      [delta("a", "insufficient_system_resource"), done],
      {},
      "overloaded",
    ],
    ["text that is not JSON", [delta("a"), formatSseEvent("<html>"), done], {}, "malformed"],
    ["JSON that is not an object", [formatSseEvent("[1]"), done], {}, "malformed"],
    ["half an event at the end", [delta("a"), delta("b", "stop").subarray(0, 30)], {}, "malformed"],
  ])("fails with %s and never prints [DONE]", (_, events, more, kind) => {
    const seen = observe(events, { stream: true, ...more });
    expect(seen.failure?.kind).toBe(kind);
    expect(seen.closing).toBe("");
    expect(seen.relayed).not.toContain("secret");
  });

  it.each([undefined, ""])(
    "relays an answer with the finish reason %j, and records it as not completed",
    (given) => {
      const silent = chunk({
        choices: [{ index: 0, delta: { content: "a" }, finish_reason: given }],
      });
      const seen = observe([silent, done]);
      expect(seen).toMatchObject({ failure: null, finish: "other" });
      expect(seen.relayed).toBe(text([silent, done]));
      const mixed = observe([silent, delta("b", "stop", 1), done], { stream: true, n: 2 });
      expect(mixed).toMatchObject({ failure: null, finish: "other" });
    },
  );

  it("is done at [DONE] and relays nothing after it, in the same chunk or a later one", () => {
    const observer = chatSurface.relay.observe(contextOf(parse({ stream: true })));
    observer.push(delta("a", "stop"));
    expect(observer.hasEnded).toBe(false);
    const late = Buffer.concat([done, delta("late"), chunk({ error: {} })]);
    expect(text(observer.push(late))).toBe(text([done]));
    expect(observer.hasEnded).toBe(true);
    expect(text(observer.push(delta("later")))).toBe("");
    expect(observer.endStream()).toMatchObject({
      ending: { failure: null, finish: "stop" },
      events: [],
    });
  });

  it("never relays a [DONE] without an answer before it", () => {
    expect(observe([done]).relayed).toBe("");
  });

  it("lets keep-alives through at their positions", () => {
    const alive = new TextEncoder().encode(": keep-alive\n\n");
    const events = [alive, alive, delta("a"), alive, delta("", "stop"), done];
    expect(observe(events).relayed).toBe(text(events));
  });

  it("relays nothing after a failure", () => {
    expect(observe([chunk({ error: {} }), delta("late"), done]).relayed).toBe("");
  });

  it.each([
    ["stop", "stop"],
    ["model_length", "length"],
    ["function_call", "tool_calls"],
    ["content_filter", "content_filter"],
    ["eos", "stop"],
    ["END_TURN", "stop"],
    ["a_new_one", "other"],
  ])("reads the finish reason %s as %s", (given, reason) => {
    expect(observe([delta("a", given), done]).finish).toBe(reason);
  });

  it.each([
    ["eos", '"stop"'],
    ["tool_use", '"tool_calls"'],
    ["MAX_TOKENS", '"length"'],
    ["sensitive", '"content_filter"'],
    ["a_new_one", '"a_new_one"'],
  ])("relays the finish reason %s as %s, streamed and whole", (given, printed) => {
    const seen = observe([delta("a", given), done]);
    expect(seen.relayed).toContain(`"finish_reason":${printed}`);
    const isMapped = !printed.includes(given);
    expect(seen.edits).toBe(isMapped ? editSet("finish_reason_mapped") : UNCHANGED);
    const answer = {
      choices: [{ index: 0, message: { content: "a" }, finish_reason: given }],
      n: 1,
    };
    const bytes = new TextEncoder().encode(JSON.stringify(answer));
    const whole = chatSurface.relay.readAnswer(bytes, contextOf(parse()));
    expect(text([whole.bytes])).toContain(`"finish_reason":${printed}`);
  });

  it("drops events of blank data, and fails where a gateway hides a failure", () => {
    const blank = new TextEncoder().encode("data: \n\n");
    expect(observe([blank, delta("a", "stop"), blank, done]).relayed).toBe(
      text([delta("a", "stop"), done]),
    );
    const hidden = chunk({
      choices: [
        {
          index: 0,
          delta: { content: "" },
          finish_reason: "stop",
          native_finish_reason: "network_error",
        },
      ],
    });
    expect(observe([hidden, done]).failure).toMatchObject({ kind: "error_frame" });
  });

  it("is ended with the error, then [DONE], before any event and after some", () => {
    const error = { ...refusal({ store: true }), message: "ours" };
    for (const before of [[], [delta("a")]]) {
      const stream = chatSurface.relay.observe(contextOf(parse({ stream: true })));
      for (const event of before) stream.push(event);
      const said = new TextDecoder().decode(stream.fail(error));
      expect(said).toMatch(
        /^data: \{"error":\{"message":"ours \(request id req_law\)"[^\n]*\n\ndata: \[DONE\]\n\n$/,
      );
    }
  });

  it.each([
    [
      "last",
      '{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],"usage":null}',
    ],
    [
      "first",
      '{"usage": null,"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}',
    ],
    [
      "with spaces",
      '{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}], "usage" : null }',
    ],
  ])("passes on `usage: null` only to callers that requested usage: %s", (_where, data) => {
    const event = new TextEncoder().encode(`data: ${data}\n\n`);
    const unasked =
      '{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}';
    expect(observe([event, done])).toMatchObject({
      failure: null,
      relayed: `data: ${unasked}\n\ndata: [DONE]\n\n`,
    });
    const requested = { stream: true, stream_options: { include_usage: true } };
    expect(observe([event, done], requested).relayed).toContain(data);
  });

  it("keeps what only looks like `usage: null`, and big numbers", () => {
    const said =
      '{"choices":[{"index":0,"delta":{"content":",\\"usage\\":null}","usage":null},"finish_reason":"stop"}],"n":9007199254740993}';
    expect(observe([new TextEncoder().encode(`data: ${said}\n\n`), done]).relayed).toContain(said);
    const both = said.replace("{", '{"usage":null,');
    expect(observe([new TextEncoder().encode(`data: ${both}\n\n`), done]).relayed).toContain(said);
  });

  it("reads usage from other vendors' members", () => {
    const groq = chunk({
      choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } },
    });
    expect(observe([groq]).usage).toMatchObject({ input: 1, output: 2 });
  });

  it("completes a last event without its blank line", () => {
    const seen = observe([delta("a", "stop").subarray(0, -1)]);
    expect(seen.failure).toBeNull();
    expect(seen.closing).toMatch(/\n\ndata: \[DONE\]\n\n$/);
  });
});

describe("a whole answer", () => {
  const read = (value: unknown) =>
    chatSurface.relay.readAnswer(
      new TextEncoder().encode(JSON.stringify(value)),
      contextOf(parse()),
    ).ending;
  it.each([
    [{ choices: [{ finish_reason: "stop" }], usage: { prompt_tokens: 1 } }, null],
    [{ choices: [{ finish_reason: "" }] }, null],
    [{ choices: [] }, "malformed"],
    [{ choices: [{}] }, "malformed"],
    [{ choices: [{ finish_reason: null }] }, "malformed"],
    [{ choices: [{ finish_reason: "stop" }, {}] }, "malformed"],
    [{ choices: [{ finish_reason: "stop" }, { message: {}, finish_reason: null }] }, "malformed"],
    [{ choices: [{ finish_reason: "stop" }, "text"] }, "malformed"],
    [{ choices: [{ finish_reason: "error" }] }, "error_frame"],
    [{ choices: [{ finish_reason: "insufficient_system_resource" }] }, "overloaded"],
    [{ error: { message: "x" } }, "error_frame"],
    [{ hello: 1 }, "malformed"],
    [[], "malformed"],
  ])("%j has the failure %s", (value, kind) => {
    expect(read(value).failure?.kind ?? null).toBe(kind);
  });

  it("of one choice where two were requested has failed, as its stream has", () => {
    const bytes = new TextEncoder().encode(
      JSON.stringify({ choices: [{ message: {}, finish_reason: "stop" }] }),
    );
    const { ending } = chatSurface.relay.readAnswer(bytes, contextOf(parse({ n: 2 })));
    expect(ending.failure).toMatchObject({ kind: "malformed", code: "missing_finish_reason" });
  });

  it.each([undefined, ""])(
    "with the finish reason %j is relayed, and is not completed",
    (given) => {
      const answer = { choices: [{ message: { content: "a" }, finish_reason: given }] };
      expect(read(answer)).toMatchObject({ failure: null, finish: "other" });
      expect(
        read({ choices: [{ message: {}, finish_reason: "stop" }, ...answer.choices] }).finish,
      ).toBe("other");
    },
  );

  it("is malformed when it is not JSON, and is not quoted", () => {
    const ending = chatSurface.relay.readAnswer(
      new TextEncoder().encode("a secret sentence"),
      contextOf(parse()),
    ).ending;
    expect(JSON.stringify(ending)).not.toContain("secret");
    expect(ending.failure?.kind).toBe("malformed");
  });
});

describe("an error answer", () => {
  it.each([
    [204, "malformed"],
    [302, "redirect"],
    [400, "rejected"],
    [401, "auth"],
    [402, "auth"],
    [403, "auth"],
    [404, "not_found"],
    [408, "timeout_first_byte"],
    [413, "rejected"],
    [422, "rejected"],
    [429, "rate_limited"],
    [500, "server_error"],
    [503, "overloaded"],
    [529, "overloaded"],
  ])("%i is %s", (status, kind) => {
    expect(chatUpstream.readError(status, new Uint8Array())).toMatchObject({ kind, status });
  });

  it("keeps only a machine code from the closed list", () => {
    const body = (error: unknown) => new TextEncoder().encode(JSON.stringify({ error }));
    expect(
      chatUpstream.readError(400, body({ code: "context_length_exceeded", message: "m" })).code,
    ).toBe("context_length_exceeded");
    expect(chatUpstream.readError(400, body({ code: "sk-secret", message: "m" })).code).toBeNull();
    expect(chatUpstream.readError(400, body({ code: 400, type: "unsupported_value" })).code).toBe(
      "unsupported_value",
    );
  });
});
