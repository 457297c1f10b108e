import { describe, expect, it } from "vitest";
import { editSet, type DroppedField } from "../../../src/canon/generate/edit.ts";
import type { JsonObject } from "../../../src/canon/json.ts";
import type { DialectFacts } from "../../../src/dialects/dialect.ts";
import { DIALECTS } from "../../../src/dialects/table.ts";
import { lacking } from "../laws/target.ts";
import { parse, user } from "./bodies.ts";
import {
  assistant,
  called,
  choice,
  other,
  targetWith,
  relayed,
  result,
  texts,
  tool,
  translated,
} from "./vendors.ts";

const EMBEDDINGS_FLAGS = [
  "output_dimension_field",
  "no_encoding_format",
  "float_vectors",
  "int8_vectors",
  "input_type_field",
  "task_field",
  "no_return_documents",
  "no_token_inputs",
];

interface Row {
  readonly flag: string;
  readonly sent: JsonObject;
  /** Members as the provider gets them; `null`: not at all. */
  readonly got: JsonObject;
  readonly dropped?: readonly DroppedField[];
}

/** The same meaning on a relay and on a translation. */
const ROWS: readonly Row[] = [
  {
    flag: "max_tokens_field",
    sent: { max_completion_tokens: 5 },
    got: { max_tokens: 5, max_completion_tokens: null },
  },
  {
    flag: "max_tokens_field",
    sent: { max_tokens: 5 },
    got: { max_tokens: 5, max_completion_tokens: null },
  },
  {
    flag: "max_completion_tokens_field",
    sent: { max_tokens: 5 },
    got: { max_tokens: null, max_completion_tokens: 5 },
  },
  { flag: "random_seed_field", sent: { seed: 7 }, got: { seed: null, random_seed: 7 } },
  {
    flag: "reasoning_object",
    sent: { reasoning_effort: "low" },
    got: { reasoning_effort: null, reasoning: { effort: "low" } },
  },
  {
    flag: "no_developer_role",
    sent: { messages: [{ role: "developer", content: "d" }, user] },
    got: { messages: [{ role: "system", content: "d" }, user] },
    dropped: ["developer_as_system"],
  },
  {
    flag: "no_participant_names",
    sent: { messages: [{ ...user, name: "ann" }] },
    got: { messages: [user] },
    dropped: ["participant_name_dropped"],
  },
  {
    flag: "joined_text_content",
    sent: { messages: [{ role: "user", content: texts("a", "b") }] },
    got: { messages: [{ role: "user", content: "a\nb" }] },
    dropped: ["text_parts_joined"],
  },
  {
    flag: "replays_reasoning",
    sent: { messages: [user, assistant({ reasoning_content: "t" }), user] },
    got: { messages: [user, assistant({ reasoning_content: "t" }), user] },
  },
  {
    flag: "replays_reasoning",
    sent: { messages: [user, assistant({ reasoning: "t" }), user] },
    got: { messages: [user, assistant({ reasoning_content: "t" }), user] },
  },
  {
    flag: "replays_reasoning",
    sent: { messages: [user, assistant({}), user] },
    got: { messages: [user, assistant({ reasoning_content: " " }), user] },
    dropped: ["reasoning_placeholder"],
  },
  {
    flag: "no_reasoning_history",
    sent: { messages: [user, assistant({ reasoning_content: "t" }), user] },
    got: { messages: [user, assistant({}), user] },
    dropped: ["unsigned_reasoning_dropped"],
  },
  {
    flag: "short_call_ids",
    sent: {
      messages: [
        user,
        assistant({ content: null, tool_calls: [called("toolu_01ABC"), called("D681PevKs")] }),
        result("toolu_01ABC"),
        result("D681PevKs"),
      ],
    },
    got: {
      messages: [
        user,
        assistant({ content: null, tool_calls: [called("call00001"), called("D681PevKs")] }),
        result("call00001"),
        result("D681PevKs"),
      ],
    },
    dropped: ["call_ids_rewritten"],
  },
  {
    flag: "no_allowed_tools",
    sent: { tools: [tool, other], tool_choice: choice("required", "g") },
    got: { tools: [other], tool_choice: "required" },
    dropped: ["allowed_tools_filtered"],
  },
  {
    flag: "no_allowed_tools",
    sent: { tools: [tool, other], tool_choice: choice("auto", "f", "g") },
    got: { tools: [tool, other], tool_choice: "auto" },
    dropped: ["allowed_tools_filtered"],
  },
  {
    flag: "no_tool_choice",
    sent: { tools: [tool], tool_choice: "none" },
    got: { tools: null, tool_choice: null },
    dropped: ["tools_withheld"],
  },
  {
    flag: "no_tool_choice",
    sent: { tools: [tool], tool_choice: "auto" },
    got: { tools: [tool], tool_choice: null },
  },
  {
    flag: "no_tool_strict",
    sent: { tools: [{ type: "function", function: { name: "f", strict: false } }] },
    got: { tools: [{ type: "function", function: { name: "f" } }] },
  },
  {
    flag: "no_parallel_tool_calls_field",
    sent: { tools: [tool], parallel_tool_calls: true },
    got: { tools: [tool], parallel_tool_calls: null },
  },
  {
    flag: "no_penalties",
    sent: { frequency_penalty: 0, presence_penalty: 0 },
    got: { frequency_penalty: null, presence_penalty: null },
  },
  { flag: "no_logit_bias", sent: { logit_bias: {} }, got: { logit_bias: null } },
  {
    flag: "no_service_tier",
    sent: { service_tier: "flex" },
    got: { service_tier: null },
    dropped: ["service_tier_changed"],
  },
  {
    flag: "no_user_after_tool",
    sent: {
      messages: [user, assistant({ content: null, tool_calls: [called("c")] }), result("c"), user],
    },
    got: {
      messages: [
        user,
        assistant({ content: null, tool_calls: [called("c")] }),
        result("c"),
        { role: "assistant", content: "OK." },
        user,
      ],
    },
    dropped: ["turn_made"],
  },
  {
    flag: "no_prompt_cache_fields",
    sent: { prompt_cache_key: "k", prompt_cache_retention: "24h" },
    got: { prompt_cache_key: null, prompt_cache_retention: null },
    dropped: ["cache_hint_dropped"],
  },
];

/** The members that a row speaks of; those that are not there read `null`. */
function members({ body }: { readonly body: JsonObject }, got: JsonObject): JsonObject {
  return Object.fromEntries(Object.keys(got).map((name) => [name, body[name] ?? null]));
}

describe("a flag means the same on a relay and on a translation", () => {
  it.each(ROWS)("$flag: $sent", ({ flag, sent, got, dropped = [] }) => {
    const relay = relayed(sent, [flag]);
    expect(members(relay, got)).toEqual(got);
    expect(relay.dropped).toEqual(dropped);
    const translation = translated(sent, [flag]);
    expect(members(translation, got)).toEqual(got);
    for (const field of dropped) expect(translation.dropped).toContain(field);
    // Without the flag nothing of the kind happens.
    expect(members(relayed(sent, []), sent)).toEqual(sent);
    expect(relayed(sent, []).dropped).toEqual([]);
  });

  it("every flag that edits a request has a row", () => {
    const facts: DialectFacts = DIALECTS["openai-chat"];
    const withdrawing = Object.keys(facts.flags).filter(
      (flag) => (facts.flags[flag]?.withdraws?.length ?? 0) > 0,
    );
    // Those of embeddings have theirs in test/dialects/unary/embed/requests.test.ts, the one of
    // answers in rewritten-answers.test.ts.
    const others = ["no_store_field", "no_stream_options", "deployment_paths", "rewritten_answers"];
    const elsewhere = [...others, ...EMBEDDINGS_FLAGS];
    const shown = new Set([...ROWS.map(({ flag }) => flag), ...withdrawing, ...elsewhere]);
    expect(Object.keys(facts.flags).filter((flag) => !shown.has(flag))).toEqual([]);
  });

  it("leaves a body without its members unchanged", () => {
    const flags = Object.keys(DIALECTS["openai-chat"].flags).filter(
      (flag) => !flag.startsWith("no_st"),
    );
    expect(relayed({ temperature: 0 }, flags)).toEqual({
      body: { model: "upstream-model", messages: [user], temperature: 0, store: false },
      stripped: [],
      edits: editSet("model_replaced") | editSet("store_false_sent"),
      headers: [],
      dropped: [],
    });
  });
});

describe("a feature that a flag withdraws is refused before a call", () => {
  it.each<[flag: string, sent: JsonObject, feature: string]>([
    ["no_logit_bias", { logit_bias: { 1: 2 } }, "logit_bias"],
    ["no_logprobs", { logprobs: true }, "token_logprobs"],
    ["no_penalties", { presence_penalty: 0.5 }, "penalties"],
    ["no_verbosity", { verbosity: "low" }, "verbosity"],
    [
      "no_tool_strict",
      { tools: [{ type: "function", function: { name: "f", strict: true } }] },
      "tool_strict",
    ],
    [
      "no_parallel_tool_calls_field",
      { tools: [tool], parallel_tool_calls: false },
      "one_tool_called_once",
    ],
    [
      "no_parallel_tool_calls_field",
      { tools: [tool, other], parallel_tool_calls: false },
      "parallel_tool_calls_off",
    ],
    ["no_tool_choice", { tools: [tool], tool_choice: "required" }, "tool_choice_required"],
    [
      "no_tool_choice",
      { tools: [tool, other], tool_choice: { type: "function", function: { name: "f" } } },
      "tool_choice_named",
    ],
    ["no_tool_choice", { tools: [tool], tool_choice: choice("auto", "f") }, "tool_choice_allowed"],
  ])("%s: %o", (flag, sent, feature) => {
    const request = parse(sent);
    expect(request.shape.features).toContain(feature);
    expect(lacking(request, targetWith([]))).toBeNull();
    expect(lacking(request, targetWith([flag]))).toBe(feature);
    expect(targetWith([flag]).endpoint.features).not.toContain(feature);
  });
});
