import { describe, expect, it } from "vitest";
import type {
  AssistantPart,
  GenerateRequest,
  ReasoningRequest,
  Tool,
  Turn,
  UserTurn,
} from "../../../src/canon/generate/generate-request.ts";
import type { ModelRow, ProviderRow } from "../../../src/canon/table.ts";
import { dialect } from "../../../src/dialects/anthropic-messages/dialect.ts";
import { canon, hello, targetWith } from "./target.ts";

const { generate: messagesUpstream } = dialect;

const plain = canon(hello);
const text = (value: string) => ({ kind: "text", text: value, cache: null }) as const;
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
const tool = (name: string): Tool => ({
  name,
  description: null,
  parameters: null,
  strict: null,
  cache: null,
});

function format(
  more: Partial<GenerateRequest>,
  model: Partial<ModelRow> = {},
  provider: Partial<ProviderRow> = {},
) {
  const formatted = messagesUpstream.format({ ...plain, ...more }, targetWith(model, provider));
  if ("code" in formatted) throw new Error(formatted.message);
  return { ...formatted, body: JSON.parse(JSON.stringify(formatted.body)) };
}

function refusal(more: Partial<GenerateRequest>, model: Partial<ModelRow> = {}) {
  return messagesUpstream.format({ ...plain, ...more }, targetWith(model));
}

describe("a request as messages", () => {
  it("has only requested members", () => {
    expect(format({})).toEqual({
      path: "/v1/messages",
      body: {
        model: "upstream-a",
        max_tokens: 100,
        messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }],
      },
      headers: ["anthropic-version", "2023-06-01"],
      dropped: [],
    });
    expect(format({}, {}, { flags: ["version_2026_10_21"] }).headers[1]).toBe("2026-10-21");
  });

  it("gets the model's limit where the caller has none", () => {
    const { body, dropped } = format({ maxOutputTokens: null });
    expect([body.max_tokens, dropped]).toEqual([4_096, ["output_limit_defaulted"]]);
    expect(
      refusal({ maxOutputTokens: null }, { defaultMaxOutputTokens: null, maxOutputTokens: null }),
    ).toMatchObject({
      status: 400,
      code: "missing_output_limit",
    });
  });

  it("joins leading system text, and keeps later system text in place", () => {
    const system = (authority: "system" | "developer", value: string): Turn => ({
      role: "system",
      authority,
      content: [text(value)],
    });
    expect(format({ turns: [system("system", "a"), user(text("x"))] }).body.system).toBe("a");
    const { body, dropped } = format({
      turns: [
        system("system", "a"),
        system("developer", "b"),
        user(text("x")),
        system("system", "c"),
      ],
    });
    expect(body.system).toEqual([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]);
    expect(body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "x" }] },
      { role: "system", content: [{ type: "text", text: "c" }] },
    ]);
    expect(dropped).toEqual(["system_joined", "developer_as_system"]);
  });

  it("tool results join the user's text in one message; turns of one role are merged and recorded", () => {
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant(call("1"), call("2")),
        { role: "tool", results: [result("1")] },
        { role: "tool", results: [{ ...result("2"), isError: true }] },
        user(text("b")),
      ],
    });
    expect(body.messages[2]).toEqual({
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "1", content: "ok" },
        { type: "tool_result", tool_use_id: "2", content: "ok", is_error: true },
        { type: "text", text: "b" },
      ],
    });
    expect(dropped).toEqual([]);
    const merged = format({
      turns: [user(text("a")), user(text("b")), assistant(text("c")), assistant(text("d"))],
    });
    expect(merged.body.messages).toHaveLength(2);
    expect(merged.dropped).toEqual(["turns_merged"]);
  });

  it("keeps the numbers of arguments", () => {
    const formatted = messagesUpstream.format(
      { ...plain, turns: [user(text("a")), assistant(call("1"))] },
      targetWith(),
    );
    expect(JSON.stringify(formatted)).toContain('"input":{"n":9007199254740993}');
  });

  it("rewrites ids that the protocol refuses, equal ones alike, and none onto another", () => {
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant(call("a:b"), call("a.b"), call("call_a_b"), call("")),
        { role: "tool", results: [result("a.b"), result("a:b"), result("call_a_b"), result("")] },
      ],
    });
    const called = body.messages[1].content.map((block: { id: string }) => block.id);
    const answers = body.messages[2].content.map(
      (block: { tool_use_id: string }) => block.tool_use_id,
    );
    expect(new Set(called).size).toBe(4);
    expect(called.every((id: string) => /^[a-zA-Z0-9_-]+$/.test(id))).toBe(true);
    expect(called[2]).toBe("call_a_b");
    expect(answers).toEqual([called[1], called[0], called[2], called[3]]);
    expect(dropped).toEqual(["call_ids_rewritten"]);
  });

  it("omits blank texts, and messages that are then empty", () => {
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant(text("\n\n"), call("1")),
        { role: "tool", results: [result("1", "")] },
        assistant(text("")),
        user(text("b")),
      ],
    });
    expect(body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "a" }] },
      { role: "assistant", content: [expect.objectContaining({ type: "tool_use" })] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "1" },
          { type: "text", text: "b" },
        ],
      },
    ]);
    expect(dropped).toEqual(["empty_text_dropped"]);
    // There is nothing else to send, so the provider may judge it.
    expect(format({ turns: [user(text(" "))] }).body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: " " }] },
    ]);
  });

  it("reasoning is returned as its provider wrote it, or not at all", () => {
    const reasoning = (value: string, signature: string | null): AssistantPart => ({
      kind: "reasoning",
      text: value,
      summary: false,
      signature,
      family: signature === null ? null : "anthropic",
    });
    const { body, dropped } = format({
      turns: [
        user(text("a")),
        assistant(
          reasoning("x", "EqoB"),
          reasoning("", "EqoC"),
          reasoning("", "redacted:EmwK"),
          reasoning("y", null),
          text("b"),
        ),
      ],
    });
    expect(body.messages[1].content).toEqual([
      { type: "thinking", thinking: "x", signature: "EqoB" },
      { type: "thinking", thinking: "", signature: "EqoC" },
      { type: "redacted_thinking", data: "EmwK" },
      { type: "text", text: "b" },
    ]);
    expect(dropped).toEqual(["unsigned_reasoning_dropped"]);
  });

  it("a refusal in the history is text, and names of authors are omitted", () => {
    const { body, dropped } = format({
      turns: [
        { role: "user", name: "ann", content: [text("a")] },
        assistant({ kind: "refusal", text: "no" }),
      ],
    });
    expect(body.messages[1].content).toEqual([{ type: "text", text: "no" }]);
    expect(dropped).toEqual(["participant_name_dropped", "refusal_as_text"]);
  });

  it("images and files travel by value or by name, with their marks", () => {
    const base64 = (mediaType: string, data: string) =>
      ({ kind: "base64", mediaType, data }) as const;
    const { body, dropped } = format({
      turns: [
        user(
          {
            kind: "image",
            source: base64("image/png", "aGk="),
            detail: "auto",
            cache: { ttl: null },
          },
          {
            kind: "image",
            source: { kind: "url", url: "https://a.example/a.png" },
            detail: null,
            cache: null,
          },
          {
            kind: "file",
            source: base64("application/pdf", "aGk="),
            name: "n.pdf",
            cache: { ttl: "1h" },
          },
          {
            kind: "file",
            source: base64("text/plain; charset=utf-8", "w6k="),
            name: null,
            cache: null,
          },
          {
            kind: "file",
            source: { kind: "url", url: "https://a.example/a.pdf" },
            name: null,
            cache: null,
          },
        ),
      ],
    });
    expect(body.messages[0].content).toEqual([
      {
        type: "image",
        source: { type: "base64", media_type: "image/png", data: "aGk=" },
        cache_control: { type: "ephemeral" },
      },
      { type: "image", source: { type: "url", url: "https://a.example/a.png" } },
      {
        type: "document",
        source: { type: "base64", media_type: "application/pdf", data: "aGk=" },
        title: "n.pdf",
        cache_control: { type: "ephemeral", ttl: "1h" },
      },
      { type: "document", source: { type: "text", media_type: "text/plain", data: "é" } },
      { type: "document", source: { type: "url", url: "https://a.example/a.pdf" } },
    ]);
    expect(dropped).toEqual(["image_detail_dropped"]);
  });

  it.each(["%%%", "//8="])(
    "a text file that is not text is refused with invalid_file_data: %s",
    (data) => {
      const file = {
        kind: "file",
        source: { kind: "base64", mediaType: "text/plain", data },
        name: null,
        cache: null,
      } as const;
      for (const turns of [
        [user(file)],
        [{ role: "tool", results: [{ ...result("1"), content: [file] }] }] as const,
      ]) {
        expect(refusal({ turns })).toMatchObject({ status: 400, code: "invalid_file_data" });
      }
    },
  );

  it("tools are sent with their whole schema", () => {
    const parameters = {
      $defs: { x: {} },
      properties: { a: { $ref: "#/$defs/x" } },
      additionalProperties: false,
    };
    const { body } = format({
      tools: [
        { ...tool("f"), description: "d", parameters, strict: true, cache: { ttl: "5m" } },
        tool("g"),
      ],
    });
    expect(body.tools).toEqual([
      {
        name: "f",
        description: "d",
        input_schema: { type: "object", ...parameters },
        strict: true,
        cache_control: { type: "ephemeral", ttl: "5m" },
      },
      { name: "g", input_schema: { type: "object", properties: {} } },
    ]);
  });

  it.each([
    [null, null, undefined],
    [null, false, { type: "auto", disable_parallel_tool_use: true }],
    [{ mode: "auto" }, true, { type: "auto", disable_parallel_tool_use: false }],
    [{ mode: "none" }, false, { type: "none" }],
    [{ mode: "required" }, null, { type: "any" }],
    [
      { mode: "named", name: "g" },
      false,
      { type: "tool", name: "g", disable_parallel_tool_use: true },
    ],
  ] as const)(
    "the tool choice %j with parallel calls %j is sent as %j",
    (toolChoice, parallelToolCalls, expected) => {
      expect(
        format({ tools: [tool("f"), tool("g")], toolChoice, parallelToolCalls }).body.tool_choice,
      ).toEqual(expected);
    },
  );

  it("only the allowed tools are sent", () => {
    const tools = [tool("f"), tool("g")];
    const some = format({ tools, toolChoice: { mode: "allowed", names: ["g"], required: true } });
    expect(some.body.tools.map(({ name }: Tool) => name)).toEqual(["g"]);
    expect([some.body.tool_choice, some.dropped]).toEqual([
      { type: "any" },
      ["allowed_tools_filtered"],
    ]);
    const all = format({
      tools,
      toolChoice: { mode: "allowed", names: ["g", "f"], required: false },
    });
    expect([all.body.tool_choice, all.dropped]).toEqual([{ type: "auto" }, []]);
    expect(format({ toolChoice: { mode: "auto" } }).body.tool_choice).toBeUndefined();
  });

  it("a schema is requested beside the effort", () => {
    const schema = { type: "object", properties: {}, additionalProperties: false };
    const { body, dropped } = format({
      format: { kind: "json_schema", name: "n", description: null, schema, strict: true },
      reasoning: { effort: "low", budget: null, adaptive: false, display: null },
    });
    expect(body.output_config).toEqual({ effort: "low", format: { type: "json_schema", schema } });
    expect(dropped).toEqual(["schema_name_dropped"]);
  });

  it("a service tier is mapped where the protocol has it, and other hints are omitted on record", () => {
    const hints = (serviceTier: string | null) =>
      format({ hints: { serviceTier, promptCacheKey: null, promptCacheRetention: null } });
    expect([hints("auto").body.service_tier, hints("auto").dropped]).toEqual(["auto", []]);
    expect([hints("default").body.service_tier, hints("default").dropped]).toEqual([
      "standard_only",
      ["service_tier_changed"],
    ]);
    expect([hints("flex").body.service_tier, hints("flex").dropped]).toEqual([
      undefined,
      ["service_tier_changed"],
    ]);
    expect([hints("constructor").body.service_tier]).toEqual([undefined]);
    expect(
      format({ hints: { serviceTier: null, promptCacheKey: "k", promptCacheRetention: null } })
        .dropped,
    ).toEqual(["cache_hint_dropped"]);
  });

  it("a count has no limit, no stream and no sampling", () => {
    const { body, path } = format({
      purpose: "count",
      maxOutputTokens: null,
      temperature: 1,
      stop: ["a"],
      tools: [tool("f")],
      reasoning: { effort: "unspecified", budget: 2_000, adaptive: false, display: null },
    });
    expect(path).toBe("/v1/messages/count_tokens");
    expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "thinking", "tools"]);
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
  const table = {
    efforts: ["high"],
    budgets: { low: 1_500, high: 9_000, minimal: 1_024 },
  } as const;

  it.each<[string, Partial<ReasoningRequest>, ModelRow["reasoning"], object, readonly string[]]>([
    ["no effort", { effort: "none" }, null, { thinking: { type: "disabled" } }, []],
    [
      "a level",
      { effort: "xhigh" },
      null,
      { thinking: { type: "adaptive" }, output_config: { effort: "xhigh" } },
      [],
    ],
    ["adaptive", { adaptive: true }, null, { thinking: { type: "adaptive" } }, []],
    [
      "a budget",
      { budget: 2_000 },
      null,
      { thinking: { type: "enabled", budget_tokens: 2_000 } },
      [],
    ],
    [
      "a budget and a level",
      { budget: 2_000, effort: "low" },
      null,
      { thinking: { type: "enabled", budget_tokens: 2_000 }, output_config: { effort: "low" } },
      [],
    ],
    [
      "a level of the table",
      { effort: "low" },
      table,
      { thinking: { type: "enabled", budget_tokens: 1_500 } },
      ["effort_as_budget"],
    ],
    [
      "a level that the model takes",
      { effort: "high" },
      table,
      { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
      [],
    ],
    [
      "a level that the protocol does not have",
      { effort: "minimal" },
      { efforts: null, budgets: { minimal: 1_024 } },
      { thinking: { type: "enabled", budget_tokens: 1_024 } },
      ["effort_as_budget"],
    ],
    [
      "how it is shown",
      { effort: "low", display: "detailed" },
      null,
      { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "low" } },
      ["reasoning_display_dropped"],
    ],
    ["how nothing is shown", { display: "auto" }, null, {}, ["reasoning_display_dropped"]],
  ])("%s: %j, for a model with %j, is sent as %j", (_name, reasoning, model, expected, dropped) => {
    const { body, dropped: lost } = format(
      { reasoning: requested(reasoning), maxOutputTokens: 10_000 },
      { reasoning: model },
    );
    const { thinking, output_config } = body;
    expect(JSON.parse(JSON.stringify({ thinking, output_config }))).toEqual(expected);
    expect(lost).toEqual(dropped);
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
  });

  it("a limit that was not requested is raised for the thinking budget, up to the model's", () => {
    const roomy = format(
      { reasoning: requested({ budget: 9_000 }), maxOutputTokens: null },
      { maxOutputTokens: 64_000 },
    );
    expect(roomy.body.max_tokens).toBe(13_096);
    const tight = format(
      { reasoning: requested({ budget: 9_000 }), maxOutputTokens: null },
      { maxOutputTokens: 10_000 },
    );
    expect(tight.body.max_tokens).toBe(10_000);
    expect(
      refusal(
        { reasoning: requested({ budget: 9_000 }), maxOutputTokens: null },
        { maxOutputTokens: 9_000 },
      ),
    ).toMatchObject({ code: "invalid_reasoning_budget" });
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
    expect(body.thinking).toEqual(thinking);
    expect(dropped.includes("reasoning_turned_off")).toBe(thinking === off);
  });
});
