import { instantOf } from "../../src/decide/policy-input.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../src/canon/json.ts";
import { decide } from "../../src/decide/decide.ts";
import { decisionRecord } from "../../src/http/records.ts";
import { asIdentifier } from "../../src/evidence/record.ts";
import { readDecision } from "../../src/store/stored-evidence.ts";
import { identityOf, sampleQuestionOf } from "../../src/simulate/decide-sample.ts";
import { readEvidenceSample } from "../../src/simulate/evidence/evidence-sample.ts";
import { PLAIN_SAMPLE, type SampleRequest } from "../../src/simulate/sample-request.ts";
import { fakePolicies, route, table, workspace } from "../support/table.ts";

const rows = table({
  routes: [route("r", "a", ["b"])],
  workspaces: [workspace("w", { routes: ["r"] })],
});
const fixture = { ...rows, vocabulary: { ...rows.vocabulary, owners: ["group:payments"] } };
const policies = fakePolicies(() => []);
const providers = Object.keys(fixture.providers);
const [region = ""] = Object.values(fixture.providers).map((provider) => provider.region);

function recordOf(sample: SampleRequest): string {
  const at = instantOf(sample.time);
  const decided = decide(
    fixture,
    policies,
    identityOf(sample),
    sampleQuestionOf(sample).question,
    at,
  );
  const head = {
    requestId: asIdentifier("req_1"),
    at,
    operation: sample.operation,
    retryCount: 0,
    clientRequestDigest: null,
  };
  return JSON.stringify(
    decisionRecord(head, identityOf(sample), sampleQuestionOf(sample).question, decided, {
      table: fixture,
      policies,
    }),
  );
}

function readBack(text: string): JsonValue {
  const value: JsonValue = JSON.parse(text);
  return value;
}

const names = fc.subarray(providers, { minLength: 1 });
const samples: fc.Arbitrary<SampleRequest> = fc
  .record({
    workload: fc.constantFrom("", "batch"),
    owner: fc.constantFrom(undefined, "group:payments"),
    budget: fc.constantFrom(undefined, "below_tenth" as const),
    labels: fc.subarray(["pii", "tools"]),
    dimensions: fc.constantFrom(null, 256),
    preferences: fc.option(
      fc
        .record(
          {
            order: names,
            only: names,
            ignore: names,
            region: fc.constant([region]),
            allow_fallbacks: fc.boolean(),
            sort: fc.constant({ by: "price" as const, partition: "none" as const }),
            max_price: fc.record({ input: fc.nat(9), request: fc.nat(9) }, { requiredKeys: [] }),
            data_collection: fc.constantFrom("allow" as const, "deny" as const),
            zdr: fc.boolean(),
          },
          { requiredKeys: [] },
        )
        .filter((one) => Object.keys(one).length > 0),
    ),
  })
  .map(({ workload, owner, labels, budget, ...members }) => ({
    ...PLAIN_SAMPLE,
    ...members,
    ...(budget !== undefined && { budget }),
    workspace: "w",
    model: "r",
    key: { environment: "production", workload, labels, ...(owner !== undefined && { owner }) },
  }));

describe("the record of a decision", () => {
  it("has every member of the request that a decision depends on", () => {
    fc.assert(
      fc.property(samples, (sample) => {
        const text = recordOf(sample);
        expect(readDecision(text)).not.toBeNull();
        expect(readEvidenceSample(readBack(text))).toMatchObject({ sample });
      }),
    );
  });

  it("has no name that a caller made up", () => {
    const made = ["Bearer sk-made-up", "my prompt"];
    const text = recordOf({
      ...PLAIN_SAMPLE,
      workspace: "w",
      model: "r",
      signatureFamilies: ["forged family"],
      preferences: { only: made, region: made, ignore: ["__proto__"], order: ["constructor"] },
    });
    for (const name of [...made, "forged family", "__proto__", "constructor"])
      expect(text).not.toContain(name);
    expect(readEvidenceSample(readBack(text))).toMatchObject({
      outcome: "deny",
      sample: {
        signatureFamilies: ["unknown name"],
        preferences: {
          only: ["unknown name"],
          region: ["unknown name"],
          ignore: ["unknown name"],
          order: ["unknown name"],
        },
      },
    });
  });

  it("of a later version with an unknown preference is not decided without it", () => {
    const record = readBack(recordOf({ ...PLAIN_SAMPLE, workspace: "w", model: "r" }));
    const later = { ...Object(record), preferences: { only: ["a"], colour: "blue" } };
    expect(readEvidenceSample(later)).toMatchObject({ unsupportedSetting: "preference" });
  });
});
