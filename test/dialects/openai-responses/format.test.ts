import { describe, expect, it } from "vitest";
import type {
  AssistantPart,
  GenerateRequest,
  Turn,
} from "../../../src/canon/generate/generate-request.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import { NO_HEADERS } from "../../support/dialects.ts";
import { format, generate, TARGET } from "./support.ts";
import { upstreamFor } from "../../../src/dialects/exchange-plan.ts";

const responsesUpstream = upstreamFor("generate", "openai-responses");

const text = (value: string, marked = false) =>
  ({ kind: "text", text: value, cache: marked ? { ttl: null } : null }) as const;
const system = (value: string, authority: "system" | "developer" = "system"): Turn => ({
  role: "system",
  authority,
  content: [text(value)],
});
const user: Turn = { role: "user", name: null, content: [text("hi")] };
const assistant = (...content: readonly AssistantPart[]): Turn => ({
  role: "assistant",
  name: null,
  content,
});
const call = { kind: "tool_call", id: "c", name: "f", arguments: "{}", cache: null } as const;

describe("a request to a provider", () => {
  it("has only members that were requested", () => {
    expect(format()).toEqual({
      path: "/responses",
      body: {
        model: "upstream-model",
        input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
        store: false,
      },
      headers: [],
      dropped: [],
    });
  });

  it.each<[string, readonly Turn[], string | undefined, readonly string[]]>([
    ["one leading system text", [system("a"), user], "a", ["user"]],
    ["several", [system("a"), system("b"), user], undefined, ["system", "system", "user"]],
    ["developer text", [system("a", "developer"), user], undefined, ["developer", "user"]],
    ["system text later on", [user, system("a"), user], undefined, ["user", "system", "user"]],
    [
      "leading, and later on",
      [system("a"), user, system("b"), user],
      "a",
      ["user", "system", "user"],
    ],
    ["nothing else", [system("a")], undefined, ["system"]],
    [
      "two texts in one",
      [{ role: "system", authority: "system", content: [text("a"), text("b")] }, user],
      undefined,
      ["system", "user"],
    ],
  ])("instructions: %s", (_, turns, instructions, roles) => {
    const { body } = format({ turns });
    expect(body.instructions).toBe(instructions);
    expect(body.input).toMatchObject(roles.map((role) => ({ role })));
  });

  it("prints an assistant's turn as items, in their order", () => {
    const { body, dropped } = format({
      turns: [
        user,
        assistant(
          { kind: "reasoning", text: "s", summary: true, signature: "sealed", family: "family" },
          { kind: "reasoning", text: "unsigned", summary: false, signature: null, family: null },
          text("a"),
          { kind: "refusal", text: "no" },
          call,
          text("b"),
        ),
        {
          role: "tool",
          results: [{ callId: "c", content: [text("r")], isError: true, cache: null }],
        },
        {
          role: "tool",
          results: [
            { callId: "d", content: [], isError: null, cache: null },
            {
              callId: "e",
              content: [
                text("x"),
                {
                  kind: "image",
                  source: { kind: "url", url: "https://x.example" },
                  detail: "low",
                  cache: null,
                },
              ],
              isError: false,
              cache: null,
            },
          ],
        },
      ],
    });
    expect(body.input).toEqual([
      { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] },
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "s" }],
        encrypted_content: "sealed",
      },
      {
        type: "message",
        role: "assistant",
        content: [
          { type: "output_text", text: "a" },
          { type: "refusal", refusal: "no" },
        ],
      },
      { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "b" }] },
      { type: "function_call_output", call_id: "c", output: "r" },
      { type: "function_call_output", call_id: "d", output: "" },
      {
        type: "function_call_output",
        call_id: "e",
        output: [
          { type: "input_text", text: "x" },
          { type: "input_image", image_url: "https://x.example", detail: "low" },
        ],
      },
    ]);
    expect(dropped).toEqual(["unsigned_reasoning_dropped", "tool_error_flag_dropped"]);
    expect(body.include).toEqual(["reasoning.encrypted_content"]);
  });

  it("prints files, images and sound", () => {
    const { body, dropped } = format({
      turns: [
        {
          role: "user",
          name: "ann",
          content: [
            text("x", true),
            {
              kind: "image",
              source: { kind: "base64", mediaType: "image/png", data: "AA" },
              detail: null,
              cache: null,
            },
            {
              kind: "file",
              source: { kind: "base64", mediaType: "application/pdf", data: "BB" },
              name: null,
              cache: null,
            },
            {
              kind: "file",
              source: { kind: "url", url: "https://x.example/f" },
              name: "f",
              cache: null,
            },
            { kind: "audio", format: "wav", data: "CC" },
          ],
        },
      ],
    });
    expect(body.input).toMatchObject([
      {
        content: [
          { type: "input_text", text: "x" },
          { type: "input_image", image_url: "data:image/png;base64,AA" },
          { type: "input_file", filename: "file.pdf", file_data: "data:application/pdf;base64,BB" },
          { type: "input_file", file_url: "https://x.example/f" },
          { type: "input_audio", input_audio: { data: "CC", format: "wav" } },
        ],
      },
    ]);
    expect(dropped.toSorted()).toEqual([
      "cache_mark_dropped",
      "file_name_dropped",
      "file_name_made",
      "participant_name_dropped",
    ]);
  });

  it("rewrites ids that the protocol refuses, equal ones alike", () => {
    const id = "x".repeat(65);
    const sent = `${"x".repeat(31)}_1dznfyf`;
    const { body, dropped } = format({
      turns: [
        user,
        assistant({ ...call, id }),
        { role: "tool", results: [{ callId: id, content: [], isError: null, cache: null }] },
      ],
    });
    expect(body.input).toMatchObject([{}, { call_id: sent }, { call_id: sent }]);
    expect(dropped).toEqual(["call_ids_rewritten"]);
    expect(format({ turns: [user, assistant({ ...call, id: "y".repeat(64) })] }).dropped).toEqual(
      [],
    );
  });

  const tool = { name: "f", description: null, parameters: null, strict: null, cache: null };
  const schema = {
    kind: "json_schema",
    name: null,
    description: null,
    schema: { a: 1 },
    strict: null,
  } as const;
  const hints = { serviceTier: null, promptCacheKey: null, promptCacheRetention: null };
  it.each<[string, Partial<GenerateRequest>, object, readonly string[]]>([
    [
      "tools, whole",
      { tools: [tool] },
      {
        tools: [
          { type: "function", name: "f", description: null, parameters: null, strict: false },
        ],
      },
      [],
    ],
    [
      "marked tools",
      { tools: [{ ...tool, strict: true, cache: { ttl: "1h" } }] },
      { tools: [{ strict: true }] },
      ["cache_mark_dropped"],
    ],
    [
      "a choice",
      { tools: [tool], toolChoice: { mode: "required" } },
      { tool_choice: "required" },
      [],
    ],
    [
      "a named choice",
      { tools: [tool], toolChoice: { mode: "named", name: "f" } },
      { tool_choice: { type: "function", name: "f" } },
      [],
    ],
    [
      "an allowed choice",
      { tools: [tool], toolChoice: { mode: "allowed", names: ["f"], required: false } },
      {
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", name: "f" }],
        },
      },
      [],
    ],
    [
      "calls one by one",
      { tools: [tool], parallelToolCalls: false },
      { parallel_tool_calls: false },
      [],
    ],
    [
      "a schema without a name",
      { format: schema },
      { text: { format: { type: "json_schema", name: "response", schema: { a: 1 } } } },
      ["schema_name_made"],
    ],
    [
      "JSON and verbosity",
      { format: { kind: "json_object" }, verbosity: "low" },
      { text: { format: { type: "json_object" }, verbosity: "low" } },
      [],
    ],
    [
      "sampling",
      { temperature: 0, topP: 1, frequencyPenalty: 1, presencePenalty: -1 },
      { temperature: 0, top_p: 1, frequency_penalty: 1, presence_penalty: -1 },
      [],
    ],
    [
      "log probabilities",
      { logprobs: 2 },
      { top_logprobs: 2, include: ["message.output_text.logprobs"] },
      [],
    ],
    ["a limit", { maxOutputTokens: 100 }, { max_output_tokens: 100 }, []],
    [
      "too small a limit",
      { maxOutputTokens: 5 },
      { max_output_tokens: 16 },
      ["output_limit_raised"],
    ],
    ["a stream", { stream: true }, { stream: true }, []],
    [
      "hints",
      { hints: { serviceTier: "flex", promptCacheKey: "k", promptCacheRetention: "24h" } },
      { service_tier: "flex", prompt_cache_key: "k", prompt_cache_retention: "24h" },
      [],
    ],
    [
      "another protocol's tier",
      { hints: { ...hints, serviceTier: "standard_only" } },
      { service_tier: "default" },
      ["service_tier_changed"],
    ],
  ])("%s", (_, more, body, dropped) => {
    const formatted = format(more);
    expect(formatted.body).toMatchObject(body);
    expect(formatted.body.store).toBe(false);
    expect(formatted.dropped).toEqual(dropped);
  });

  const none = { effort: "unspecified", budget: null, adaptive: false, display: null } as const;
  const budgets = { low: 2_000, medium: 5_000, high: 10_000 };
  it.each<[string, GenerateRequest["reasoning"], object | undefined, readonly string[]]>([
    ["an effort", { ...none, effort: "high" }, { effort: "high" }, []],
    ["a display", { ...none, display: "detailed" }, { summary: "detailed" }, []],
    [
      "another protocol's display",
      { ...none, effort: "low", display: "summarized" },
      { effort: "low", summary: "auto" },
      [],
    ],
    ["reasoning that is not shown", { ...none, display: "omitted" }, undefined, []],
    ["reasoning as the model likes", { ...none, adaptive: true }, undefined, []],
    ["a budget", { ...none, budget: 9_999 }, { effort: "medium" }, ["budget_as_effort"]],
    ["the very budget", { ...none, budget: 10_000 }, { effort: "high" }, ["budget_as_effort"]],
    [
      "a smaller budget than all",
      { ...none, budget: 1_024 },
      { effort: "low" },
      ["budget_as_effort"],
    ],
    ["none", { ...none, effort: "none" }, { effort: "none" }, []],
  ])("reasoning: %s", (_, reasoning, expected, dropped) => {
    const model = { ...TARGET.model, reasoning: { efforts: null, budgets } };
    const formatted = format({ reasoning }, { ...TARGET, model });
    expect(formatted.body.reasoning).toEqual(expected);
    expect(formatted.dropped).toEqual(dropped);
    const sealed = reasoning?.effort === "none" ? undefined : ["reasoning.encrypted_content"];
    expect(formatted.body.include).toEqual(sealed);
    const quiet = { ...TARGET, model, provider: { ...TARGET.provider, flags: ["no_include"] } };
    expect(format({ reasoning }, quiet).body.include).toBeUndefined();
  });

  it("counts tokens without generating any", () => {
    const { path, body } = format({
      purpose: "count",
      maxOutputTokens: 100,
      tools: [tool],
      stream: true,
    });
    expect(path).toBe("/responses/input_tokens");
    expect(Object.keys(body).toSorted()).toEqual(["input", "model", "tools"]);
  });

  it.each<[Partial<GenerateRequest>, string]>([
    [{ stop: ["x"] }, "stop"],
    [{ seed: 1 }, "seed"],
    [{ topK: 1 }, "top_k"],
    [{ logitBias: {} }, "logit_bias"],
  ])("records every dropped member: %j", (more, param) => {
    expect(responsesUpstream.format(generate(more), TARGET)).toMatchObject({ status: 400, param });
  });

  it("is read back unchanged by its own surface", () => {
    const request = generate({
      turns: [
        system("rules"),
        user,
        assistant(
          { kind: "reasoning", text: "t", summary: false, signature: "s", family: "openai" },
          text("a"),
          call,
        ),
        {
          role: "tool",
          results: [{ callId: "c", content: [text("r")], isError: null, cache: null }],
        },
        user,
      ],
      tools: [
        {
          ...tool,
          strict: true,
          parameters: { type: "object", properties: {}, additionalProperties: false },
        },
      ],
      toolChoice: { mode: "required" },
      format: { kind: "json_schema", name: "n", description: "d", schema: {}, strict: true },
      reasoning: { ...none, effort: "low", display: "auto" },
      temperature: 0.5,
      maxOutputTokens: 100,
      logprobs: 0,
      verbosity: "low",
      stream: true,
    });
    const formatted = responsesUpstream.format(request, TARGET);
    if ("code" in formatted) throw new Error(formatted.code);
    const parsed = responsesSurface.parse(formatted.body, 10, NO_HEADERS);
    if ("code" in parsed) throw new Error(parsed.code);
    const again = responsesSurface.translation.toCanon(parsed, "reject", {
      maxOutputTokens: null,
      stripFields: [],
    });
    expect(again).toEqual({ request, stripped: [], dropped: [] });
  });
});
