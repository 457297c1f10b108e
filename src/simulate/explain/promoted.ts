import type { PolicyIdentity, PolicySet } from "../../canon/policy.ts";

/**
 * The set as it would be if every candidate slot were promoted: a candidate takes the enforced slot of its policy. What it took the place of is gone, and
 * nothing is left to watch.
 */
export function promotedPolicies(set: PolicySet): PolicySet {
  const replaced = new Set<string>();
  for (const { identity } of set.policies) if (identity.slot === "candidate") replaced.add(identity.id);
  if (replaced.size === 0) return set;
  const isLeft = ({ id, slot }: PolicyIdentity): boolean => slot === "candidate" || !replaced.has(id);
  const promoted = new Map<PolicyIdentity, PolicyIdentity>();
  // One value for each identity: a request must not cost an object for each of its verdicts.
  const promote = (identity: PolicyIdentity): PolicyIdentity => {
    const known = promoted.get(identity) ?? { ...identity, slot: "enforced" as const };
    promoted.set(identity, known);
    return known;
  };
  return {
    policies: set.policies
      .filter(({ identity }) => isLeft(identity))
      .map(({ identity, contract }) => ({ identity: promote(identity), contract })),
    readsTime: set.readsTime,
    evaluate: (input) => {
      const { verdicts, obligations } = set.evaluate(input);
      return {
        verdicts: verdicts
          .filter(({ policy }) => isLeft(policy))
          .map((verdict) => ({ ...verdict, policy: promote(verdict.policy) })),
        obligations: obligations
          .filter(({ policy }) => isLeft(policy))
          .map((obligation) => ({ ...obligation, policy: promote(obligation.policy) })),
      };
    },
  };
}
