import { describe, expect, test } from "vitest";
import type { Assertion } from "../../../src/simulate/assertions/schema.ts";
import { judgeCases, assertionResults } from "../../../src/simulate/assertions/run.ts";
import type { Outcome } from "../../../src/simulate/sample-request.ts";
import { assertionsOf, denied, fileWith, NOW, pairOf, pointWith, routed } from "./samples.ts";

const PLAN = routed(["gpt-5-us", "gpt-5-eu", "mistral-large-eu"]);
const shown = "the plan is gpt-5-us, gpt-5-eu, mistral-large-eu";

function judge(
  expectation: string,
  declared: Outcome,
  promoted: Outcome = declared,
  view = "both",
) {
  const assertions = assertionsOf(
    fileWith(`kind: cases
view: ${view}
cases:
  - name: sample
    request: { workspace: demo, model: chat-large, operation: chat.completions }
    expect: ${expectation}`),
  );
  // Base is never what a case is about.
  const decide = () => ({
    declared: pairOf(denied("base"), declared),
    promoted: pairOf(denied("base"), promoted),
  });
  const cases = judgeCases(assertions, decide);
  return { cases, result: assertionResults(assertions, [], cases, NOW, () => [])[0] };
}

describe("the expectation of one request", () => {
  const rows: readonly (readonly [string, Outcome, string | null])[] = [
    ["{ outcome: route }", PLAN, null],
    [
      "{ outcome: route }",
      denied(),
      "the request is denied by approvals/route_known (model_not_found)",
    ],
    ["{ outcome: deny }", PLAN, "the request is routed"],
    ["{ outcome: deny }", denied(), null],
    ["{ plan: [gpt-5-us, gpt-5-eu, mistral-large-eu] }", PLAN, null],
    [
      "{ plan: [gpt-5-eu, gpt-5-us, mistral-large-eu] }",
      PLAN,
      `${shown}, expected gpt-5-eu, gpt-5-us, mistral-large-eu`,
    ],
    ["{ plan: [gpt-5-us, gpt-5-eu] }", PLAN, `${shown}, expected gpt-5-us, gpt-5-eu`],
    [
      "{ plan: [gpt-5-us] }",
      denied(),
      "denied by approvals/route_known (model_not_found), expected gpt-5-us",
    ],
    ["{ plan: [] }", denied(), null],
    ["{ plan: [] }", PLAN, `${shown}, expected none`],
    ["{ primary: gpt-5-us }", PLAN, null],
    ["{ primary: gpt-5-eu }", PLAN, `${shown}, expected gpt-5-eu first`],
    ["{ contains: [gpt-5-eu, gpt-5-us] }", PLAN, null],
    ["{ contains: [gpt-5-us, rerank-global] }", PLAN, `${shown}, expected rerank-global in it`],
    ["{ contains: [gpt-5-us], outcome: route }", PLAN, null],
    ["{ lacks: [rerank-global] }", PLAN, null],
    ["{ lacks: [rerank-global, gpt-5-eu] }", PLAN, `${shown}, expected no gpt-5-eu`],
    ["{ denied_by: { policy: approvals } }", denied(), null],
    [
      "{ denied_by: { policy: approvals, reason: model_not_found, constraint: route_known } }",
      denied(),
      null,
    ],
    [
      "{ denied_by: { policy: eu-residency } }",
      denied(),
      "the request is denied by approvals/route_known (model_not_found) instead",
    ],
    ["{ denied_by: { reason: REGION_NOT_IN_EU } }", PLAN, "the request is routed"],
  ];

  test.for(rows)("%s", ([expectation, outcome, message]) => {
    const { cases, result } = judge(expectation, outcome);
    expect(cases[0]?.message).toBe(message === null ? null : `sample: as declared, ${message}`);
    expect(result).toMatchObject({
      kind: "cases",
      classes: 1,
      violations: message === null ? 0 : 1,
      status: message === null ? "PASS" : "FAIL",
    });
  });

  test.for([
    ["declared", null],
    [
      "promoted",
      "sample: as if promoted, the request is denied by approvals/route_known (model_not_found)",
    ],
    [
      "both",
      "sample: as if promoted, the request is denied by approvals/route_known (model_not_found)",
    ],
  ] as const)("under the view %s has the message %j", ([view, message]) => {
    expect(judge("{ outcome: route }", PLAN, denied(), view).cases[0]?.message).toBe(message);
  });
});

/** The requests that are decided for the cases. */
const samplesOf = (rows: readonly Assertion[]) =>
  judgeCases(rows, () => ({
    declared: pairOf(PLAN, denied()),
    promoted: pairOf(PLAN, denied()),
  })).map(({ sample }) => sample);

describe("the request of a case", () => {
  test("has the simplest value for every member that is not given", () => {
    const rows = assertionsOf(
      fileWith(
        "kind: cases\ncases: [{ request: { workspace: demo, model: chat-large, operation: chat.completions }, expect: { outcome: route } }]",
      ),
    );
    expect(samplesOf(rows)).toEqual([
      pointWith({ key: { environment: "other", workload: "other", labels: [] }, features: [] }),
    ]);
    expect(
      judgeCases(rows, () => ({
        declared: pairOf(PLAN, denied()),
        promoted: pairOf(PLAN, denied()),
      }))[0]?.message,
    ).toMatch(/^case 1: /);
  });

  test("has every member of a request, with sorted sets", () => {
    const rows = assertionsOf(
      fileWith(`kind: cases
cases:
  - request:
      workspace: demo
      model: large-any
      operation: messages.count_tokens
      environment: staging
      workload: other
      key_labels: [eu]
      needs: [tools, reasoning]
      features: [seed]
      signature_families: [openai, anthropic]
      stream: true
      context: to_64k
      max_output: to_4k
      reasoning_effort: high
      dimensions: 512
      allow_fallbacks: false
      data_collection: allow
      zdr: true
      only: [openai-us]
      ignore: [mistral-eu]
      order: [openai-us, openai-eu]
      region: [eu]
      day: weekend
      hour: night
    expect: { outcome: route }`),
    );
    expect(samplesOf(rows)).toEqual([
      {
        workspace: "demo",
        model: "large-any",
        operation: "messages.count_tokens",
        key: { environment: "staging", workload: "other", labels: ["eu"] },
        needs: ["reasoning", "tools"],
        features: ["count_tokens", "seed"],
        signatureFamilies: ["anthropic", "openai"],
        stream: true,
        context: "to_64k",
        maxOutput: "to_4k",
        reasoningEffort: "high",
        dimensions: 512,
        preferences: {
          order: ["openai-us", "openai-eu"],
          only: ["openai-us"],
          ignore: ["mistral-eu"],
          allow_fallbacks: false,
          region: ["eu"],
          data_collection: "allow",
          zdr: true,
        },
        time: { day: "weekend", hour: "night" },
      },
    ]);
  });
});
