import { describe, expect, it } from "vitest";
import type { ServiceError } from "../../src/canon/error.ts";
import type { RequestEdits } from "../../src/canon/decision.ts";
import { STRIPPABLE_FIELDS } from "../../src/canon/policy.ts";
import type { JsonObject } from "../../src/canon/json.ts";
import type { InferenceRequest } from "../../src/canon/request.ts";
import { CHAT_FIELDS } from "../../src/dialects/openai-chat/fields.ts";
import { chatRelay, chatSurface } from "../../src/dialects/openai-chat/dialect.ts";
import { formatSseEvent } from "../../src/dialects/sse.ts";
import { endpoint, provider } from "../support/table.ts";

const user = { role: "user", content: "hi" };

function parse(more: JsonObject = {}): InferenceRequest {
  const parsed = chatSurface.parse({ model: "r", messages: [user], ...more }, 400);
  if ("code" in parsed) throw new Error(parsed.code);
  return parsed;
}

function refusal(more: JsonObject): ServiceError {
  const parsed = chatSurface.parse({ model: "r", messages: [user], ...more }, 400);
  if (!("code" in parsed)) throw new Error("was not refused");
  return parsed;
}

const content = (part: JsonObject): JsonObject => ({ messages: [{ role: "user", content: [part] }] });

describe("what a request needs", () => {
  it.each<[string, JsonObject, readonly string[]]>([
    ["plain text", {}, []],
    ["nulls and empty lists", { tools: [], response_format: null, logprobs: false, n: 1, functions: null }, []],
    ["tools", { tools: [{ type: "function", function: { name: "f" } }] }, ["tools"]],
    ["tool results in the history", { messages: [user, { role: "tool", tool_call_id: "1", content: "x" }] }, ["tools"]],
    ["calls in the history", { messages: [user, { role: "assistant", tool_calls: [{ id: "1" }] }] }, ["tools"]],
    ["custom tools", { tools: [{ type: "custom", custom: { name: "f" } }] }, ["custom_tools"]],
    ["hosted search as a tool", { tools: [{ type: "web_search" }] }, ["web_search"]],
    ["hosted search as an option", { web_search_options: {} }, ["web_search"]],
    ["an MCP server", { tools: [{ type: "mcp", server_url: "https://x.example" }] }, ["mcp"]],
    ["json_schema", { response_format: { type: "json_schema", json_schema: { name: "s" } } }, ["json_schema"]],
    ["json_object", { response_format: { type: "json_object" } }, ["json_object"]],
    ["text format", { response_format: { type: "text" } }, []],
    ["images", content({ type: "image_url", image_url: { url: "data:," } }), ["image_input"]],
    ["audio", content({ type: "input_audio", input_audio: { data: "", format: "wav" } }), ["audio_input"]],
    ["files", content({ type: "file", file: { file_data: "data:," } }), ["file_input"]],
    ["video", content({ type: "video_url" }), ["video_input"]],
    ["audio out", { modalities: ["text", "audio"], audio: { voice: "x" } }, ["audio_output"]],
    ["reasoning", { reasoning_effort: "low" }, ["reasoning"]],
    ["no reasoning", { reasoning_effort: "none" }, []],
    ["another vendor's reasoning", { thinking: { type: "enabled" } }, ["reasoning"]],
    ["another vendor's search", { plugins: [{ id: "web" }] }, ["web_search"]],
    ["log probabilities", { logprobs: true }, ["logprobs"]],
    ["choices", { n: 2 }, ["multiple_choices"]],
    ["a prediction", { prediction: { type: "content" } }, ["predicted_output"]],
    ["legacy functions", { functions: [{ name: "f" }] }, ["tools"]],
  ])("%s", (_, more, needs) => {
    expect(parse(more).shape.needs).toEqual(needs);
  });

  it.each<[JsonObject, string, string]>([
    [{ store: true }, "unsupported_stateful_feature", "store"],
    [
      content({ type: "file", file: { file_id: "f-1" } }),
      "unsupported_stateful_feature",
      "messages[0].content[0].file.file_id",
    ],
    [{ previous_response_id: "resp_1" }, "unsupported_stateful_feature", "previous_response_id"],
    [{ conversation: { id: "conv_1" } }, "unsupported_stateful_feature", "conversation"],
    [{ background: true }, "unsupported_stateful_feature", "background"],
    [content({ type: "file", file_id: "f-1" }), "unsupported_stateful_feature", "messages[0].content[0].file_id"],
    [
      content({ type: "image_url", image_url: { url: "", file_id: "f-1" } }),
      "unsupported_stateful_feature",
      "messages[0].content[0].image_url.file_id",
    ],
    [{ stream: true, stream_options: JSON.rawJSON("1e999") }, "invalid_type", "stream_options"],
    [content({ type: "hologram" }), "unknown_content_part", "messages[0].content[0].type"],
    [{ tools: [{ type: "teleport" }] }, "unknown_tool_type", "tools[0].type"],
    [{ stream_options: { include_usage: true } }, "invalid_stream_options", "stream_options"],
  ])("refuses %j", (more, code, param) => {
    expect(refusal(more)).toMatchObject({ status: 400, code, param });
  });

  it("lets members pass that ask for no memory", () => {
    const nothing = { store: false, background: false, previous_response_id: null, conversation: null };
    expect(parse({ ...nothing, ...content({ type: "file", file_id: null, file: { file_data: "x" } }) }).model).toBe(
      "r",
    );
  });

  it("sees sizes as buckets", () => {
    expect(parse({ max_completion_tokens: 5_000 }).shape).toMatchObject({ context: "to_1k", maxOutput: "to_16k" });
    expect(parse().shape.maxOutput).toBe("unspecified");
  });
});

describe("unknown fields", () => {
  it.each([
    [{ temprature: 1 }, "Unknown field temprature; did you mean temperature?", "temprature"],
    [{ zzzzzz: 1 }, "Unknown field zzzzzz", "zzzzzz"],
    [{ "my secret sentence": 1 }, "The request has a member that chat completions do not have", null],
  ])("%j", (more, message, param) => {
    expect(chatSurface.refuseUnknown({ model: "r", ...more }, "reject")).toMatchObject({
      message,
      param,
      code: "unknown_field",
    });
    expect(chatSurface.refuseUnknown({ model: "r", ...more }, "forward")).toBeNull();
  });
});

describe("the request on its way upstream", () => {
  const NO_EDITS: RequestEdits = { maxOutputTokens: null, stripFields: [] };
  const edit = (
    more: JsonObject,
    flags: readonly string[] = [],
    mode: "reject" | "strip" | "forward" = "reject",
    edits: RequestEdits = NO_EDITS,
  ) => chatRelay.edit(parse(more), endpoint("a"), provider("p", { flags }), mode, edits);

  it("changes the model, forbids storing, and keeps everything else as it came", () => {
    const messages = [{ role: "user", content: "hi", unknown_member: { deep: [1] } }];
    const { body, stripped } = edit({ messages, temperature: 0, seed: 1 });
    expect(body).toEqual({ model: "upstream-a", messages, temperature: 0, seed: 1, store: false });
    expect(stripped).toEqual([]);
  });

  it("takes out who the user is, and our own member, and says so", () => {
    const { body, stripped } = edit({
      user: "u",
      metadata: { a: "b" },
      safety_identifier: "s",
      provider: { only: ["p"] },
    });
    expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "store"]);
    expect(stripped.toSorted()).toEqual(["metadata", "safety_identifier", "user"]);
  });

  it("asks for usage on streams, keeping the caller's other options", () => {
    const { body } = edit({ stream: true, stream_options: { include_obfuscation: false } });
    expect(body["stream_options"]).toEqual({ include_obfuscation: false, include_usage: true });
  });

  it("honours the flags of a provider", () => {
    const { body } = edit({ stream: true }, ["no_store_field", "no_stream_options"]);
    expect(Object.hasOwn(body, "store")).toBe(false);
    expect(Object.hasOwn(body, "stream_options")).toBe(false);
  });

  it("takes out what a flag forbids also where the caller sent it, and says so", () => {
    const asked = { stream: true, store: false, stream_options: { include_usage: true } };
    const { body, stripped } = edit(asked, ["no_store_field", "no_stream_options"]);
    expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "stream"]);
    expect(stripped.toSorted()).toEqual(["store", "stream_options"]);
    expect(edit({ stream: true }, ["no_store_field", "no_stream_options"]).stripped).toEqual([]);
  });

  it("forwards a member called __proto__ as a member", () => {
    const more: JsonObject = JSON.parse('{"__proto__":{"polluted":true}}');
    const { body } = edit(more, [], "forward");
    expect(JSON.stringify(body)).toContain('"__proto__":{"polluted":true}');
    expect(body["polluted"]).toBeUndefined();
  });

  it("forwards or strips unknown members as the route says", () => {
    expect(edit({ top_k: 1 }, [], "forward").body["top_k"]).toBe(1);
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
    [
      { max_completion_tokens: 5_000, max_tokens: 6_000 },
      { max_completion_tokens: 100, max_tokens: 100 },
    ],
  ])("caps the output where the caller limits it, or sets the limit: %j", (asked, sent) => {
    const { body } = edit(asked, [], "reject", { ...NO_EDITS, maxOutputTokens: 100 });
    const limits = Object.entries(body).filter(([name]) => name.startsWith("max_"));
    expect(Object.fromEntries(limits)).toEqual(sent);
  });

  it("takes out what a policy says, once, and says so", () => {
    const edits: RequestEdits = { ...NO_EDITS, stripFields: ["prompt_cache_key", "service_tier", "user"] };
    const { body, stripped } = edit({ prompt_cache_key: "k", user: "u", seed: 1 }, [], "reject", edits);
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
const usage = chunk({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } });
const done = formatSseEvent("[DONE]");
const text = (events: readonly Uint8Array[]): string => events.map((event) => new TextDecoder().decode(event)).join("");

function observe(events: readonly Uint8Array[], more: JsonObject = { stream: true }) {
  const observer = chatRelay.observe(parse(more));
  const relayed = events.flatMap((event) => [...observer.push(event)]);
  const end = observer.end();
  return { relayed: text(relayed), closing: text(end.events), ...end.ending };
}

describe("a relayed stream", () => {
  it("succeeds by finish reason and [DONE], and reads usage", () => {
    const seen = observe([delta("a"), delta("", "stop"), usage, done]);
    expect(seen).toMatchObject({ failure: null, finish: "stop", usage: { input: 3, output: 4 }, closing: "" });
  });

  it("keeps the usage chunk to itself when the caller did not ask for it", () => {
    expect(observe([delta("a", "stop"), usage, done]).relayed).not.toContain("prompt_tokens");
    const asked = { stream: true, stream_options: { include_usage: true } };
    expect(observe([delta("a", "stop"), usage, done], asked).relayed).toContain("prompt_tokens");
  });

  it.each([
    ["no [DONE] but every choice finished", [delta("a", "stop")], {}],
    ["[DONE] without a finish reason", [delta("a"), done], {}],
    ["two choices, both finished", [delta("a"), delta("b", "stop", 1), delta("", "length")], { n: 2 }],
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
    ["an error object", [delta("a"), chunk({ error: { message: "secret" } }), done], {}, "error_frame"],
    ["an error event", [delta("a"), formatSseEvent("{}", "error"), done], {}, "error_frame"],
    ["the finish reason error", [delta("a", "error"), done], {}, "error_frame"],
    ["text that is not JSON", [delta("a"), formatSseEvent("<html>"), done], {}, "malformed"],
    ["JSON that is not an object", [formatSseEvent("[1]"), done], {}, "malformed"],
    ["half an event at the end", [delta("a"), delta("b", "stop").subarray(0, 30)], {}, "malformed"],
  ])("fails with %s and never says [DONE] of its own", (_, events, more, kind) => {
    const seen = observe(events, { stream: true, ...more });
    expect(seen.failure?.kind).toBe(kind);
    expect(seen.closing).toBe("");
    expect(seen.relayed).not.toContain("secret");
  });

  it("is done at [DONE] and relays nothing after it, in the same chunk or a later one", () => {
    const observer = chatRelay.observe(parse({ stream: true }));
    observer.push(delta("a", "stop"));
    expect(observer.done).toBe(false);
    const late = Buffer.concat([done, delta("late"), chunk({ error: {} })]);
    expect(text(observer.push(late))).toBe(text([done]));
    expect(observer.done).toBe(true);
    expect(text(observer.push(delta("later")))).toBe("");
    expect(observer.end()).toMatchObject({ ending: { failure: null, finish: "stop" }, events: [] });
  });

  it("never relays a [DONE] that ends nothing", () => {
    expect(observe([done]).relayed).toBe("");
  });

  it("holds keep-alives back until the first data, and lets later ones through", () => {
    const alive = new TextEncoder().encode(": keep-alive\n\n");
    const observer = chatRelay.observe(parse({ stream: true }));
    expect(observer.push(alive)).toEqual([]);
    expect(observer.push(alive)).toEqual([]);
    expect(text(observer.push(delta("a")))).toBe(text([alive, alive, delta("a")]));
    expect(text(observer.push(alive))).toBe(text([alive]));
  });

  it("relays nothing after a failure", () => {
    expect(observe([chunk({ error: {} }), delta("late"), done]).relayed).toBe("");
  });

  it("reads usage where other vendors put it", () => {
    const groq = chunk({
      choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      x_groq: { usage: { prompt_tokens: 1, completion_tokens: 2 } },
    });
    expect(observe([groq]).usage).toMatchObject({ input: 1, output: 2 });
  });

  it("completes a last event whose blank line is missing", () => {
    const seen = observe([delta("a", "stop").subarray(0, -1)]);
    expect(seen.failure).toBeNull();
    expect(seen.closing).toMatch(/\n\ndata: \[DONE\]\n\n$/);
  });
});

describe("a whole answer", () => {
  const read = (value: unknown) => chatRelay.readAnswer(new TextEncoder().encode(JSON.stringify(value)));
  it.each([
    [{ choices: [{ finish_reason: "stop" }], usage: { prompt_tokens: 1 } }, null],
    [{ choices: [{ finish_reason: "" }] }, null],
    [{ choices: [] }, "malformed"],
    [{ choices: [{}] }, "malformed"],
    [{ choices: [{ finish_reason: null }] }, "malformed"],
    [{ choices: [{ finish_reason: "stop" }, { message: {} }] }, "malformed"],
    [{ choices: [{ finish_reason: "stop" }, "text"] }, "malformed"],
    [{ choices: [{ finish_reason: "error" }] }, "error_frame"],
    [{ error: { message: "x" } }, "error_frame"],
    [{ hello: 1 }, "malformed"],
    [[], "malformed"],
  ])("%j", (value, kind) => {
    expect(read(value).failure?.kind ?? null).toBe(kind);
  });

  it("is malformed when it is not JSON, and quotes nothing", () => {
    const ending = chatRelay.readAnswer(new TextEncoder().encode("a secret sentence"));
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
    expect(chatRelay.readError(status, new Uint8Array())).toMatchObject({ kind, status });
  });

  it("keeps a machine code from the closed list and nothing else", () => {
    const body = (error: unknown) => new TextEncoder().encode(JSON.stringify({ error }));
    expect(chatRelay.readError(400, body({ code: "context_length_exceeded", message: "m" })).code).toBe(
      "context_length_exceeded",
    );
    expect(chatRelay.readError(400, body({ code: "sk-secret", message: "m" })).code).toBeNull();
    expect(chatRelay.readError(400, body({ code: 400, type: "unsupported_value" })).code).toBe("unsupported_value");
  });
});
