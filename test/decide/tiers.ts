import type { Candidate, Decision } from "../../src/canon/decision.ts";
import type {
  PolicyIdentity,
  PolicyObligation,
  PolicySet,
  PolicySlot,
} from "../../src/canon/policy.ts";
import type { ProviderPreferences } from "../../src/canon/request.ts";
import type { RoutingTable, TierRow } from "../../src/canon/table.ts";
import { decide } from "../../src/decide/decide.ts";
import { fakePolicies, identity, shape } from "../support/table.ts";

/** A tier in which each endpoint has the weight 1 unless the test says otherwise. */
export const tier = (
  endpoints: readonly string[],
  balance: TierRow["balance"],
  weights = endpoints.map(() => 1),
): TierRow => ({
  endpoints,
  balance,
  weights,
});

const POLICY: PolicyIdentity = {
  id: "near",
  revision: 1,
  digest: "d".repeat(64),
  slot: "enforced",
};

/** Prefers these regions, one policy each, and filters these endpoints. */
export function policies(
  regions: readonly string[],
  failing: readonly string[] = [],
  slot: PolicySlot = "enforced",
): PolicySet {
  const fake = fakePolicies(() =>
    failing.length === 0 ? [] : [{ id: "f", effect: "filter", verdict: "fail", failing }],
  );
  const obligations = regions.map((value): PolicyObligation => ({
    policy: { ...POLICY, slot },
    name: "near",
    kind: "prefer_region",
    value,
  }));
  return {
    ...fake,
    evaluate: (input) => ({ verdicts: fake.evaluate(input).verdicts, obligations }),
  };
}

export function decided(
  rows: RoutingTable,
  preferences: ProviderPreferences | null,
  set: PolicySet = fakePolicies(),
): Decision {
  return decide(rows, set, identity, { model: "r", shape: shape(), preferences }, 0);
}

export function planned(decision: Decision): readonly Candidate[] {
  return decision.outcome === "route" ? decision.plan : [];
}

export const by = (key: "price" | "latency" | "throughput", partition: "model" | "none") => ({
  sort: { by: key, partition },
});
