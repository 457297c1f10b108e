import { describe, expect, it } from "vitest";
import type { Source } from "../../../src/canon/diagnostic.ts";
import type { ProviderPreferences } from "../../../src/canon/request.ts";
import type { EndpointRow, RoutingTable } from "../../../src/canon/table.ts";
import type { ChangeKind } from "../../../src/simulate/change-kind.ts";
import { PLAIN_SAMPLE, type SampleRequest } from "../../../src/simulate/sample-request.ts";
import { sideDecider } from "../../../src/simulate/decide-sample.ts";
import { compiledSides } from "../../../src/simulate/side-contents.ts";
import { sideViews } from "../../../src/simulate/views.ts";
import { policySource } from "../../policy/samples.ts";
import { endpoint, model, provider, route, table, workspace } from "../../support/table.ts";
import { sideOf, simulate, withAssertions } from "../small-sides.ts";

/** Two trees, a request that only its preferences make a change of, and what becomes of it. */
interface Hidden {
  readonly title: string;
  readonly base: readonly [RoutingTable, readonly Source[]];
  readonly head: readonly [RoutingTable, readonly Source[]];
  readonly preferences: ProviderPreferences;
  readonly time?: SampleRequest["time"];
  readonly kind: ChangeKind;
  /** A data path that head has and base has not. */
  readonly path?: string;
}

const gate = (id: string, rules: string): Source =>
  policySource(id, { is_so: "{effect: gate, reasons: [NOT_SO]}" }, rules);
const every = (id: string, condition: string): Source =>
  policySource(
    id,
    { is_so: "{effect: require_all, reasons: [NOT_SO]}" },
    `pass.is_so contains c.id if {\n\tsome c in input.candidates\n\t${condition}\n}`,
  );

/** Rejects every candidate, for the reason of the first one. */
const reasoned = (ofSecond: string): Source =>
  policySource(
    "reasons",
    { never: "{effect: filter, reasons: [ONE, TWO]}" },
    `pass.never contains c.id if {\n\tsome c in input.candidates\n\tc.region == "nowhere"\n}

reason.never["a"] := "ONE"

reason.never["b"] := "TWO" if ${ofSecond}`,
  );

const near = policySource("near", {}, "", null, { near: "{kind: prefer_region, value: eu}" });

const priced = (id: string, output: number, more: Partial<EndpointRow> = {}): EndpointRow =>
  endpoint(id, { price: { input: 1, output, request: 0 }, ...more });

const models = [model("m"), model("n")];
const oneProvider = (): RoutingTable =>
  table({
    models,
    endpoints: [priced("a", 20), priced("b", 5, { model: "n" })],
    workspaces: [workspace("w", {}, { tier: "regulated" })],
  });
const twoRegions = table({ endpoints: [endpoint("a", { region: "us-east" }), endpoint("b")] });
const names = ["p", "q", "s", "t", "u"];
const five = table({
  providers: names.map((id) => provider(id)),
  endpoints: names.map((id) => endpoint(`at-${id}`, { provider: id })),
  routes: [
    route(
      "r",
      "at-p",
      names.slice(1).map((id) => `at-${id}`),
    ),
  ],
  workspaces: [workspace("w", { providers: names })],
});
const labelled = table({
  endpoints: [endpoint("a", { provider: "q", region: "us-east" }), endpoint("b")],
  workspaces: [workspace("w", {}, { labels: ["eu"] })],
});
const prices = (factor: number): RoutingTable =>
  table({
    endpoints: [priced("a", 4 * factor), priced("b", 30, { provider: "q", region: "us-east" })],
  });

const HIDDEN: readonly Hidden[] = [
  {
    title: "a model that is newly allowed, and that a price leaves alone",
    base: [oneProvider(), [every("models", 'c.model == "k"')]],
    head: [oneProvider(), [every("models", 'c.model == "n"')]],
    preferences: { max_price: { output: 5 } },
    kind: "newly_allowed",
    path: "w chat.completions p eu-west",
  },
  {
    title: "a model that is newly allowed, and the cheapest of one that may not fall back",
    base: [oneProvider(), [every("models", 'c.model == "k"')]],
    head: [oneProvider(), [every("models", 'c.model == "n"')]],
    preferences: { sort: { by: "price", partition: "none" }, allow_fallbacks: false },
    kind: "newly_allowed",
    path: "w chat.completions p eu-west",
  },
  {
    title: "a region that is newly allowed, of a provider with endpoints in two",
    base: [twoRegions, [every("regions", 'c.region == "nowhere"')]],
    head: [twoRegions, [every("regions", 'c.region == "eu-west"')]],
    preferences: { region: ["eu-west"] },
    kind: "newly_allowed",
    path: "w chat.completions p eu-west",
  },
  {
    title: "a count of providers that three of five reach",
    base: [
      five,
      [gate("many", "pass.is_so if count({c.provider | some c in input.candidates}) >= 5")],
    ],
    head: [
      five,
      [gate("many", "pass.is_so if count({c.provider | some c in input.candidates}) >= 3")],
    ],
    preferences: { ignore: ["p", "q"] },
    kind: "newly_allowed",
  },
  {
    title: "a reason of the second candidate, at night, for callers who put it first",
    base: [table(), [reasoned("count(input.candidates) == 0"), near]],
    head: [
      table(),
      [reasoned('{\n\tcount(input.candidates) == 2\n\tinput.time.hour == "night"\n}'), near],
    ],
    preferences: { order: ["q"] },
    time: { day: "weekday", hour: "night" },
    kind: "reason_changed",
  },
  {
    title: "a rule of residency that looks at the first candidate alone",
    base: [labelled, [every("stays", 'c.region == "eu-west"')]],
    head: [labelled, [gate("stays", 'pass.is_so if input.candidates[0].region == "eu-west"')]],
    preferences: { order: ["p"] },
    kind: "newly_allowed",
    path: "w chat.completions q us-east",
  },
  {
    title: "a price times ten",
    base: [prices(1), []],
    head: [prices(10), []],
    preferences: { only: ["p"], max_price: { output: 10 } },
    kind: "newly_denied",
  },
  {
    title: "a price times ten, for callers who take the cheapest first",
    base: [prices(1), []],
    head: [prices(10), []],
    preferences: { sort: { by: "price", partition: "none" } },
    kind: "primary_changed",
  },
  {
    title: "a preferred region that the order of the route hides",
    base: [table(), [near]],
    head: [
      table(),
      [policySource("near", {}, "", null, { near: "{kind: max_output_tokens, value: 9}" })],
    ],
    preferences: { order: ["q"] },
    kind: "primary_changed",
  },
];

describe("a change that affects only callers with preferences is reported", () => {
  it.for(HIDDEN)("$title", async ({ base, head, preferences, time, kind: expected, path }) => {
    const [before, after] = [await sideOf(...base), await sideOf(...head)];
    const { fresh } = { fresh: true };
    const sides = compiledSides(before, after, fresh);
    const key = { environment: "production", workload: "", labels: [] };
    const sample = {
      ...PLAIN_SAMPLE,
      ...(time && { time }),
      workspace: "w",
      model: "r",
      features: ["native_chat" as const],
      key,
    };
    const decide = async (side: "base" | "head", of: ProviderPreferences | null) => {
      const decider = sideDecider(sides[side].table, await sideViews(sides[side], () => false));
      return decider.decideSample({ ...sample, preferences: of }).declared;
    };
    // It is a change for those who say so, and the router says so itself.
    expect(await decide("base", preferences)).not.toEqual(await decide("head", preferences));
    const { declared } = await simulate(before, after, { fresh });
    expect(declared.kinds.map(({ kind }) => kind)).toContain(expected);
    const paths = declared.new_data_paths.map((each) =>
      [each.workspace, each.operation, each.provider, each.region].join(" "),
    );
    if (path !== undefined) expect(paths).toContain(path);
  });
});

describe("an added provider and `no_new_access`", () => {
  const providers = [provider("p"), provider("q"), provider("s")];
  const endpoints = [
    endpoint("a"),
    endpoint("b", { provider: "q" }),
    endpoint("c", { provider: "s" }),
  ];
  const side = (fallbacks: readonly string[], approved: readonly string[]) =>
    sideOf(
      table({
        providers,
        endpoints,
        routes: [route("r", "a", fallbacks, { onGap: "narrow" })],
        workspaces: [workspace("w", { providers: approved })],
      }),
    );
  const assertions = withAssertions([
    {
      kind: "no_new_access",
      id: "nothing-new",
      title: "Nothing new",
      to: {},
      for: {},
      except: null,
      view: "both",
      waiver: null,
      may_be_empty: false,
      location: { file: "policies/assertions.yaml", line: 1, column: 1 },
    },
  ]);
  const statusOf = async (approved: readonly string[]) => {
    const report = await simulate(await side(["b"], ["p", "q"]), await side(["b", "c"], approved), {
      assertions,
    });
    return report.assertions?.results.map(({ status }) => status);
  };

  it("passes for a workspace that does not approve the provider", async () => {
    expect(await statusOf(["p", "q"])).toEqual(["PASS"]);
  });

  it("fails for a workspace that approves the provider", async () => {
    expect(await statusOf(["p", "q", "s"])).toEqual(["FAIL"]);
  });

  it("passes where only a caller's own order selects a capable endpoint, on both sides", async () => {
    const unchanged = await sideOf(
      table({
        endpoints: [
          endpoint("a", { capabilities: [] }),
          endpoint("b", { provider: "q", region: "us-east" }),
        ],
        routes: [route("r", "a", ["b"], { onGap: "narrow" })],
      }),
    );
    const key = { environment: "production", workload: "", labels: [] };
    const decider = sideDecider(
      unchanged.table,
      await sideViews(compiledSides(unchanged, unchanged, true).base, () => false),
    );
    const requested = {
      ...PLAIN_SAMPLE,
      workspace: "w",
      model: "r",
      needs: ["tools" as const],
      key,
    };
    const own = { order: ["q"], allow_fallbacks: false };
    // Without its order the request is denied: the primary has no tools.
    expect(decider.decideSample({ ...requested, preferences: null }).declared.plan).toEqual([]);
    expect(decider.decideSample({ ...requested, preferences: own }).declared.plan).toHaveLength(1);
    const report = await simulate(unchanged, unchanged, { assertions });
    expect(report.assertions?.results.map(({ status }) => status)).toEqual(["PASS"]);
  });
});

it("a caller's own order without fallbacks reaches nothing new where base serves the endpoint to others", async () => {
  const kept = (retention: "none" | "days_30"): RoutingTable =>
    table({
      models: [model("m", { capabilities: [] }), model("n")],
      providers: [provider("p"), provider("q", { retention }), provider("s")],
      endpoints: [
        endpoint("a", { capabilities: [] }),
        endpoint("b", { provider: "q", model: "n" }),
        endpoint("c", { provider: "s", model: "n" }),
      ],
      // The primary cannot do what a request with tools needs.
      routes: [route("r", "a", ["b", "c"], { onGap: "narrow" })],
      workspaces: [workspace("w", { providers: ["p", "q", "s"], capabilities: ["tools"] })],
    });
  const assertions = withAssertions([
    {
      kind: "no_new_access",
      id: "nothing-new",
      title: "",
      for: {},
      except: null,
      to: {},
      view: "both",
      waiver: null,
      may_be_empty: true,
      location: { file: "policies/assertions.yaml", line: 1, column: 1 },
    },
  ]);
  // With `order: [q, s]` and zdr, base takes q, and head s.
  const report = await simulate(await sideOf(kept("none")), await sideOf(kept("days_30")), {
    assertions,
  });
  expect(report.assertions?.results).toMatchObject([{ status: "PASS", violations: 0 }]);
});

it.for([
  [1, null, "PASS"],
  [2, null, "FAIL"],
  [2, { allow_fallbacks: false }, "PASS"],
] as const)(
  "of two endpoints that share load, a caller without fallbacks reaches one: %s, except %j: %s",
  async ([least, except, status]) => {
    const tier = { endpoints: ["a", "b"], balance: "order", weights: [1, 1] } as const;
    const shared = await sideOf(table({ routes: [route("r", "a", ["b"], { tiers: [tier] })] }));
    const assertions = withAssertions([
      {
        kind: "always_routable",
        id: "two",
        title: "",
        for: {
          operations: ["chat.completions"],
          needs: { only: [] },
          features: { only: ["native_chat"] },
          signature_families: { only: [] },
        },
        except,
        min_endpoints: least,
        view: "both",
        waiver: null,
        may_be_empty: false,
        location: { file: "policies/assertions.yaml", line: 1, column: 1 },
      },
    ]);
    const report = await simulate(shared, shared, { assertions });
    expect(report.assertions?.results).toMatchObject([{ status }]);
  },
);
