import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GenerateRequest, Turn } from "../../../src/canon/generate/generate-request.ts";
import { tagSignature } from "../../../src/canon/generate/signature.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import { parseJsonBytes } from "../../../src/dialects/json.ts";
import { chatSurface } from "../../../src/dialects/openai-chat/dialect.ts";
import { CHAT_FIELDS } from "../../../src/dialects/openai-chat/parse-request.ts";
import { NO_EDITS, NO_HEADERS, targetOf } from "../laws/target.ts";
import { toCanon, toCanonRefusal, user } from "./bodies.ts";
import { canon, text, userTurn } from "./canon.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
const tool = {
  type: "function",
  function: { name: "f", description: "d", parameters: { type: "object" }, strict: true },
};

describe("a body in canon", () => {
  it("has only members of the body", () => {
    expect(toCanon({})).toEqual({ request: canon(), stripped: [], dropped: [] });
  });

  it.each<[JsonObject, Partial<GenerateRequest>]>([
    [{ stream: true, stream_options: { include_usage: true } }, { stream: true }],
    [
      { temperature: 0, top_p: 0.5, seed: 7 },
      { temperature: 0, topP: 0.5, seed: 7 },
    ],
    [{ frequency_penalty: 0, presence_penalty: -1 }, { presencePenalty: -1 }],
    [{ logit_bias: { "5": 1 } }, { logitBias: { "5": 1 } }],
    [{ stop: "x" }, { stop: ["x"] }],
    [{ stop: ["x", "y"] }, { stop: ["x", "y"] }],
    [{ logprobs: true }, { logprobs: 0 }],
    [{ logprobs: true, top_logprobs: 3 }, { logprobs: 3 }],
    [{ max_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ max_completion_tokens: 6 }, { maxOutputTokens: 6 }],
    [{ verbosity: "low" }, { verbosity: "low" }],
    [
      { reasoning_effort: "high" },
      { reasoning: { effort: "high", budget: null, adaptive: false, display: null } },
    ],
    [
      { service_tier: "flex", prompt_cache_key: "k", prompt_cache_retention: "24h" },
      { hints: { serviceTier: "flex", promptCacheKey: "k", promptCacheRetention: "24h" } },
    ],
    [{ response_format: { type: "text" } }, {}],
    [{ response_format: { type: "json_object" } }, { format: { kind: "json_object" } }],
    [
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "s", schema: { a: 1 }, strict: true },
        },
      },
      {
        format: {
          kind: "json_schema",
          name: "s",
          description: null,
          schema: { a: 1 },
          strict: true,
        },
      },
    ],
    [
      { tools: [tool], tool_choice: "none", parallel_tool_calls: false },
      {
        tools: [
          {
            name: "f",
            description: "d",
            parameters: { type: "object" },
            strict: true,
            cache: null,
          },
        ],
        toolChoice: { mode: "none" },
        parallelToolCalls: false,
      },
    ],
  ])("%j becomes %j", (body, more) => {
    expect(toCanon(body).request).toEqual(canon(more));
  });

  it.each<[JsonObject["tool_choice"], GenerateRequest["toolChoice"]]>([
    ["auto", { mode: "auto" }],
    ["required", { mode: "required" }],
    [
      { type: "function", function: { name: "f" } },
      { mode: "named", name: "f" },
    ],
    [
      {
        type: "allowed_tools",
        allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "f" } }] },
      },
      { mode: "allowed", names: ["f"], required: true },
    ],
  ])("tool_choice %j becomes %j", (choice, toolChoice) => {
    expect(toCanon({ tools: [tool], tool_choice: choice ?? null }).request.toolChoice).toEqual(
      toolChoice,
    );
  });

  it("omits a tool choice without tools, and records an explicit one", () => {
    expect(toCanon({ tool_choice: "none" })).toMatchObject({
      request: { toolChoice: null },
      dropped: [],
    });
    expect(toCanon({ tool_choice: "auto" })).toMatchObject({
      request: { toolChoice: null },
      dropped: ["hint_dropped"],
    });
  });

  it("records that it does not pad streams where a caller requests it", () => {
    const padded = (include_obfuscation: boolean) =>
      toCanon({ stream: true, stream_options: { include_obfuscation } }).dropped;
    expect([padded(true), padded(false)]).toEqual([["hint_dropped"], []]);
  });

  it("keeps numbers beyond a double where JSON is passed whole", () => {
    const bytes = new TextEncoder().encode(
      `{"tools":[{"type":"function","function":{"name":"f","parameters":{"maximum":12345678901234567890}}}]}`,
    );
    const body = parseJsonBytes(bytes);
    const { request } = toCanon(body as JsonObject);
    expect(JSON.stringify(request.tools[0]?.parameters)).toBe('{"maximum":12345678901234567890}');
  });

  it("caps the output: the smaller of requested and allowed, or the cap without a request", () => {
    const capped = (body: JsonObject) =>
      toCanon(body, { ...NO_EDITS, maxOutputTokens: 10 }).request.maxOutputTokens;
    expect([capped({}), capped({ max_tokens: 5 }), capped({ max_completion_tokens: 50 })]).toEqual([
      10, 5, 10,
    ]);
  });

  it("omits and records identity members always, and a policy's members", () => {
    const body = {
      user: "u",
      metadata: {},
      safety_identifier: "s",
      prompt_cache_key: "k",
      service_tier: "auto",
    };
    const { request, stripped } = toCanon(body, {
      ...NO_EDITS,
      stripFields: ["prompt_cache_key", "service_tier"],
    });
    expect(stripped.toSorted()).toEqual([
      "metadata",
      "prompt_cache_key",
      "safety_identifier",
      "service_tier",
      "user",
    ]);
    expect(request).toEqual(canon());
  });

  it("strips unknown members where the route has strip, and refuses them by name otherwise", () => {
    expect(toCanon({ top_k: 1 }, NO_EDITS, "strip").stripped).toEqual(["unknown_field"]);
    for (const mode of ["reject", "forward"] as const) {
      expect(toCanonRefusal({ top_k: 1 }, mode)).toMatchObject({
        status: 400,
        code: "unknown_field",
        param: "top_k",
      });
    }
  });

  it("is refused for members that only this protocol has, by name", () => {
    expect(toCanonRefusal({ n: 2 })).toMatchObject({
      status: 400,
      code: "feature_not_supported",
      param: "n",
    });
  });
});

describe("turns", () => {
  const turnsOf = (...messages: readonly JsonObject[]): readonly Turn[] =>
    toCanon({ messages }).request.turns;

  it("keeps every kind of part", () => {
    const parts = [
      { type: "text", text: "t" },
      { type: "image_url", image_url: { url: "data:image/png;base64,QQ==", detail: "low" } },
      { type: "image_url", image_url: { url: "https://x.example/a" } },
      { type: "input_audio", input_audio: { data: "QQ==", format: "wav" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,QQ==", filename: "a.pdf" } },
    ];
    const base64 = { kind: "base64", data: "QQ==" } as const;
    expect(turnsOf({ role: "user", name: "n", content: parts })).toEqual([
      {
        role: "user",
        name: "n",
        content: [
          text("t"),
          {
            kind: "image",
            source: { ...base64, mediaType: "image/png" },
            detail: "low",
            cache: null,
          },
          {
            kind: "image",
            source: { kind: "url", url: "https://x.example/a" },
            detail: null,
            cache: null,
          },
          { kind: "audio", format: "wav", data: "QQ==" },
          {
            kind: "file",
            source: { ...base64, mediaType: "application/pdf" },
            name: "a.pdf",
            cache: null,
          },
        ],
      },
    ]);
  });

  it("keeps the order of an assistant's message, and the caller's role for system text", () => {
    const turns = turnsOf(
      { role: "developer", content: "d" },
      { role: "system", content: [{ type: "text", text: "s" }] },
      user,
      {
        role: "assistant",
        content: "a",
        refusal: "r",
        reasoning_content: "why",
        tool_calls: [call, { ...call, id: "d" }],
      },
      { role: "tool", tool_call_id: "c", content: "1" },
      { role: "tool", tool_call_id: "d", content: [{ type: "text", text: "2" }] },
    );
    expect(turns).toEqual([
      { role: "system", authority: "developer", content: [text("d")] },
      { role: "system", authority: "system", content: [text("s")] },
      userTurn(text("hi")),
      {
        role: "assistant",
        name: null,
        content: [
          { kind: "reasoning", text: "why", summary: false, signature: null, family: null },
          text("a"),
          { kind: "refusal", text: "r" },
          { kind: "tool_call", id: "c", name: "f", arguments: '{"a":1}', cache: null },
          { kind: "tool_call", id: "d", name: "f", arguments: '{"a":1}', cache: null },
        ],
      },
      {
        role: "tool",
        results: [
          { callId: "c", content: [text("1")], isError: null, cache: null },
          { callId: "d", content: [text("2")], isError: null, cache: null },
        ],
      },
    ]);
  });

  it("reads signed reasoning back into its pieces", () => {
    const tagged = tagSignature("f", "c2ln");
    const reasoning_details = [
      { type: "reasoning.text", text: "t", signature: tagged },
      { type: "reasoning.summary", summary: "s" },
      { type: "reasoning.encrypted", data: tagged },
      { type: "reasoning.encrypted", data: tagged },
    ];
    const messages = [
      user,
      { role: "assistant", content: null, reasoning_content: "ts", reasoning_details },
      user,
    ];
    const { request, dropped } = toCanon({ messages });
    const signed = { kind: "reasoning", signature: "c2ln", family: "f" } as const;
    expect(request.turns[1]?.role === "assistant" && request.turns[1].content).toEqual([
      { ...signed, text: "t", summary: false },
      { ...signed, text: "s", summary: true },
      { ...signed, text: "", summary: false },
    ]);
    expect(dropped).toEqual([]);
  });

  it.each<[string, JsonObject, readonly string[]]>([
    [
      "a system message's name",
      { role: "system", content: "s", name: "n" },
      ["participant_name_dropped"],
    ],
    [
      "a number of a call",
      { role: "assistant", tool_calls: [{ ...call, index: 0 }] },
      ["item_id_dropped"],
    ],
    ["citations", { role: "assistant", content: "a", annotations: [{}] }, ["citations_dropped"]],
    ["no citations", { role: "assistant", content: "a", annotations: [] }, []],
    [
      "two reasonings",
      { role: "assistant", content: "a", reasoning: "x", reasoning_content: "y" },
      ["unsigned_reasoning_dropped"],
    ],
    [
      "empty arguments",
      { role: "assistant", tool_calls: [{ ...call, function: { name: "f", arguments: " " } }] },
      ["tool_arguments_normalised"],
    ],
  ])("records %s", (_, message, dropped) => {
    expect(
      toCanon({ messages: message.role === "system" ? [message, user] : [user, message, user] })
        .dropped,
    ).toEqual(dropped);
  });

  it.each(["{", "[]", "1", "null", "text", "12345678901234567890"])(
    "refuses arguments that are no object: %s",
    (json) => {
      const broken = { ...call, function: { name: "f", arguments: json } };
      const refused = toCanonRefusal({
        messages: [user, { role: "assistant", tool_calls: [call, broken] }, user],
      });
      expect(refused).toMatchObject({ status: 400, code: "invalid_tool_arguments" });
      expect(refused.param).toBe("messages[1].tool_calls[1].function.arguments");
    },
  );
});

/** Bodies that a client may send, known and unknown members mixed. */
const texts = fc.constantFrom("a", "", "Ü🙂", "{}");
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null });
const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text: texts }),
  fc.record({ type: fc.constant("refusal"), refusal: texts }),
  fc.record({
    type: fc.constant("image_url"),
    image_url: fc.record({
      url: fc.constantFrom("data:image/png;base64,QQ==", "https://x.example/", "x", "data:,"),
      detail: fc.constantFrom(null, "auto", "low", "original"),
    }),
  }),
  fc.record({
    type: fc.constant("file"),
    file: fc.record({
      file_data: fc.constantFrom("data:text/csv;base64,QQ==", "QQ=="),
      filename: optional(texts),
    }),
  }),
  fc.record({ type: fc.constant("text"), text: texts, cache_control: optional(fc.constant({})) }),
);
const contents = fc.oneof(texts, fc.constant(null), fc.array(part, { maxLength: 3 }));
const toolCall = fc.record(
  {
    id: texts,
    type: fc.constantFrom("function", "custom", null),
    function: fc.record({ name: texts, arguments: fc.constantFrom("{}", '{"a":[1e999]}', "") }),
    index: fc.nat(3),
  },
  { requiredKeys: ["id", "type", "function"] },
);
const detail = fc.oneof(
  fc.record({
    type: fc.constant("reasoning.text"),
    text: texts,
    signature: fc.constantFrom(null, tagSignature("f", "x"), "y"),
  }),
  fc.record({
    type: fc.constant("reasoning.encrypted"),
    data: fc.constantFrom(tagSignature("f", "x"), "y"),
  }),
  fc.record({ type: fc.constant("reasoning.summary"), summary: texts, index: fc.nat(3) }),
);
const wildMessage = fc.record(
  {
    role: fc.constantFrom("system", "developer", "user", "assistant", "tool", "function"),
    content: contents,
    name: optional(texts),
    refusal: optional(texts),
    tool_call_id: optional(texts),
    tool_calls: optional(fc.array(toolCall, { maxLength: 2 })),
    reasoning: optional(texts),
    reasoning_details: optional(fc.array(detail, { maxLength: 2 })),
    prefix: optional(fc.boolean()),
  },
  { requiredKeys: ["role", "content"] },
);
const mostly = <Value>(usual: fc.Arbitrary<Value>, wild: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: wild });
const usualPart = fc.constantFrom<JsonObject>(
  { type: "text", text: "t" },
  { type: "image_url", image_url: { url: "https://x.example/", detail: "auto" } },
  { type: "file", file: { file_data: "data:text/csv;base64,QQ==", filename: null } },
);
const usualMessage: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({
    role: fc.constantFrom("system", "developer"),
    content: texts,
    name: optional(texts),
  }),
  fc.record({
    role: fc.constant("user"),
    content: fc.oneof(texts, fc.array(usualPart, { maxLength: 3 })),
    name: optional(texts),
  }),
  fc.record({
    role: fc.constant("assistant"),
    content: optional(texts),
    refusal: optional(texts),
    reasoning: optional(texts),
    tool_calls: fc.constantFrom<JsonObject["x"]>(null, [], [call], [{ ...call, index: 0 }, call]),
    reasoning_details: fc.constantFrom<JsonObject["x"]>(null, [
      { type: "reasoning.text", text: "t", signature: tagSignature("f", "x") },
    ]),
  }),
  fc.record({ role: fc.constant("tool"), content: texts, tool_call_id: texts }),
);
const message: fc.Arbitrary<JsonObject> = mostly(usualMessage, wildMessage);
const someTool = fc.record(
  {
    type: fc.constantFrom("function", "custom", "mcp"),
    function: fc.record(
      {
        name: fc.constantFrom("f", "g"),
        parameters: optional(fc.constant({})),
        strict: optional(fc.boolean()),
        x: fc.nat(),
      },
      { requiredKeys: ["name"] },
    ),
  },
  { requiredKeys: ["type", "function"] },
);
const value = (...values: readonly JsonObject["x"][]) => fc.constantFrom(...values);
const bodies: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      model: fc.constant("r"),
      messages: fc.array(message, { maxLength: 4 }),
      tools: mostly(
        value([], [tool], [tool, { ...tool, type: undefined }]),
        fc.array(someTool, { maxLength: 2 }),
      ),
      tool_choice: mostly(
        value("auto", "none"),
        value("required", "any", { type: "function", function: { name: "f" } }),
      ),
      parallel_tool_calls: value(true, false),
      max_tokens: mostly(value(1), value(0)),
      max_completion_tokens: mostly(value(null), value(0, 1)),
      top_logprobs: mostly(value(null), value(0, 2)),
      logprobs: value(true, false),
      frequency_penalty: value(0, 1),
      reasoning_effort: mostly(value("low", null), value("default")),
      stop: fc.array(texts, { maxLength: 5 }),
      response_format: mostly(
        value({ type: "json_schema", json_schema: { name: "s", schema: {} } }, { type: "text" }),
        value(
          { type: "json_schema" },
          { type: "json_object", json_schema: {} },
          { type: "text", x: 1 },
        ),
      ),
    },
    { requiredKeys: ["model", "messages"] },
  )
  .map((body) => ({ ...body, messages: [...body.messages, user] }));

describe("the law of the features", () => {
  it("an accepted body that is not native passes through canon unchanged", () => {
    let translated = 0;
    fc.assert(
      fc.property(bodies, (body) => {
        const request = chatSurface.parse(body, 100, NO_HEADERS);
        if ("code" in request || request.shape.features.includes("native_chat")) return;
        const canonical = chatSurface.translation.toCanon(request, "reject", NO_EDITS);
        // Results without their calls are refused by name.
        if ("code" in canonical && canonical.code === "unknown_tool_call") return;
        if ("code" in canonical) throw new Error(`${canonical.code} ${canonical.param}`);
        const formatted = chatUpstream.format(canonical.request, targetOf("openai-chat"));
        if ("code" in formatted) throw new Error(formatted.message);
        translated += 1;
        const again = chatSurface.parse({ ...formatted.body, model: "r" }, 100, NO_HEADERS);
        if ("code" in again) throw new Error(again.code);
        expect(
          again.shape.features.filter((feature) => !request.shape.features.includes(feature)),
        ).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
    expect(translated).toBeGreaterThan(300);
  });

  it("every member of the registry is translated, stripped, refused when parsed, or native", () => {
    for (const name of Object.keys(CHAT_FIELDS)) {
      if (name === "model" || name === "messages") continue;
      const body = { model: "r", messages: [user], [name]: PROBES[name] ?? null };
      expect(body[name], `a probe for ${name}`).not.toBeNull();
      const request = chatSurface.parse(body, 100, NO_HEADERS);
      if ("code" in request) {
        expect(request.param, name).toBe(name);
        continue;
      }
      const canonical = chatSurface.translation.toCanon(request, "reject", NO_EDITS);
      if ("code" in canonical) {
        expect(canonical.param, name).toBe(name);
        continue;
      }
      const left = JSON.stringify(canonical) !== JSON.stringify(toCanon({}));
      expect(left || DEFAULTS.has(name), `${name} left no trace`).toBe(true);
    }
  });
});

/**
 * Members whose translation changes nothing by design: our own, and what only shapes how the answer
 * is given.
 */
const DEFAULTS: ReadonlySet<string> = new Set(["provider", "modalities"]);

const PROBES: Readonly<Record<string, JsonObject["x"]>> = {
  stream: true,
  moderation: { model: "omni-moderation-latest" },
  stream_options: {},
  tools: [tool],
  tool_choice: "auto",
  parallel_tool_calls: false,
  functions: [{ name: "f" }],
  function_call: "auto",
  response_format: { type: "json_object" },
  temperature: 1,
  top_p: 1,
  frequency_penalty: 1,
  presence_penalty: 1,
  logit_bias: { "1": 1 },
  logprobs: true,
  top_logprobs: 1,
  max_tokens: 1,
  max_completion_tokens: 1,
  n: 2,
  seed: 1,
  stop: "x",
  reasoning_effort: "low",
  verbosity: "low",
  modalities: ["text"],
  audio: { voice: "x" },
  prediction: { type: "content" },
  web_search_options: {},
  service_tier: "auto",
  prompt_cache_key: "k",
  prompt_cache_retention: "24h",
  prompt_cache_options: { a: 1 },
  store: true,
  metadata: {},
  user: "u",
  safety_identifier: "s",
  provider: {},
};
