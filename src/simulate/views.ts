import type { PolicyEvaluation, PolicyIdentity, PolicyInput, PolicySet } from "../canon/policy.ts";
import type { CompiledPolicy } from "../policy/compiled.ts";
import {
  createSinglePolicies,
  readsPath,
  rememberingSet,
  type ReadMembers,
  type SinglePolicy,
} from "../policy/policy-set.ts";
import { policyData } from "../policy/input-schema.ts";
import { promotedPolicies } from "./explain/promoted.ts";
import { TracedPolicies, type TracedPolicy } from "./diagram/traced-policies.ts";
import type { CompiledSide, SideContent } from "./side-contents.ts";

/** The policies of one side as they are, and as if some were promoted. */
export interface SideViews {
  readonly declared: PolicySet;
  /** The same object where promotion changes nothing. */
  readonly promoted: PolicySet;
}

/** The same, with every content alone. */
export interface LoadedViews extends SideViews {
  /** In the order of `declared`. */
  readonly policies: readonly LoadedPolicy[];
}

/** A content of a side that is ready to be evaluated. */
export interface LoadedPolicy {
  readonly single: SinglePolicy;
  readonly traced: TracedPolicy;
  /** `null`: a removal, which gives no verdict. */
  readonly rules: CompiledPolicy | null;
}

/** Answers kept of each policy; a simulation evaluates every class, then ends. */
const MAXIMUM_ANSWERS = 50_000;

/**
 * Loads the policies of one side once, for both views: every input is evaluated once, and what the
 * slots make of it is a matter of reading.
 *
 * @param promoted which candidates are taken as promoted.
 * @param evaluations shared with the other side; default: none.
 */
export async function sideViews(
  side: CompiledSide,
  promoted: (id: string) => boolean,
  evaluations = new TracedPolicies(),
): Promise<LoadedViews> {
  const singles = await singlePolicies(side);
  const policies = singles.map((single, index) => ({
    single,
    traced: evaluations.of(single, side.table),
    rules: side.contents[index]?.rules ?? null,
  }));
  const remembered = policies.map(({ single, traced }) => ({
    ...single,
    evaluate: (input: PolicyInput) => traced.evaluate(input).evaluation,
  }));
  const declared = rememberingSet(remembered, membersRead(side), MAXIMUM_ANSWERS);
  return { declared, promoted: promotedPolicies(declared, promoted), policies };
}

/**
 * Every content of a side in its slot, evaluated alone. Contents kept from base are evaluated with
 * head's table, as a server does.
 *
 * @throws {PolicyModuleError} when a module cannot be loaded.
 */
async function singlePolicies({
  table,
  contents,
  modules,
}: CompiledSide): Promise<readonly SinglePolicy[]> {
  const states = contents.map(({ contract: { id }, digest, slot }) => {
    return {
      id,
      digest,
      revision: 0,
      mode: slot === "enforced" ? ("enforce" as const) : ("shadow" as const),
    };
  });
  const loaded = await createSinglePolicies({ modules }, states, policyData(table), () => "shadow");
  // Modules of base hold more than is kept of it, and contents of both sides are in two of them.
  const byContent = new Map(loaded.map((policy) => [contentKey(policy.identity), policy]));
  return contents.map((content) => {
    if (content.rules === null) return silentPolicy(content);
    const policy = byContent.get(contentKey({ id: content.contract.id, digest: content.digest }));
    if (policy === undefined)
      throw new Error(`simulation: no module has the policy ${content.contract.id}`);
    return policy;
  });
}

function contentKey({ id, digest }: Pick<PolicyIdentity, "id" | "digest">): string {
  return `${id}@${digest}`;
}

const NOTHING: PolicyEvaluation = { verdicts: [], obligations: [] };

/** A removal replaces the rules and gives no verdict. */
function silentPolicy({ contract, digest, slot }: SideContent): SinglePolicy {
  const identity = { id: contract.id, revision: 0, digest, slot };
  return { identity, contract, reads: [], evaluate: () => NOTHING };
}

function membersRead({ contents }: CompiledSide): ReadMembers {
  const reads = (path: string): boolean =>
    contents.some(({ rules }) => rules !== null && readsPath(rules, path));
  return { readsTime: reads("input.time"), readsBudget: reads("input.budget") };
}

/** Which policies act, by their positions among all of a side. */
export interface ActingPolicies {
  readonly declared: readonly number[];
  readonly promoted: readonly number[];
  /** With every candidate promoted. */
  readonly all: readonly number[];
}

export function actingPolicies({ policies, promoted }: LoadedViews): ActingPolicies {
  const identities = policies.map(({ single }) => single.identity);
  const left = new Set(
    promoted.policies.flatMap(({ identity }) =>
      identity.slot === "enforced" ? [contentKey(identity)] : [],
    ),
  );
  const replaced = new Set(
    identities.flatMap(({ id, slot }) => (slot === "candidate" ? [id] : [])),
  );
  const indicesOf = (acts: (identity: PolicyIdentity) => boolean): readonly number[] =>
    identities.flatMap((identity, index) => (acts(identity) ? [index] : []));
  return {
    declared: indicesOf(({ slot }) => slot === "enforced"),
    promoted: indicesOf((identity) => left.has(contentKey(identity))),
    all: indicesOf(({ id, slot }) => slot === "candidate" || !replaced.has(id)),
  };
}
