import { describe, expect, it } from "vitest";
import type { ModelReasoning } from "../../src/canon/table.ts";
import { dialect } from "../../src/dialects/bedrock-converse/dialect.ts";
import type { Target, Upstream } from "../../src/dialects/dialect.ts";
import { budgetOfEffort, effortOfBudget } from "../../src/dialects/reasoning-effort.ts";
import { MODEL, targetOf } from "./laws/target.ts";
import { canon } from "./openai-chat/canon.ts";
import { upstreamFor } from "../../src/dialects/exchange-plan.ts";

const { generate: converseUpstream } = dialect;

const chatUpstream = upstreamFor("generate", "openai-chat");
const responsesUpstream = upstreamFor("generate", "openai-responses");

const LEVELS = ["low", "medium", "high"] as const;
const BUDGETS = { none: 0, low: 1_024, high: 8_192, max: 30_000 };

describe("a budget as an effort", () => {
  it.each<[number, ModelReasoning["efforts"], string | null]>([
    [8_192, null, "high"],
    [8_191, null, "low"],
    // The protocol has no level for it.
    [99_999, null, "high"],
    // Less than all: the smallest, and never none, which is no thinking at all.
    [500, ["none", "low", "high"], "low"],
    [5_000, ["high"], "high"],
    [99_999, ["low"], "low"],
    [99_999, ["low", "max"], "max"],
    [5_000, ["medium"], null],
    [5_000, [], null],
  ])("%i tokens, where the model has the levels %j, is %s", (budget, efforts, effort) => {
    expect(effortOfBudget(budget, { efforts, budgets: BUDGETS }, LEVELS)).toBe(effort);
  });

  it("is none without a table", () => {
    expect(effortOfBudget(5_000, null, LEVELS)).toBeNull();
    expect(effortOfBudget(5_000, { efforts: null, budgets: null }, LEVELS)).toBeNull();
  });

  it.each<[string, Upstream, Target, (body: Readonly<Record<string, unknown>>) => unknown]>([
    ["chat", chatUpstream, targetOf("openai-chat"), (body) => body.reasoning_effort],
    ["responses", responsesUpstream, targetOf("openai-responses"), (body) => body.reasoning],
    [
      "converse",
      converseUpstream,
      flagged(targetOf("bedrock-converse")),
      (body) => body.additionalModelRequestFields,
    ],
  ])("is the same level in every protocol of levels: %s", (_name, upstream, target, read) => {
    const reasoning = {
      effort: "unspecified",
      budget: 5_000,
      adaptive: false,
      display: null,
    } as const;
    const table: ModelReasoning = { efforts: ["high"], budgets: BUDGETS };
    const formatted = upstream.format(canon({ reasoning }), {
      ...target,
      model: { ...MODEL, reasoning: table },
    });
    if ("code" in formatted) throw new Error(formatted.message);
    expect(JSON.stringify(read(formatted.body))).toContain('"high"');
    expect(formatted.dropped).toContain("budget_as_effort");
  });
});

/** A provider whose models take the effort as a level of their own. */
function flagged(target: Target): Target {
  return { ...target, provider: { ...target.provider, flags: ["reasoning_effort_field"] } };
}

describe("an effort as a budget", () => {
  it("is the table's where the model lacks the level", () => {
    const table: ModelReasoning = { efforts: ["high"], budgets: BUDGETS };
    expect(budgetOfEffort("low", table, LEVELS)).toBe(1_024);
    expect(budgetOfEffort("high", table, LEVELS)).toBeNull();
    expect(budgetOfEffort("medium", table, LEVELS)).toBeNull();
    expect(budgetOfEffort("unspecified", table, LEVELS)).toBeNull();
    expect(budgetOfEffort("low", { ...table, efforts: null }, LEVELS)).toBeNull();
    expect(budgetOfEffort("max", { ...table, efforts: null }, LEVELS)).toBe(30_000);
    expect(budgetOfEffort("low", null, LEVELS)).toBeNull();
  });
});
