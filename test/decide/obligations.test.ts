import { describe, expect, it } from "vitest";
import type { Decision } from "../../src/canon/decision.ts";
import type {
  ObligationContract,
  PolicyObligation,
  PolicySet,
  PolicySlot,
} from "../../src/canon/policy.ts";
import type { ProviderPreferences } from "../../src/canon/request.ts";
import { decide } from "../../src/decide/decide.ts";
import {
  endpoint,
  fakePolicies,
  identity,
  provider,
  route,
  shape,
  table,
  workspace,
} from "../support/table.ts";

const cap = (value: number): ObligationContract => ({
  name: "cap",
  kind: "max_output_tokens",
  value,
});
const near = (value: string): ObligationContract => ({
  name: "near",
  kind: "prefer_region",
  value,
});
const hide: ObligationContract = { name: "hide", kind: "strip_field", value: "service_tier" };

interface Said {
  readonly id: string;
  readonly slot?: PolicySlot;
  readonly obligation: ObligationContract;
}

/** A set that holds `slots` and says these obligations and verdicts. */
function policies(
  said: readonly Said[],
  verdicts: Parameters<typeof fakePolicies>[0] = () => [],
  slots: readonly (readonly [string, PolicySlot])[] = said.map(({ id, slot }) => [
    id,
    slot ?? "enforced",
  ]),
): PolicySet {
  const fake = fakePolicies(verdicts);
  const identityOf = (id: string, slot: PolicySlot) => ({
    id,
    slot,
    revision: 4,
    digest: "d".repeat(64),
  });
  const contracts = fake.policies.map(({ contract }) => contract);
  return {
    ...fake,
    policies: slots.flatMap(([id, slot]) =>
      contracts.map((contract) => ({ identity: identityOf(id, slot), contract })),
    ),
    evaluate: (input) => ({
      verdicts: fake.evaluate(input).verdicts,
      obligations: said.map(({ id, slot, obligation }): PolicyObligation => ({
        ...obligation,
        policy: identityOf(id, slot ?? "enforced"),
      })),
    }),
  };
}

/** `a` and `c` in eu-west, `b` and `d` in us-east; the price falls from `a` to `d`. */
const rows = table({
  providers: [
    provider("p"),
    provider("q", { region: "us-east" }),
    provider("r"),
    provider("s", { region: "us-east" }),
  ],
  endpoints: ["a", "b", "c", "d"].map((id, index) =>
    endpoint(id, {
      provider: ["p", "q", "r", "s"][index] ?? "p",
      region: index % 2 === 0 ? "eu-west" : "us-east",
      price: { input: 9 - index, output: 9, request: 0 },
    }),
  ),
  routes: [route("r", "a", ["b", "c", "d"])],
  workspaces: [workspace("w", { providers: ["p", "q", "r", "s"] })],
});

function decided(set: PolicySet, preferences: ProviderPreferences | null = null): Decision {
  return decide(rows, set, identity, { model: "r", shape: shape(), preferences }, 0);
}

const plan = (decision: Decision): string =>
  decision.outcome === "route"
    ? decision.plan.map((one) => one.endpoint.id).join("")
    : decision.denial.reason;
const effects = (decision: Decision): readonly string[] =>
  decision.obligations.map(
    (one) => `${one.policy}@${one.revision}.${one.obligation} ${one.value} ${one.effect}`,
  );

describe("obligations", () => {
  it("the smallest limit wins and is recorded; each member to strip is listed once", () => {
    const decision = decided(
      policies([
        { id: "p1", obligation: cap(500) },
        { id: "p2", obligation: cap(200) },
        { id: "p3", obligation: hide },
        { id: "p4", obligation: hide },
      ]),
    );
    expect(decision).toMatchObject({
      edits: { maxOutputTokens: 200, stripFields: ["service_tier"] },
    });
    expect(effects(decision)).toEqual([
      "p1@r4.cap 500 none",
      "p2@r4.cap 200 applied",
      "p3@r4.hide service_tier applied",
      "p4@r4.hide service_tier applied",
    ]);
  });

  it("without obligations nothing is edited", () => {
    expect(decided(policies([]))).toMatchObject({
      edits: { maxOutputTokens: null, stripFields: [] },
      obligations: [],
      ifPromoted: null,
    });
  });

  it.each<
    readonly [string, readonly string[], ProviderPreferences | null, string, readonly string[]]
  >([
    ["a group", ["us"], null, "bdac", ["applied"]],
    ["a region", ["us-east"], null, "bdac", ["applied"]],
    ["two policies: the first wins", ["us", "eu"], null, "bdac", ["applied", "applied"]],
    ["a region that the table does not have", ["moon"], null, "abcd", ["none"]],
    ["a name of Object.prototype", ["constructor"], null, "abcd", ["none"]],
    ["the caller's order, within the region", ["us"], { order: ["s", "r"] }, "dbca", ["applied"]],
    [
      "the caller's sort, within the region",
      ["eu"],
      { sort: { by: "price", partition: "none" } },
      "cadb",
      ["applied"],
    ],
    ["nothing of the region left", ["us"], { region: ["eu"] }, "ac", ["none"]],
    ["one candidate only", ["us"], { allow_fallbacks: false }, "a", ["none"]],
  ])("prefers %s", (_, regions, preferences, expected, effect) => {
    const said = regions.map((region, index) => ({ id: `p${index}`, obligation: near(region) }));
    const decision = decided(policies(said), preferences);
    expect(plan(decision)).toBe(expected);
    expect(decision.obligations.map((one) => one.effect)).toEqual(effect);
  });

  it("brings no candidate back that a filter has excluded", () => {
    const filter = { id: "f", effect: "filter", verdict: "fail", failing: ["b"] } as const;
    expect(plan(decided(policies([{ id: "p", obligation: near("us") }], () => [filter])))).toBe(
      "dac",
    );
  });

  it("no obligation applies to a request that the approvals deny", () => {
    const none = { ...rows, workspaces: { w: workspace("w", { providers: [] }) } };
    const set = policies([{ id: "p", obligation: cap(5) }]);
    const decision = decide(
      none,
      set,
      identity,
      { model: "r", shape: shape(), preferences: null },
      0,
    );
    expect(decision).toMatchObject({ outcome: "deny", denial: { policy: "approvals" } });
    expect(effects(decision)).toEqual(["p@r4.cap 5 none"]);
  });

  it("no obligation applies to a denied request", () => {
    const decision = decided(
      policies([{ id: "p", obligation: cap(5) }], () => [
        { id: "g", effect: "gate", verdict: "fail" },
      ]),
    );
    expect(decision.outcome).toBe("deny");
    expect(effects(decision)).toEqual(["p@r4.cap 5 none"]);
  });
});

describe("obligations of a candidate slot", () => {
  it.each([
    [cap(9), "abcd", { maxOutputTokens: 9, stripFields: [] }],
    [hide, "abcd", { maxOutputTokens: null, stripFields: ["service_tier"] }],
    [near("us"), "bdac", { maxOutputTokens: null, stripFields: [] }],
  ] as const)("%j is recorded and not applied", (obligation, promoted, edits) => {
    const decision = decided(policies([{ id: "p", slot: "candidate", obligation }]));
    expect(decision).toMatchObject({
      outcome: "route",
      edits: { maxOutputTokens: null, stripFields: [] },
    });
    expect(plan(decision)).toBe("abcd");
    expect(decision.obligations.map(({ slot, effect }) => [slot, effect])).toEqual([
      ["candidate", "would_apply"],
    ]);
    expect(decision.ifPromoted).toEqual({
      outcome: "route",
      plan: promoted.split(""),
      denial: null,
      edits,
    });
  });

  it("replace those of the enforced slot when promoted, even where they are all waived", () => {
    const slots = [["p", "enforced"] as const, ["p", "candidate"] as const];
    const waived = decided(policies([{ id: "p", obligation: cap(9) }], () => [], slots));
    expect(waived).toMatchObject({
      edits: { maxOutputTokens: 9 },
      ifPromoted: { edits: { maxOutputTokens: null } },
    });
    const other = decided(
      policies([{ id: "p", obligation: cap(9) }], () => [], [
        ["p", "enforced"],
        ["x", "candidate"],
      ]),
    );
    expect(other.ifPromoted).toBeNull();
  });
});
