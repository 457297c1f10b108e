import type { PolicyEvaluation, PolicyIdentity, PolicyInput, PolicySet, PolicySlot } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import type { CompiledPolicies } from "../policy/compile-policies.ts";
import { initialMode } from "../policy/initial-mode.ts";
import { policyData } from "../policy/policy-data.ts";
import { createPolicySet } from "../policy/policy-set.ts";

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

/** Evaluations are small; a side with more different inputs than this forgets the oldest half. */
const MAXIMUM_EVALUATIONS = 50_000;

/**
 * Loads the policies of one side once, for both standpoints: every input is evaluated once, and what the slots make of it is a matter of reading.
 *
 * @param promoted which candidates are taken as promoted.
 */
export async function sideStandpoints(
  { table, policies }: CompiledSide,
  promoted: (id: string) => boolean,
): Promise<SideStandpoints> {
  const loaded = await createPolicySet(policies, [], policyData(table), (id) => initialMode(table, id));
  const once = evaluatedOnce(loaded);
  const moves = loaded.policies.some(({ identity }) => identity.slot === "candidate" && promoted(identity.id));
  return { declared: once, promoted: moves ? withPromoted(once, promoted) : once };
}

function evaluatedOnce(policies: PolicySet): PolicySet {
  const evaluations = new Map<string, PolicyEvaluation>();
  return {
    policies: policies.policies,
    readsTime: policies.readsTime,
    evaluate: (input: PolicyInput) => {
      const key = JSON.stringify(input);
      const known = evaluations.get(key);
      if (known !== undefined) return known;
      const made = policies.evaluate(input);
      if (evaluations.size >= MAXIMUM_EVALUATIONS) forgetHalf(evaluations);
      evaluations.set(key, made);
      return made;
    },
  };
}

/** Maps keep the order of insertion. */
function forgetHalf(evaluations: Map<string, PolicyEvaluation>): void {
  let left = evaluations.size / 2;
  for (const key of evaluations.keys()) {
    if (left-- <= 0) return;
    evaluations.delete(key);
  }
}

/** The same policies, some candidates in the enforced slot. What they say does not depend on their slot. */
function withPromoted(policies: PolicySet, promoted: (id: string) => boolean): PolicySet {
  const identities = new Map<PolicyIdentity, PolicyIdentity>();
  for (const { identity } of policies.policies) {
    const slot: PolicySlot = promoted(identity.id) ? "enforced" : identity.slot;
    identities.set(identity, { ...identity, slot });
  }
  const moved = (identity: PolicyIdentity): PolicyIdentity => identities.get(identity) ?? identity;
  return {
    policies: policies.policies.map(({ identity, contract }) => ({ identity: moved(identity), contract })),
    readsTime: policies.readsTime,
    evaluate: (input) => {
      const { verdicts, obligations } = policies.evaluate(input);
      return {
        verdicts: verdicts.map((verdict) => ({ ...verdict, policy: moved(verdict.policy) })),
        obligations: obligations.map((obligation) => ({ ...obligation, policy: moved(obligation.policy) })),
      };
    },
  };
}
