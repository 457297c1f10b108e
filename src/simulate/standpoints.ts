import type { PolicyEvaluation, PolicyIdentity, PolicySet, PolicySlot } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import type { CompiledPolicies } from "../policy/compile-policies.ts";
import { initialMode } from "../policy/initial-mode.ts";
import { policyData } from "../policy/policy-data.ts";
import { createSinglePolicies, readsTime } from "../policy/policy-set.ts";
import { rememberingSet } from "./remembering-set.ts";

/** One tree, compiled. */
export interface CompiledSide {
  readonly table: RoutingTable;
  readonly policies: Pick<CompiledPolicies, "policies" | "modules">;
}

/** The policies of one side as they are, and as if some were promoted. */
export interface SideStandpoints {
  readonly declared: PolicySet;
  /** The same object where promotion changes nothing. */
  readonly promoted: PolicySet;
}

/**
 * Loads the policies of one side once, for both standpoints: every input is evaluated once, and what the slots make of it is a matter of reading.
 *
 * @param promoted which candidates are taken as promoted.
 */
export async function sideStandpoints(
  { table, policies }: CompiledSide,
  promoted: (id: string) => boolean,
): Promise<SideStandpoints> {
  const single = await createSinglePolicies(policies, [], policyData(table), (id) => initialMode(table, id));
  const once = rememberingSet(single, readsTime(policies));
  const moves = once.policies.some(({ identity }) => identity.slot === "candidate" && promoted(identity.id));
  return { declared: once, promoted: moves ? withPromoted(once, promoted) : once };
}

/** The same policies, some candidates in the enforced slot. What they say does not depend on their slot. */
function withPromoted(policies: PolicySet, promoted: (id: string) => boolean): PolicySet {
  const identities = new Map<PolicyIdentity, PolicyIdentity>();
  for (const { identity } of policies.policies) {
    const slot: PolicySlot = promoted(identity.id) ? "enforced" : identity.slot;
    identities.set(identity, { ...identity, slot });
  }
  const known = new WeakMap<PolicyEvaluation, PolicyEvaluation>();
  const moved = (identity: PolicyIdentity): PolicyIdentity => identities.get(identity) ?? identity;
  return {
    policies: policies.policies.map(({ identity, contract }) => ({ identity: moved(identity), contract })),
    readsTime: policies.readsTime,
    evaluate: (input) => {
      const evaluation = policies.evaluate(input);
      const same = known.get(evaluation);
      if (same !== undefined) return same;
      const { verdicts, obligations } = evaluation;
      const made = {
        verdicts: verdicts.map((verdict) => ({ ...verdict, policy: moved(verdict.policy) })),
        obligations: obligations.map((obligation) => ({ ...obligation, policy: moved(obligation.policy) })),
      };
      known.set(evaluation, made);
      return made;
    },
  };
}
