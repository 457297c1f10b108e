import { describe, expect, it } from "vitest";
import type {
  AssistantPart,
  GenerateRequest,
  TextPart,
  Tool,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import { dialect } from "../../../src/dialects/cohere-chat/dialect.ts";
import type { Target } from "../../../src/dialects/dialect.ts";
import { asking, FACTS, target, targetWith } from "./target.ts";

const { generate: cohereChatUpstream } = dialect;

const say = (text: string): TextPart => ({ kind: "text", text, cache: null });
const call: AssistantPart = {
  kind: "tool_call",
  id: "a:1/b",
  name: "look_up",
  arguments: '{"n":12345678901234567890}',
  cache: null,
};
const user: Turn = { role: "user", name: null, content: [say("go on")] };

function tool(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: null,
    parameters: { type: "object", properties: {} },
    strict: null,
    cache: null,
    ...more,
  };
}

function printed(more: Partial<GenerateRequest>, to: Target = target) {
  const formatted = cohereChatUpstream.format(asking(more), to);
  if ("code" in formatted) throw new Error(`${formatted.code} ${formatted.message}`);
  return formatted;
}

function answered(...content: readonly AssistantPart[]): Partial<GenerateRequest> {
  return { turns: [{ role: "assistant", name: null, content }, user] };
}

function messagesOf(more: Partial<GenerateRequest>, to: Target = target): unknown {
  return printed(more, to).body.messages;
}

describe("a request", () => {
  it("is sent to one path, with only the requested members", () => {
    expect(printed({})).toEqual({
      path: "/v2/chat",
      headers: [],
      body: { model: "command-a", messages: [{ role: "user", content: "hello" }], stream: false },
      dropped: [],
    });
  });

  it("has every number under this protocol's name", () => {
    const { body, dropped } = printed({
      stream: true,
      maxOutputTokens: 9,
      temperature: 1,
      topP: 0.5,
      topK: 500,
      seed: 0,
      frequencyPenalty: 1,
      presencePenalty: 0.5,
      stop: ["a", "b", "c", "d", "e"],
      logprobs: 0,
    });
    expect(body).toMatchObject({
      stream: true,
      max_tokens: 9,
      temperature: 1,
      p: 0.5,
      k: 500,
      seed: 0,
      frequency_penalty: 1,
      presence_penalty: 0.5,
      stop_sequences: ["a", "b", "c", "d", "e"],
      logprobs: true,
    });
    expect(dropped).toEqual([]);
  });

  it.each<[string, Partial<GenerateRequest>]>([
    ["temperature", { temperature: 1.01 }],
    ["top_p", { topP: 0.995 }],
    ["top_p", { topP: 0 }],
    ["top_k", { topK: 501 }],
    ["seed", { seed: -1 }],
    ["frequency_penalty", { frequencyPenalty: -0.1 }],
    ["presence_penalty", { presencePenalty: 1.1 }],
    ["stop", { stop: ["a", "b", "c", "d", "e", "f"] }],
  ])(
    "is refused with a %s outside the protocol's range, and the value is never clamped",
    (param, more) => {
      expect(cohereChatUpstream.format(asking(more), target)).toMatchObject({
        status: 400,
        code: "unsupported_value",
        param,
      });
    },
  );

  it("omits penalties of 0, and limits a top_p of 1 to 0.99", () => {
    const { body, dropped } = printed({ topP: 1, frequencyPenalty: 0, presencePenalty: 0 });
    expect(body).toEqual({
      model: "command-a",
      messages: [{ role: "user", content: "hello" }],
      stream: false,
      p: 0.99,
    });
    expect(dropped).toEqual(["top_p_limited"]);
  });

  it("reports alternatives, tiers, cache keys and names that this protocol does not have", () => {
    const { body, dropped } = printed({
      logprobs: 3,
      hints: { serviceTier: "flex", promptCacheKey: "k", promptCacheRetention: null },
      turns: [{ ...user, name: "ann", content: [{ ...say("hi"), cache: { ttl: null } }] }],
    });
    expect(body).toEqual({
      model: "command-a",
      messages: [{ role: "user", content: "hi" }],
      stream: false,
      logprobs: true,
    });
    expect(dropped.toSorted()).toEqual([
      "cache_hint_dropped",
      "cache_mark_dropped",
      "logprobs_coarser",
      "participant_name_dropped",
      "service_tier_changed",
    ]);
  });
});

describe("messages", () => {
  it("keep system text in place; developer messages are system messages", () => {
    const turns: Turn[] = [
      { role: "system", authority: "system", content: [say("one"), say("two")] },
      user,
      { role: "system", authority: "developer", content: [say("three")] },
      user,
    ];
    const { body, dropped } = printed({ turns });
    expect(body.messages).toEqual([
      {
        role: "system",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "two" },
        ],
      },
      { role: "user", content: "go on" },
      { role: "system", content: "three" },
      { role: "user", content: "go on" },
    ]);
    expect(dropped).toEqual(["developer_as_system"]);
  });

  it("carry images by value and by name, and how closely to look", () => {
    const content = [
      {
        kind: "image",
        source: { kind: "base64", mediaType: "image/png", data: "AAAA" },
        detail: null,
        cache: null,
      },
      {
        kind: "image",
        source: { kind: "url", url: "https://i.example/a.png" },
        detail: "low",
        cache: null,
      },
    ] as const;
    expect(messagesOf({ turns: [{ role: "user", name: null, content }] })).toEqual([
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "image_url", image_url: { url: "https://i.example/a.png", detail: "low" } },
        ],
      },
    ]);
  });

  it("return the model's plan: the last text before its calls", () => {
    expect(messagesOf(answered(say("I will look it up."), call))).toMatchObject([
      {
        role: "assistant",
        tool_plan: "I will look it up.",
        tool_calls: [
          {
            id: "a:1/b",
            type: "function",
            function: { name: "look_up", arguments: '{"n":12345678901234567890}' },
          },
        ],
      },
      {},
    ]);
    expect(messagesOf(answered(say("One."), say("Two."), call))).toMatchObject([
      { content: "One.", tool_plan: "Two." },
      {},
    ]);
    expect(messagesOf(answered(say("Just text.")))).toEqual([
      { role: "assistant", content: "Just text." },
      { role: "user", content: "go on" },
    ]);
  });

  it("with a text after a call are sent with the text first, on record", () => {
    expect(printed(answered(call, say("after"))).dropped).toEqual(["parts_reordered"]);
  });

  it("return unsigned reasoning to reasoning models, and record it as dropped for others", () => {
    const thought: AssistantPart = {
      kind: "reasoning",
      text: "hm",
      summary: false,
      signature: null,
      family: null,
    };
    expect(messagesOf(answered(thought, say("yes")))).toMatchObject([
      {
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "yes" },
        ],
      },
      {},
    ]);
    expect(printed(answered({ ...thought, summary: true }, say("yes"))).dropped).toEqual([
      "reasoning_display_dropped",
    ]);
    const thoughtless = targetWith({}, ["tools"]);
    const { body, dropped } = printed(answered(thought, say("yes")), thoughtless);
    expect(body.messages).toMatchObject([{ content: "yes" }, {}]);
    expect(dropped).toEqual(["unsigned_reasoning_dropped"]);
  });

  it("answer every call in texts, and omit on record that a tool failed", () => {
    const results = [
      { callId: "1", content: [say("a"), say("b")], isError: true, cache: null },
      { callId: "2", content: [say("")], isError: null, cache: null },
    ];
    const { body, dropped } = printed({ turns: [{ role: "tool", results }] });
    expect(body.messages).toEqual([
      {
        role: "tool",
        tool_call_id: "1",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      { role: "tool", tool_call_id: "2", content: "" },
    ]);
    expect(dropped).toEqual(["empty_text_dropped", "tool_error_flag_dropped"]);
  });

  it("omit blank texts, and messages that are then empty", () => {
    const blank: Turn = { role: "user", name: null, content: [say(" \n")] };
    const { body, dropped } = printed({ turns: [blank, user] });
    expect(body.messages).toEqual([{ role: "user", content: "go on" }]);
    expect(dropped).toEqual(["empty_text_dropped"]);
    expect(messagesOf({ turns: [blank] })).toEqual([{ role: "user", content: " \n" }]);
  });

  it.each<[string, Turn]>([
    [
      "files",
      {
        role: "user",
        name: null,
        content: [
          {
            kind: "file",
            source: { kind: "url", url: "https://f.example" },
            name: null,
            cache: null,
          },
        ],
      },
    ],
    [
      "audio",
      { role: "user", name: null, content: [{ kind: "audio", format: "wav", data: "AAAA" }] },
    ],
    [
      "signed reasoning",
      {
        role: "assistant",
        name: null,
        content: [{ kind: "reasoning", text: "", summary: false, signature: "s", family: "f" }],
      },
    ],
  ])("refuse %s by name", (named, turn) => {
    expect(cohereChatUpstream.format(asking({ turns: [turn] }), target)).toMatchObject({
      status: 400,
      code: "feature_not_supported",
      message: expect.stringContaining(named),
    });
  });
});

describe("tools", () => {
  const tools = [tool("look_up"), tool("send", { description: "Sends.", parameters: null })];

  it("carry whole schemas, and an object without members where there is none", () => {
    expect(printed({ tools }).body.tools).toEqual([
      {
        type: "function",
        function: { name: "look_up", parameters: { type: "object", properties: {} } },
      },
      {
        type: "function",
        function: {
          name: "send",
          description: "Sends.",
          parameters: { type: "object", properties: {} },
        },
      },
    ]);
  });

  it.each<[GenerateRequest["toolChoice"], unknown]>([
    [null, undefined],
    [{ mode: "auto" }, undefined],
    [{ mode: "none" }, "NONE"],
    [{ mode: "required" }, "REQUIRED"],
  ])("choose %j as %j", (toolChoice, expected) => {
    expect(printed({ tools, toolChoice }).body.tool_choice).toBe(expected);
  });

  it.each([true, false])("send only those that are allowed (required: %s)", (required) => {
    const { body, dropped } = printed({
      tools,
      toolChoice: { mode: "allowed", names: ["send"], required },
    });
    expect(body).toMatchObject({ tools: [{ function: { name: "send" } }] });
    expect(body.tool_choice).toBe(required ? "REQUIRED" : undefined);
    expect(dropped).toEqual(["allowed_tools_filtered"]);
  });

  it.each<[string, readonly (boolean | null)[], boolean | undefined, readonly string[]]>([
    ["none is strict", [false, null], undefined, []],
    ["all are strict", [true, true], true, []],
    ["some are strict", [true, false], true, ["tool_strictness_widened"]],
  ])("are strict all or none: %s", (_name, strict, sent, lost) => {
    const { body, dropped } = printed({
      tools: strict.map((value, index) => tool(`t${index}`, { strict: value })),
    });
    expect(body.strict_tools).toBe(sent);
    expect(dropped).toEqual(lost);
  });

  it("cannot be forced by name, nor called one at a time", () => {
    for (const more of [
      { toolChoice: { mode: "named", name: "send" } as const },
      { parallelToolCalls: false },
    ]) {
      expect(cohereChatUpstream.format(asking({ tools, ...more }), target)).toMatchObject({
        code: "feature_not_supported",
      });
    }
    // No call is made, so none are made side by side.
    expect(
      printed({ tools, toolChoice: { mode: "none" }, parallelToolCalls: false }).body.tool_choice,
    ).toBe("NONE");
  });

  it("omit a tool choice on record where the request has no tools", () => {
    const { body, dropped } = printed({ toolChoice: { mode: "none" } });
    expect(body).not.toHaveProperty("tool_choice");
    expect(dropped).toEqual(["hint_dropped"]);
  });
});

describe("the form of the answer", () => {
  const schema = { type: "object", properties: { a: { const: 1 } } };

  it("is an object, with the schema where one is given", () => {
    expect(printed({ format: { kind: "json_object" } }).body.response_format).toEqual({
      type: "json_object",
    });
    const { body, dropped } = printed({
      format: { kind: "json_schema", name: "a", description: null, schema, strict: true },
    });
    expect(body.response_format).toEqual({ type: "json_object", json_schema: schema });
    expect(dropped).toEqual(["schema_name_dropped"]);
  });

  it("cannot be requested together with tools", () => {
    const request = asking({ tools: [tool("look_up")], format: { kind: "json_object" } });
    expect(cohereChatUpstream.format(request, target)).toMatchObject({
      status: 400,
      code: "unsupported_combination",
    });
  });
});

describe("reasoning", () => {
  const nothing = { effort: "unspecified", budget: null, adaptive: false, display: null } as const;
  const tabled = targetWith({
    reasoning: { efforts: ["none"], budgets: { low: 1_000, high: 9_000 } },
  });

  it.each<[string, GenerateRequest["reasoning"], unknown, readonly string[]]>([
    ["off", { ...nothing, effort: "none" }, { type: "disabled" }, []],
    ["on, as much as the model likes", { ...nothing, adaptive: true }, { type: "enabled" }, []],
    ["a budget", { ...nothing, budget: 512 }, { type: "enabled", token_budget: 512 }, []],
    [
      "an effort of the table",
      { ...nothing, effort: "high" },
      { type: "enabled", token_budget: 9_000 },
      ["effort_as_budget"],
    ],
    [
      "how it is shown",
      { ...nothing, display: "concise" },
      undefined,
      ["reasoning_display_dropped"],
    ],
  ])("is sent, with its losses on record: %s", (_name, reasoning, thinking, lost) => {
    const { body, dropped } = printed({ reasoning }, tabled);
    expect(body.thinking).toEqual(thinking);
    expect(dropped).toEqual(lost);
  });

  it("is refused for an effort without a budget in the table, already by the decision", () => {
    const reasoning = { ...nothing, effort: "medium" } as const;
    expect(cohereChatUpstream.format(asking({ reasoning }), tabled)).toMatchObject({
      code: "feature_not_supported",
    });
    expect(tabled.endpoint.features).toEqual(
      expect.arrayContaining(["effort_low", "effort_high", "reasoning_budget"]),
    );
    expect(tabled.endpoint.features).not.toContain("effort_medium");
    expect(FACTS.features).not.toContain("effort_high");
  });

  it("is refused with a budget of 0", () => {
    const request = asking({ reasoning: { ...nothing, budget: 0 } });
    expect(cohereChatUpstream.format(request, target)).toMatchObject({
      code: "invalid_reasoning_budget",
    });
  });
});
