import fc from "fast-check";
import { expect, it } from "vitest";
import type { Decision } from "../../src/canon/decision.ts";
import type { PolicySet } from "../../src/canon/policy.ts";
import { decide } from "../../src/decide/decide.ts";
import { promotedPolicies } from "../../src/simulate/explain/promoted.ts";
import { fixtures, policiesOf, rules, tableOf } from "../http/simulate-fixture.ts";
import { identity, shape } from "../support/table.ts";

/** Enforced policies, and candidates of some of them that may say something else. */
function withCandidates(
  enforced: PolicySet,
  candidates: PolicySet,
  watched: readonly string[],
): PolicySet {
  const identityOf = (id: string, slot: "enforced" | "candidate") => ({
    id,
    revision: 1,
    digest: "d".repeat(64),
    slot,
  });
  const ids = ["a-gate", "b-filter", "c-all", "d-watched", "e-near"];
  const contractOf = (id: string) =>
    ({
      contract: 1,
      id,
      title: "",
      owners: [],
      operations: [],
      constraints: [],
      obligations: [],
    }) as const;
  return {
    id: "0".repeat(16),
    readsTime: false,
    readsBudget: false,
    zones: [],
    policies: ids.flatMap((id) => [
      ...(id === "d-watched"
        ? []
        : [{ identity: identityOf(id, "enforced"), contract: contractOf(id) }]),
      ...(watched.includes(id) || id === "d-watched"
        ? [{ identity: identityOf(id, "candidate"), contract: contractOf(id) }]
        : []),
    ]),
    evaluate: (input) => {
      const [now, then] = [enforced.evaluate(input), candidates.evaluate(input)];
      const shadow = <Said extends { readonly policy: PolicySet["policies"][number]["identity"] }>(
        said: readonly Said[],
      ) =>
        said
          .filter(({ policy }) => watched.includes(policy.id))
          .map((one) => ({ ...one, policy: { ...one.policy, slot: "candidate" as const } }));
      return {
        verdicts: [...now.verdicts, ...shadow(then.verdicts)],
        obligations: [...now.obligations, ...shadow(then.obligations)],
      };
    },
  };
}

function outcomeOf(decision: Decision) {
  if (decision.outcome === "deny") {
    const { policy, constraint, reason, failing } = decision.denial;
    return { outcome: "deny", plan: [], denial: { policy, constraint, reason, failing } };
  }
  return { outcome: "route", plan: decision.plan.map(({ endpoint }) => endpoint.id), denial: null };
}

function outcomeIfPromoted(decision: Decision) {
  const { ifPromoted } = decision;
  if (ifPromoted === null) return outcomeOf(decision);
  const { policy, constraint, reason, failing } = ifPromoted.denial ?? {};
  const denial = ifPromoted.denial === null ? null : { policy, constraint, reason, failing };
  return { outcome: ifPromoted.outcome, plan: ifPromoted.plan, denial };
}

it("deciding with everything promoted equals the prediction in a decision", () => {
  let changed = 0;
  const watching = fc.subarray(["a-gate", "b-filter", "c-all", "e-near"]);
  fc.assert(
    fc.property(
      fixtures,
      rules,
      rules,
      watching,
      fc.boolean(),
      (fixture, now, then, watched, stream) => {
        const rows = tableOf(fixture, "http://127.0.0.1:1");
        const set = withCandidates(policiesOf(now), policiesOf(then), watched);
        const question = { model: "r", preferences: null, shape: shape({ stream }) };
        const declared = decide(rows, set, identity, question, 0);
        const promoted = decide(rows, promotedPolicies(set), identity, question, 0);
        if (declared.ifPromoted !== null) changed += 1;
        expect(outcomeOf(promoted)).toEqual(outcomeIfPromoted(declared));
        expect(promoted.ifPromoted).toBeNull();
        expect(promoted.trace.every(({ slot }) => slot === "enforced")).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
  expect(changed).toBeGreaterThan(50);
});
