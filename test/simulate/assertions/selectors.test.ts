import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SampleRequest } from "../../../src/simulate/sample-request.ts";
import { comparisonOf, pairOf, pointWith, resultOf, routed, TABLE, tableWith } from "./samples.ts";

const head = tableWith([
  "environments: [development, production, staging, test]\n  labels: [eu]",
  "environments: [development, production]\n  workloads: [batch, chat]\n  owners: [group:payments, a+b@example.org]\n  labels: [eu, batch, tools]",
]);

/** How many classes a selector meets of one. */
function meets(selector: string, sample: Partial<SampleRequest>, where = "for"): boolean {
  const outcome = routed(["gpt-5-us"]);
  const comparison = comparisonOf(pairOf(outcome, outcome), pointWith(sample));
  const lines = `kind: always_routable\nmay_be_empty: true\n${where}: ${selector}`;
  return resultOf(lines, [comparison], TABLE, head).classes === 1;
}

const key = (changes: Partial<SampleRequest["key"]>): Partial<SampleRequest> => ({
  key: { environment: "production", workload: "other", labels: [], ...changes },
});

const rows: readonly (readonly [string, Partial<SampleRequest>, boolean])[] = [
  ["{ workspaces: [demo, acme-dev] }", { workspace: "acme-dev" }, true],
  ["{ workspaces: [demo] }", { workspace: "acme-dev" }, false],
  ["{ workspaces: [demo] }", { workspace: "constructor" }, false],
  ["{ tiers: [regulated] }", { workspace: "acme-prod" }, true],
  ["{ tiers: [regulated] }", { workspace: "demo" }, false],
  ["{ labels: [eu] }", { workspace: "acme-prod" }, true],
  ["{ labels: { only: [] } }", { workspace: "acme-prod" }, false],
  ["{ labels: { none: [eu] } }", { workspace: "demo" }, true],
  [
    "{ tiers: [regulated], routes: [chat-small] }",
    { workspace: "acme-prod", model: "chat-large" },
    false,
  ],
  ["{ routes: [chat-large] }", {}, true],
  ["{ routes: [chat-small] }", {}, false],
  ["{ routes: [moderation] }", { operation: "moderations", model: "" }, true],
  [
    "{ routes: [moderation] }",
    { operation: "moderations", model: "", workspace: "acme-prod" },
    false,
  ],
  ["{ routes: [moderation] }", { operation: "embeddings", model: "" }, false],
  ["{ operations: [messages, embeddings] }", { operation: "embeddings" }, true],
  ["{ operations: [messages] }", { operation: "messages.count_tokens" }, false],
  ["{ needs: [tools, mcp] }", { needs: ["tools"] }, true],
  ["{ needs: [tools, mcp] }", { needs: ["reasoning"] }, false],
  ["{ needs: { all: [tools, mcp] } }", { needs: ["mcp", "reasoning", "tools"] }, true],
  ["{ needs: { all: [tools, mcp] } }", { needs: ["tools"] }, false],
  ["{ needs: { any: [tools], none: [mcp] } }", { needs: ["mcp", "tools"] }, false],
  ["{ needs: { only: [tools] } }", { needs: [] }, true],
  ["{ needs: { only: [tools] } }", { needs: ["mcp", "tools"] }, false],
  ["{ needs: { only: [] } }", { needs: ["tools"] }, false],
  ["{ features: [seed] }", { features: ["seed"] }, true],
  ["{ features: { only: [conversation] } }", { features: ["seed"] }, false],
  ["{ signature_families: { only: [] } }", { signatureFamilies: ["openai"] }, false],
  ["{ signature_families: [openai] }", { signatureFamilies: ["openai"] }, true],
  ["{ environments: [production] }", key({}), true],
  ["{ environments: [production] }", key({ environment: "development" }), false],
  ["{ environments: [other] }", key({ environment: "staging" }), true],
  ["{ environments: [other] }", key({ environment: "other" }), true],
  ["{ environments: [other] }", key({}), false],
  ["{ workloads: [batch] }", key({ workload: "batch" }), true],
  ["{ workloads: [other] }", key({ workload: "nightly" }), true],
  ["{ owners: [group:payments, 'a+b@example.org'] }", key({ owner: "a+b@example.org" }), true],
  ["{ owners: [group:payments] }", key({}), false],
  ["{ owners: [other] }", key({ owner: "group:web" }), true],
  ["{ owners: [other] }", key({}), true],
  ["{ budgets: [unlimited, above_half] }", {}, true],
  ["{ budgets: [exhausted] }", {}, false],
  ["{ budgets: [exhausted] }", { budget: "exhausted" }, true],
  ["{ key_labels: [batch] }", key({ labels: ["batch", "eu"] }), true],
  ["{ key_labels: { only: [eu] } }", key({ labels: ["batch", "eu"] }), false],
  ["{ key_labels: { only: [eu] } }", key({ labels: ["eu", "outside-the-vocabulary"] }), true],
  ["{ stream: true }", { stream: true }, true],
  ["{ stream: false }", { stream: true }, false],
  ["{ context: [to_1k, to_4k] }", { context: "to_4k" }, true],
  ["{ context: [to_1k] }", { context: "unspecified" }, false],
  ["{ max_output: [over_1m] }", { maxOutput: "over_1m" }, true],
  ["{ max_output: [over_1m] }", { maxOutput: "to_1m" }, false],
  ["{ reasoning_effort: [high] }", { reasoningEffort: "high" }, true],
  ["{ reasoning_effort: [none] }", {}, false],
  ["{ dimensions: [512] }", { dimensions: 512 }, true],
  ["{ dimensions: [512] }", { dimensions: null }, false],
  ["{ dimensions: [0] }", { dimensions: null }, true],
  ["{ allow_fallbacks: true }", { preferences: null }, true],
  ["{ allow_fallbacks: true }", { preferences: { zdr: true } }, true],
  ["{ allow_fallbacks: false }", { preferences: { allow_fallbacks: false } }, true],
  ["{ allow_fallbacks: true }", { preferences: { allow_fallbacks: false } }, false],
  ["{ data_collection: deny }", { preferences: null }, true],
  ["{ data_collection: deny }", { preferences: { data_collection: "allow" } }, false],
  ["{ data_collection: allow }", { preferences: { data_collection: "allow" } }, true],
  ["{ zdr: false }", { preferences: {} }, true],
  ["{ zdr: true }", { preferences: { zdr: true } }, true],
  ["{ zdr: true }", { preferences: { zdr: false } }, false],
  ["{ days: [weekend] }", { time: { day: "weekend", hour: "night" } }, true],
  ["{ days: [weekend] }", {}, false],
  ["{ hours: [night, evening] }", { time: { day: "weekday", hour: "evening" } }, true],
  ["{ hours: [night] }", {}, false],
];

describe("the selected requests", () => {
  test.for(rows.map((row) => [`${row[0]} of ${JSON.stringify(row[1])}`, row] as const))(
    "%s",
    ([, [selector, point, expected]]) => {
      expect(meets(selector, point)).toBe(expected);
      // The same values as an exception mean the others; a workspace that is not there makes no
      // requests either way.
      expect(meets(selector, point, "except")).toBe(
        point.workspace === "constructor" ? false : !expected,
      );
    },
  );

  test("a set matches by its definition, for random sets and conditions", () => {
    const needed = ["tools", "mcp", "reasoning", "json_schema"] as const;
    const some = fc.uniqueArray(fc.constantFrom(...needed));
    const least = fc.uniqueArray(fc.constantFrom(...needed), { minLength: 1 });
    fc.assert(
      fc.property(
        some,
        fc.record({ all: least, any: least, none: least, only: some }, { requiredKeys: [] }),
        (needs, condition) => {
          fc.pre(Object.keys(condition).length > 0);
          const { all, any, none, only } = condition;
          const has = (need: (typeof needed)[number]) => needs.includes(need);
          const expected =
            (all === undefined || all.every(has)) &&
            (any === undefined || any.some(has)) &&
            (none === undefined || !none.some(has)) &&
            (only === undefined || needs.every((need) => only.includes(need)));
          expect(
            meets(`{ needs: ${JSON.stringify(condition)} }`, { needs: needs.toSorted() }),
          ).toBe(expected);
        },
      ),
      { numRuns: 300 },
    );
  });
});
