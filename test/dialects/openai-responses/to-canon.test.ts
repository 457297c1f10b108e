import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/canon/json.ts";
import { responsesSurface } from "../../../src/dialects/openai-responses/dialect.ts";
import { RequestReading } from "../../../src/dialects/request-reading.ts";
import { readConversation } from "../../../src/dialects/openai-responses/read-input.ts";
import { readSealedReasoning } from "../../../src/dialects/openai-responses/resource.ts";
import { contextOf, NO_EDITS, parse, toCanon } from "./support.ts";

const text = (value: string) => ({ kind: "text", text: value, cache: null });
const user = { role: "user", content: "hi" };

describe("reasoning of another protocol", () => {
  /** The item of an answer that is one piece of reasoning. */
  const answered = (thought: string): JsonObject => {
    const { body } = responsesSurface.translation.renderAnswer(
      {
        model: null,
        blocks: [
          {
            kind: "reasoning",
            text: thought,
            summary: false,
            signature: "c2ln+/=",
            family: "anthropic",
          },
        ],
        usage: null,
        finish: { reason: "stop", stopSequence: null },
        failure: null,
      },
      contextOf(parse()),
    );
    const item = Array.isArray(body.output) ? body.output[0] : null;
    if (!isJsonObject(item)) throw new Error("no item");
    return item;
  };
  const said = (item: JsonObject) => {
    const { request } = toCanon({
      input: [
        user,
        item,
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        user,
      ],
    });
    return request.turns[1];
  };
  const reasoning = (thought: string) => ({
    role: "assistant",
    content: [
      {
        kind: "reasoning",
        text: thought,
        summary: false,
        signature: "c2ln+/=",
        family: "anthropic",
      },
      expect.anything(),
    ],
  });

  it.each(["why, and – ünïcode.", "a.b:c", "x".repeat(100_000)])(
    "is restored whole from clients that drop `content`: %.20s",
    (thought) => {
      const { content, ...kept } = answered(thought);
      expect(content).toEqual([{ type: "reasoning_text", text: thought }]);
      expect(said(kept)).toMatchObject(reasoning(thought));
      expect(said({ ...kept, content: [] })).toMatchObject(reasoning(thought));
      expect(said({ ...kept, content: content ?? null })).toMatchObject(reasoning(thought));
    },
  );

  it("is joined of its texts only, without other parts", () => {
    const item = {
      type: "reasoning",
      summary: ["x", { type: "summary_text", text: "real" }, null],
      content: [null],
    };
    const turns = readConversation(
      { input: [user, item] },
      new RequestReading("native_responses", "reject"),
    );
    expect(turns[1]).toMatchObject({
      content: [{ kind: "reasoning", text: "\n\nreal\n\n", summary: true }],
    });
  });

  it("of earlier versions, without text, is still read, and so is unsealed reasoning", () => {
    expect(
      said({ type: "reasoning", summary: [], encrypted_content: "sbx1.anthropic.c2ln+/=" }),
    ).toMatchObject(reasoning(""));
    for (const strange of ["text:x", "text:eA==", "text:!.sig"]) {
      const { signature, text: thought } = readSealedReasoning(`sbx1.anthropic.${strange}`);
      expect([signature, thought]).toEqual([strange.includes(".") ? "sig" : strange, ""]);
      expect(readSealedReasoning(strange)).toEqual({
        family: "openai",
        signature: strange,
        text: "",
      });
    }
  });
});

describe("a conversation in canon", () => {
  it("keeps the order of all items", () => {
    const { request, dropped } = toCanon({
      instructions: "rules",
      input: [
        { role: "developer", content: "more" },
        {
          role: "user",
          content: [
            { type: "input_text", text: "look", prompt_cache_breakpoint: { mode: "explicit" } },
            { type: "input_image", image_url: "data:image/png;base64,AA", detail: "auto" },
          ],
        },
        {
          type: "reasoning",
          id: "rs",
          summary: [
            { type: "summary_text", text: "a" },
            { type: "summary_text", text: "b" },
          ],
          encrypted_content: "sbx1.fam.xyz",
        },
        {
          type: "message",
          id: "m",
          status: "completed",
          role: "assistant",
          phase: "commentary",
          content: [
            { type: "output_text", text: "one", annotations: [{}], logprobs: [] },
            { type: "refusal", refusal: "no" },
          ],
        },
        { type: "function_call", id: "f", call_id: "c1", name: "f", arguments: '{"a":1}' },
        { type: "function_call", call_id: "c2", name: "g", arguments: "" },
        { type: "function_call_output", call_id: "c1", output: "r" },
        {
          type: "function_call_output",
          call_id: "c2",
          output: [
            { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AA" },
          ],
        },
        { role: "assistant", content: "two" },
        { role: "assistant", content: "three" },
        { role: "user", content: [] },
      ],
    });
    expect(request.turns).toEqual([
      { role: "system", authority: "system", content: [text("rules")] },
      { role: "system", authority: "developer", content: [text("more")] },
      {
        role: "user",
        name: null,
        content: [
          { ...text("look"), cache: { ttl: null } },
          {
            kind: "image",
            source: { kind: "base64", mediaType: "image/png", data: "AA" },
            detail: "auto",
            cache: null,
          },
        ],
      },
      {
        role: "assistant",
        name: null,
        content: [
          { kind: "reasoning", text: "a\n\nb", summary: true, signature: "xyz", family: "fam" },
          text("one"),
          { kind: "refusal", text: "no" },
          { kind: "tool_call", id: "c1", name: "f", arguments: '{"a":1}', cache: null },
          { kind: "tool_call", id: "c2", name: "g", arguments: "{}", cache: null },
        ],
      },
      {
        role: "tool",
        results: [
          { callId: "c1", content: [text("r")], isError: null, cache: null },
          {
            callId: "c2",
            content: [
              {
                kind: "file",
                source: { kind: "base64", mediaType: "application/pdf", data: "AA" },
                name: "a.pdf",
                cache: null,
              },
            ],
            isError: null,
            cache: null,
          },
        ],
      },
      { role: "assistant", name: null, content: [text("two")] },
      { role: "assistant", name: null, content: [text("three")] },
      { role: "user", name: null, content: [text("")] },
    ]);
    expect(dropped.toSorted()).toEqual([
      "citations_dropped",
      "item_id_dropped",
      "message_phase_dropped",
      "tool_arguments_normalised",
    ]);
  });

  it("keeps full reasoning signed and its summary beside it", () => {
    const reasoning = {
      type: "reasoning",
      summary: [{ type: "summary_text", text: "s" }],
      content: [{ type: "reasoning_text", text: "t" }],
      encrypted_content: "xyz",
    };
    const [, turn] = toCanon({ input: [user, reasoning, user] }).request.turns;
    expect(turn).toMatchObject({
      content: [
        { text: "s", summary: true, signature: null, family: null },
        { text: "t", summary: false, signature: "xyz", family: "openai" },
      ],
    });
    const { request, dropped } = toCanon({
      input: [user, { type: "reasoning", summary: [] }, user],
    });
    expect(request.turns).toHaveLength(2);
    expect(dropped).toEqual(["unsigned_reasoning_dropped"]);
  });

  it.each(["[1]", "{", "1", "nonsense"])("refuses the arguments %s", (json) => {
    const input = [user, { type: "function_call", call_id: "c", name: "f", arguments: json }, user];
    expect(
      responsesSurface.translation.toCanon(parse({ input }), "reject", NO_EDITS),
    ).toMatchObject({
      code: "invalid_tool_arguments",
      param: "input[1].arguments",
    });
  });
});

describe("the other members in canon", () => {
  it.each<[string, JsonObject, object]>([
    [
      "sampling",
      { temperature: 1.5, top_p: 0.1, frequency_penalty: 1, presence_penalty: 0 },
      { temperature: 1.5, topP: 0.1, frequencyPenalty: 1, presencePenalty: null },
    ],
    ["log probabilities", { top_logprobs: 3 }, { logprobs: 3 }],
    ["included log probabilities", { include: ["message.output_text.logprobs"] }, { logprobs: 0 }],
    ["none of them", { top_logprobs: 0 }, { logprobs: null }],
    [
      "tools",
      { tools: [{ type: "function", name: "f", parameters: { type: "object" }, strict: true }] },
      {
        tools: [
          {
            name: "f",
            description: null,
            parameters: { type: "object" },
            strict: true,
            cache: null,
          },
        ],
      },
    ],
    ["a choice", { tool_choice: "none" }, { toolChoice: { mode: "none" } }],
    [
      "a named choice",
      { tools: [{ type: "function", name: "f" }], tool_choice: { type: "function", name: "f" } },
      { toolChoice: { mode: "named", name: "f" } },
    ],
    [
      "an allowed choice",
      {
        tools: [{ type: "function", name: "f" }],
        tool_choice: {
          type: "allowed_tools",
          mode: "required",
          tools: [{ type: "function", name: "f" }],
        },
      },
      { toolChoice: { mode: "allowed", names: ["f"], required: true } },
    ],
    ["parallel calls", { parallel_tool_calls: true }, { parallelToolCalls: null }],
    ["calls one by one", { parallel_tool_calls: false }, { parallelToolCalls: false }],
    [
      "reasoning",
      { reasoning: { effort: "low", generate_summary: "concise" } },
      { reasoning: { effort: "low", budget: null, adaptive: false, display: "concise" } },
    ],
    ["nothing on reasoning", { reasoning: { effort: null } }, { reasoning: null }],
    ["verbosity", { text: { verbosity: "high" } }, { verbosity: "high", format: null }],
    ["JSON", { text: { format: { type: "json_object" } } }, { format: { kind: "json_object" } }],
    [
      "a schema by its alias",
      {
        response_format: {
          type: "json_schema",
          json_schema: { name: "n", schema: { a: 1 }, strict: true },
        },
      },
      {
        format: {
          kind: "json_schema",
          name: "n",
          description: null,
          schema: { a: 1 },
          strict: true,
        },
      },
    ],
    [
      "hints",
      { service_tier: "flex", prompt_cache_key: "k", prompt_cache_retention: "24h" },
      { hints: { serviceTier: "flex", promptCacheKey: "k", promptCacheRetention: "24h" } },
    ],
    [
      "the default tier",
      { service_tier: "auto" },
      { hints: { serviceTier: null, promptCacheKey: null, promptCacheRetention: null } },
    ],
    ["a stream", { stream: true }, { stream: true }],
  ])("%s: %j becomes %j", (_, more, expected) => {
    expect(toCanon(more).request).toMatchObject(expected);
  });

  it("are recorded where canon drops them", () => {
    expect(toCanon({ prompt_cache_options: { mode: "explicit" } }).dropped).toEqual([
      "cache_hint_dropped",
    ]);
    expect(toCanon({ user: "u", client_metadata: {} }).stripped).toEqual([
      "user",
      "client_metadata",
    ]);
  });

  it.each<[number | null, number | null, number | null]>([
    [null, null, null],
    [100, 50, 50],
    [50, 100, 50],
    [null, 5, 5],
  ])("a limit of %s under a cap of %s is %s", (requested, cap, expected) => {
    const request = parse(requested === null ? {} : { max_output_tokens: requested });
    expect(
      responsesSurface.translation.toCanon(request, "reject", {
        maxOutputTokens: cap,
        stripFields: [],
      }),
    ).toMatchObject({ request: { maxOutputTokens: expected } });
  });

  it("are omitted where a policy names them", () => {
    const request = parse({
      service_tier: "flex",
      prompt_cache_key: "k",
      prompt_cache_options: {},
    });
    expect(
      responsesSurface.translation.toCanon(request, "reject", {
        maxOutputTokens: null,
        stripFields: ["prompt_cache_key", "prompt_cache_options", "service_tier"],
      }),
    ).toMatchObject({
      request: { hints: { serviceTier: null, promptCacheKey: null } },
      stripped: ["service_tier", "prompt_cache_key", "prompt_cache_options"],
      dropped: [],
    });
  });

  it("are refused by name where canon has no member for them", () => {
    const unknown = parse({ zzz: 1 });
    const { toCanon: translate } = responsesSurface.translation;
    expect(translate(unknown, "forward", NO_EDITS)).toMatchObject({
      code: "unknown_field",
      param: "zzz",
    });
    expect(translate(unknown, "strip", NO_EDITS)).toMatchObject({ stripped: ["unknown_field"] });
    // Members that request this protocol: the decision keeps them from a translation; one that came
    // all the same does not vanish.
    for (const more of [
      { max_tool_calls: 2 },
      { tool_choice: { type: "mcp" } },
      { input: [{ role: "user", content: "x", shade: 1 }] },
    ]) {
      expect(translate(parse(more), "reject", NO_EDITS)).toHaveProperty("code");
    }
  });
});
