import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canon/json.ts";
import { createDecider } from "../../src/decide/decider.ts";
import { buildModules, compilePolicies } from "../../src/policy/compile-policies.ts";
import type { CompiledPolicy } from "../../src/policy/compiled.ts";
import { policyData } from "../../src/policy/input-schema.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import { explain } from "../../src/simulate/explain/explanation.ts";
import { identity, shape, table } from "../support/table.ts";
import { policySource, toolchain } from "./samples.ts";

/** Two contents of one policy: the first stands enforced, the second as its candidate. */
async function explained(
  contents: readonly [ReturnType<typeof policySource>, ReturnType<typeof policySource>],
  at: number,
): Promise<JsonObject> {
  const policies: CompiledPolicy[] = [];
  for (const source of contents) {
    const compiled = await compilePolicies([source], { cache: null, toolchain });
    expect(compiled.diagnostics).toEqual([]);
    policies.push(...compiled.policies);
  }
  const states = policies.map(({ contract: { id }, digest }, index) => ({
    id,
    digest,
    revision: 7 + index,
    mode: index === 0 ? ("enforce" as const) : ("shadow" as const),
  }));
  const rows = table();
  const set = await createPolicySet(
    { modules: await buildModules(policies, toolchain) },
    states,
    policyData(rows),
  );
  const decider = createDecider(rows, set, () => at);
  const question = { model: "r", shape: shape(), preferences: null };
  const requested = {
    table: rows,
    policies: set,
    identity,
    question,
    paths: null,
    time: null,
    promoted: false,
  };
  return explain(requested, decider.decideRequest(identity, question), {
    isAvailable: () => true,
    statusOf: () => ({}),
    arrangementOf: () => null,
  });
}

const listed = { listed: "{effect: require_all, reasons: [NOT_LISTED, FAR_AWAY]}" };
const enforced = policySource(
  "near",
  listed,
  "pass.listed contains candidate.id if some candidate in input.candidates",
  null,
  { cap: "{kind: max_output_tokens, value: 500}" },
);
const candidate = policySource(
  "near",
  listed,
  [
    "pass.listed contains candidate.id if {",
    "\tsome candidate in input.candidates",
    "\tcandidate.region in data.regions.eu",
    "}",
    "",
    'reason.listed := "FAR_AWAY" if input.time.day == "weekday"',
  ].join("\n"),
  null,
  { cap: "{kind: max_output_tokens, value: 100}" },
);

function facts(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const FRIDAY = Date.UTC(2026, 0, 9);

test("simulation distinguishes the slots of one policy in constraints, trace and obligations", async () => {
  const said = await explained([enforced, candidate], FRIDAY);
  expect(said).toMatchObject({
    outcome: "route",
    edits: { max_output_tokens: 500, strip_fields: [] },
  });
  expect(facts(said.constraints).filter(({ policy }) => policy === "near")).toEqual([
    {
      policy: "near",
      revision: "r7",
      slot: "enforced",
      constraint: "listed",
      verdict: "pass",
      reason: null,
      failing: [],
      effect: "none",
    },
    {
      policy: "near",
      revision: "r8",
      slot: "candidate",
      constraint: "listed",
      verdict: "fail",
      reason: "FAR_AWAY",
      failing: ["b"],
      effect: "would_deny",
    },
  ]);
  const byCandidate = facts(said.candidates).map(({ endpoint, constraints }) => [
    endpoint,
    facts(constraints)
      .filter(({ policy }) => policy === "near")
      .map(({ slot, verdict }) => [slot, verdict]),
  ]);
  expect(byCandidate).toEqual([
    [
      "a",
      [
        ["enforced", "pass"],
        ["candidate", "pass"],
      ],
    ],
    [
      "b",
      [
        ["enforced", "pass"],
        ["candidate", "fail"],
      ],
    ],
  ]);
  expect(facts(said.obligations)).toEqual([
    {
      policy: "near",
      revision: "r7",
      slot: "enforced",
      obligation: "cap",
      kind: "max_output_tokens",
      value: 500,
      effect: "applied",
    },
    {
      policy: "near",
      revision: "r8",
      slot: "candidate",
      obligation: "cap",
      kind: "max_output_tokens",
      value: 100,
      // Promoted, the request would be denied, and a denied request has no limit.
      effect: "none",
    },
  ]);
  expect(said.if_promoted).toEqual({
    outcome: "deny",
    plan: [],
    denial: {
      policy: { id: "near", revision: "r8", mode: "enforce" },
      failed_constraint: "listed",
      reason_code: "FAR_AWAY",
      subject: null,
      failing: ["b"],
    },
    edits: null,
  });
  expect(said.policy_revisions).toMatchObject({
    near: { enforced: { revision: "r7" }, candidate: { revision: "r8" } },
  });
});

test("simulation predicts that a denied request would be routed after promotion", async () => {
  const said = await explained([candidate, enforced], FRIDAY + 24 * 3_600_000);
  expect(said).toMatchObject({
    outcome: "deny",
    plan: [],
    edits: null,
    denial: { policy: { id: "near", revision: "r7" }, reason_code: "NOT_LISTED", failing: ["b"] },
    if_promoted: {
      outcome: "route",
      plan: ["a", "b"],
      denial: null,
      edits: { max_output_tokens: 500, strip_fields: [] },
    },
  });
  expect(facts(said.obligations).map(({ slot, effect }) => [slot, effect])).toEqual([
    ["enforced", "none"],
    ["candidate", "would_apply"],
  ]);
});
