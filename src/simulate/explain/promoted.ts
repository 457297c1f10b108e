import { remembered } from "../remembered.ts";
import type { PolicyEvaluation, PolicyIdentity, PolicySet } from "../../canon/policy.ts";
import { policySetId } from "../../policy/compiled.ts";

/**
 * The set as it would be if candidate slots were promoted: a candidate takes the enforced slot of
 * its policy, and the replaced content is gone.
 *
 * @param promotes whose candidates; all of them unless given, and then nothing is left to watch.
 * @returns the same object where there is nothing to promote; otherwise the same evaluation object
 * for the same evaluation of `set`.
 */
export function promotedPolicies(
  set: PolicySet,
  promotes: (id: string) => boolean = () => true,
): PolicySet {
  const replaced = new Set<string>();
  for (const { identity } of set.policies) {
    if (identity.slot === "candidate" && promotes(identity.id)) replaced.add(identity.id);
  }
  if (replaced.size === 0) return set;
  const isRetained = ({ id, slot }: PolicyIdentity) => slot === "candidate" || !replaced.has(id);
  const promoted = new Map<PolicyIdentity, PolicyIdentity>();
  // One value for each identity: a request must not cost an object for each of its verdicts.
  const promote = (identity: PolicyIdentity): PolicyIdentity => {
    if (!replaced.has(identity.id)) return identity;
    return remembered(promoted, identity, () => ({ ...identity, slot: "enforced" as const }));
  };
  const policies = set.policies
    .filter(({ identity }) => isRetained(identity))
    .map(({ identity, contract }) => ({ identity: promote(identity), contract }));
  const evaluations = new WeakMap<PolicyEvaluation, PolicyEvaluation>();
  return {
    id: policySetId(policies.map(({ identity }) => identity)),
    policies,
    readsTime: set.readsTime,
    readsBudget: set.readsBudget,
    zones: set.zones,
    evaluate: (input) => {
      const evaluation = set.evaluate(input);
      return remembered(evaluations, evaluation, () => {
        const { verdicts, obligations } = evaluation;
        return {
          verdicts: verdicts
            .filter(({ policy }) => isRetained(policy))
            .map((verdict) => ({ ...verdict, policy: promote(verdict.policy) })),
          obligations: obligations
            .filter(({ policy }) => isRetained(policy))
            .map((obligation) => ({ ...obligation, policy: promote(obligation.policy) })),
        };
      });
    },
  };
}
