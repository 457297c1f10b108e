import type { PolicyEvaluation, PolicyInput, PolicySet } from "../canon/policy.ts";
import { policySetId } from "./digest.ts";
import { type SinglePolicy, readsPath } from "./policy-set.ts";

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
 * @param limit so many answers are kept of each policy; one with more different inputs forgets them
 * all and begins anew.
 */
export function rememberingSet(
  policies: readonly SinglePolicy[],
  reads: ReadMembers,
  limit: number,
): PolicySet {
  const remembered = policies.map((policy) => remembering(policy, limit));
  const evaluations = new Map<string, PolicyEvaluation>();
  return {
    id: policySetId(policies.map(({ identity }) => identity)),
    policies: policies.map(({ identity, contract }) => ({ identity, contract })),
    ...reads,
    evaluate: (input) => {
      const candidates = input.candidates.map(({ id, rank }) => `${id} ${rank}`).join("\n");
      const answers = remembered.map((evaluate) => evaluate(input, candidates));
      const key = answers.map(({ number }) => number).join();
      const known = evaluations.get(key);
      if (known !== undefined) return known;
      const made = {
        verdicts: answers.flatMap(({ evaluation }) => evaluation.verdicts),
        obligations: answers.flatMap(({ evaluation }) => evaluation.obligations),
      };
      if (evaluations.size >= limit) evaluations.clear();
      evaluations.set(key, made);
      return made;
    },
  };
}

/** What the answers of a set may depend on, besides what every set reads. */
export type ReadMembers = Pick<PolicySet, "readsTime" | "readsBudget">;

interface Answer {
  /** The same for equal answers of one policy. */
  readonly number: number;
  readonly evaluation: PolicyEvaluation;
}

function remembering(
  policy: SinglePolicy,
  limit: number,
): (input: PolicyInput, candidates: string) => Answer {
  const known = new Map<string, Answer>();
  const distinct = new Map<string, Answer>();
  let numbers = 0;
  const read = REMEMBERED_MEMBERS.filter(([path]) => readsPath(policy, path)).map(
    ([, valueOf]) => valueOf,
  );
  return (input, candidates) => {
    // Verdicts name candidates, whether the policy reads them or not.
    let key = `${input.operation}\n${candidates}`;
    for (const valueOf of read) key += `\u0000${valueOf(input)}`;
    const same = known.get(key);
    if (same !== undefined) return same;
    const evaluation = policy.evaluate(input);
    const text = JSON.stringify(evaluation);
    if (known.size >= limit) {
      known.clear();
      distinct.clear();
    }
    // Never given twice: evaluations of the set are found by the numbers of its answers.
    const answer = distinct.get(text) ?? { number: (numbers += 1), evaluation };
    distinct.set(text, answer);
    known.set(key, answer);
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
];
