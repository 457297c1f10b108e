import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { stylePolicy, styleLibraries, STYLES } from "../../bench/style-policies.ts";
import { BUDGET_STEPS } from "../../src/canon/limits.ts";
import { WEEKDAYS } from "../../src/canon/policy.ts";
import { OPERATIONS } from "../../src/canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS, type PolicyInput } from "../../src/canon/policy.ts";
import { REASONING_EFFORTS, TOKEN_BUCKETS } from "../../src/canon/request.ts";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import { createSinglePolicies, readsPath, type SinglePolicy } from "../../src/policy/policy-set.ts";
import { REMEMBERED_MEMBERS } from "../../src/policy/policy-set.ts";
import { candidate, policySource, sampleData, toolchain } from "./samples.ts";

const inputs: fc.Arbitrary<PolicyInput> = fc.record({
  operation: fc.constantFrom(...OPERATIONS),
  workspace: fc.record({
    id: fc.constantFrom("tenant-0", "tenant-1", "other"),
    tier: fc.constantFrom("standard", "regulated", "internal"),
    labels: fc.subarray(["eu", "tools"]),
  }),
  key: fc.record({
    environment: fc.constantFrom("production", "test", "staging", "other"),
    workload: fc.constantFrom("web", "batch", "other"),
    owner: fc.constantFrom("team-risk", "team-growth", "platform", "other"),
    labels: fc.subarray(["audit", "batch-only", "pii", "trial", "vip"]),
  }),
  request: fc.record({
    route: fc.constantFrom("r", "t"),
    needs: fc.subarray(["image_input", "json_schema", "reasoning", "tools"]),
    stream: fc.boolean(),
    context: fc.constantFrom(...TOKEN_BUCKETS),
    max_output: fc.constantFrom(...TOKEN_BUCKETS),
    reasoning_effort: fc.constantFrom(...REASONING_EFFORTS),
    dimensions: fc.constantFrom(0, 256),
    allow_fallbacks: fc.boolean(),
    data_collection: fc.constantFrom("allow", "deny"),
    zdr: fc.boolean(),
  }),
  budget: fc.record({ remaining: fc.constantFrom(...BUDGET_STEPS) }),
  time: fc.record({
    day: fc.constantFrom(...DAY_BUCKETS),
    hour: fc.constantFrom(...HOUR_BUCKETS),
  }),
  local_time: fc.record({
    "Europe/Berlin": fc.record({
      weekday: fc.constantFrom(...WEEKDAYS),
      hour: fc.integer({ min: 0, max: 23 }),
    }),
  }),
  candidates: fc.constantFrom(
    [candidate("a")],
    [candidate("a"), candidate("b", { region: "us-east", trains_on_data: true })],
  ),
});

/** A list of names is replaced as a whole, like a single value. */
function withMembers(input: PolicyInput, from: PolicyInput, paths: ReadonlySet<string>): unknown {
  const copied = (value: unknown, other: unknown, path: string): unknown => {
    if (paths.has(path)) return other;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, own]) => [
        name,
        copied(own, Object(other)[name], `${path}.${name}`),
      ]),
    );
  };
  return copied(input, from, "input");
}

const MEMBERS = REMEMBERED_MEMBERS.map(([path]) => path);
const NAMED = new Set(["input.candidates"]);

describe("the trace of an evaluation", () => {
  let policies: readonly SinglePolicy[];
  beforeAll(async () => {
    const sources = [
      ...STYLES.flatMap((style) => [stylePolicy(style, true)]),
      ...styleLibraries(),
      policySource(
        "values",
        { given: "{effect: gate, reasons: [NO]}" },
        "pass.given := input.request.stream",
      ),
    ];
    const compiled = await compilePolicies(sources, { cache: null, toolchain });
    if (compiled.policies.length === 0) throw new Error(JSON.stringify(compiled.diagnostics));
    policies = await createSinglePolicies(compiled, [], sampleData, () => "enforce");
  }, 240_000);

  it("has every member without which the answer could be another", () => {
    for (const policy of policies) {
      fc.assert(
        fc.property(inputs, inputs, (input, other) => {
          const loaded = new Set<string>();
          const answer = policy.evaluate(input, loaded);
          expect(answer).toEqual(policy.evaluate(input));
          const varied = withMembers(other, input, new Set([...loaded, ...NAMED]));
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of two inputs
          expect(policy.evaluate(varied as PolicyInput)).toEqual(answer);
        }),
        { numRuns: 150 },
      );
    }
  });

  it("the reads of a policy cover every member without which its answer could be another", () => {
    for (const policy of policies) {
      const read = new Set([...NAMED, ...MEMBERS.filter((path) => readsPath(policy, path))]);
      fc.assert(
        fc.property(inputs, inputs, (input, other) => {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made of two inputs
          const varied = withMembers(other, input, read) as PolicyInput;
          const answer = policy.evaluate({ ...input, operation: other.operation });
          expect(policy.evaluate({ ...varied, operation: other.operation })).toEqual(answer);
        }),
        { numRuns: 150 },
      );
    }
  });
});
