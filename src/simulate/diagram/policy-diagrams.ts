import { CAPABILITY_NAMES } from "../../canon/capability.ts";
import type { PolicyEvaluation, PolicyInput } from "../../canon/policy.ts";
import {
  REMEMBERED_MEMBERS,
  readsAllOf,
  readsPath,
  type SinglePolicy,
} from "../../policy/policy-set.ts";
import type { Eyes, PolicyOnly } from "../space/levels.ts";
import type { Sight } from "../space/readers.ts";
import { buildDiagram, type OperationDiagrams } from "./build-diagram.ts";
import { leafOf, type Node, type Numbered } from "./diagrams.ts";

/** The input of a request that differs from another one only in the members that levels have. */
type InputOf = (sample: PolicyOnly) => PolicyInput;

/** Members of the input that are no levels, so that they differ between states of requests. */
const STATE_MEMBERS = REMEMBERED_MEMBERS.filter(
  ([path]) =>
    !path.startsWith("input.key.") &&
    !path.startsWith("input.time.") &&
    !["stream", "context", "max_output", "reasoning_effort"].some(
      (name) => path === `input.request.${name}`,
    ),
);

const NEEDS = "input.request.needs";
const WORKSPACE_LABELS = "input.workspace.labels";

/**
 * The needs of a request as one policy sees them. Those that it does not name are as good as each
 * other where the same of its candidates have them (decision 16): then only their number matters.
 */
function seenNeeds(policy: SinglePolicy, { sight }: Eyes): (input: PolicyInput) => string {
  const readsCandidates = readsPath(policy, "input.candidates");
  const readsApprovals = readsPath(policy, "data.approved.capabilities");
  const seesOthers = readsAllOf(policy, NEEDS);
  const named: ReadonlySet<string> = new Set(
    CAPABILITY_NAMES.filter((need) => sight.distinguishes(NEEDS, need)),
  );
  return ({ request, candidates }) =>
    request.needs
      .filter((need) => seesOthers || named.has(need))
      .map((need) => {
        if (readsApprovals || named.has(need)) return `=${need}`;
        if (!readsCandidates) return "~";
        return candidates
          .map(({ capabilities }) => (capabilities.includes(need) ? "1" : "0"))
          .join("");
      })
      .toSorted()
      .join("\n");
}

/**
 * The labels of a workspace as one policy sees them: where it only seeks some, the others do not
 * matter.
 */
function seenLabels(policy: SinglePolicy, { sight }: Eyes): (input: PolicyInput) => string {
  const seesOthers = readsAllOf(policy, WORKSPACE_LABELS);
  return ({ workspace }) =>
    workspace.labels
      .filter((label) => seesOthers || sight.distinguishes(WORKSPACE_LABELS, label))
      .join("\n");
}

/** How one policy sees members that it may see less of than their whole value. */
const SEEN_BY: Readonly<
  Record<string, (policy: SinglePolicy, eyes: Eyes) => (input: PolicyInput) => string>
> = {
  [NEEDS]: seenNeeds,
  [WORKSPACE_LABELS]: seenLabels,
};

/**
 * The answers of one policy, as a diagram over the members that it reads. Its leaves are
 * evaluations, each made by the policy itself.
 */
export class PolicyDiagrams {
  readonly #policy: SinglePolicy;
  readonly #applies: boolean;
  readonly #shared: OperationDiagrams;
  readonly #evaluations: Numbered<PolicyEvaluation>;
  /** What the policy sees of each value of each level. */
  readonly #seen: readonly (readonly string[])[];
  readonly #members: readonly ((input: PolicyInput) => string)[];
  readonly #seesCandidates: boolean;
  /** Of several reasons, the one of the first candidate is given. */
  readonly #seesOrder: boolean;
  readonly #known = new Map<string, Node>();

  /** @param eyes of this policy alone. */
  constructor(
    policy: SinglePolicy,
    eyes: Eyes & { readonly sight: Sight },
    shared: OperationDiagrams,
    evaluations: Numbered<PolicyEvaluation>,
  ) {
    this.#policy = policy;
    this.#applies = policy.contract.operations.includes(shared.operation);
    this.#shared = shared;
    this.#evaluations = evaluations;
    this.#seen = shared.levels.map((level) =>
      level.values.map((_, value) => level.seen(eyes, value)),
    );
    this.#members = STATE_MEMBERS.filter(([path]) => readsPath(policy, path)).map(
      ([path, valueOf]) => SEEN_BY[path]?.(policy, eyes) ?? valueOf,
    );
    const { sight } = eyes;
    this.#seesOrder =
      sight.seesOrder || policy.contract.constraints.some(({ reasons }) => reasons.length > 1);
    // Verdicts of other constraints than gates name candidates, whether the policy reads them or
    // not.
    this.#seesCandidates =
      readsPath(policy, "input.candidates") ||
      policy.contract.constraints.some(({ effect }) => effect !== "gate");
  }

  /**
   * @param input of any request of the state.
   * @param candidates the state's candidates, each as text.
   * @param inputOf the input of another one.
   */
  of(input: PolicyInput, candidates: readonly string[], inputOf: InputOf, start: PolicyOnly): Node {
    let key = this.#seesCandidates ? this.#candidateKey(candidates) : "";
    for (const valueOf of this.#members) key += `\u0000${valueOf(input)}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.#applies
      ? this.#build(inputOf, start)
      : leafOf(this.#numberOf({ verdicts: [], obligations: [] }));
    this.#known.set(key, made);
    return made;
  }

  #candidateKey(candidates: readonly string[]): string {
    return (this.#seesOrder ? candidates : candidates.toSorted()).join("\n");
  }

  #build(inputOf: InputOf, start: PolicyOnly): Node {
    const { diagrams, levels, budget } = this.#shared;
    return buildDiagram(diagrams, levels, this.#seen, start, (sample) => {
      budget.spend(this.#policy.identity.id);
      return this.#numberOf(this.#policy.evaluate(inputOf(sample)));
    });
  }

  #numberOf(evaluation: PolicyEvaluation): number {
    return this.#evaluations.numberOf(JSON.stringify(evaluation), () => evaluation);
  }
}
