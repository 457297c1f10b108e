import type {
  PolicyContract,
  PolicyData,
  PolicyEvaluation,
  PolicyIdentity,
  PolicyInput,
  PolicySet,
  PolicyState,
} from "../canon/policy.ts";
import { policySetId, zonesOf, type CompiledPolicy, type PolicyModule } from "./compiled.ts";
import {
  LoadedModules,
  evaluateAlone,
  type LoadedModule,
  type Member,
  type SuspendedCandidates,
} from "./loaded-modules.ts";

/**
 * Evaluates each policy once for each input that it reads: ten policies that read different members
 * of a request see few inputs each, and very many together. Equal answers are the same object, so a
 * caller can compare by identity.
 *
 * Members that no policy sees (such as `max_price`, which only leaves candidates out) therefore
 * cost no evaluation.
 *
 * All inputs must be of one table: its facts about a candidate do not change, so the candidate's id
 * and rank identify it.
 *
 * @param limit answers kept for each policy; with more different inputs, all of them are dropped.
 */
export function rememberingSet(
  policies: readonly SinglePolicy[],
  members: ReadMembers,
  limit: number,
): PolicySet {
  const remembered = policies.map((policy) => remembering(policy, limit));
  const evaluations = new Map<string, PolicyEvaluation>();
  return {
    ...setOf(policies, members),
    evaluate: (input) => {
      const candidates = input.candidates.map(({ id, rank }) => `${id} ${rank}`).join("\n");
      const answers = remembered.map((evaluate) => evaluate(input, candidates));
      const key = answers.map(({ number }) => number).join();
      const cached = evaluations.get(key);
      if (cached !== undefined) return cached;
      const joinedEvaluation = joined(answers.map(({ evaluation }) => evaluation));
      if (evaluations.size >= limit) evaluations.clear();
      evaluations.set(key, joinedEvaluation);
      return joinedEvaluation;
    },
  };
}

/** Members of the input that the answers of a set may depend on, and its time zones. */
type ReadMembers = Pick<PolicySet, "readsTime" | "readsBudget" | "zones">;

export function readMembers(
  policies: readonly Pick<SinglePolicy, "reads" | "zones">[],
): ReadMembers {
  const reads = (path: string) => policies.some((policy) => readsPath(policy, path));
  return {
    readsTime: reads("input.time") || reads("input.local_time"),
    readsBudget: reads("input.budget"),
    zones: [...new Set(policies.flatMap(({ zones }) => zones))].toSorted(),
  };
}

interface Answer {
  /** The same for equal answers of one policy. */
  readonly number: number;
  readonly evaluation: PolicyEvaluation;
}

function remembering(
  policy: SinglePolicy,
  limit: number,
): (input: PolicyInput, candidates: string) => Answer {
  const answersByInput = new Map<string, Answer>();
  const distinct = new Map<string, Answer>();
  let numbers = 0;
  const read = REMEMBERED_MEMBERS.filter(([path]) => readsPath(policy, path)).map(
    ([, valueOf]) => valueOf,
  );
  return (input, candidates) => {
    // Verdicts name candidates, whether the policy reads them or not.
    let key = `${input.operation}\n${candidates}`;
    for (const valueOf of read) key += `\u0000${valueOf(input)}`;
    const same = answersByInput.get(key);
    if (same !== undefined) return same;
    const evaluation = policy.evaluate(input);
    const text = JSON.stringify(evaluation);
    if (answersByInput.size >= limit) {
      answersByInput.clear();
      distinct.clear();
    }
    // Never given twice: evaluations of the set are found by the numbers of its answers.
    const answer = distinct.get(text) ?? { number: (numbers += 1), evaluation };
    distinct.set(text, answer);
    answersByInput.set(key, answer);
    return answer;
  };
}

/** Every member of the input but the operation and the candidates, as text. */
export const REMEMBERED_MEMBERS: readonly (readonly [
  path: string,
  valueOf: (input: PolicyInput) => string,
])[] = [
  ["input.workspace.id", ({ workspace }) => workspace.id],
  ["input.workspace.tier", ({ workspace }) => workspace.tier],
  ["input.workspace.labels", ({ workspace }) => workspace.labels.join("\n")],
  ["input.key.environment", ({ key }) => key.environment],
  ["input.key.workload", ({ key }) => key.workload],
  ["input.key.owner", ({ key }) => key.owner],
  ["input.budget.remaining", ({ budget }) => budget.remaining],
  ["input.key.labels", ({ key }) => key.labels.join("\n")],
  ["input.request.route", ({ request }) => request.route],
  ["input.request.needs", ({ request }) => request.needs.join("\n")],
  ["input.request.stream", ({ request }) => String(request.stream)],
  ["input.request.context", ({ request }) => request.context],
  ["input.request.max_output", ({ request }) => request.max_output],
  ["input.request.reasoning_effort", ({ request }) => request.reasoning_effort],
  ["input.request.dimensions", ({ request }) => String(request.dimensions)],
  ["input.request.allow_fallbacks", ({ request }) => String(request.allow_fallbacks)],
  ["input.request.data_collection", ({ request }) => request.data_collection],
  ["input.request.zdr", ({ request }) => String(request.zdr)],
  ["input.time.day", ({ time }) => time.day],
  ["input.time.hour", ({ time }) => time.hour],
  ["input.local_time", (input) => JSON.stringify(input.local_time)],
];

/**
 * Builds a set of loaded modules. Nothing is compiled or loaded, so the slots can change between
 * two requests.
 *
 * @param slots every enforced or shadow content, each digest once; other loaded contents are
 * ignored.
 * @throws {Error} for a content that is not loaded: a bug of the caller.
 */
export function assemblePolicySet(
  modules: LoadedModules,
  slots: readonly PolicyIdentity[],
): PolicySet {
  return policySetOf(assembleSinglePolicies(modules, slots));
}

function policySetOf(policies: readonly SinglePolicy[]): PolicySet {
  return {
    ...setOf(policies, readMembers(policies)),
    evaluate: (input) => joined(policies.map(({ evaluate }) => evaluate(input))),
  };
}

function setOf(
  policies: readonly SinglePolicy[],
  members: ReadMembers,
): Omit<PolicySet, "evaluate"> {
  return {
    id: policySetId(policies.map(({ identity }) => identity)),
    policies: policies.map(({ identity, contract, reads }) => ({ identity, contract, reads })),
    ...members,
  };
}

function joined(evaluations: readonly PolicyEvaluation[]): PolicyEvaluation {
  return {
    verdicts: evaluations.flatMap(({ verdicts }) => verdicts),
    obligations: evaluations.flatMap(({ obligations }) => obligations),
  };
}

/**
 * The same one by one, in the order of the set.
 *
 * @param suspended candidates that are not evaluated any more; default none.
 * @throws {Error} for a content that is not loaded: a bug of the caller.
 */
export function assembleSinglePolicies(
  modules: LoadedModules,
  slots: readonly PolicyIdentity[],
  suspended: SuspendedCandidates | null = null,
): readonly SinglePolicy[] {
  const remaining = new Map(slots.map((identity) => [identity.digest, identity]));
  if (remaining.size < slots.length) throw new Error("policy set: a content is in two slots");
  const policies = modules.modules.flatMap((module) =>
    module.units.flatMap(({ policy }, index): readonly SinglePolicy[] => {
      const identity = remaining.get(policy.digest);
      if (identity === undefined || identity.id !== policy.contract.id) return [];
      // Content that is in two modules is evaluated once.
      remaining.delete(policy.digest);
      return [singlePolicy(module, index, policy, identity, suspended)];
    }),
  );
  const [missing] = remaining.values();
  if (missing !== undefined)
    throw new Error(`policy set: revision ${missing.revision} of ${missing.id} is not loaded`);
  return policies.toSorted(byIdentity);
}

function singlePolicy(
  module: LoadedModule,
  index: number,
  policy: CompiledPolicy,
  identity: PolicyIdentity,
  suspended: SuspendedCandidates | null,
): SinglePolicy {
  const { contract, reads } = policy;
  const member = { identity, contract };
  const limited = identity.slot === "enforced" ? null : suspended;
  return {
    ...member,
    reads,
    zones: zonesOf(policy),
    evaluate: (input, loaded) => evaluateAlone(module, index, member, input, limited, loaded),
  };
}

/**
 * Makes compiled policies ready for evaluation without a log of slots: for `explain`, simulations
 * and tests.
 *
 * @param compiled the modules, each with one or more contents; a content is in one of them only.
 * @param states revision and mode of the contents. Without a row for its digest a content has
 * revision 0, and the mode of another row for its id, or else the initial mode.
 * @param data what policies may read besides their input.
 * @param initialMode the mode of a policy without any row; `shadow` unless given.
 * @throws {PolicyModuleError} when a module cannot be loaded.
 */
export async function createPolicySet(
  compiled: { readonly modules: readonly PolicyModule[] },
  states: readonly PolicyState[],
  data: PolicyData,
  initialMode: (id: string) => "shadow" | "enforce" = () => "shadow",
): Promise<PolicySet> {
  return policySetOf(await createSinglePolicies(compiled, states, data, initialMode));
}

/** One content in its slot, evaluated alone. */
export interface SinglePolicy {
  readonly identity: PolicyIdentity;
  readonly contract: PolicyContract;
  /** Dotted paths from `input` or `data`, each covering everything below it. */
  readonly reads: readonly string[];
  /** The time zones that it names. */
  readonly zones: readonly string[];
  /**
   * Empty where the policy does not apply to the operation.
   *
   * @param loaded receives the paths of the input on which the answer depends, besides the
   * candidates that its verdicts name; only of policies from {@link createSinglePolicies}.
   */
  readonly evaluate: (input: PolicyInput, loaded?: Set<string>) => PolicyEvaluation;
}

/**
 * The same policies one by one, in the order of {@link createPolicySet}: for callers that evaluate
 * the same inputs again and remember the answers. Their evaluations can be traced.
 *
 * @throws {PolicyModuleError} when a module cannot be loaded.
 */
export async function createSinglePolicies(
  compiled: { readonly modules: readonly PolicyModule[] },
  states: readonly PolicyState[],
  data: PolicyData,
  initialMode: (id: string) => "shadow" | "enforce",
): Promise<readonly SinglePolicy[]> {
  const loaded = await LoadedModules.load(compiled.modules, data, true);
  const identities = identitiesOf(compiled.modules, states, initialMode);
  // A simulation's side has modules of base and of head, and a content that did not change is in
  // both.
  const once = new Map(identities.map((identity) => [identity.digest, identity]));
  return assembleSinglePolicies(loaded, [...once.values()]);
}

function identitiesOf(
  modules: readonly PolicyModule[],
  states: readonly PolicyState[],
  initialMode: (id: string) => "shadow" | "enforce",
): readonly PolicyIdentity[] {
  // Both sides of a simulation have the contents that no change touches, each in a module of its
  // own.
  const contents = new Map(
    modules.flatMap(({ units }) => units.map(({ policy }) => [policy.digest, policy] as const)),
  );
  return [...contents.values()].map(({ contract: { id }, digest }) => {
    const exact = states.find((state) => state.id === id && state.digest === digest);
    const mode = (exact ?? states.find((state) => state.id === id))?.mode ?? initialMode(id);
    return {
      id,
      revision: exact?.revision ?? 0,
      digest,
      slot: mode === "enforce" ? "enforced" : "candidate",
    };
  });
}

function byIdentity(
  { identity: left }: Pick<Member, "identity">,
  { identity: right }: Pick<Member, "identity">,
): number {
  if (left.id !== right.id) return left.id < right.id ? -1 : 1;
  return left.slot === right.slot ? 0 : left.slot === "enforced" ? -1 : 1;
}

/**
 * Whether a read path covers the path or lies below it.
 *
 * @param reads dotted paths from `input` or `data`, each covering everything below it.
 */
export function readsPath({ reads }: { readonly reads: readonly string[] }, path: string): boolean {
  return reads.some(
    (read) => path === read || path.startsWith(`${read}.`) || read.startsWith(`${path}.`),
  );
}

/**
 * Whether a read path covers all of the path. Of a list that is read by `"x" in list` alone, only
 * the path below it with the name `x` is read (`tools/rego/reads.go`): other names may be in it or
 * not.
 */
export function readsAllOf(
  { reads }: { readonly reads: readonly string[] },
  path: string,
): boolean {
  return reads.some((read) => path === read || path.startsWith(`${read}.`));
}
