import { describe, expect, test } from "vitest";
import type { PolicyObligation, PolicySet } from "../../src/canon/policy.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { readEntry } from "../../src/store/stored-evidence.ts";
import { decisionRecord } from "../store/records.ts";
import { compilePolicies } from "../../src/policy/compile-policies.ts";
import { policyData } from "../../src/policy/input-schema.ts";
import { createPolicySet } from "../../src/policy/policy-set.ts";
import {
  answerJson,
  hello,
  post,
  startRouter,
  startUpstream,
  tableOver,
} from "../support/router.ts";
import { fakePolicies } from "../support/table.ts";
import { policySource, toolchain } from "./samples.ts";

const identityOf = { revision: 3, digest: "d".repeat(64) };
const said: readonly PolicyObligation[] = [
  {
    name: "cap",
    kind: "max_output_tokens",
    value: 64,
    policy: { ...identityOf, id: "house", slot: "enforced" },
  },
  {
    name: "hide",
    kind: "strip_field",
    value: "service_tier",
    policy: { ...identityOf, id: "house", slot: "enforced" },
  },
  {
    name: "cap",
    kind: "max_output_tokens",
    value: 8,
    policy: { ...identityOf, id: "later", slot: "candidate" },
  },
];

function obliging(): PolicySet {
  const fake = fakePolicies();
  return {
    ...fake,
    evaluate: (input) => ({ verdicts: fake.evaluate(input).verdicts, obligations: said }),
  };
}

describe("obligations on the wire", () => {
  test("apply to every candidate that is tried, and are in the evidence by name", async () => {
    const broken = await startUpstream((response) =>
      answerJson(response, { error: { message: "no" } }, 500),
    );
    const working = await startUpstream((response) => answerJson(response));
    const router = await startRouter({ table: tableOver([broken, working]), policies: obliging() });
    const response = await post(router, {
      ...hello,
      max_tokens: 1_000,
      service_tier: "priority",
      seed: 1,
    });
    expect(response.status).toBe(200);
    await router.settled(1);
    for (const { calls } of [broken, working]) {
      const bodies = calls.map(({ body }) => body);
      expect(bodies.length).toBeGreaterThan(0);
      for (const body of bodies) {
        expect(JSON.parse(body)).toMatchObject({ max_tokens: 64, seed: 1 });
        expect(body).not.toMatch(/service_tier|max_completion_tokens/);
      }
    }
    expect(router.decisions.map(({ obligations }) => obligations)).toEqual([
      [
        { policy: "house", revision: "r3", obligation: "cap", effect: "applied" },
        { policy: "house", revision: "r3", obligation: "hide", effect: "applied" },
        { policy: "later", revision: "r3", obligation: "cap", effect: "would_apply" },
      ],
    ]);
    expect(router.outcomes.map(({ stripped }) => stripped)).toEqual([["service_tier"]]);
  });

  test(
    "a policy that exhausts memory is stopped: its request is denied, and the next one is served",
    { timeout: 60_000 },
    async () => {
      const upstream = await startUpstream((response) => answerJson(response));
      const rows = tableOver([upstream]);
      const greedy = policySource(
        "greedy",
        { gate: "{effect: gate, reasons: [NO]}" },
        [
          "digits := [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]",
          "",
          "many := [[a, b, c, d, e, f] |",
          '\tinput.request.max_output == "to_1k"',
          "\tsome a in digits; some b in digits; some c in digits; some d in digits; some e in digits; some f in digits",
          "]",
          "",
          "pass.gate if count(many) != 1",
        ].join("\n"),
      );
      const compiled = await compilePolicies([greedy], { cache: null, toolchain });
      const policies = await createPolicySet(compiled, [], policyData(rows), () => "enforce");
      const router = await startRouter({ table: rows, policies });
      const ask = async (more: object): Promise<readonly [number, string]> => {
        const response = await post(router, { ...hello, ...more });
        return [response.status, await response.text()];
      };
      for (let round = 0; round < 2; round += 1) {
        const [status, text] = await ask({ max_tokens: 500 });
        expect(status).toBe(403);
        expect(text).not.toMatch(/memory|wasm|greedy\.rego|abort/i);
        expect((await ask({}))[0]).toBe(200);
      }
      expect(router.decisions.map(({ reason }) => reason)).toContain("POLICY_TIMEOUT");
    },
  );

  test("their records are read back from the store, those without any too, and damaged ones are refused", () => {
    const record = {
      policy: asIdentifier("house"),
      revision: asIdentifier("r3"),
      obligation: asIdentifier("cap"),
      effect: "applied",
    } as const;
    const read = (obligations: unknown) =>
      readEntry(1, JSON.stringify({ ...decisionRecord("r1"), obligations }), null, null).decision
        .obligations;
    expect(read([record])).toEqual([record]);
    expect(read(undefined)).toBeUndefined();
    for (const bad of [
      null,
      {},
      "canary",
      [{ ...record, effect: "none" }],
      [{ ...record, policy: 1 }],
      [record, 7],
    ]) {
      expect(() => read(bad)).toThrow(/^evidence entry 1 is not a record/);
    }
  });
});
