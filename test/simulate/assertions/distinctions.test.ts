import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { distinctionsOf } from "../../../src/simulate/assertions/select.ts";
import { SELECTOR_DEFINITIONS } from "../../../src/simulate/assertions/schema.ts";
import type { Distinctions, SampleRequest } from "../../../src/simulate/sample-request.ts";
import {
  assertionsOf,
  comparisonOf,
  fileWith,
  pairOf,
  pointWith,
  resultOf,
  routed,
  TABLE,
} from "./samples.ts";

const of = (lines: string): Distinctions => {
  const [assertion] = assertionsOf(fileWith(lines));
  if (assertion === undefined || assertion.kind === "cases") throw new Error("no classes");
  return distinctionsOf(assertion, { base: TABLE, head: TABLE });
};

describe("distinctions that assertions require", () => {
  test.for([
    ["kind: always_routable", [], ["preferences.narrowed"]],
    [
      "kind: always_routable\nfor: { workspaces: [demo, acme-dev] }",
      ["acme-dev", "demo"],
      ["input.workspace.id", "preferences.narrowed"],
    ],
    ["kind: equivalent\nexcept: { tiers: [regulated] }", ["regulated"], ["input.workspace.tier"]],
    ["kind: equivalent\nfor: { labels: { none: [eu] } }", ["eu"], ["input.workspace.labels"]],
    ["kind: equivalent\nfor: { key_labels: [eu] }", ["eu"], ["input.key.labels"]],
    ["kind: equivalent\nfor: { routes: [rerank] }", ["rerank"], ["input.request.route"]],
    [
      "kind: equivalent\nfor: { operations: [rerank, messages] }",
      ["messages", "rerank"],
      ["input.operation"],
    ],
    [
      "kind: equivalent\nfor: { needs: { all: [tools], any: [mcp], none: [prefill], only: [tools, reasoning] } }",
      ["mcp", "prefill", "reasoning", "tools"],
      ["input.request.needs"],
    ],
    ["kind: equivalent\nfor: { needs: { only: [] } }", [], ["input.request.needs"]],
    ["kind: equivalent\nfor: { features: { only: [seed] } }", ["seed"], ["input.request.features"]],
    [
      "kind: equivalent\nfor: { signature_families: [openai] }",
      ["openai"],
      ["input.request.signature_families"],
    ],
    [
      "kind: equivalent\nfor: { environments: [other], workloads: [other] }",
      ["other"],
      ["input.key.environment", "input.key.workload"],
    ],
    [
      "kind: equivalent\nfor: { stream: true, zdr: false, allow_fallbacks: true, data_collection: deny }",
      [],
      [
        "input.request.allow_fallbacks",
        "input.request.data_collection",
        "input.request.stream",
        "input.request.zdr",
      ],
    ],
    [
      "kind: equivalent\nfor: { context: [to_1k], max_output: [to_4k], reasoning_effort: [low], dimensions: [0, 512] }",
      ["0", "512", "low", "to_1k", "to_4k"],
      [
        "input.request.context",
        "input.request.dimensions",
        "input.request.max_output",
        "input.request.reasoning_effort",
      ],
    ],
    [
      "kind: equivalent\nfor: { days: [weekend], hours: [night] }",
      ["night", "weekend"],
      ["input.time.day", "input.time.hour"],
    ],
    [
      "kind: access_not_granted\nto: { regions: [world], models: [gpt-5], endpoints: [rerank-global], providers: [mistral-eu] }",
      ["global", "gpt-5", "mistral-eu", "rerank-global", "world"],
      [],
    ],
    ["kind: access_not_granted\nto: { retention: [none] }", ["mistral-eu", "openai-eu"], []],
    ["kind: access_not_granted\nto: { trains_on_data: true }", [], []],
    [
      "kind: implies\nif: { reaches: { models: [gpt-5] } }\nthen: { every_endpoint: { regions: [world] }, some_endpoint: { models: [rerank] }, primary: { endpoints: [gpt-5-us] } }",
      ["global", "gpt-5", "gpt-5-us", "rerank", "world"],
      [],
    ],
  ] as const)("%s distinguishes the names %j and reads %j", ([lines, strings, reads]) => {
    expect(of(lines)).toEqual({ strings, reads });
  });

  test("new access distinguishes every provider and region", () => {
    const { strings } = of("kind: no_new_access");
    expect(strings).toEqual(
      [
        ...new Set([
          ...Object.keys(TABLE.providers),
          ...Object.values(TABLE.endpoints).map(({ region }) => region),
        ]),
      ].toSorted(),
    );
  });

  test("every key of a selector has a path", () => {
    const selector = SELECTOR_DEFINITIONS.request_selector?.properties;
    if (typeof selector !== "object" || selector === null) throw new Error("no selector");
    const values: Record<string, string> = {
      workspaces: "[demo]",
      tiers: "[regulated]",
      labels: "[eu]",
      routes: "[rerank]",
      operations: "[rerank]",
      needs: "[tools]",
      features: "[seed]",
      signature_families: "[openai]",
      environments: "[other]",
      workloads: "[other]",
      owners: "[other]",
      key_labels: "[eu]",
      stream: "true",
      context: "[to_1k]",
      max_output: "[to_1k]",
      reasoning_effort: "[low]",
      dimensions: "[0]",
      allow_fallbacks: "true",
      data_collection: "deny",
      zdr: "true",
      budgets: "[exhausted]",
      days: "[weekday]",
      hours: "[night]",
    };
    const paths = Object.keys(selector).map(
      (key) => of(`kind: equivalent\nfor: { ${key}: ${values[key]} }`).reads,
    );
    expect(paths.every((reads) => reads.length === 1)).toBe(true);
    expect(new Set(paths.flat()).size).toBe(Object.keys(selector).length);
  });

  test("two requests without a distinguished difference match the same selectors", () => {
    const needs = ["tools", "mcp", "reasoning", "prefill"] as const;
    const least = fc.uniqueArray(fc.constantFrom(...needs), { minLength: 1 });
    const some = fc.uniqueArray(fc.constantFrom(...needs));
    fc.assert(
      fc.property(
        fc.record({ all: least, any: least, none: least, only: some }, { requiredKeys: [] }),
        some,
        some,
        (condition, left, right) => {
          fc.pre(Object.keys(condition).length > 0);
          const lines = `kind: always_routable\nmay_be_empty: true\nfor: { needs: ${JSON.stringify(condition)} }`;
          const { strings } = of(lines);
          // As `distinctionsOf` says: the named values, and whether there is another one.
          const seen = (set: readonly string[]) =>
            [...new Set(set.map((value) => (strings.includes(value) ? value : "another")))]
              .toSorted()
              .join();
          fc.pre(seen(left) === seen(right));
          const meets = (set: SampleRequest["needs"]) => {
            const outcome = routed(["gpt-5-us"]);
            return resultOf(lines, [
              comparisonOf(pairOf(outcome, outcome), pointWith({ needs: set })),
            ]).classes;
          };
          expect(meets(left.toSorted())).toBe(meets(right.toSorted()));
        },
      ),
      { numRuns: 200 },
    );
  });
});
