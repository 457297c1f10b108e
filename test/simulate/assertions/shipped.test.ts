import fc from "fast-check";
import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import type { Decision } from "../../../src/canon/decision.ts";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../../src/canon/capability.ts";
import { OPERATIONS } from "../../../src/canon/operation.ts";
import type { PolicyContract, PolicySet } from "../../../src/canon/policy.ts";
import type { RoutingTable } from "../../../src/canon/table.ts";
import { TOKEN_BUCKETS, REASONING_EFFORTS } from "../../../src/canon/request.ts";
import { decide } from "../../../src/decide/decide.ts";
import { compilePolicies } from "../../../src/policy/compile-policies.ts";
import { policyData } from "../../../src/policy/input-schema.ts";
import { createPolicySet } from "../../../src/policy/policy-set.ts";
import type { Assertions } from "../../../src/simulate/assertions/schema.ts";
import { judgeCases, assertionResults } from "../../../src/simulate/assertions/run.ts";
import { parseAssertions } from "../../../src/simulate/assertions/parse.ts";
import { runAssertions } from "../../../src/simulate/assertions/run.ts";
import type { Outcome, OutcomePair, SampleRequest } from "../../../src/simulate/sample-request.ts";
import { toolchain } from "../../policy/samples.ts";
import { comparisonOf, NOW, pairOf, readText, TABLE, tableWith } from "./samples.ts";

const FILE = { path: "policies/assertions.yaml", text: readText("policies/assertions.yaml") };

/** One side: a table with the policies of the repository. */
interface Side {
  readonly table: RoutingTable;
  readonly declared: PolicySet;
  readonly promoted: PolicySet;
}

async function sideOf(
  table: RoutingTable,
): Promise<Side & { readonly contracts: readonly PolicyContract[] }> {
  const names = ["policies", "policies/lib"].flatMap((folder) =>
    readdirSync(new URL(`../../../${folder}`, import.meta.url)).map((name) => `${folder}/${name}`),
  );
  const sources = names
    .filter((name) => name.endsWith(".rego"))
    .map((path) => ({ path, text: readText(path) }));
  const compiled = await compilePolicies(sources, { cache: null, toolchain });
  const { initialMode } = table.policies;
  const declared = (id: string) => initialMode[id] ?? initialMode["*"] ?? "shadow";
  return {
    table,
    contracts: compiled.policies.map(({ contract }) => contract),
    declared: await createPolicySet(compiled, [], policyData(table), declared),
    promoted: await createPolicySet(compiled, [], policyData(table), () => "enforce"),
  };
}

function outcomeOf(decision: Decision): Outcome {
  if (decision.outcome === "deny") {
    const { policy, constraint, reason } = decision.denial;
    return {
      plan: [],
      maxCandidates: null,
      denial: { policy, constraint, reason },
      edits: null,
      indeterminate: false,
    };
  }
  const plan = decision.plan.map(({ endpoint: { id, model, provider, region }, tier }) => ({
    endpoint: id,
    model,
    provider,
    region,
    tier,
    balance: "order" as const,
    weight: 1,
  }));
  return {
    plan,
    maxCandidates: decision.maxCandidates,
    denial: null,
    edits: decision.edits,
    indeterminate: false,
  };
}

function decidePoint(side: Side, view: "declared" | "promoted", sample: SampleRequest): Outcome {
  const { workspace, model, key, preferences, ...shape } = sample;
  const identity = {
    workspace,
    keyId: "k",
    scopes: new Set<never>(),
    expiresAt: 0,
    environment: key.environment,
    workload: key.workload,
    labels: key.labels,
  };
  return outcomeOf(decide(side.table, side[view], identity, { model, shape, preferences }, 0));
}

function compare(
  base: Side,
  head: Side,
  sample: SampleRequest,
): Record<"declared" | "promoted", OutcomePair> {
  const pair = (view: "declared" | "promoted"): OutcomePair => {
    const [before, after] = [decidePoint(base, view, sample), decidePoint(head, view, sample)];
    return pairOf(
      before,
      after,
      ...(JSON.stringify(before) === JSON.stringify(after) ? [] : (["primary_changed"] as const)),
    );
  };
  return { declared: pair("declared"), promoted: pair("promoted") };
}

/** Requests of every sort, the plain ones more often than chance would make them. */
const points = fc.sample(
  fc.record({
    workspace: fc.constantFrom(...Object.keys(TABLE.workspaces)),
    model: fc.constantFrom(...Object.keys(TABLE.routes)),
    operation: fc.constantFrom(...OPERATIONS),
    key: fc.record({
      environment: fc.constantFrom("production", "staging", "other"),
      workload: fc.constant("other"),
      labels: fc.subarray(["eu"]),
    }),
    needs: fc.oneof(
      fc.subarray(["json_schema", "tools"] as const),
      fc.subarray([...CAPABILITY_NAMES], { maxLength: 3 }),
    ),
    features: fc.oneof(
      fc.subarray(["conversation", "sampling"] as const),
      fc.subarray([...FEATURE_NAMES], { maxLength: 3 }),
    ),
    signatureFamilies: fc.oneof(
      { arbitrary: fc.constant([]), weight: 4 },
      fc.subarray(["anthropic", "openai"]),
    ),
    stream: fc.boolean(),
    context: fc.constantFrom(...TOKEN_BUCKETS),
    maxOutput: fc.constantFrom(...TOKEN_BUCKETS),
    reasoningEffort: fc.constantFrom(...REASONING_EFFORTS),
    dimensions: fc.constantFrom(null, 512, 1536),
    preferences: fc.constantFrom(
      null,
      { allow_fallbacks: false },
      { data_collection: "allow" as const },
      { zdr: true },
      { zdr: true, allow_fallbacks: false },
    ),
    time: fc.constant({ day: "weekday" as const, hour: "morning" as const }),
  }),
  { numRuns: 3_000, seed: 9 },
);

describe("policies/assertions.yaml", { timeout: 120_000 }, () => {
  let side: Awaited<ReturnType<typeof sideOf>>;
  let file: Assertions;

  beforeAll(async () => {
    side = await sideOf(TABLE);
    const { assertions, diagnostics } = parseAssertions(FILE, { base: side, head: side });
    if (assertions === null) throw new Error(JSON.stringify(diagnostics));
    file = assertions;
  }, 120_000);

  function resultsOf(base: Side, head: Side) {
    const run = runAssertions(file.assertions, { base: base.table, head: head.table });
    for (const sample of points) {
      const { declared, promoted } = compare(base, head, sample);
      run.visit(comparisonOf(declared, sample, promoted));
    }
    const cases = judgeCases(file.assertions, (sample) => compare(base, head, sample));
    return assertionResults(file.assertions, run.snapshot(), cases, NOW, () => []);
  }

  test("holds for this repository, and every assertion matches requests", () => {
    const results = resultsOf(side, side);
    expect(results.length).toBeGreaterThan(5);
    for (const { id, status, message, classes, example } of results) {
      expect({ id, status, message, example }).toEqual({
        id,
        status: "PASS",
        message: null,
        example: null,
      });
      expect(classes, id).toBeGreaterThan(3);
    }
  });

  test("fails for a change that lets a regulated workspace leave the EU", async () => {
    const head = await sideOf(
      tableWith([
        `    tier: regulated
    labels: [eu]
    approve:
      routes: [chat-small-eu, chat-large-eu, embed-small-eu]
      regions: [eu]
      providers: [openai-eu, mistral-eu]`,
        `    tier: standard
    approve:
      routes: [chat-small-eu, chat-large-eu, chat-large, embed-small-eu]
      regions: [eu, us]
      providers: [openai-eu, openai-us, mistral-eu]`,
      ]),
    );
    const failed = resultsOf(side, head).filter(({ status }) => status === "FAIL");
    // Tier and label are gone with the change; the comparison looks at base's too.
    expect(failed.map(({ id }) => id)).toContain("regulated-reach-nothing-new");
    expect(failed[0]?.message).toBe(
      "as declared, gpt-5-us (openai-us, us) is reached in head and not in base",
    );
    expect(failed[0]?.example).toMatchObject({ workspace: "acme-prod", model: "chat-large" });
  });
});
