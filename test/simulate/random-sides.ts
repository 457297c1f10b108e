import fc from "fast-check";
import type { Capability, Feature } from "../../src/canon/capability.ts";
import type { RoutingTable } from "../../src/canon/table.ts";
import {
  buildModules,
  compilePolicies,
  type CompiledPolicies,
} from "../../src/policy/compile-policies.ts";
import type { Side } from "../../src/simulate/request.ts";
import type { PreferenceUniverse, Universe } from "../../src/simulate/space/universe.ts";
import { policySource, toolchain } from "../policy/samples.ts";
import type { Relation } from "./every-request.ts";
import { endpoint, model, provider, route, table, workspace } from "../support/table.ts";

/**
 * Policies that look at requests in all the ways that collapse has to get right: values, counts,
 * other members, one member against another.
 */
const SOURCES = [
  policySource(
    "region",
    { near: "{effect: require_all, reasons: [FAR]}" },
    `pass.near contains c.id if {
	some c in input.candidates
	c.region in data.approved.regions[input.workspace.id]
	c.region != "us-east"
}

pass.near contains c.id if {
	some c in input.candidates
	not "eu" in input.workspace.labels
}`,
  ),
  policySource(
    "few-needs",
    { few: "{effect: gate, reasons: [MANY]}" },
    `needs contains need if some need in input.request.needs

pass.few if count(needs) < 2

pass.few if "tools" in needs`,
  ),
  policySource(
    "supported",
    { all: "{effect: filter, reasons: [LACKING]}" },
    `pass.all contains c.id if {
	some c in input.candidates
	every need in input.request.needs {
		need in c.capabilities
	}
}`,
  ),
  policySource(
    "sizes",
    { differ: "{effect: gate, reasons: [SAME, LONG]}" },
    `pass.differ if input.request.context != input.request.max_output

reason.differ := "LONG" if input.request.context == "to_4k"`,
  ),
  policySource(
    "key",
    { label: "{effect: gate, reasons: [NO_LABEL]}" },
    `pass.label if some label in input.key.labels

pass.label if input.key.environment == "production"

pass.label if input.key.workload in input.workspace.labels`,
    "[chat.completions]",
  ),
  policySource(
    "hours",
    { awake: "{effect: gate, reasons: [ASLEEP]}" },
    `pass.awake if input.time.hour != "night"

pass.awake if input.request.stream`,
    null,
    { near: "{kind: prefer_region, value: us}", short: "{kind: max_output_tokens, value: 100}" },
  ),
  policySource(
    "alone",
    { one: "{effect: gate, reasons: [MANY_PLACES]}" },
    `pass.one if not input.request.allow_fallbacks

pass.one if count(input.candidates) < 3

pass.one if input.request.zdr

pass.one if input.request.data_collection == "allow"`,
  ),
  policySource(
    "first-need",
    { early: "{effect: gate, reasons: [LATE]}" },
    `pass.early if input.request.needs[0] < "mcp"

pass.early if count(input.request.needs) == 0

pass.early if startswith(input.workspace.id, "a")`,
  ),
];

/** Contents that read what endpoints cost and are made for. */
const PRICED = [
  policySource(
    "cheap",
    { cheap: "{effect: filter, reasons: [DEAR]}" },
    `pass.cheap contains c.id if {
	some c in input.candidates
	c.price.input < 2
	c.latency_class != input.key.workload
}

pass.cheap contains c.id if {
	some c in input.candidates
	not c.price
	c.latency_class == "interactive"
}`,
  ),
];

/** Contents that read whose key it is. */
const OWNED = [
  policySource(
    "owner",
    { owner: "{effect: gate, reasons: [NOT_OWNER]}" },
    `pass.owner if input.key.owner == "group:pay"

pass.owner if {
	input.request.stream
	input.key.owner != "group:web"
}

pass.owner if input.key.owner in input.workspace.labels`,
  ),
];

/** Contents that read what is left of the budget. */
const BUDGETED = [
  policySource(
    "budget",
    { budget: "{effect: filter, reasons: [SPENT]}" },
    `pass.budget contains c.id if {
	some c in input.candidates
	input.budget.remaining in {"unlimited", "above_half"}
}

pass.budget contains c.id if {
	some c in input.candidates
	c.rank == "primary"
	input.budget.remaining != "exhausted"
	c.retention != input.budget.remaining
}`,
  ),
];

/** Contents that read the clocks of time zones: compared with numbers, and in other ways. */
const ZONED = [
  policySource(
    "clocks",
    { open: "{effect: gate, reasons: [CLOSED]}" },
    `pass.open if {
	input.local_time["Europe/Berlin"].hour >= 6
	not input.local_time["Europe/Berlin"].weekday in {"saturday", "sunday"}
}

pass.open if {
	input.local_time["America/New_York"].hour in {9, 10}
	input.request.stream
}`,
  ),
  policySource(
    "clocks",
    { open: "{effect: gate, reasons: [CLOSED]}" },
    `pass.open if {
	input.local_time["Europe/Berlin"].hour == input.local_time["Asia/Kathmandu"].hour - 4
	input.time.day == "weekday"
}

pass.open if input.key.environment == "staging"`,
  ),
];

/**
 * Other contents of some of them: a pair of sides may have either, so that what acts and what waits
 * say different things.
 */
const CHANGED = [
  policySource(
    "region",
    {
      near: "{effect: filter, reasons: [FAR, OUTSIDE]}",
      requested: "{effect: gate, reasons: [NOT_ASKED]}",
    },
    `pass.near contains c.id if {
	some c in input.candidates
	c.region != "eu-west"
}

pass.requested if input.request.stream

pass.requested if input.workspace.tier == "regulated"`,
  ),
  policySource(
    "few-needs",
    { few: "{effect: gate, reasons: [MANY]}" },
    `pass.few if not "reasoning" in input.request.needs

pass.few if input.key.environment == "staging"`,
  ),
  policySource(
    "key",
    { label: "{effect: gate, reasons: [NO_LABEL]}" },
    `pass.label if "vip" in input.key.labels

pass.label if input.time.hour == "night"`,
    "[messages]",
  ),
  policySource(
    "hours",
    { awake: "{effect: gate, reasons: [ASLEEP]}" },
    `pass.awake if input.time.hour != "morning"`,
    null,
    { short: "{kind: max_output_tokens, value: 50}" },
  ),
  policySource(
    "front",
    { first: "{effect: gate, reasons: [FAR_FIRST]}" },
    `pass.first if input.candidates[0].region == "eu-west"

pass.first if input.key.environment == "staging"`,
  ),
];

/** Compiled once; each side has some of them. */
export async function policyPool(): Promise<readonly CompiledPolicies[]> {
  const contents = [...SOURCES, ...CHANGED, ...PRICED, ...OWNED, ...BUDGETED, ...ZONED];
  const choices = [
    [],
    [0, 1],
    [2, 4],
    [3, 5],
    [0, 6],
    [1, 2, 3, 4],
    [7],
    [5, 4, 0],
    [1, 6, 4],
    [8, 1],
    [9, 10, 2],
    [11, 10, 0],
    [8, 9, 3],
    [11, 4, 8],
    [12],
    [12, 6],
    [13],
    [13, 5, 0],
    [14],
    [14, 4],
    [15],
    [15, 14, 5],
    [16],
    [16, 5],
    [17, 0],
  ];
  return Promise.all(
    choices.map(async (chosen) => {
      const compiled = await compilePolicies(
        chosen.flatMap((index) => contents[index] ?? []),
        { cache: null, toolchain },
      );
      if (compiled.diagnostics.some(({ severity }) => severity === "error")) {
        throw new Error(JSON.stringify(compiled.diagnostics));
      }
      return { ...compiled, modules: await buildModules(compiled.policies, toolchain) };
    }),
  );
}

const CAPABILITIES: readonly Capability[] = ["tools", "json_schema", "reasoning"];
const FEATURES: readonly Feature[] = ["sampling", "constrained_schema", "signed_reasoning"];

const endpointFacts = fc.record({
  model: fc.constantFrom("m", "n"),
  provider: fc.constantFrom("p", "q", "s"),
  region: fc.constantFrom("eu-west", "us-east"),
  capabilities: fc
    .subarray([...CAPABILITIES, ...CAPABILITIES.slice(0, 2)])
    .map((list) => [...new Set(list)].toSorted()),
  features: fc
    .subarray([
      "sampling",
      "constrained_schema",
      "signed_reasoning",
      "tool_choice_named",
      "tool_choice_required",
    ] as const)
    .map((list) => list.toSorted()),
  dialect: fc.constantFrom("openai-chat", "anthropic-messages"),
  latencyClass: fc.constantFrom("interactive", "batch"),
  price: fc.constantFrom(
    null,
    { input: 1, output: 2, request: 0 },
    { input: 3, output: 1, request: 0 },
  ),
});

const ENDPOINTS = ["a", "b", "c", "d"];

const routeFacts = fc.record({
  endpoints: fc.shuffledSubarray(ENDPOINTS, { minLength: 1, maxLength: 3 }),
  onGap: fc.constantFrom("deny", "narrow"),
  emulateSchema: fc.boolean(),
});

const workspaceFacts = fc.record({
  routes: fc.subarray(["r", "t"]),
  regions: fc.subarray(["eu-west", "us-east"], { minLength: 1 }),
  providers: fc.subarray(["p", "q", "s"], { minLength: 1 }),
  capabilities: fc.subarray([...CAPABILITIES]),
  tier: fc.constantFrom("standard", "regulated"),
  labels: fc.subarray(["eu", "web"]),
  ceilings: fc.constantFrom(
    {},
    {},
    { dataCollection: "deny" } as const,
    { retention: "none" } as const,
    {
      dataCollection: "deny",
      retention: "days_30",
    } as const,
  ),
});

const POLICY_IDS = [
  "region",
  "few-needs",
  "supported",
  "sizes",
  "key",
  "hours",
  "alone",
  "first-need",
  "front",
  "cheap",
  "owner",
  "budget",
  "clocks",
];

const sideFacts = fc.record({
  endpoints: fc.array(endpointFacts, { minLength: 4, maxLength: 4 }),
  routes: fc.array(routeFacts, { minLength: 2, maxLength: 2 }),
  workspaces: fc.array(workspaceFacts, { minLength: 2, maxLength: 2 }),
  policies: fc.nat(24),
  enforced: fc.subarray([...POLICY_IDS]),
});
type SideFacts = typeof sideFacts extends fc.Arbitrary<infer Facts> ? Facts : never;

function tableOf(facts: SideFacts): RoutingTable {
  const made = table({
    providers: [
      provider("p"),
      provider("q", { region: "us-east", retention: "days_30" }),
      provider("s", { trainsOnData: true }),
    ],
    models: [model("m", { signatureFamily: "one" }), model("n", { signatureFamily: "two" })],
    endpoints: facts.endpoints.map((row, index) =>
      endpoint(ENDPOINTS[index] ?? "a", { ...row, nativeFeatures: row.features }),
    ),
    routes: facts.routes.map(({ endpoints: [first = "a", ...rest], ...row }, index) =>
      route(index === 0 ? "r" : "t", first, rest, row),
    ),
    workspaces: facts.workspaces.map(({ tier, labels, ceilings, ...approve }, index) =>
      workspace(index === 0 ? "w" : "v", { ...approve, ...ceilings }, { tier, labels }),
    ),
  });
  const initialMode = Object.fromEntries(facts.enforced.map((id) => [id, "enforce" as const]));
  return {
    ...made,
    policies: { dir: "policies", initialMode },
    vocabulary: {
      environments: ["production", "staging", "testing"],
      workloads: ["web", "batch"],
      owners: ["group:pay", "group:web", "eu"],
      labels: ["eu", "vip"],
    },
  };
}

/**
 * How two sides may hang together: mostly as a store has them that follows, with everything
 * promoted.
 */
export const relations: fc.Arbitrary<Relation> = fc.record({
  fresh: fc.constantFrom(false, false, false, true),
  promoted: fc.oneof(fc.constant(null), fc.subarray([...POLICY_IDS])),
});

/** @param pool of {@link policyPool}. */
export function sideOfFacts(
  { table: made, policies }: { readonly table: RoutingTable; readonly policies: number },
  pool: readonly CompiledPolicies[],
): Side {
  const compiled = pool[policies];
  if (compiled === undefined) throw new Error("no such policies");
  const files = { routes: { path: "routes.yaml", text: "" }, policies: [] };
  return { name: ".", commit: null, table: made, policies: compiled, files, warnings: [] };
}

/** Two sides that have much in common: head is base, but for the members that are drawn anew. */
export const twoSides = fc
  .tuple(
    sideFacts,
    sideFacts,
    fc.subarray(["endpoints", "routes", "workspaces", "policies", "enforced"] as const),
  )
  .map(([base, other, changed]) => {
    const head: SideFacts = { ...base };
    for (const member of changed) Object.assign(head, { [member]: other[member] });
    return {
      base: { table: tableOf(base), policies: base.policies },
      head: { table: tableOf(head), policies: head.policies },
    };
  });

const NARROWING: readonly (readonly PreferenceUniverse["narrowing"][number][])[] = [
  [],
  ["only"],
  ["ignore"],
  ["region"],
  ["max_price"],
];

/** A universe small enough to write out: of each dimension a few values, at random. */
export const narrowings = fc
  .record({
    needs: fc.subarray([...CAPABILITIES], { maxLength: 3 }),
    features: fc.subarray([...FEATURES], { maxLength: 2 }),
    stream: fc.subarray([false, true], { minLength: 1 }),
    context: fc.subarray(["unspecified", "to_1k", "to_4k"] as const, {
      minLength: 1,
      maxLength: 2,
    }),
    maxOutput: fc.subarray(["unspecified", "to_4k"] as const, { minLength: 1 }),
    environments: fc.subarray(["production", "staging", "other"], { minLength: 1, maxLength: 2 }),
    workloads: fc.subarray(["web", "batch"], { minLength: 1 }),
    owners: fc.subarray(["other", "group:pay", "group:web", "eu"], { minLength: 1, maxLength: 2 }),
    budgets: fc.subarray(["unlimited", "above_half", "below_tenth", "exhausted"] as const, {
      minLength: 1,
      maxLength: 2,
    }),
    labels: fc.subarray(["eu", "vip"], { maxLength: 1 }),
    times: fc.subarray([0, 1, 5, 9], { minLength: 1, maxLength: 2 }),
    flags: fc.subarray(["fallbacks", "collection", "zdr"] as const, { maxLength: 2 }),
    narrowing: fc.constantFrom(...NARROWING),
    operations: fc.subarray(["chat.completions", "messages"] as const, {
      minLength: 1,
      maxLength: 1,
    }),
  })
  .map(
    ({
      operations,
      flags,
      narrowing,
      needs,
      features,
      stream,
      context,
      maxOutput,
      times,
      ...key
    }) =>
      (universe: Universe): Universe => ({
        ...universe,
        ...key,
        // Lists of regions and prices have many values: fewer of something else keeps the product
        // small.
        workspaces: isLong(narrowing) ? universe.workspaces.slice(0, 1) : universe.workspaces,
        // Only the clocks of zones have classes that depend on what policies read.
        times: universe.times.filter((time, index, { length }) =>
          times.slice(0, time.local === undefined ? 1 : 2).some((one) => one % length === index),
        ),
        preferences: {
          ...universe.preferences,
          allowFallbacks: flags.includes("fallbacks") ? [true, false] : [true],
          dataCollection: flags.includes("collection") ? ["deny", "allow"] : ["deny"],
          zdr: flags.includes("zdr") ? [false, true] : [false],
          narrowing,
          orders: false,
        },
        operations: new Map(
          [...universe.operations]
            .filter(([operation]) => operations.some((one) => one === operation))
            .map(([operation, own]) => [
              operation,
              {
                ...own,
                needs: needs.slice(0, isLong(narrowing) ? 1 : 3).toSorted(),
                features: features.slice(0, isLong(narrowing) ? 1 : 2).toSorted(),
                stream,
                context,
                maxOutput,
                reasoningEffort: ["unspecified"] as const,
                dimensions: [null],
              },
            ]),
        ),
      }),
  );

function isLong(narrowing: PreferenceUniverse["narrowing"]): boolean {
  return narrowing.includes("region") || narrowing.includes("max_price");
}
