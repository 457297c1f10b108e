import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canon/json.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { MODEL, NO_EDITS } from "../laws/target.ts";
import { user } from "./bodies.ts";
import {
  assistant,
  called,
  choice,
  formatted,
  targetWith,
  relayed,
  result,
  texts,
  tool,
} from "./vendors.ts";

describe("a relayed body", () => {
  it("records the members that flags have removed", () => {
    const sent = { seed: null, logprobs: false, service_tier: "auto", prompt_cache_key: null };
    const flags = ["no_seed", "no_logprobs", "no_service_tier", "no_prompt_cache_fields"];
    const { body, stripped, dropped } = relayed(sent, flags);
    expect(Object.keys(body).toSorted()).toEqual(["messages", "model", "store"]);
    expect(stripped.toSorted()).toEqual(["logprobs", "prompt_cache_key", "seed", "service_tier"]);
    // A member without a value is not recorded as dropped.
    expect(dropped).toEqual(["service_tier_changed"]);
  });

  it.each([
    [{ max_tokens: 9, max_completion_tokens: 4 }, 4],
    [{ max_tokens: 4, max_completion_tokens: 9 }, 4],
    [{ max_tokens: null, max_completion_tokens: 9 }, 9],
    [{ max_tokens: 9, max_completion_tokens: null }, 9],
  ])("%o: the lower of two output limits stays", (sent, limit) => {
    expect(relayed(sent, ["max_tokens_field"]).body).toMatchObject({ max_tokens: limit });
    expect(relayed(sent, ["max_tokens_field"]).body).not.toHaveProperty("max_completion_tokens");
    expect(relayed(sent, ["max_completion_tokens_field"]).body).toMatchObject({
      max_completion_tokens: limit,
    });
  });

  it("gets a policy's limit in the member of the provider", () => {
    const edits = { ...NO_EDITS, maxOutputTokens: 3 };
    for (const sent of [{}, { max_tokens: 9 }, { max_completion_tokens: 9 }]) {
      const { body } = relayed(sent, ["max_tokens_field"], edits);
      expect(body).toMatchObject({ max_tokens: 3 });
      expect(body).not.toHaveProperty("max_completion_tokens");
    }
  });

  it("keeps members that the caller wrote for the provider", () => {
    const own = relayed({ reasoning: { max_tokens: 5 }, reasoning_effort: "low" }, [
      "reasoning_object",
    ]);
    expect(own.body).toMatchObject({ reasoning: { max_tokens: 5 } });
    expect(own.body).not.toHaveProperty("reasoning_effort");
    expect(relayed({ random_seed: 1, seed: 2 }, ["random_seed_field"]).body).toMatchObject({
      random_seed: 1,
      seed: 2,
    });
    expect(relayed({ tools: [tool], tool_choice: "any" }, ["no_tool_choice"]).body).toMatchObject({
      tool_choice: "any",
    });
  });

  it("keeps signed reasoning, which only the provider that signed it is sent", () => {
    const signed = [{ type: "reasoning.text", text: "t", signature: "s" }];
    const messages = [user, assistant({ reasoning: "t", reasoning_details: signed }), user];
    expect(relayed({ messages }, ["no_reasoning_history"]).body.messages).toEqual([
      user,
      assistant({ reasoning_details: signed }),
      user,
    ]);
    const unsigned = [
      user,
      assistant({ reasoning_details: [{ type: "reasoning.text", text: "t" }] }),
      user,
    ];
    expect(relayed({ messages: unsigned }, ["no_reasoning_history"]).body.messages).toEqual([
      user,
      assistant({}),
      user,
    ]);
  });

  it("joins only text, and records a dropped cache mark", () => {
    const image = { type: "image_url", image_url: { url: "https://a.example/b.png" } };
    const mixed = [{ role: "user", content: [{ type: "text", text: "a" }, image] }];
    expect(relayed({ messages: mixed }, ["joined_text_content"])).toMatchObject({
      body: { messages: mixed },
      dropped: [],
    });
    const strange = [{ role: "user", content: [{ type: "text", text: "a", other: 1 }] }];
    expect(relayed({ messages: strange }, ["joined_text_content"]).body.messages).toEqual(strange);
    const marked = [
      {
        role: "user",
        content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
      },
    ];
    expect(relayed({ messages: marked }, ["joined_text_content"])).toMatchObject({
      body: { messages: [{ role: "user", content: "a" }] },
      dropped: ["cache_mark_dropped"],
    });
  });

  it("keeps the name of the legacy role, which names a function", () => {
    const messages = [user, { role: "function", name: "f", content: "r" }];
    expect(relayed({ messages }, ["no_participant_names"])).toMatchObject({
      body: { messages },
      dropped: [],
    });
  });

  it("keeps a choice of missing tools for the provider", () => {
    const sent = { tools: [tool], tool_choice: choice("required", "f", "missing") };
    expect(relayed(sent, ["no_allowed_tools"])).toMatchObject({ body: sent, dropped: [] });
  });

  it("does not change the caller's own objects", () => {
    const sent = {
      messages: [user, assistant({ content: texts("a"), tool_calls: [called("x")] }), result("x")],
      tools: [tool],
    };
    const before = structuredClone(sent);
    relayed(sent, Object.keys(DIALECTS["openai-chat"].flags));
    expect(sent).toEqual(before);
  });
});

describe("a provider with a reasoning object", () => {
  const reasoning = {
    effort: "unspecified",
    budget: null,
    adaptive: false,
    display: null,
  } as const;

  it("gets a budget as max_tokens, and `enabled` where the model decides the amount", () => {
    const flags = ["reasoning_object"];
    expect(formatted({ reasoning: { ...reasoning, budget: 2_000 } }, flags)).toMatchObject({
      body: { reasoning: { max_tokens: 2_000 } },
      dropped: [],
    });
    expect(formatted({ reasoning: { ...reasoning, adaptive: true } }, flags)).toMatchObject({
      body: { reasoning: { enabled: true } },
      dropped: [],
    });
    expect(formatted({ reasoning: { ...reasoning, effort: "high" } }, flags).body).toMatchObject({
      reasoning: { effort: "high" },
    });
    expect(formatted({ reasoning: { ...reasoning, display: "omitted" } }, flags)).toMatchObject({
      dropped: ["reasoning_display_dropped"],
    });
    expect(targetWith(flags).endpoint.features).toContain("reasoning_budget");
    expect(targetWith([]).endpoint.features).not.toContain("reasoning_budget");
  });
});

describe("reasoning of another protocol's history", () => {
  const thought = {
    kind: "reasoning",
    text: "t",
    summary: false,
    signature: null,
    family: null,
  } as const;
  const turns = [
    { role: "user", name: null, content: [{ kind: "text", text: "q", cache: null }] },
    {
      role: "assistant",
      name: null,
      content: [thought, { ...thought, signature: "s", family: MODEL.signatureFamily }],
    },
  ] as const;

  it("is returned unsigned only where the provider requires it", () => {
    expect(formatted({ turns }, ["replays_reasoning"])).toMatchObject({
      body: {
        messages: [
          { role: "user" },
          {
            reasoning_content: "t",
            reasoning_details: [{ type: "reasoning.text", text: "t", signature: "s" }],
          },
        ],
      },
      dropped: [],
    });
    expect(formatted({ turns }, [])).toMatchObject({ dropped: ["unsigned_reasoning_dropped"] });
    expect(JSON.stringify(formatted({ turns }, []).body)).not.toContain("reasoning_content");
  });
});

describe("ids of nine letters and digits", () => {
  const ids = fc.array(
    fc.oneof(fc.string(), fc.stringMatching(/^[a-zA-Z0-9]{9}$/), fc.constant("call00001")),
    {
      maxLength: 8,
    },
  );

  function historyOf(list: readonly string[]): readonly JsonObject[] {
    return [user, assistant({ tool_calls: list.map(called) }), ...list.map(result)];
  }

  /** Ids of the calls, then those of the results. */
  function idsOf(messages: JsonValue | undefined): readonly JsonValue[] {
    const all = Array.isArray(messages) ? messages.filter(isJsonObject) : [];
    const calls = all.flatMap(({ tool_calls: list }) => (Array.isArray(list) ? list : []));
    const answered = all.flatMap((message) => message.tool_call_id ?? []);
    return [
      ...calls.map((call: JsonValue) => (isJsonObject(call) ? (call.id ?? null) : null)),
      ...answered,
    ];
  }

  it("are given to all calls: equal for equal ids, different for different ones, the same for a longer history", () => {
    const check = (list: readonly string[], more: readonly string[]): void => {
      const short = idsOf(relayed({ messages: historyOf(list) }, ["short_call_ids"]).body.messages);
      for (const id of short) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
      expect(short.slice(list.length)).toEqual(short.slice(0, list.length));
      expect(new Set(short).size).toBe(new Set(list).size);
      const longer = [
        ...historyOf(list),
        ...historyOf(more.filter((id) => !id.startsWith("call"))),
      ];
      const again = idsOf(relayed({ messages: longer }, ["short_call_ids"]).body.messages);
      expect(again.slice(0, list.length)).toEqual(short.slice(0, list.length));
    };
    fc.assert(fc.property(ids, ids, check));
  });
});
