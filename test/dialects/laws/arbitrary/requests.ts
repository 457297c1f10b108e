import fc from "fast-check";
import type {
  GenerateRequest,
  Tool,
  ToolChoice,
} from "../../../../src/canon/generate/generate-request.ts";
import { REASONING_EFFORTS } from "../../../../src/canon/request.ts";
import { cacheMark, turnsFor, type Allowed } from "./conversations.ts";

function toolsFor(allowed: Allowed): fc.Arbitrary<readonly Tool[]> {
  if (!allowed.can("tools")) return fc.constant([]);
  const tool = (name: string): fc.Arbitrary<Tool> =>
    fc.record({
      name: fc.constant(name),
      description: fc.constantFrom(null, "Does what it says."),
      parameters: fc.constantFrom(null, {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: false,
      }),
      strict: allowed.has("tool_strict")
        ? fc.constantFrom(null, false, true)
        : fc.constantFrom(null, false),
      cache: cacheMark,
    });
  // Those that the history calls are always there.
  return fc.tuple(tool("look_up"), tool("send"), tool("unused")).map((tools) => tools);
}

function choiceFor(allowed: Allowed, forced: boolean): fc.Arbitrary<ToolChoice | null> {
  const choices: ToolChoice[] = [{ mode: "auto" }, { mode: "none" }];
  if (forced && allowed.has("tool_choice_required")) choices.push({ mode: "required" });
  if (forced && allowed.has("tool_choice_named")) choices.push({ mode: "named", name: "send" });
  if (allowed.has("tool_choice_allowed")) {
    choices.push({ mode: "allowed", names: ["send", "look_up"], required: false });
    if (forced) choices.push({ mode: "allowed", names: ["send"], required: true });
  }
  return fc.option(fc.constantFrom(...choices));
}

function formatFor(allowed: Allowed): fc.Arbitrary<GenerateRequest["format"]> {
  const formats: fc.Arbitrary<GenerateRequest["format"]>[] = [fc.constant(null), fc.constant(null)];
  if (allowed.can("json_object")) formats.push(fc.constant({ kind: "json_object" }));
  if (allowed.can("json_schema")) {
    formats.push(
      fc.record({
        kind: fc.constant("json_schema" as const),
        name: fc.constantFrom(null, "weather"),
        description: fc.constantFrom(null, "The weather."),
        schema: fc.constant({
          type: "object",
          properties: { degrees: { type: "number" } },
          required: ["degrees"],
          additionalProperties: false,
        }),
        strict: fc.constantFrom(null, true, false),
      }),
    );
  }
  return fc.oneof(...formats);
}

function reasoningFor(allowed: Allowed): fc.Arbitrary<GenerateRequest["reasoning"]> {
  if (!allowed.can("reasoning")) return fc.constant(null);
  const nothing = { effort: "unspecified", budget: null, adaptive: false, display: null } as const;
  const efforts = REASONING_EFFORTS.filter(
    (effort) => effort !== "unspecified" && allowed.has(`effort_${effort}`),
  );
  const display = fc.constantFrom(
    null,
    null,
    "auto",
    "concise",
    "detailed",
    "summarized",
    "omitted",
  );
  const kinds: fc.Arbitrary<NonNullable<GenerateRequest["reasoning"]>>[] = [
    fc.constantFrom(...efforts).map((effort) => ({ ...nothing, effort })),
    display.map((shown) => ({
      ...nothing,
      effort: efforts.includes("high") ? "high" : "unspecified",
      display: shown,
    })),
    display.map((shown) => ({ ...nothing, adaptive: true, display: shown })),
  ];
  if (allowed.has("reasoning_budget"))
    kinds.push(display.map((shown) => ({ ...nothing, budget: 2_048, display: shown })));
  return fc.option(fc.oneof(...kinds));
}

const optionally = <Value>(
  wanted: boolean,
  ...values: readonly Value[]
): fc.Arbitrary<Value | null> => (wanted ? fc.constantFrom(null, ...values) : fc.constant(null));

/** Requests in canon that use nothing but what the target has. */
export function requestFor(allowed: Allowed): fc.Arbitrary<GenerateRequest> {
  const hot = allowed.has("temperature_above_1") ? [1.5] : [];
  const stops = allowed.has("stop_sequences_over_4") ? 6 : 4;
  return fc
    .tuple(reasoningFor(allowed), turnsFor(allowed), toolsFor(allowed))
    .chain(([reasoning, turns, tools]) => {
      const thinks = reasoning !== null && reasoning.effort !== "none";
      return fc.record({
        purpose: fc.constant("generate" as const),
        turns: fc.constant(turns),
        tools: fc.constant(tools),
        toolChoice:
          tools.length === 0
            ? fc.constant(null)
            : choiceFor(allowed, !thinks || allowed.has("forced_tool_with_reasoning")),
        parallelToolCalls:
          tools.length === 0
            ? fc.constant(null)
            : allowed.has("parallel_tool_calls_off")
              ? fc.constantFrom(null, true, false)
              : fc.constantFrom(null, true),
        format: formatFor(allowed),
        // A budget is part of the limit, and smaller.
        maxOutputTokens:
          reasoning !== null && reasoning.budget !== null
            ? fc.constantFrom(null, 9_000)
            : fc.constantFrom(null, 16, 9_000),
        temperature: optionally(allowed.has("sampling"), 0, 0.25, 1, ...hot),
        topP: optionally(allowed.has("sampling"), 0.5, 1),
        topK: optionally(allowed.has("top_k"), 40),
        frequencyPenalty: allowed.has("penalties_outside_0_1")
          ? optionally(true, -1.5, 2)
          : optionally(allowed.has("penalties"), 1),
        presencePenalty: optionally(allowed.has("penalties"), 0.5),
        logitBias: optionally(allowed.has("logit_bias"), { 50256: -100 }),
        seed: optionally(allowed.has("seed"), 0, 42),
        stop: allowed.has("stop_sequences")
          ? fc.uniqueArray(
              fc.constantFrom(
                "a",
                "b",
                "c",
                "d",
                "e",
                allowed.has("stop_sequences_blank") ? "\n" : "f",
              ),
              {
                maxLength: stops,
              },
            )
          : fc.constant([]),
        logprobs: optionally(allowed.has("token_logprobs") && allowed.can("logprobs"), 0, 5),
        reasoning: fc.constant(reasoning),
        verbosity: optionally(allowed.has("verbosity"), "low", "high"),
        hints: fc.record({
          serviceTier: fc.constantFrom(null, "auto", "default", "flex", "priority"),
          promptCacheKey: fc.constantFrom(null, "k-1"),
          promptCacheRetention: fc.constantFrom(null, "24h"),
        }),
        stream: fc.boolean(),
      });
    });
}
