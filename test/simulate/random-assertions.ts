import fc from "fast-check";
import type { Assertion, Demand } from "../../src/simulate/assertions/schema.ts";
import type { RequestSelector } from "../../src/simulate/assertions/schema.ts";

const some = <Value>(values: readonly Value[]): fc.Arbitrary<readonly Value[]> =>
  fc.subarray([...values], { minLength: 1 });

function someOf<const Value extends string>(values: readonly Value[]) {
  return fc.oneof(
    some(values),
    some(values).map((all) => ({ all })),
    some(values).map((none) => ({ none })),
    fc.subarray([...values]).map((only) => ({ only })),
  );
}

/** Selectors over everything that the random sides and their narrowed universes vary. */
const everything: fc.Arbitrary<RequestSelector> = fc.record(
  {
    workspaces: some(["w", "v"]),
    tiers: some(["standard", "regulated"]),
    labels: someOf(["eu", "web"]),
    routes: some(["r", "t"]),
    needs: someOf(["tools", "json_schema", "reasoning"]),
    features: someOf(["sampling", "constrained_schema", "signed_reasoning"]),
    signature_families: someOf(["one", "two"]),
    environments: some(["production", "staging", "other"]),
    workloads: some(["web", "batch", "other"]),
    owners: some(["group:pay", "other"]),
    key_labels: someOf(["eu", "vip"]),
    stream: fc.boolean(),
    context: some(["unspecified", "to_1k"] as const),
    max_output: some(["unspecified", "to_4k"] as const),
    allow_fallbacks: fc.boolean(),
    data_collection: fc.constantFrom("allow", "deny"),
    zdr: fc.boolean(),
    budgets: some(["unlimited", "exhausted"] as const),
    hours: some(["night", "morning"] as const),
  },
  { requiredKeys: [] },
);

/** With all members at once hardly any request would be meant. */
const selector: fc.Arbitrary<RequestSelector> = fc
  .tuple(everything, fc.nat(16))
  .map(([all, first]) => Object.fromEntries(Object.entries(all).slice(first, first + 2)));

const whose = fc.record({ for: selector, except: fc.option(selector) });
const endpointSelectors = fc.record(
  {
    providers: some(["p", "q"]),
    regions: some(["eu-west"]),
    endpoints: some(["a", "b"]),
    models: some(["m"]),
  },
  { requiredKeys: [] },
);

const demand: fc.Arbitrary<Demand> = fc.oneof(
  fc
    .record({ kind: fc.constant("no_new_access" as const), to: endpointSelectors })
    .chain(selecting),
  fc
    .record({ kind: fc.constant("access_not_granted" as const), to: endpointSelectors })
    .chain(selecting),
  fc
    .record({ kind: fc.constant("always_routable" as const), min_endpoints: fc.constantFrom(1, 2) })
    .chain(selecting),
  fc
    .record({
      kind: fc.constant("implies" as const),
      if: fc.record({ reaches: endpointSelectors }),
      // oxlint-disable-next-line unicorn/no-thenable -- the member of the file
      then: fc.record({ primary: endpointSelectors }),
    })
    .chain(selecting),
  fc
    .record({ kind: fc.constant("equivalent" as const), ignoring: fc.constant([]) })
    .chain(selecting),
);

function selecting<Part extends object>(part: Part) {
  return whose.map((selection) => ({ ...part, ...selection }));
}

export const randomAssertions: fc.Arbitrary<readonly Assertion[]> = fc
  .array(fc.record({ demand, view: fc.constantFrom("declared", "promoted", "both") }), {
    maxLength: 2,
  })
  .map((list) =>
    list.map(({ demand: own, view }, index): Assertion => ({
      ...own,
      id: `sample-${index}`,
      title: "Sample",
      view,
      waiver: null,
      may_be_empty: true,
      location: { file: "policies/assertions.yaml", line: 1, column: 1 },
    })),
  );
