import { describe, expect, it } from "vitest";
import type {
  AssistantPart,
  FilePart,
  GenerateRequest,
  ReasoningRequest,
  Turn,
  UserTurn,
} from "../../../src/canon/generate/generate-request.ts";
import type { ModelRow, ProviderRow } from "../../../src/canon/table.ts";
import { dialect } from "../../../src/dialects/bedrock-converse/dialect.ts";
import { hello, targetWith, text, tool } from "./target.ts";

const { generate: converseUpstream } = dialect;

const user = (...content: UserTurn["content"]): Turn => ({ role: "user", name: null, content });
const assistant = (...content: AssistantPart[]): Turn => ({
  role: "assistant",
  name: null,
  content,
});
const call = (id: string) =>
  ({ kind: "tool_call", id, name: "f", arguments: '{"n":9007199254740993}', cache: null }) as const;
const result = (callId: string, value = "ok") => ({
  callId,
  content: [text(value)],
  isError: null,
  cache: null,
});
const file = (name: string | null, mediaType = "application/pdf"): FilePart => ({
  kind: "file",
  source: { kind: "base64", mediaType, data: "aGk=" },
  name,
  cache: null,
});

function format(
  more: Partial<GenerateRequest>,
  model: Partial<ModelRow> = {},
  provider: Partial<ProviderRow> = {},
) {
  const formatted = converseUpstream.format({ ...hello, ...more }, targetWith(model, provider));
  if ("code" in formatted) throw new Error(formatted.message);
  return { ...formatted, body: JSON.parse(JSON.stringify(formatted.body)) };
}

function refusal(
  more: Partial<GenerateRequest>,
  model: Partial<ModelRow> = {},
  provider: Partial<ProviderRow> = {},
) {
  return converseUpstream.format({ ...hello, ...more }, targetWith(model, provider));
}

describe("a request for Converse", () => {
  it("has only requested members, and names the model in its path", () => {
    expect(format({})).toEqual({
      path: "/model/eu.vendor.model-v1%3A0/converse",
      body: { messages: [{ role: "user", content: [{ text: "hello" }] }] },
      headers: [],
      dropped: [],
    });
    expect(format({ stream: true }).path).toBe("/model/eu.vendor.model-v1%3A0/converse-stream");
    expect(format({ stream: true, purpose: "count" }).path).toBe(
      "/model/eu.vendor.model-v1%3A0/count-tokens",
    );
  });

  it("joins leading system text, and refuses later system text", () => {
    const system = (authority: "system" | "developer", value: string): Turn => ({
      role: "system",
      authority,
      content: [{ ...text(value), cache: { ttl: "1h" } }],
    });
    const { body, dropped } = format({
      turns: [system("system", "a"), system("developer", "b"), user(text("x"))],
    });
    expect(body.system).toEqual([
      { text: "a" },
      { cachePoint: { type: "default", ttl: "1h" } },
      { text: "b" },
      { cachePoint: { type: "default", ttl: "1h" } },
    ]);
    expect(dropped).toEqual(["system_joined", "developer_as_system"]);
    expect(
      refusal({ turns: [user(text("x")), system("system", "late"), user(text("y"))] }),
    ).toMatchObject({
      status: 400,
      code: "feature_not_supported",
    });
  });

  it("alternates roles: tool results join the user's text in one message; merged turns are recorded", () => {
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant(call("1"), call("2")),
        { role: "tool", results: [{ ...result("1"), cache: { ttl: null } }] },
        {
          role: "tool",
          results: [
            { ...result("2"), isError: true },
            { ...result("3"), isError: false },
          ],
        },
        user(text("b")),
      ],
      tools: [tool("f")],
    });
    expect(body.messages[2]).toEqual({
      role: "user",
      content: [
        { toolResult: { toolUseId: "1", content: [{ text: "ok" }] } },
        { cachePoint: { type: "default" } },
        { toolResult: { toolUseId: "2", content: [{ text: "ok" }], status: "error" } },
        { toolResult: { toolUseId: "3", content: [{ text: "ok" }], status: "success" } },
        { text: "b" },
      ],
    });
    expect(dropped).toEqual([]);
    const merged = format({
      turns: [user(text("a")), user(text("b")), assistant(text("c")), assistant(text("d"))],
    });
    expect(merged.body.messages).toEqual([
      { role: "user", content: [{ text: "a" }, { text: "b" }] },
      { role: "assistant", content: [{ text: "c" }, { text: "d" }] },
    ]);
    expect(merged.dropped).toEqual(["turns_merged"]);
  });

  it("cache marks of parts within a result are omitted, on record", () => {
    const marked = { ...result("1"), content: [{ ...text("ok"), cache: { ttl: null } }] };
    const { body, dropped } = format({
      turns: [user(text("a")), assistant(call("1")), { role: "tool", results: [marked] }],
      tools: [tool("f")],
    });
    expect(JSON.stringify(body)).not.toContain("cachePoint");
    expect(dropped).toEqual(["cache_mark_dropped"]);
  });

  it("keeps the numbers of arguments and of schemas", () => {
    const big: unknown = JSON.rawJSON("9007199254740993");
    const schema = {
      type: "object",
      properties: { n: { const: big } },
    } as GenerateRequest["logitBias"] & object;
    const formatted = converseUpstream.format(
      {
        ...hello,
        turns: [user(text("a")), assistant(call("1"))],
        tools: [tool("f")],
        format: { kind: "json_schema", name: null, description: null, schema, strict: null },
      },
      targetWith(),
    );
    const printed = JSON.stringify(formatted);
    expect(printed).toContain('"input":{"n":9007199254740993}');
    expect(printed).toContain('{\\"const\\":9007199254740993}');
  });

  it("rewrites ids that the protocol refuses, equal ones alike, and none onto another", () => {
    const long = "x".repeat(65);
    const ids = ["a:b", "a.b", "call_a_b", "", long, `${long}y`];
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant(...ids.map(call)),
        { role: "tool", results: ids.toReversed().map((id) => result(id)) },
      ],
      tools: [tool("f")],
    });
    const called: string[] = body.messages[1].content.map(
      ({ toolUse }: { toolUse: { toolUseId: string } }) => toolUse.toolUseId,
    );
    const answered = body.messages[2].content.map(
      ({ toolResult }: { toolResult: { toolUseId: string } }) => toolResult.toolUseId,
    );
    expect(new Set(called).size).toBe(ids.length);
    for (const id of called) expect(id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(called[2]).toBe("call_a_b");
    expect(answered).toEqual(called.toReversed());
    expect(dropped).toEqual(["call_ids_rewritten"]);
  });

  it("omits blank texts with their marks, and messages without anything else", () => {
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant({ ...text("\n\n"), cache: { ttl: null } }, call("1")),
        { role: "tool", results: [result("1", "")] },
        assistant(text("")),
        user(text("b")),
      ],
      tools: [tool("f")],
    });
    expect(body.messages.slice(1)).toEqual([
      { role: "assistant", content: [{ toolUse: expect.anything() }] },
      { role: "user", content: [{ toolResult: { toolUseId: "1", content: [] } }, { text: "b" }] },
    ]);
    expect(dropped).toEqual(["empty_text_dropped", "cache_mark_dropped"]);
    // There is nothing else to send, so the provider may judge it.
    expect(format({ turns: [user(text(" "))] }).body.messages).toEqual([
      { role: "user", content: [{ text: " " }] },
    ]);
  });

  it("reasoning is returned as its provider wrote it, or not at all", () => {
    const reasoning = (value: string, signature: string | null): AssistantPart => ({
      kind: "reasoning",
      text: value,
      summary: false,
      signature,
      family: signature === null ? null : "family",
    });
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant(
          reasoning("x", "EqoB"),
          reasoning("", "redacted:EmwK"),
          reasoning("y", null),
          text("b"),
        ),
        { role: "user", name: "ann", content: [text("c")] },
        assistant({ kind: "refusal", text: "no" }),
      ],
    });
    expect(body.messages[1].content).toEqual([
      { reasoningContent: { reasoningText: { text: "x", signature: "EqoB" } } },
      { reasoningContent: { redactedContent: "EmwK" } },
      { text: "b" },
    ]);
    expect(body.messages[3].content).toEqual([{ text: "no" }]);
    expect(dropped).toEqual([
      "unsigned_reasoning_dropped",
      "participant_name_dropped",
      "refusal_as_text",
    ]);
  });
});

describe("images, documents and sounds", () => {
  it("travel as bytes, with their marks", () => {
    const image = {
      kind: "image",
      source: { kind: "base64", mediaType: "IMAGE/JPEG", data: "aGk=" },
      detail: "auto",
      cache: { ttl: "5m" },
    } as const;
    const { body, dropped } = format({
      turns: [
        user(image, file("facts", "text/plain; charset=utf-8"), {
          kind: "audio",
          format: "wav",
          data: "aGk=",
        }),
      ],
    });
    expect(body.messages[0].content).toEqual([
      { image: { format: "jpeg", source: { bytes: "aGk=" } } },
      { cachePoint: { type: "default", ttl: "5m" } },
      { document: { format: "txt", name: "facts", source: { bytes: "aGk=" } } },
      { audio: { format: "wav", source: { bytes: "aGk=" } } },
    ]);
    expect(dropped).toEqual(["media_rewritten", "image_detail_dropped"]);
  });

  it("documents have names of plain characters, each once in a request, in results too", () => {
    const names = [
      "Q3 report (final).pdf",
      "  a  b ",
      "報告.pdf",
      "報告",
      "[x]-1",
      "[x]-1",
      null,
      null,
      "y".repeat(300),
      "y".repeat(201),
    ];
    const { body, dropped } = format({
      turns: [
        user(...names.map((name) => file(name))),
        assistant(call("1")),
        { role: "tool", results: [{ ...result("1"), content: [file("[x]-1")] }] },
      ],
      tools: [tool("f")],
    });
    const documents = [
      ...body.messages[0].content,
      ...body.messages[2].content[0].toolResult.content,
    ];
    expect(documents.map(({ document }) => document.name)).toEqual([
      "Q3 report (final)-pdf",
      "a b",
      "pdf",
      "document",
      "[x]-1",
      "[x]-1 2",
      "document 2",
      "document 3",
      "y".repeat(200),
      `${"y".repeat(198)} 2`,
      "[x]-1 3",
    ]);
    expect(dropped).toEqual(["file_name_changed", "file_name_made"]);
  });

  it.each([
    ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
    ["text/markdown", "md"],
    ["text/csv", "csv"],
  ])("a document of the type %s is sent in the format %s", (mediaType, expected) => {
    expect(
      format({ turns: [user(file("a", mediaType))] }).body.messages[0].content[0].document.format,
    ).toBe(expected);
  });

  it.each<[string, UserTurn["content"][number], string]>([
    [
      "an image",
      {
        kind: "image",
        source: { kind: "base64", mediaType: "image/tiff", data: "" },
        detail: null,
        cache: null,
      },
      "unsupported_image_type",
    ],
    ["a file", file("a", "application/zip"), "unsupported_file_type"],
    ["a sound", { kind: "audio", format: "midi", data: "" }, "unsupported_audio_type"],
    [
      "an image by URL",
      {
        kind: "image",
        source: { kind: "url", url: "https://a.example" },
        detail: null,
        cache: null,
      },
      "feature_not_supported",
    ],
    [
      "a file by URL",
      { ...file("a"), source: { kind: "url", url: "https://a.example" } },
      "feature_not_supported",
    ],
  ])("%s of another kind is refused by name", (_name, part, code) => {
    expect(refusal({ turns: [user(part)] })).toMatchObject({ status: 400, code });
  });
});

describe("tools", () => {
  const history: readonly Turn[] = [
    user(text("a")),
    assistant(call("1")),
    { role: "tool", results: [result("1")] },
  ];
  const placeholder = {
    toolSpec: expect.objectContaining({
      name: "unavailable",
      inputSchema: { json: { type: "object", properties: {} } },
    }),
  };

  it("are sent with their whole schema, strictness where it is requested, and marks", () => {
    const parameters = {
      $defs: { x: {} },
      properties: { a: { $ref: "#/$defs/x" } },
      additionalProperties: false,
    };
    const { body } = format({
      tools: [
        { ...tool("f"), description: "d", parameters, strict: true, cache: { ttl: null } },
        { ...tool("g"), description: "", strict: false },
      ],
    });
    expect(body.toolConfig).toEqual({
      tools: [
        {
          toolSpec: {
            name: "f",
            description: "d",
            inputSchema: { json: { type: "object", ...parameters } },
            strict: true,
          },
        },
        { cachePoint: { type: "default" } },
        { toolSpec: { name: "g", inputSchema: { json: { type: "object", properties: {} } } } },
      ],
    });
  });

  it.each([
    [null, null, undefined, undefined],
    [{ mode: "auto" }, true, undefined, undefined],
    [{ mode: "required" }, null, { any: {} }, undefined],
    [{ mode: "named", name: "g" }, null, { tool: { name: "g" } }, undefined],
    [null, false, undefined, { type: "auto", disable_parallel_tool_use: true }],
    [{ mode: "required" }, false, { any: {} }, { type: "any", disable_parallel_tool_use: true }],
    [
      { mode: "named", name: "g" },
      false,
      { tool: { name: "g" } },
      { type: "tool", name: "g", disable_parallel_tool_use: true },
    ],
  ] as const)(
    "the choice %j with parallel calls %j is sent as %j",
    (toolChoice, parallelToolCalls, expected, additional) => {
      const { body, dropped } = format({
        tools: [tool("f"), tool("g")],
        toolChoice,
        parallelToolCalls,
      });
      expect(body.toolConfig.toolChoice).toEqual(expected);
      expect(body.additionalModelRequestFields?.tool_choice).toEqual(additional);
      expect(dropped).toEqual([]);
    },
  );

  it("only allowed tools are sent", () => {
    const tools = [tool("f"), tool("g")];
    const some = format({ tools, toolChoice: { mode: "allowed", names: ["g"], required: true } });
    expect(
      some.body.toolConfig.tools.map(
        ({ toolSpec }: { toolSpec: { name: string } }) => toolSpec.name,
      ),
    ).toEqual(["g"]);
    expect([some.body.toolConfig.toolChoice, some.dropped]).toEqual([
      { any: {} },
      ["allowed_tools_filtered"],
    ]);
    const all = format({
      tools,
      toolChoice: { mode: "allowed", names: ["g", "f"], required: false },
    });
    expect([all.body.toolConfig.toolChoice, all.dropped]).toEqual([undefined, []]);
  });

  it("the choice `none` withholds the tools, and sends a placeholder where the history has calls", () => {
    const without = format({
      tools: [tool("f")],
      toolChoice: { mode: "none" },
      parallelToolCalls: false,
    });
    expect([without.body.toolConfig, without.body.additionalModelRequestFields]).toEqual([
      undefined,
      undefined,
    ]);
    expect(without.dropped).toEqual(["tools_withheld"]);
    const within = format({ turns: history, tools: [tool("f")], toolChoice: { mode: "none" } });
    expect(within.body.toolConfig).toEqual({ tools: [placeholder] });
    expect(within.dropped).toEqual(["tools_withheld", "tool_placeholder_sent"]);
    const forgotten = format({ turns: history });
    expect(forgotten.body.toolConfig).toEqual({ tools: [placeholder] });
    expect(forgotten.dropped).toEqual(["tool_placeholder_sent"]);
    expect(format({ toolChoice: { mode: "required" } }).dropped).toEqual(["hint_dropped"]);
  });
});

describe("settings of the answer", () => {
  it("limits and sampling are the configuration of the inference", () => {
    const { body } = format({
      maxOutputTokens: 5,
      temperature: 0,
      topP: 0.5,
      stop: ["a", "b"],
      topK: 40,
    });
    expect(body.inferenceConfig).toEqual({
      maxTokens: 5,
      temperature: 0,
      topP: 0.5,
      stopSequences: ["a", "b"],
    });
    expect(body.additionalModelRequestFields).toEqual({ top_k: 40 });
    const { body: other } = format({ topK: 40 }, {}, { flags: ["reasoning_config_field"] });
    expect(other.additionalModelRequestFields).toEqual({ inferenceConfig: { topK: 40 } });
  });

  it("a schema is a text beside the effort", () => {
    const schema = { type: "object", properties: {}, additionalProperties: false };
    const { body, dropped } = format({
      format: { kind: "json_schema", name: "n", description: "d", schema, strict: true },
      reasoning: { effort: "low", budget: null, adaptive: false, display: null },
    });
    expect(body.outputConfig).toEqual({
      effort: "low",
      textFormat: {
        type: "json_schema",
        structure: { jsonSchema: { schema: JSON.stringify(schema), name: "n", description: "d" } },
      },
    });
    expect(dropped).toEqual(["schema_name_dropped"]);
  });

  it.each([
    ["default", { type: "default" }, []],
    ["flex", { type: "flex" }, []],
    ["standard_only", { type: "default" }, ["service_tier_changed"]],
    ["auto", undefined, ["service_tier_changed"]],
    ["constructor", undefined, ["service_tier_changed"]],
  ])(
    "the service tier %s is sent as %j, with the dropped fields %j",
    (serviceTier, expected, dropped) => {
      const made = format({
        hints: { serviceTier, promptCacheKey: null, promptCacheRetention: null },
      });
      expect([made.body.serviceTier, made.dropped]).toEqual([expected, dropped]);
    },
  );

  it("cache hints are omitted, on record", () => {
    expect(
      format({ hints: { serviceTier: null, promptCacheKey: "k", promptCacheRetention: null } })
        .dropped,
    ).toEqual(["cache_hint_dropped"]);
  });

  it.each<Partial<GenerateRequest>>([
    { seed: 0 },
    { frequencyPenalty: 0 },
    { presencePenalty: 1 },
    { logitBias: {} },
    { logprobs: 0 },
    { verbosity: "low" },
    { format: { kind: "json_object" } },
  ])("members that the protocol lacks are refused even if no earlier check refused: %j", (more) => {
    expect(refusal(more)).toMatchObject({ status: 400, code: "feature_not_supported" });
  });
});

describe("the requested reasoning", () => {
  const requested = (more: Partial<ReasoningRequest>): ReasoningRequest => ({
    effort: "unspecified",
    budget: null,
    adaptive: false,
    display: null,
    ...more,
  });
  const table = { efforts: ["high"], budgets: { low: 1_500, high: 9_000 } } as const;

  it.each<[string, Partial<ReasoningRequest>, ModelRow["reasoning"], object, readonly string[]]>([
    ["no effort", { effort: "none" }, null, { fields: { thinking: { type: "disabled" } } }, []],
    [
      "a level",
      { effort: "max" },
      null,
      { fields: { thinking: { type: "adaptive" } }, effort: "max" },
      [],
    ],
    ["adaptive", { adaptive: true }, null, { fields: { thinking: { type: "adaptive" } } }, []],
    [
      "a budget",
      { budget: 2_000 },
      null,
      { fields: { thinking: { type: "enabled", budget_tokens: 2_000 } } },
      [],
    ],
    [
      "a level of the table",
      { effort: "low" },
      table,
      { fields: { thinking: { type: "enabled", budget_tokens: 1_500 } } },
      ["effort_as_budget"],
    ],
    [
      "a level that the model takes",
      { effort: "high" },
      table,
      { fields: { thinking: { type: "adaptive" } }, effort: "high" },
      [],
    ],
    [
      "how it is shown",
      { effort: "low", display: "detailed" },
      null,
      { fields: { thinking: { type: "adaptive" } }, effort: "low" },
      ["reasoning_display_dropped"],
    ],
    ["nothing", {}, null, {}, []],
  ])("%s: %j, for a model with %j, is sent as %j", (_name, reasoning, model, expected, dropped) => {
    const { body, dropped: lost } = format(
      { reasoning: requested(reasoning) },
      { reasoning: model },
    );
    const { additionalModelRequestFields: fields, outputConfig } = body;
    expect(JSON.parse(JSON.stringify({ fields, effort: outputConfig?.effort }))).toEqual(expected);
    expect(lost).toEqual(dropped);
  });

  it.each<[string, Partial<ReasoningRequest>, object | undefined, readonly string[]]>([
    [
      "reasoning_config_field",
      { effort: "low" },
      { reasoningConfig: { type: "enabled", maxReasoningEffort: "low" } },
      [],
    ],
    ["reasoning_config_field", { effort: "none" }, { reasoningConfig: { type: "disabled" } }, []],
    ["reasoning_config_field", { adaptive: true }, undefined, ["hint_dropped"]],
    ["reasoning_effort_field", { effort: "minimal" }, { reasoning_effort: "minimal" }, []],
    [
      "reasoning_effort_field",
      { budget: 10_000 },
      { reasoning_effort: "high" },
      ["budget_as_effort"],
    ],
    [
      "reasoning_effort_field",
      { budget: 1_100 },
      { reasoning_effort: "high" },
      ["budget_as_effort"],
    ],
  ])("with the flag %s, %j is sent as %j", (flag, reasoning, fields, dropped) => {
    const made = format(
      { reasoning: requested(reasoning) },
      { reasoning: table },
      { flags: [flag] },
    );
    expect(made.body.additionalModelRequestFields).toEqual(fields);
    expect([made.body.outputConfig, made.dropped]).toEqual([undefined, dropped]);
  });

  it("a budget that matches no level is refused", () => {
    const refused = refusal(
      { reasoning: requested({ budget: 2_000 }) },
      {},
      { flags: ["reasoning_effort_field"] },
    );
    expect(refused).toMatchObject({ status: 400, code: "invalid_reasoning_budget" });
  });

  it("a budget below the minimum, or not below the caller's limit, is refused", () => {
    expect(refusal({ reasoning: requested({ budget: 1_023 }) })).toMatchObject({
      code: "invalid_reasoning_budget",
    });
    expect(
      refusal({ reasoning: requested({ budget: 2_000 }), maxOutputTokens: 2_000 }),
    ).toMatchObject({
      code: "invalid_reasoning_budget",
      message: expect.not.stringMatching(/\d/),
    });
    expect(
      format({ reasoning: requested({ budget: 2_000 }), maxOutputTokens: 2_001 }).body
        .inferenceConfig,
    ).toEqual({
      maxTokens: 2_001,
    });
  });

  it("a count has the fields of the model, and no configuration of the answer", () => {
    const { body } = format({
      purpose: "count",
      reasoning: requested({ effort: "high" }),
      temperature: 1,
      topK: 3,
      format: { kind: "json_schema", name: null, description: null, schema: {}, strict: null },
    });
    expect(body).toEqual({
      input: {
        converse: {
          messages: [{ role: "user", content: [{ text: "hello" }] }],
          additionalModelRequestFields: {
            thinking: { type: "adaptive" },
            output_config: { effort: "high" },
          },
        },
      },
    });
  });
});

describe("a budget for thinking in the middle of an answer", () => {
  const thought = (signature: string | null): AssistantPart => ({
    kind: "reasoning",
    text: "t",
    summary: false,
    signature,
    family: signature === null ? null : "family",
  });
  const answered: Turn = { role: "tool", results: [result("c1")] };
  const more: Turn = { role: "tool", results: [result("c2")] };
  const budget = { effort: "unspecified", budget: 2_000, adaptive: false, display: null } as const;
  const on = { type: "enabled", budget_tokens: 2_000 };
  const off = { type: "disabled" };

  it.each<[string, readonly Turn[], object]>([
    ["that began without thinking is omitted", [assistant(call("c1")), answered], off],
    [
      "whose thinking is unsigned is omitted",
      [assistant(thought(null), call("c1")), answered],
      off,
    ],
    [
      "that began without thinking is omitted after several calls",
      [assistant(call("c1")), answered, assistant(thought("sig"), call("c2")), more],
      off,
    ],
    [
      "is omitted where a user adds to the results",
      [assistant(call("c1")), answered, user(text("and?"))],
      off,
    ],
    ["that began with thinking stays", [assistant(thought("sig"), call("c1")), answered], on],
    [
      "that began with thinking stays after several calls",
      [assistant(thought("sig"), call("c1")), answered, assistant(call("c2")), more],
      on,
    ],
    [
      "stays where the answer with the calls has ended",
      [assistant(call("c1")), answered, assistant(text("done")), user(text("and?"))],
      on,
    ],
    ["stays where nothing was called", [assistant(text("a")), user(text("b"))], on],
  ])("%s", (_title, turns, thinking) => {
    const { body, dropped } = format({
      turns: [user(text("a")), ...turns],
      reasoning: budget,
      maxOutputTokens: 4_000,
      tools: [tool("f")],
    });
    expect(body.additionalModelRequestFields?.thinking).toEqual(thinking);
    expect(dropped.includes("reasoning_turned_off")).toBe(thinking === off);
  });
});
