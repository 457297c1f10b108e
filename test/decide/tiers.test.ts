import { describe, expect, it } from "vitest";
import type { Decision } from "../../src/canon/decision.ts";
import type { ProviderPreferences } from "../../src/canon/request.ts";
import type { RoutingTable, TierRow } from "../../src/canon/table.ts";
import { decide } from "../../src/decide/decide.ts";
import { endpoint, fakePolicies, identity, model, route, shape, table } from "../support/table.ts";
import { by, decided, planned, policies, tier } from "./tiers.ts";

/**
 * `a` and `c` at p in eu-west, `b` and `d` at q in us-east; `a` and `d` serve m, `b` and `c` n; the
 * price falls from `a` to `d`.
 */
function fixture(tiers: readonly TierRow[], onGap: "deny" | "narrow" = "deny"): RoutingTable {
  const endpointAt = (id: string, served: string, at: "p" | "q", input: number) =>
    endpoint(id, {
      model: served,
      provider: at,
      region: at === "p" ? "eu-west" : "us-east",
      price: { input, output: 1, request: 0 },
      capabilities: id === "b" ? [] : ["tools"],
    });
  const [primary = "", ...fallbacks] = tiers.flatMap(({ endpoints }) => endpoints);
  return table({
    models: [model("m"), model("n")],
    endpoints: [
      endpointAt("a", "m", "p", 4),
      endpointAt("b", "n", "q", 3),
      endpointAt("c", "n", "p", 2),
      endpointAt("d", "m", "q", 1),
    ],
    routes: [route("r", primary, fallbacks, { tiers, onGap })],
  });
}

const SHARED = fixture([tier(["a", "b"], "weighted", [3, 1]), tier(["c", "d"], "least_in_flight")]);

/** `weighted:a,b|order:c`, or the reason of the denial. */
function layout(decision: Decision): string {
  if (decision.outcome === "deny") return decision.denial.reason;
  const tiers: string[][] = [];
  for (const candidate of decision.plan)
    (tiers[candidate.tier] ??= [candidate.balance]).push(candidate.endpoint.id);
  return tiers.map(([balance, ...ids]) => `${balance}:${ids.join()}`).join("|");
}

describe("tiers of a plan", () => {
  it.each<readonly [string, ProviderPreferences | null, string]>([
    ["nothing requested", null, "weighted:a,b|least_in_flight:c,d"],
    ["only one provider", { only: ["q"] }, "weighted:b|least_in_flight:d"],
    ["what needs no order", { zdr: true }, "weighted:a,b|least_in_flight:c,d"],
    ["an order", { order: ["q"] }, "order:b|order:d|order:a|order:c"],
    [
      "an order that names a provider twice",
      { order: ["q", "p", "q"] },
      "order:b|order:d|order:a|order:c",
    ],
    ["an order of unknown providers", { order: [] }, "order:a|order:b|order:c|order:d"],
    ["price", by("price", "none"), "order:d|order:c|order:b|order:a"],
    [
      "price within an order",
      { ...by("price", "none"), order: ["p"] },
      "order:c|order:a|order:d|order:b",
    ],
    ["latency", by("latency", "none"), "latency:a,b,c,d"],
    ["latency of a model", by("latency", "model"), "latency:a,d|latency:b,c"],
    ["throughput", by("throughput", "none"), "throughput:a,b,c,d"],
    ["throughput of a model", by("throughput", "model"), "throughput:a,d|throughput:b,c"],
    [
      "latency within an order",
      { ...by("latency", "none"), order: ["q"] },
      "latency:b,d|latency:a,c",
    ],
    [
      "latency of a model within an order",
      { ...by("latency", "model"), order: ["q"] },
      "latency:b|latency:d|latency:a|latency:c",
    ],
    ["measured limits", { preferred_max_latency: { p50: 1 } }, "weighted:a,b|least_in_flight:c,d"],
  ])("with %s (%j) are %s", (_, preferences, expected) => {
    const decision = decided(SHARED, preferences);
    expect(layout(decision)).toBe(expected);
    expect(decision).toMatchObject({ maxCandidates: null });
  });

  it.each<readonly [string, ProviderPreferences, string]>([
    ["the first tier", {}, "weighted:a,b"],
    ["the first tier of what is wanted", { only: ["q"] }, "weighted:b"],
    ["the first of an order", { order: ["q"] }, "order:b"],
    ["the cheapest", by("price", "none"), "order:d"],
    ["the quickest", by("latency", "none"), "latency:a,b,c,d"],
    ["the quickest of the first model", by("latency", "model"), "latency:a,d"],
  ])("a plan without fallbacks has one endpoint of %s", (_, preferences, expected) => {
    const decision = decided(SHARED, { ...preferences, allow_fallbacks: false });
    expect(layout(decision)).toBe(expected);
    expect(decision).toMatchObject({ maxCandidates: 1 });
  });

  it.each<readonly [string, readonly string[], ProviderPreferences | null, string]>([
    ["a region", ["us"], null, "weighted:b|least_in_flight:d|weighted:a|least_in_flight:c"],
    [
      "two regions",
      ["us", "eu"],
      null,
      "weighted:b|least_in_flight:d|weighted:a|least_in_flight:c",
    ],
    ["an unknown region", ["moon"], null, "weighted:a,b|least_in_flight:c,d"],
    ["a region before latency", ["eu"], by("latency", "none"), "latency:a,c|latency:b,d"],
    ["a region of one endpoint", ["us"], { allow_fallbacks: false }, "weighted:b|weighted:a"],
  ])("a policy that prefers %s parts equals", (_, regions, preferences, expected) => {
    expect(layout(decided(SHARED, preferences, policies(regions)))).toBe(expected);
  });

  it("are renumbered where a policy excludes a whole tier", () => {
    expect(layout(decided(SHARED, null, policies([], ["a", "b"])))).toBe("least_in_flight:c,d");
  });

  it("keep the shares of their candidates", () => {
    const shares = planned(decided(SHARED, null, policies(["us"]))).map((one) => [
      one.endpoint.id,
      one.weight,
    ]);
    expect(Object.fromEntries(shares)).toEqual({ a: 3, b: 1, c: 1, d: 1 });
  });

  it("apply the rules of fallbacks to load-balanced peers", () => {
    const ask = (onGap: "deny" | "narrow") => {
      const rows = fixture([tier(["a", "b"], "weighted")], onGap);
      const question = { model: "r", shape: shape({ needs: ["tools"] }), preferences: null };
      return layout(decide(rows, fakePolicies(), identity, question, 0));
    };
    expect([ask("deny"), ask("narrow")]).toEqual(["capability_not_supported", "weighted:a"]);
  });

  it("a shadow policy that would only split equals is reported as a change if promoted", () => {
    const rows = fixture([tier(["a", "b"], "weighted")]);
    const shadow = (region: string) => decided(rows, null, policies([region], [], "candidate"));
    expect(layout(shadow("eu"))).toBe("weighted:a,b");
    expect(shadow("eu").ifPromoted).toMatchObject({ outcome: "route", plan: ["a", "b"] });
    expect(shadow("moon").ifPromoted).toBeNull();
  });
});
