import fc from "fast-check";
import { editSet, editsIn } from "../../../src/canon/generate/edit.ts";
import { describe, expect, it } from "vitest";
import { formatSseEvent } from "../../../src/dialects/sse.ts";
import type { RequestEdits } from "../../../src/canon/decision.ts";
import { STRIPPABLE_FIELDS } from "../../../src/canon/policy.ts";
import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";
import type { AnswerStream, Ending } from "../../../src/dialects/dialect.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import { RESPONSES_FIELDS } from "../../../src/dialects/openai-responses/request-facts.ts";
import { sealReasoning } from "../../../src/dialects/openai-responses/resource.ts";
import { lawfulEvents } from "./events.ts";
import { openResponses } from "./open-responses.ts";
import { breachOfOrder } from "./order.ts";
import {
  bytesOf,
  contextOf,
  FAILURE,
  NO_EDITS,
  parse,
  read,
  render,
  TARGET,
  textOf,
  wire,
  RESOURCE_MEMBERS,
} from "./support.ts";

const { relay } = responsesSurface;
const specification = openResponses();
const context = contextOf(parse({ stream: true, temperature: 0.3 }));
const encoder = new TextEncoder();

/**
 * Of a model that does not reason: its requests get no wish of ours
 * (test/http/callers-mistakes.test.ts).
 */
const ENDPOINT = { ...TARGET.endpoint, capabilities: [] };

function edit(
  more: JsonObject,
  edits: Partial<RequestEdits> = {},
  mode: "reject" | "strip" | "forward" = "reject",
) {
  return relay.edit(parse(more), ENDPOINT, TARGET.provider, mode, { ...NO_EDITS, ...edits });
}

describe("the request on its way upstream", () => {
  it("changes the model, forbids storing, and is otherwise unchanged", () => {
    const input = [
      { role: "user", content: [{ type: "input_text", text: "hi", shade: { deep: [1] } }] },
    ];
    expect(edit({ input, temperature: 0 })).toEqual({
      body: { model: "upstream-model", input, temperature: 0, store: false },
      stripped: [],
      edits: editSet("model_replaced") | editSet("store_false_sent"),
      headers: [],
      dropped: [],
    });
    expect(edit({ store: null }).body.store).toBe(false);
  });

  it("omits and records the user's identity, and omits our own members", () => {
    const identity = { user: "u", metadata: {}, safety_identifier: "s", client_metadata: {} };
    const { body, stripped } = edit({ ...identity, provider: { only: ["p"] } });
    expect(Object.keys(body).toSorted()).toEqual(["input", "model", "store"]);
    expect(stripped.toSorted()).toEqual(Object.keys(identity).toSorted());
  });

  it("strips unknown members where the route has strip", () => {
    expect(edit({ zzz: 1 }, {}, "strip")).toMatchObject({ stripped: ["unknown_field"] });
    expect(edit({ zzz: 1 }, {}, "strip").body).not.toHaveProperty("zzz");
    expect(edit({ zzz: 1 }, {}, "forward").body).toHaveProperty("zzz", 1);
  });

  it("omits a policy's members", () => {
    const present = Object.fromEntries(
      STRIPPABLE_FIELDS.map((name) => [name, name === "metadata" ? {} : "x"]),
    );
    const { body, stripped } = edit(
      { ...present, prompt_cache_options: {} },
      { stripFields: STRIPPABLE_FIELDS },
    );
    expect(Object.keys(body).toSorted()).toEqual(["input", "model", "store"]);
    expect(new Set(stripped)).toEqual(new Set(STRIPPABLE_FIELDS));
    for (const name of STRIPPABLE_FIELDS) expect(RESPONSES_FIELDS[name]).toBeDefined();
  });

  it.each<[number | null, number | null, number | undefined]>([
    [null, null, undefined],
    [100, null, 100],
    [100, 50, 50],
    [50, 100, 50],
    [null, 100, 100],
    [100, 5, 16],
    [null, 5, 16],
  ])("an output limit of %s under a cap of %s is %s", (requested, cap, sent) => {
    const more = requested === null ? {} : { max_output_tokens: requested };
    expect(edit(more, { maxOutputTokens: cap }).body.max_output_tokens).toBe(sent);
  });

  it("puts the alias where the protocol has it", () => {
    const json_schema = { name: "n", schema: { type: "object" }, strict: true };
    const format = { type: "json_schema", ...json_schema };
    for (const alias of [{ type: "json_schema", json_schema }, format]) {
      const { body } = edit({ response_format: alias, text: { verbosity: "low" } });
      expect(body.text).toEqual({ verbosity: "low", format });
      expect(body).not.toHaveProperty("response_format");
    }
    expect(edit({ response_format: format, text: { format } }).body.text).toEqual({ format });
  });

  it("has our signatures untagged and the provider's unchanged", () => {
    const item = (encrypted_content: string): JsonObject => ({
      type: "reasoning",
      summary: [],
      encrypted_content,
    });
    const input = [item("sbx1.openai.abc"), item("def"), { role: "user", content: "x" }];
    const { body } = edit({ input });
    expect(body.input).toEqual([item("abc"), item("def"), input[2]]);
    expect(input[0]).toEqual(item("sbx1.openai.abc"));
  });

  it("has the text sealed with a signature where the provider of its family has this protocol", () => {
    const sealed = sealReasoning("openai", "abc", "why");
    const item = { type: "reasoning", summary: [], encrypted_content: sealed };
    const content = [{ type: "reasoning_text", text: "why" }];
    const bare = { type: "reasoning", summary: [], encrypted_content: "abc", content };
    expect(edit({ input: [item, { ...item, content }] }).body.input).toEqual([bare, bare]);
  });

  it("keeps a member named __proto__ as a member", () => {
    const body = edit(JSON.parse('{"__proto__": {"a": 1}}'), {}, "forward").body;
    expect(JSON.stringify(body)).toContain('"__proto__":{"a":1}');
  });
});

const full: JsonObject = Object.fromEntries(RESOURCE_MEMBERS.map((name) => [name, null]));
const resource = (status: string, more: JsonObject = {}): JsonObject => ({
  ...full,
  id: "resp_u",
  status,
  output: [],
  ...more,
});
const created = { type: "response.created", sequence_number: 0, response: resource("in_progress") };
const added = (item: JsonObject, index = 0): JsonObject => ({
  type: "response.output_item.added",
  sequence_number: 1,
  output_index: index,
  item,
});
const message = {
  type: "message",
  id: "msg_u",
  status: "in_progress",
  role: "assistant",
  content: [],
};
const delta = (text: string): JsonObject => ({
  type: "response.output_text.delta",
  sequence_number: 2,
  item_id: "msg_u",
  output_index: 0,
  content_index: 0,
  delta: text,
  logprobs: [],
});
const terminal = (status: string, more: JsonObject = {}): JsonObject => ({
  type: `response.${status}`,
  sequence_number: 3,
  response: resource(status, more),
});

function observe(stream: string): { text: string; ending: Ending; observer: AnswerStream } {
  const observer = relay.observe(context);
  const begun = observer.push(encoder.encode(stream));
  const { ending, events } = observer.endStream();
  return { text: textOf([...begun, ...events]), ending, observer };
}

describe("a relayed stream", () => {
  it("passes byte for byte but for the request id of its end, with [DONE] behind it", () => {
    const usage = {
      input_tokens: 5,
      output_tokens: 2,
      total_tokens: 7,
      input_tokens_details: { cached_tokens: 1 },
    };
    const stream = wire(created, added(message), delta("hi"), terminal("completed", { usage }));
    const odd = `: hello\r\n\r\n${stream.replaceAll("\n", "\r\n")}`;
    for (const sent of [stream, odd, `${stream}data: [DONE]\n\n`]) {
      const { text, ending } = observe(sent);
      const own = text.indexOf("event: response.completed");
      expect(text.slice(0, own)).toBe(sent.slice(0, sent.indexOf("event: response.completed")));
      expect(text.slice(own).replace('"request_id":"req_1",', "")).toBe(
        stream.slice(stream.indexOf("event: response.completed")) + "data: [DONE]\n\n",
      );
      expect(ending).toEqual({
        failure: null,
        finish: "stop",
        usage: { input: 5, output: 2, cacheRead: 1, cacheWrite: null, reasoning: null },
        dropped: [],
        edits: editSet("request_id_added"),
      });
    }
  });

  it("relays the output of our own printer, for every cut", () => {
    fc.assert(
      fc.property(lawfulEvents, fc.integer({ min: 1, max: 40 }), (events, size) => {
        const stream = render(events);
        const observer = relay.observe(context);
        const bytes = encoder.encode(stream);
        const out: Uint8Array[] = [];
        for (let start = 0; start < bytes.length; start += size) {
          out.push(...observer.push(bytes.subarray(start, start + size)));
        }
        const { ending, events: closing } = observer.endStream();
        // What we print has a tag of ours already; the provider that printed it is to get that
        // back.
        expect(textOf([...out, ...closing])).toBe(
          stream.replaceAll('"sbx1.', '"sbx1.openai.sbx1.'),
        );
        const finish = events.at(-1);
        expect(ending).toMatchObject({
          failure: null,
          finish: finish?.type === "finish" ? finish.reason : null,
        });
      }),
      { numRuns: 60 },
    );
  });

  it("has output from the first text on, and not before", () => {
    const observer = relay.observe(context);
    for (const event of [created, added(message)]) {
      expect(textOf(observer.push(encoder.encode(wire(event))))).toBe(wire(event));
      expect(observer.hasOutput).toBe(false);
    }
    observer.push(encoder.encode(wire(delta("h"))));
    expect(observer.hasOutput).toBe(true);
  });

  it("changes only the resources of its events, and keeps their large numbers", () => {
    const bare = { id: "resp_u", status: "in_progress", seed: "SEED", temperature: null };
    const text = wire({ ...created, response: bare }, delta("hi"), {
      ...terminal("completed"),
      response: { ...bare, status: "completed", output: [] },
    }).replaceAll('"SEED"', "9007199254740993");
    const printed = observe(text).text;
    expect(printed.match(/9007199254740993/g)).toHaveLength(2);
    const { events } = read(printed);
    expect(events[1]).toEqual(delta("hi"));
    for (const event of [events[0], events[2]]) {
      const response = event?.response;
      expect(
        isJsonObject(response) && RESOURCE_MEMBERS.every((name) => Object.hasOwn(response, name)),
      ).toBe(true);
      // What the provider said stays; what it omitted is the request's.
      expect(response).toMatchObject({
        id: "resp_u",
        temperature: null,
        top_p: 1,
        store: false,
        tool_choice: "auto",
      });
    }
    expect(events[2]?.response).toMatchObject({
      completed_at: 1_700_000_000,
      temperature: null,
    });
    expect(events[0]).toMatchObject({ sequence_number: 0, response: { completed_at: null } });
  });

  it.each<[string, string, JsonObject, string]>([
    ["the limit", "incomplete", { incomplete_details: { reason: "max_output_tokens" } }, "length"],
    [
      "the filter",
      "incomplete",
      { incomplete_details: { reason: "content_filter" } },
      "content_filter",
    ],
    ["anything else", "incomplete", { incomplete_details: { reason: "steered" } }, "other"],
    ["no reason", "incomplete", {}, "other"],
  ])("that ends by %s (%s, %j) has the finish reason %s", (_, status, more, finish) => {
    expect(observe(wire(created, delta("x"), terminal(status, more))).ending).toMatchObject({
      failure: null,
      finish,
    });
  });

  it("finishes with tool_calls after a call, and with refusal after a refusal", () => {
    const call = { type: "function_call", id: "fc_u", call_id: "c", name: "f", arguments: "" };
    expect(
      observe(wire(created, terminal("completed", { output: [call] }))).ending.finish,
      "in the last resource only",
    ).toBe("tool_calls");
    expect(observe(wire(created, added(call), terminal("completed"))).ending.finish).toBe(
      "tool_calls",
    );
    const refused = { ...delta("no"), type: "response.refusal.delta" };
    expect(
      observe(wire(created, added(message), refused, terminal("completed"))).ending.finish,
    ).toBe("refusal");
  });

  const secret = "the provider's own text";
  it.each<[string, string, string, string | null]>([
    ["cut short", wire(created, delta("x")), "truncated", null],
    ["nothing", "", "truncated", null],
    ["[DONE] without an end", `${wire(created, delta("x"))}data: [DONE]\n\n`, "truncated", null],
    ["not JSON", `${wire(created)}data: {oops\n\n`, "malformed", null],
    ["no object", "data: 1\n\n", "malformed", null],
    ["no type", 'data: {"a":1}\n\n', "malformed", null],
    ["no resource", wire({ type: "response.completed", sequence_number: 0 }), "malformed", null],
    [
      "an error event",
      wire(created, delta("x"), {
        type: "error",
        error: { code: "rate_limit_exceeded", message: secret },
      }),
      "error_frame",
      "rate_limit_exceeded",
    ],
    [
      "a flat error event",
      wire({ type: "error", code: "insufficient_quota", message: secret }),
      "error_frame",
      "insufficient_quota",
    ],
    [
      "an error without a type",
      `data: {"error":{"message":"${secret}","code":"x ${secret}"}}\n\n`,
      "error_frame",
      null,
    ],
    [
      "a failed answer",
      wire(
        created,
        delta("x"),
        terminal("failed", { error: { code: "server_error", message: secret } }),
      ),
      "error_frame",
      "server_error",
    ],
    [
      "an answer that was called off",
      wire(created, terminal("completed", { status: "cancelled" })),
      "error_frame",
      null,
    ],
  ])("fails: %s", (_, stream, kind, code) => {
    const { text, ending, observer } = observe(stream);
    expect(ending).toMatchObject({ failure: { kind, code }, finish: null });
    expect(text).not.toContain(secret);
    expect(text).not.toContain("[DONE]");
    const closing = textOf([observer.fail(FAILURE)]);
    expect(closing).not.toContain(secret);
    expect(read(closing).done).toBe(true);
  });

  it("ends at an event beyond the size limit", () => {
    const observer = relay.observe(context);
    observer.push(new Uint8Array(17 * 1024 * 1024).fill(97));
    expect(observer.failure).toMatchObject({ kind: "too_large" });
  });

  it("fails with the items so far, at the next position of the sequence", () => {
    fc.assert(
      fc.property(lawfulEvents, fc.nat(), (events, at) => {
        const { events: whole } = read(render(events));
        const kept = whole.slice(0, 3 + (at % Math.max(whole.length - 3, 1)));
        if (kept.length === whole.length) return;
        const { text, observer } = observe(wire(...kept));
        const { events: printed, done } = read(text + textOf([observer.fail(FAILURE)]));
        expect(done).toBe(true);
        expect(breachOfOrder(printed)).toBeNull();
        const last = printed.at(-1) ?? {};
        if (specification !== null) expect(specification.event(last)).toBeNull();
        expect(last).toMatchObject({
          type: "response.failed",
          response: { status: "failed", error: { code: "server_error" } },
        });
      }),
      { numRuns: 100 },
    );
  });

  it("keeps the text of an item that broke", () => {
    const { observer } = observe(
      wire(created, added(message), delta("ha"), { ...delta("lf"), sequence_number: 8 }),
    );
    const [failed] = read(textOf([observer.fail(FAILURE)])).events;
    expect(failed).toMatchObject({
      sequence_number: 9,
      response: {
        id: "resp_u",
        output: [
          { id: "msg_u", status: "incomplete", content: [{ type: "output_text", text: "half" }] },
        ],
      },
    });
  });

  it("orders the parts of an item that broke, and keeps an item that was done", () => {
    const done = { ...message, id: "msg_v", status: "completed" };
    const { observer } = observe(
      wire(
        created,
        added(message),
        { ...delta("b"), content_index: 1 },
        { ...delta("a"), content_index: 0 },
        added(done, 1),
        { type: "response.output_item.done", output_index: 1, item: done },
        { type: "vendor.item.noted", output_index: 1, item: done },
      ),
    );
    expect(read(textOf([observer.fail(FAILURE)])).events).toMatchObject([
      { response: { output: [{ content: [{ text: "a" }, { text: "b" }] }, done] } },
    ]);
  });

  it("keeps the arguments of a call and the summary of reasoning that broke", () => {
    const piece = (index: number, type: string, text: string): JsonObject => ({
      type: `response.${type}.delta`,
      output_index: index,
      summary_index: 0,
      delta: text,
    });
    const call = { type: "function_call", id: "fc_u", call_id: "c", name: "f", arguments: "" };
    const { observer } = observe(
      wire(
        created,
        added({ type: "reasoning", id: "rs_u", summary: [] }),
        piece(0, "reasoning_summary_text", "wh"),
        piece(0, "reasoning_summary_text", "y"),
        added(call, 1),
        piece(1, "function_call_arguments", '{"a"'),
        { ...piece(1, "function_call_arguments", ":1"), content_index: 1 },
      ),
    );
    expect(read(textOf([observer.fail(FAILURE)])).events).toMatchObject([
      {
        response: {
          output: [
            { id: "rs_u", status: "incomplete", summary: [{ type: "summary_text", text: "why" }] },
            { ...call, status: "incomplete", arguments: '{"a":1' },
          ],
        },
      },
    ]);
  });

  it("fails with an error event where no answer has begun", () => {
    for (const stream of [
      ": hello\n\n",
      `: hello\n\n${wire(terminal("failed", { error: { code: "server_error" } }))}`,
    ]) {
      const { text, observer } = observe(stream);
      expect(text).toBe(": hello\n\n");
      expect(read(textOf([observer.fail(FAILURE)])).events).toMatchObject([{ type: "error" }]);
    }
  });

  it("fails an answer without output", () => {
    const { observer } = observe(wire(created));
    expect(read(textOf([observer.fail(FAILURE)])).events).toMatchObject([
      {
        type: "response.failed",
        sequence_number: 1,
        response: { id: "resp_u", status: "failed", output: [] },
      },
    ]);
  });
});

describe("a whole answer", () => {
  const ask = contextOf(parse({ temperature: 0.3 }));

  it("gets the request id and is otherwise unchanged where it is complete, on record", () => {
    const bytes = bytesOf(resource("completed"));
    const answer = relay.readAnswer(bytes, ask);
    expect(textOf([answer.bytes]).replace('"request_id":"req_1",', "")).toBe(textOf([bytes]));
    expect(editsIn(answer.ending.edits ?? 0)).toEqual(["request_id_added"]);
    expect(answer.ending).toMatchObject({ failure: null, finish: "stop" });
  });

  it("gets the members that it lacks, and keeps large numbers", () => {
    const bytes = encoder.encode(
      '{"id":"resp_u","status":"completed","output":[],"seed":9007199254740993,"usage":{"input_tokens":1,"output_tokens":2}}',
    );
    const answer = relay.readAnswer(bytes, ask);
    const text = new TextDecoder().decode(answer.bytes);
    expect(text).toContain('"seed":9007199254740993');
    const filled: unknown = JSON.parse(text);
    expect(filled).toMatchObject({
      id: "resp_u",
      temperature: 0.3,
      completed_at: 1_700_000_000,
      model: "upstream-model",
    });
    expect(
      isJsonObject(filled) && RESOURCE_MEMBERS.every((name) => Object.hasOwn(filled, name)),
    ).toBe(true);
    expect(answer.ending.usage).toMatchObject({ input: 1, output: 2, cacheRead: null });
  });

  it.each<[string, unknown, string]>([
    ["no JSON object", [], "malformed"],
    ["still going on", resource("in_progress"), "malformed"],
    ["still waiting", resource("queued"), "malformed"],
    ["an unknown status", resource("complete"), "malformed"],
    ["another protocol", { id: "x", choices: [] }, "malformed"],
    ["no output", { ...full, status: "completed" }, "malformed"],
    [
      "cancelled",
      resource("cancelled", { error: { code: "x", message: "secret" } }),
      "error_frame",
    ],
    ["an error", { error: { code: "insufficient_quota", message: "secret" } }, "error_frame"],
  ])("fails: %s", (_, body, kind) => {
    expect(relay.readAnswer(bytesOf(body), ask).ending).toMatchObject({
      failure: { kind },
      finish: null,
    });
  });

  it.each(["invalid_prompt", "image_too_large", "empty_image_file", "bio_policy"])(
    "that failed with %s, which is about the request, is an error and no answer",
    (code) => {
      const answer = relay.readAnswer(
        bytesOf(resource("failed", { error: { code, message: "secret" } })),
        ask,
      );
      expect(answer.ending.failure).toEqual({
        kind: "error_frame",
        status: null,
        retryAfter: null,
        code,
      });
      expect(answer.bytes).toHaveLength(0);
    },
  );

  it("that failed keeps its items, without the provider's text", () => {
    const item = { type: "message", id: "m", content: [{ type: "output_text", text: "half" }] };
    const body = resource("failed", {
      output: [item],
      error: { code: "rate_limit_exceeded", message: "secret" },
    });
    const answer = relay.readAnswer(bytesOf(body), ask);
    expect(answer.ending).toMatchObject({
      failure: { kind: "error_frame", final: true },
      finish: null,
    });
    const passed: unknown = JSON.parse(new TextDecoder().decode(answer.bytes));
    expect(passed).toMatchObject({
      id: "resp_u",
      status: "failed",
      completed_at: null,
      error: { code: "rate_limit_exceeded", message: expect.stringContaining("request id req_1") },
      output: [
        {
          ...item,
          content: [{ type: "output_text", text: "half", annotations: [], logprobs: [] }],
        },
      ],
    });
    const { output: _output, ...silent } = resource("failed", {
      error: { code: "unheard", message: "secret" },
    });
    const bytes = new TextDecoder().decode(relay.readAnswer(bytesOf(silent), ask).bytes);
    expect(JSON.parse(bytes)).toMatchObject({
      status: "failed",
      output: [],
      error: { code: "server_error" },
    });
    expect(bytes).not.toContain("secret");
  });

  it.each([undefined, null])(
    "has empty lists in its text parts where the provider has %j",
    (nothing) => {
      const part = { type: "output_text", text: "a", annotations: nothing, logprobs: nothing };
      const refusal = { type: "refusal", refusal: "no" };
      const body = resource("completed", {
        output: [{ type: "message", content: [part, refusal] }, { type: "other" }],
      });
      const { bytes } = relay.readAnswer(bytesOf(body), ask);
      expect(JSON.parse(new TextDecoder().decode(bytes))).toMatchObject({
        output: [
          { content: [{ ...part, annotations: [], logprobs: [] }, refusal] },
          { type: "other" },
        ],
      });
    },
  );

  it.each([
    [resource("incomplete", { incomplete_details: { reason: "max_output_tokens" } }), "length"],
    [resource("completed", { output: [{ type: "function_call" }] }), "tool_calls"],
    [
      resource("completed", {
        output: [{ type: "message", content: [{ type: "refusal", refusal: "" }] }],
      }),
      "refusal",
    ],
  ])("%#: has the finish reason of its status and output", (body, finish) => {
    expect(relay.readAnswer(bytesOf(body), ask).ending).toMatchObject({ failure: null, finish });
  });
});

describe("texts of a stream", () => {
  const part = { type: "output_text", text: "a" };
  const filled = { ...part, annotations: [], logprobs: [] };
  const item = {
    type: "message",
    id: "m",
    role: "assistant",
    status: "completed",
    content: [part],
  };
  const where = { item_id: "m", output_index: 0, content_index: 0 };

  it("have their lists in every event, and events that lack none are the provider's bytes", () => {
    const lacking = [
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.content_part.added", ...where, part },
      { type: "response.output_text.delta", ...where, delta: "a", obfuscation: "x" },
      { type: "response.output_text.done", ...where, text: "a" },
      { type: "response.content_part.done", ...where, part },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: resource("completed", { output: [item] }) },
    ].map((event) => formatSseEvent(JSON.stringify(event), event.type));
    const observer = relay.observe(contextOf(parse({ stream: true })));
    const sent = lacking.flatMap((event) => observer.push(event));
    const whole = { ...item, content: [filled] };
    const numbered = [
      { type: "response.output_item.added", output_index: 0, item: whole },
      { type: "response.content_part.added", ...where, part: filled },
      { type: "response.output_text.delta", ...where, delta: "a", obfuscation: "x", logprobs: [] },
      { type: "response.output_text.done", ...where, text: "a", logprobs: [] },
      { type: "response.content_part.done", ...where, part: filled },
      { type: "response.output_item.done", output_index: 0, item: whole },
    ].map((event, index) => ({ ...event, sequence_number: index }));
    expect(read(textOf(sent)).events).toEqual([
      ...numbered,
      expect.objectContaining({ response: expect.objectContaining({ output: [whole] }) }),
    ]);
    const again = relay.observe(contextOf(parse({ stream: true })));
    const foreign = { type: "vendor.noted", sequence_number: 6, output_index: 0, item, part };
    const complete = [...sent.slice(0, -1), formatSseEvent(JSON.stringify(foreign), foreign.type)];
    for (const event of complete) expect(again.push(event)).toEqual([event]);
  });

  it("get positions and numbers that the provider omits, by the order of the events", () => {
    const second = { ...item, id: "n" };
    const lacking = [
      { type: "response.created", response: resource("in_progress") },
      { type: "response.output_item.added", item: { ...item, content: [] } },
      { type: "response.content_part.added", item_id: "m", part: filled },
      { type: "response.output_text.delta", item_id: "m", delta: "a", logprobs: [] },
      { type: "response.content_part.added", item_id: "m", part: filled },
      { type: "response.output_text.delta", item_id: "m", delta: "b", logprobs: [] },
      { type: "response.output_item.added", item: { ...second, content: [] } },
      { type: "response.output_text.delta", item_id: "n", delta: "c", logprobs: [] },
      { type: "response.output_item.done", item },
      { type: "response.completed", response: resource("completed", { output: [item, second] }) },
    ].map((event) => formatSseEvent(JSON.stringify(event), event.type));
    const observer = relay.observe(contextOf(parse({ stream: true })));
    const { events } = read(textOf(lacking.flatMap((event) => observer.push(event))));
    expect(events.map((event) => event.sequence_number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const positions = events.map((event) => [event.output_index, event.content_index]);
    const none = [undefined, undefined];
    const expected = [none, [0], [0, 0], [0, 0], [0, 1], [0, 1], [1], [1, 0], [0], none];
    expect(positions).toEqual(expected.map(([output, content]) => [output, content]));
    expect(observer.endStream().ending).toMatchObject({
      failure: null,
      edits: editSet("answer_members_filled") | editSet("request_id_added"),
    });
  });
});
