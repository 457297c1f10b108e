import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import type { Capability } from "../../src/canon/capability.ts";
import { isJsonObject } from "../../src/canon/json.ts";
import type { CompiledPolicies } from "../../src/policy/compile-policies.ts";
import { POLICY_INPUT_SCHEMA, initialMode, policyData } from "../../src/policy/input-schema.ts";
import { decideSample } from "../../src/simulate/decide-sample.ts";
import type { SampleRequest } from "../../src/simulate/sample-request.ts";
import { REMEMBERED_MEMBERS, createPolicySet } from "../../src/policy/policy-set.ts";
import { compiledSides } from "../../src/simulate/side-contents.ts";
import { sideViews } from "../../src/simulate/views.ts";
import { fewOrMany } from "../support/long.ts";
import { policyPool, twoSides } from "./random-sides.ts";

const sample: fc.Arbitrary<SampleRequest> = fc.record({
  workspace: fc.constantFrom("w", "v"),
  model: fc.constantFrom("r", "t"),
  operation: fc.constantFrom("chat.completions", "messages"),
  key: fc.record({
    environment: fc.constantFrom("production", "staging", "elsewhere"),
    workload: fc.constantFrom("web", "batch", "eu"),
    owner: fc.constantFrom("group:pay", "group:web", "eu"),
    labels: fc.subarray(["eu", "vip"]),
  }),
  needs: fc.subarray<Capability>(["json_schema", "reasoning", "tools"]),
  features: fc.constant([]),
  signatureFamilies: fc.constant([]),
  stream: fc.boolean(),
  context: fc.constantFrom("unspecified", "to_1k", "to_4k"),
  maxOutput: fc.constantFrom("unspecified", "to_1k", "to_4k"),
  reasoningEffort: fc.constant("unspecified"),
  dimensions: fc.constant(null),
  preferences: fc.constantFrom(
    null,
    { allow_fallbacks: false },
    { data_collection: "allow" },
    { zdr: true },
  ),
  time: fc.record({
    day: fc.constantFrom("weekday", "weekend"),
    hour: fc.constantFrom("night", "morning"),
  }),
});

describe("policies with cached verdicts", () => {
  let pool: readonly CompiledPolicies[];

  beforeAll(async () => {
    pool = await policyPool();
  }, 60_000);

  it("give the verdicts of policies that are evaluated every time", async () => {
    const outcomes = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        twoSides,
        fc.array(sample, { minLength: 30, maxLength: 60 }),
        async ({ head }, points) => {
          const { table } = head;
          const policies = pool[head.policies] ?? { policies: [], modules: [] };
          const { declared } = await sideViews(
            compiledSides({ table, policies }, { table, policies }, true).head,
            () => false,
          );
          const anew = await createPolicySet(policies, [], policyData(table), (id) =>
            initialMode(table, id),
          );
          for (const each of points) {
            const decision = decideSample(table, anew, each);
            expect(decideSample(table, declared, each)).toEqual(decision);
            outcomes.add(
              JSON.stringify(
                decision.trace.map(({ constraint, verdict }) => [constraint, verdict]),
              ),
            );
          }
        },
      ),
      { numRuns: fewOrMany(20, 60) },
    );
    // Otherwise the property is about nothing.
    expect(outcomes.size).toBeGreaterThan(fewOrMany(20, 50));
  }, 120_000);
});

/** The paths of a schema's members that have no members of their own. */
function leavesOf(schema: unknown, path: string): readonly string[] {
  if (!isJsonObject(schema)) return [];
  const { properties } = schema;
  if (!isJsonObject(properties)) return [path];
  return Object.entries(properties).flatMap(([name, member]) =>
    leavesOf(member, `${path}.${name}`),
  );
}

it("every member of the input is remembered by; a new one must be added", () => {
  const leaves = leavesOf(POLICY_INPUT_SCHEMA, "input").filter(
    (path) => path !== "input.operation" && path !== "input.candidates",
  );
  expect(REMEMBERED_MEMBERS.map(([path]) => path).toSorted()).toEqual(leaves.toSorted());
});
