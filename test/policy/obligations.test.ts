import { beforeAll, describe, expect, test } from "vitest";
import type { PolicyEvaluation, PolicySet } from "../../src/canon/policy.ts";
import { buildModules, compilePolicies } from "../../src/policy/compile-policies.ts";
import type { CompiledPolicy } from "../../src/policy/compiled.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import { ordinaryInput, policySource, sampleData, toolchain } from "./samples.ts";

const obligations = {
  cap_output: "{kind: max_output_tokens, value: 4096}",
  hide_key: "{kind: strip_field, value: prompt_cache_key}",
  stay_near: "{kind: prefer_region, value: eu}",
};
const sources = [
  policySource(
    "house",
    { gate: "{effect: gate, reasons: [NO]}" },
    'pass.gate if input.operation\n\nwaive.cap_output if "large-output" in input.workspace.labels',
    "[chat.completions]",
    obligations,
  ),
  policySource("bare", {}, "", null, { cap_output: obligations.cap_output }),
];

const labelled = ordinaryInput({
  workspace: { ...ordinaryInput().workspace, labels: ["large-output"] },
});
const streamed = ordinaryInput({ request: { ...ordinaryInput().request, stream: true } });

const inForce = ({ obligations: found }: PolicyEvaluation): readonly string[] =>
  found.map(
    ({ policy, name, kind, value }) => `${policy.id} ${policy.slot} ${name} ${kind} ${value}`,
  );

describe("obligations in force", () => {
  let set: PolicySet;
  let policies: readonly CompiledPolicy[] = [];

  beforeAll(async () => {
    const compiled = await compilePolicies(sources, { cache: null, toolchain });
    policies = compiled.policies;
    set = await createPolicySet(compiled, [], sampleData, (id) =>
      id === "bare" ? "enforce" : "shadow",
    );
  }, 60_000);

  test("are all that apply to the operation, of constraints and without", () => {
    expect(inForce(set.evaluate(ordinaryInput()))).toEqual([
      "bare enforced cap_output max_output_tokens 4096",
      "house candidate cap_output max_output_tokens 4096",
      "house candidate hide_key strip_field prompt_cache_key",
      "house candidate stay_near prefer_region eu",
    ]);
    expect(inForce(set.evaluate(ordinaryInput({ operation: "rerank" })))).toEqual([
      "bare enforced cap_output max_output_tokens 4096",
    ]);
  });

  test("are without those that the policy itself waives", () => {
    expect(inForce(set.evaluate(labelled))).toEqual([
      "bare enforced cap_output max_output_tokens 4096",
      "house candidate hide_key strip_field prompt_cache_key",
      "house candidate stay_near prefer_region eu",
    ]);
  });

  test("change the digest, and an empty list leaves it unchanged", async () => {
    const edited = sources.map(({ path, text }) => ({ path, text: text.replace("4096", "4095") }));
    const { policies: other } = await compilePolicies(edited, { cache: null, toolchain });
    expect(other.map(({ digest }) => digest)).not.toContain(policies[0]?.digest);
    const plain = policySource(
      "plain",
      { gate: "{effect: gate, reasons: [NO]}" },
      "pass.gate if input.operation",
    );
    const { policies: without } = await compilePolicies([plain], { cache: null, toolchain });
    // Computed by the version that knew no obligations.
    expect(without[0]?.digest).toBe(
      "bc17164f3a638fddcf831b91f2eb1422db5dfa628f9883bdbc7485d9365789c4",
    );
  });

  /** Rules that the checks would not let through, compiled all the same. */
  async function unchecked(rules: string, input = ordinaryInput()): Promise<readonly string[]> {
    const [bare] = policies;
    if (bare?.contract.id !== "bare") throw new Error("the first policy is not the one expected");
    const hostile = {
      ...bare,
      sources: [
        { package: "signalbox.policy.bare", source: `package signalbox.policy.bare\n\n${rules}\n` },
      ],
    };
    const unitSet = await createPolicySet(
      { modules: await buildModules([hostile], toolchain) },
      [],
      sampleData,
    );
    return inForce(unitSet.evaluate(input));
  }

  test.for<readonly [string, string, boolean]>([
    ["true waives", "waive.cap_output := true", false],
    ["false does not", "waive.cap_output := false", true],
    ["text does not", 'waive.cap_output := "true"', true],
    ["a number does not", "waive.cap_output := 1", true],
    ["a set does not", 'waive.cap_output contains "cap_output"', true],
    ["an object does not", 'waive.cap_output["x"] := true', true],
    ["another name does not", "waive.cap_ouput := true", true],
    ["another rule does not", "waived.cap_output := true", true],
    ["what is undefined does not", 'waive.cap_output if data.regions.moon[_] == "sea"', true],
    [
      "two values abort, and an abort does not",
      "waive.cap_output := v\n\nv := true if input.operation\n\nv := false if not input.request.stream",
      true,
    ],
    [
      "an end of memory does not",
      [
        "digits := [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
        "",
        "many := [[a, b, c, d, e, f] |",
        "\tsome a in digits; some b in digits; some c in digits; some d in digits; some e in digits; some f in digits",
        "]",
        "",
        "waive.cap_output if count(many) > 0",
      ].join("\n"),
      true,
    ],
  ])("%s", async ([, rules, stays]) => {
    expect(await unchecked(rules)).toEqual(
      stays ? ["bare candidate cap_output max_output_tokens 4096"] : [],
    );
  });

  test("a waiver applies where the evaluation of its rule does not fail", async () => {
    const rules =
      "waive.cap_output := v\n\nv := true if input.operation\n\nv := false if not input.request.stream";
    expect(await unchecked(rules, streamed)).toEqual([]);
  });

  test("stay in force for an input that is no JSON, with every constraint indeterminate", () => {
    const workspace = { ...labelled.workspace };
    Object.defineProperty(workspace, "toJSON", {
      enumerable: true,
      value: () => {
        throw new Error("canary");
      },
    });
    const evaluation = set.evaluate({ ...labelled, workspace });
    expect(inForce(evaluation)).toHaveLength(4);
    expect(evaluation.verdicts.map(({ verdict }) => verdict)).toEqual(["indeterminate"]);
  });
});

describe("readsTime", () => {
  const gate = { gate: "{effect: gate, reasons: [NO]}" };
  const library = {
    path: "policies/lib/office.rego",
    text: 'package signalbox.lib.office\n\nopen if input.time.day == "weekday"\n',
  };

  test.for([
    ["a member", 'pass.gate if input.time.hour == "morning"', [], true],
    ["a waiver", "pass.gate if input.operation", [], true],
    ["a library", "import data.signalbox.lib.office\n\npass.gate if office.open", [library], true],
    ["the input as a whole", 'pass.gate if contains(json.marshal(input), "night")', [], true],
    ["the number of members", "pass.gate if count(input) > 3", [], false],
    [
      "a member chosen at run time",
      'pass.gate if { some name in ["time"]; input[name] }',
      [],
      true,
    ],
    ["another member", "pass.gate if input.request.stream", [], false],
  ] as const)("%s", async ([what, rules, libraries, expected]) => {
    const waiver = what === "a waiver";
    const source = policySource(
      "clock",
      gate,
      waiver ? `${rules}\n\nwaive.cap if input.time.day == "weekend"` : rules,
      null,
      waiver ? { cap: "{kind: max_output_tokens, value: 9}" } : {},
    );
    const compiled = await compilePolicies([source, ...libraries], { cache: null, toolchain });
    expect(compiled.diagnostics).toEqual([]);
    const set = await createPolicySet(compiled, [], sampleData);
    expect(set.readsTime).toBe(expected);
  });
});
