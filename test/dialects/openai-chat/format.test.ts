import { describe, expect, it } from "vitest";
import type {
  AssistantPart,
  GenerateRequest,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { ModelReasoning } from "../../../src/canon/table.ts";
import { MODEL, targetOf } from "../laws/target.ts";
import { canon, text, userTurn } from "./canon.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const chatUpstream = upstreamFor("generate", "openai-chat");

function format(
  more: Partial<GenerateRequest>,
  flags: readonly string[] = [],
  reasoning: ModelReasoning | null = null,
) {
  const target = targetOf("openai-chat", { ...MODEL, reasoning });
  const formatted = chatUpstream.format(canon(more), {
    ...target,
    provider: { ...target.provider, flags },
  });
  if ("code" in formatted) throw new Error(formatted.message);
  return formatted;
}

function messagesOf(...turns: readonly Turn[]) {
  const { body, dropped } = format({ turns });
  return { messages: body.messages, dropped };
}

const assistant = (...content: readonly AssistantPart[]): Turn => ({
  role: "assistant",
  name: null,
  content,
});
const call = { kind: "tool_call", id: "c", name: "f", arguments: "{}", cache: null } as const;
const tools = [{ name: "f", description: null, parameters: null, strict: null, cache: null }];
const minimal = { model: "upstream-model", messages: [{ role: "user", content: "hi" }] };
const hints = { serviceTier: null, promptCacheKey: null, promptCacheRetention: null };

describe("a request for a chat provider", () => {
  it("forbids storing, and requests the counts of streams", () => {
    expect(format({})).toEqual({
      path: "/chat/completions",
      body: { ...minimal, store: false },
      headers: [],
      dropped: [],
    });
    expect(format({ stream: true }).body).toEqual({
      ...minimal,
      store: false,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it("omits members that a provider's flags name", () => {
    expect(format({ stream: true }, ["no_store_field", "no_stream_options"]).body).toEqual({
      ...minimal,
      stream: true,
    });
  });

  it("returns signatures of calls and texts in the provider's members", () => {
    const signed = (signature: string) =>
      ({ kind: "reasoning", text: "", summary: false, signature, family: "family" }) as const;
    const second = { ...call, id: "d" };
    const { messages } = messagesOf(
      assistant(signed("text.T"), text("a"), signed("call.C"), call, second),
    );
    const extra = (thought_signature: string) => ({
      extra_content: { google: { thought_signature } },
    });
    expect(messages).toMatchObject([
      { content: "a", ...extra("T"), tool_calls: [{ id: "c", ...extra("C") }, { id: "d" }] },
    ]);
    expect(JSON.stringify(messages)).not.toContain("reasoning_details");
  });

  it.each<[Partial<GenerateRequest>, JsonObject, readonly string[]]>([
    [
      { maxOutputTokens: 5, temperature: 0, topP: 1 },
      { max_completion_tokens: 5, temperature: 0, top_p: 1 },
      [],
    ],
    [
      { frequencyPenalty: 1, presencePenalty: -1, seed: 3 },
      { frequency_penalty: 1, presence_penalty: -1, seed: 3 },
      [],
    ],
    [{ logitBias: { "1": 2 }, stop: ["x"] }, { logit_bias: { "1": 2 }, stop: ["x"] }, []],
    [{ logprobs: 0 }, { logprobs: true }, []],
    [{ logprobs: 2 }, { logprobs: true, top_logprobs: 2 }, []],
    [{ verbosity: "low" }, { verbosity: "low" }, []],
    [{ format: { kind: "json_object" } }, { response_format: { type: "json_object" } }, []],
    [
      {
        format: {
          kind: "json_schema",
          name: null,
          description: null,
          schema: { a: 1 },
          strict: null,
        },
      },
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "response", schema: { a: 1 } },
        },
      },
      ["schema_name_made"],
    ],
    [{ hints: { ...hints, serviceTier: "flex" } }, { service_tier: "flex" }, []],
    [
      { hints: { ...hints, serviceTier: "standard_only" } },
      { service_tier: "default" },
      ["service_tier_changed"],
    ],
    [{ hints: { ...hints, serviceTier: "gold" } }, {}, ["service_tier_changed"]],
    [
      { hints: { ...hints, promptCacheKey: "k", promptCacheRetention: "24h" } },
      { prompt_cache_key: "k", prompt_cache_retention: "24h" },
      [],
    ],
    [{ toolChoice: { mode: "auto" } }, {}, ["hint_dropped"]],
    [{ parallelToolCalls: false }, {}, ["hint_dropped"]],
    [{ parallelToolCalls: true }, {}, ["hint_dropped"]],
    [
      { tools, toolChoice: { mode: "named", name: "f" }, parallelToolCalls: false },
      {
        tools: [{ type: "function", function: { name: "f" } }],
        tool_choice: { type: "function", function: { name: "f" } },
        parallel_tool_calls: false,
      },
      [],
    ],
    [
      { tools, toolChoice: { mode: "allowed", names: ["f"], required: false } },
      {
        tools: [{ type: "function", function: { name: "f" } }],
        tool_choice: {
          type: "allowed_tools",
          allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: "f" } }] },
        },
      },
      [],
    ],
  ])("%j is sent as %j", (more, members, dropped) => {
    const formatted = format(more);
    expect(formatted.body).toEqual({ ...minimal, store: false, ...members });
    expect(formatted.dropped).toEqual(dropped);
  });

  const reasoning = {
    effort: "unspecified",
    budget: null,
    adaptive: false,
    display: null,
  } as const;
  const budgets = { efforts: null, budgets: { low: 1_000, medium: 5_000, high: 20_000 } } as const;
  it.each<
    [GenerateRequest["reasoning"], ModelReasoning | null, string | undefined, readonly string[]]
  >([
    [{ ...reasoning, effort: "none" }, null, "none", []],
    [{ ...reasoning, effort: "max" }, null, "max", []],
    [{ ...reasoning, budget: 5_000 }, budgets, "medium", ["budget_as_effort"]],
    [{ ...reasoning, budget: 19_999 }, budgets, "medium", ["budget_as_effort"]],
    [{ ...reasoning, budget: 10 }, budgets, "low", ["budget_as_effort"]],
    [
      { ...reasoning, budget: 6_000 },
      { ...budgets, efforts: ["low", "high"] },
      "low",
      ["budget_as_effort"],
    ],
    [
      { ...reasoning, adaptive: true, display: "summarized" },
      null,
      undefined,
      ["hint_dropped", "reasoning_display_dropped"],
    ],
  ])("has the reasoning effort as a level: %j", (requested, table, level, dropped) => {
    const formatted = format({ reasoning: requested }, [], table);
    expect(formatted.body.reasoning_effort).toBe(level);
    expect(new Set(formatted.dropped)).toEqual(new Set(dropped));
  });

  it.each<[Partial<GenerateRequest>]>([
    [{ topK: 1 }],
    [{ purpose: "count" }],
    [
      {
        turns: [
          userTurn({
            kind: "file",
            source: { kind: "url", url: "https://x.example" },
            name: null,
            cache: null,
          }),
        ],
      },
    ],
  ])(
    "is refused where the protocol cannot express it, even if no earlier check refused: %j",
    (more) => {
      expect(chatUpstream.format(canon(more), targetOf("openai-chat"))).toMatchObject({
        status: 400,
        code: "feature_not_supported",
      });
    },
  );
});

describe("turns as messages", () => {
  it("keeps roles, names, ids and every part", () => {
    const png = { kind: "base64", mediaType: "image/png", data: "QQ==" } as const;
    const { messages, dropped } = messagesOf(
      { role: "system", authority: "system", content: [text("s")] },
      { role: "system", authority: "developer", content: [text("d"), text("e")] },
      {
        role: "user",
        name: "n",
        content: [text("t"), { kind: "image", source: png, detail: "low", cache: null }],
      },
      assistant(text("a"), call),
      {
        role: "tool",
        results: [{ callId: "c", content: [text("1")], isError: null, cache: null }],
      },
      userTurn({
        kind: "file",
        source: { ...png, mediaType: "application/pdf" },
        name: "a.pdf",
        cache: null,
      }),
      userTurn({ kind: "audio", format: "wav", data: "QQ==" }),
    );
    expect(dropped).toEqual([]);
    expect(messages).toEqual([
      { role: "system", content: "s" },
      {
        role: "developer",
        content: [
          { type: "text", text: "d" },
          { type: "text", text: "e" },
        ],
      },
      {
        role: "user",
        name: "n",
        content: [
          { type: "text", text: "t" },
          { type: "image_url", image_url: { url: "data:image/png;base64,QQ==", detail: "low" } },
        ],
      },
      {
        role: "assistant",
        content: "a",
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c", content: "1" },
      {
        role: "user",
        content: [
          {
            type: "file",
            file: { filename: "a.pdf", file_data: "data:application/pdf;base64,QQ==" },
          },
        ],
      },
      {
        role: "user",
        content: [{ type: "input_audio", input_audio: { data: "QQ==", format: "wav" } }],
      },
    ]);
  });

  const thought = {
    kind: "reasoning",
    text: "t",
    summary: false,
    signature: "sig",
    family: "family",
  } as const;
  it.each<[string, readonly AssistantPart[], JsonObject, readonly string[]]>([
    [
      "a call alone",
      [call],
      {
        content: null,
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      [],
    ],
    ["a refusal", [{ kind: "refusal", text: "r" }], { content: null, refusal: "r" }, []],
    [
      "text and a refusal",
      [text("a"), { kind: "refusal", text: "r" }],
      {
        content: [
          { type: "text", text: "a" },
          { type: "refusal", refusal: "r" },
        ],
      },
      [],
    ],
    [
      "signed reasoning",
      [thought, text("a")],
      {
        content: "a",
        reasoning_details: [{ type: "reasoning.text", text: "t", signature: "sig" }],
      },
      [],
    ],
    [
      "a signed summary",
      [{ ...thought, summary: true }, text("a")],
      {
        content: "a",
        reasoning_details: [
          { type: "reasoning.summary", summary: "t" },
          { type: "reasoning.encrypted", data: "sig" },
        ],
      },
      [],
    ],
    [
      "hidden reasoning",
      [{ ...thought, text: "" }],
      { content: "", reasoning_details: [{ type: "reasoning.encrypted", data: "sig" }] },
      [],
    ],
    [
      "unsigned reasoning",
      [{ ...thought, signature: null, family: null }, text("a")],
      { content: "a" },
      ["unsigned_reasoning_dropped"],
    ],
    [
      "another family's reasoning",
      [{ ...thought, family: "other" }, text("a")],
      { content: "a" },
      ["unsigned_reasoning_dropped"],
    ],
    [
      "text after a call",
      [call, text("a")],
      {
        content: "a",
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
      },
      ["parts_reordered"],
    ],
  ])("an assistant's turn of %s is one message", (_, content, more, dropped) => {
    const formatted = messagesOf(assistant(...content));
    expect(formatted.messages).toEqual([{ role: "assistant", ...more }]);
    expect(formatted.dropped).toEqual(dropped);
  });

  it("record parts that the protocol cannot express", () => {
    const cache = { ttl: null };
    const file = { kind: "base64", mediaType: "text/plain", data: "QQ==" } as const;
    const marked = { ...text("a"), cache };
    expect(messagesOf(userTurn(marked)).dropped).toEqual(["cache_mark_dropped"]);
    expect(
      messagesOf(userTurn({ kind: "file", source: file, name: null, cache: null })),
    ).toMatchObject({
      dropped: ["file_name_made"],
      messages: [{ content: [{ file: { filename: "file.txt" } }] }],
    });
    const results = [{ callId: "c", content: [text("x")], isError: true, cache: null }];
    expect(messagesOf({ role: "tool", results }).dropped).toEqual(["tool_error_flag_dropped"]);
    expect(
      messagesOf({
        role: "tool",
        results: [{ callId: "c", content: [], isError: false, cache: null }],
      }),
    ).toEqual({
      dropped: [],
      messages: [{ role: "tool", tool_call_id: "c", content: "" }],
    });
  });
});
