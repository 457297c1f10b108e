import { instantOf, timeWindow } from "../../src/decide/policy-input.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CAPABILITY_NAMES, FEATURE_NAMES } from "../../src/canon/capability.ts";
import { OPERATIONS } from "../../src/canon/operation.ts";
import { DAY_BUCKETS, HOUR_BUCKETS } from "../../src/canon/policy.ts";
import {
  REASONING_EFFORTS,
  SORT_KEYS,
  TOKEN_BUCKETS,
  type ProviderPreferences,
} from "../../src/canon/request.ts";
import { readOptions } from "../../src/cli/explain/explain.ts";
import { explainArguments } from "../../src/simulate/explain/explain-arguments.ts";
import type { SampleRequest } from "../../src/simulate/sample-request.ts";

/** Names as people give them, and names that no command line likes. */
const name = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("demo", "chat-large", "eu", "gpt-5", "team_a") },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.string({ maxLength: 12, unit: "grapheme" }),
      fc.constantFrom("", "-x", "--stream", "a,b", " a", "__proto__", "a=b", "'", "é"),
    ),
  },
);
const names = fc.array(name, { maxLength: 3 });
const sorted = <Value extends string>(values: readonly Value[]) =>
  fc.subarray([...values], { maxLength: 3 }).map((some) => some.toSorted());
const short = fc.array(
  name.filter((text) => text.length <= 100),
  { maxLength: 3 },
);

const preferences: fc.Arbitrary<ProviderPreferences> = fc
  .record(
    {
      order: short,
      only: short,
      ignore: short,
      region: short,
      allow_fallbacks: fc.constantFrom(false, false, true),
      data_collection: fc.constantFrom("allow", "deny"),
      zdr: fc.constantFrom(true, true, false),
      sort: fc.record({
        by: fc.constantFrom(...SORT_KEYS),
        partition: fc.constantFrom("model", "none"),
      }),
      max_price: fc.record({ input: fc.nat(), output: fc.nat() }, { requiredKeys: [] }),
      preferred_max_latency: fc.record({
        p50: fc.integer({ min: 1, max: 9 }),
        p99: fc.constant(0.5),
      }),
    },
    { requiredKeys: [] },
  )
  // Preferences that prefer nothing are none: a request that has them is read as one that has not.
  .filter((made) => Object.keys(made).length > 0);

const points: fc.Arbitrary<SampleRequest> = fc.record({
  workspace: name,
  model: name,
  operation: fc.constantFrom(...OPERATIONS),
  key: fc.record(
    {
      environment: fc.oneof(fc.constant("production"), name),
      workload: name,
      owner: name,
      labels: names,
    },
    { requiredKeys: ["environment", "workload", "labels"] },
  ),
  needs: sorted(CAPABILITY_NAMES),
  features: sorted(FEATURE_NAMES),
  signatureFamilies: names,
  stream: fc.boolean(),
  context: fc.constantFrom(...TOKEN_BUCKETS),
  maxOutput: fc.constantFrom(...TOKEN_BUCKETS),
  reasoningEffort: fc.constantFrom(...REASONING_EFFORTS),
  dimensions: fc.option(fc.oneof(fc.constantFrom(1, 512, 1536), fc.integer(), fc.constant(0.5))),
  preferences: fc.option(preferences),
  time: fc.record({ day: fc.constantFrom(...DAY_BUCKETS), hour: fc.constantFrom(...HOUR_BUCKETS) }),
});

const PLAIN: SampleRequest = {
  workspace: "demo",
  model: "chat-large",
  operation: "chat.completions",
  key: { environment: "production", workload: "", labels: [] },
  needs: [],
  features: [],
  signatureFamilies: [],
  stream: false,
  context: "unspecified",
  maxOutput: "unspecified",
  reasoningEffort: "unspecified",
  dimensions: null,
  preferences: null,
  time: { day: "weekday", hour: "night" },
};

describe("the command line that explains a sample", () => {
  it("is parsed to the same sample, for all names", () => {
    fc.assert(
      fc.property(points, (sample) => {
        const [command, ...argv] = explainArguments(sample);
        expect(command).toBe("explain");
        expect(readOptions(argv, 0).sample).toEqual(sample);
      }),
      { numRuns: 1_000 },
    );
  });

  it("omits members that have their defaults", () => {
    const key = { ...PLAIN.key, labels: ["eu"] };
    expect(explainArguments({ ...PLAIN, key, stream: true })).toEqual([
      "explain",
      "--point",
      '{"workspace":"demo","operation":"chat.completions","model":"chat-large","key":{"labels":["eu"]},"stream":true,"time":{"day":"weekday","hour":"night"}}',
    ]);
  });

  it("names its files, for all folders and refs", () => {
    const tree = fc.oneof(
      name.map((text) => `./${text}`),
      fc.stringMatching(/^[0-9a-z][0-9a-z/._-]{0,20}$/),
    );
    fc.assert(
      fc.property(points, tree, tree, (requested, base, head) => {
        const [, ...argv] = explainArguments(requested, {
          base,
          head,
          config: "infra/routes.yaml",
          environment: "production",
        });
        const { source, sample: read } = readOptions(argv, 0);
        expect(read).toEqual(requested);
        expect(source).toMatchObject({
          base: { name: base },
          head: { name: head },
          config: "infra/routes.yaml",
          environment: "production",
        });
      }),
    );
  });

  it("every window has an instant in it", () => {
    for (const day of DAY_BUCKETS) {
      for (const hour of HOUR_BUCKETS)
        expect(timeWindow(instantOf({ day, hour }))).toEqual({ day, hour });
    }
  });
});
