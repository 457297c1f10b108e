import { expect, it } from "vitest";
import type { RoutingTable } from "../../../src/canon/table.ts";
import type { ChangeKind } from "../../../src/simulate/change-kind.ts";
import { endpoint, model, provider, route, table, workspace } from "../../support/table.ts";
import { sideOf, simulate } from "../small-sides.ts";

const providers = [
  provider("p"),
  provider("q", { region: "us-east" }),
  provider("s", { region: "us-east" }),
];
const three = {
  providers,
  endpoints: [
    endpoint("a"),
    endpoint("b", { provider: "q", region: "us-east" }),
    endpoint("c", { provider: "s" }),
  ],
  workspaces: [workspace("w", { providers: ["p", "q", "s"] })],
};
const peers = (weights: readonly number[], fallbacks: readonly string[] = []): RoutingTable =>
  table({
    ...three,
    routes: [
      route("r", "a", ["b", ...fallbacks], {
        tiers: [
          { endpoints: ["a", "b"], balance: "weighted", weights },
          ...fallbacks.map((id) => ({ endpoints: [id], balance: "order" as const, weights: [1] })),
        ],
      }),
    ],
  });
const embedding = (defaultDimensions: number): RoutingTable =>
  table({
    models: [model("m", { operations: ["embed"], dimensions: [512, 1536], defaultDimensions })],
    routes: [route("r", "a", [], { operations: ["embed"] })],
    workspaces: [workspace("w", { dimensions: [512, 1536], contextWindow: 1_000_000 })],
  });

const cases: readonly (readonly [string, RoutingTable, RoutingTable, ChangeKind])[] = [
  [
    "a larger region group, for a caller who requires it",
    { ...table(), regionGroups: { near: ["eu-west"] } },
    { ...table(), regionGroups: { near: ["eu-west", "us-east"] } },
    "fallbacks_widened",
  ],
  [
    "a new region group, for a caller who requires it",
    { ...table(), regionGroups: {} },
    { ...table(), regionGroups: { near: ["eu-west"] } },
    "newly_allowed",
  ],
  [
    "an unused provider without approval, for requests that exclude it",
    table({ providers, workspaces: [workspace("w", { providers: ["p", "q", "s"] })] }),
    table({ providers }),
    "newly_denied",
  ],
  [
    "vectors of another length where the request names none",
    embedding(1536),
    embedding(512),
    "destination_changed",
  ],
  ["weights of equals", peers([9, 1]), peers([1, 9]), "sharing_changed"],
];

it.for(cases)("a change that plain requests hide is reported: %s", async ([, base, head, kind]) => {
  const { declared } = await simulate(await sideOf(base), await sideOf(head));
  expect(declared.kinds.map((each) => each.kind)).toContain(kind);
});

it("an order of fallbacks that a preferred region hides shows where the primary is excluded", async () => {
  const ordered = (fallbacks: readonly string[]): RoutingTable =>
    table({
      ...three,
      endpoints: [
        endpoint("a"),
        endpoint("b", { provider: "q", region: "us-east" }),
        endpoint("c", { provider: "s" }),
      ],
      routes: [route("r", "b", fallbacks)],
      workspaces: [workspace("w", { providers: ["p", "q", "s"] })],
    });
  const { declared } = await simulate(
    await sideOf(ordered(["a", "c"])),
    await sideOf(ordered(["c", "a"])),
  );
  const plans = declared.groups.map(({ base, head }) =>
    [base, head].map(({ plan }) => plan.map(({ endpoint: id }) => id).join(" ")).join(" → "),
  );
  expect(plans).toContain("a c → c a");
});

it("weights are no change where one endpoint is left", async () => {
  const { declared } = await simulate(await sideOf(peers([9, 1])), await sideOf(peers([1, 9])));
  for (const { base } of declared.groups) expect(base.plan.length).toBeGreaterThan(1);
});
