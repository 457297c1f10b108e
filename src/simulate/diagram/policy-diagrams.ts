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
import type { LoadedPolicy } from "../views.ts";
import { buildDiagram, type OperationDiagrams } from "./build-diagram.ts";
import { leafOf, type Node, type Numbered } from "./diagrams.ts";
import { CANDIDATES, keep, type KnownBy, lookUp, type TracedPolicy } from "./traced-policies.ts";

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

interface StateMember {
  readonly path: string;
  /** The member as the policy sees it. */
  readonly valueOf: (input: PolicyInput) => string;
}

const WORKSPACE = "input.workspace.id";
const ROUTE = "input.request.route";
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

/**
 * The name of a workspace or a route as one policy sees it: the same text for names that it does not
 * distinguish. Data has facts by name.
 */
function seenName(
  path: string,
  nameOf: (input: PolicyInput) => string,
): (policy: SinglePolicy, eyes: Eyes) => (input: PolicyInput) => string {
  return (policy, { sight }) => {
    const readsData = readsPath(policy, "data");
    return (input) => {
      const name = nameOf(input);
      return readsData || sight.distinguishes(path, name) ? `=${name}` : "";
    };
  };
}

/** How one policy sees members that it may see less of than their whole value. */
const SEEN_BY: Readonly<
  Record<string, (policy: SinglePolicy, eyes: Eyes) => (input: PolicyInput) => string>
> = {
  [WORKSPACE]: seenName(WORKSPACE, ({ workspace }) => workspace.id),
  [ROUTE]: seenName(ROUTE, ({ request }) => request.route),
  [NEEDS]: seenNeeds,
  [WORKSPACE_LABELS]: seenLabels,
};

/**
 * The answers of one policy, as a diagram over the members that it reads. Its leaves are
 * evaluations, each made by the policy itself.
 */
export class PolicyDiagrams {
  readonly #id: string;
  readonly #traced: TracedPolicy;
  readonly #applies: boolean;
  readonly #shared: OperationDiagrams;
  readonly #evaluations: Numbered<PolicyEvaluation>;
  /** What the policy sees of each value of each level. */
  readonly #seen: readonly (readonly string[])[];
  readonly #members: readonly StateMember[];
  /** Of several reasons, the one of the first candidate is given. */
  readonly #seesOrder: boolean;
  readonly #known: KnownBy<Node>[] = [];

  /** @param eyes of this policy alone. */
  constructor(
    { single: policy, traced }: LoadedPolicy,
    eyes: Eyes & { readonly sight: Sight },
    shared: OperationDiagrams,
    evaluations: Numbered<PolicyEvaluation>,
  ) {
    this.#id = policy.identity.id;
    this.#traced = traced;
    this.#applies = policy.contract.operations.includes(shared.operation);
    this.#shared = shared;
    this.#evaluations = evaluations;
    this.#seen = shared.levels.map((level) =>
      level.values.map((_, value) => level.seen(eyes, value)),
    );
    this.#members = STATE_MEMBERS.filter(([path]) => readsPath(policy, path)).map(
      ([path, valueOf]) => ({ path, valueOf: SEEN_BY[path]?.(policy, eyes) ?? valueOf }),
    );
    const { sight } = eyes;
    this.#seesOrder =
      sight.seesOrder || policy.contract.constraints.some(({ reasons }) => reasons.length > 1);
  }

  /**
   * @param input of any request of the state.
   * @param candidates the state's candidates, each as text.
   * @param inputOf the input of another one.
   */
  of(input: PolicyInput, candidates: readonly string[], inputOf: InputOf, start: PolicyOnly): Node {
    const values = new Map(this.#members.map(({ path, valueOf }) => [path, valueOf(input)]));
    values.set(CANDIDATES, this.#candidateKey(candidates));
    const valueOf = (path: string): string | undefined => values.get(path);
    const known = lookUp(this.#known, valueOf);
    if (known !== undefined) return known;
    const loaded = new Set<string>();
    const made = this.#applies
      ? this.#build(inputOf, start, loaded)
      : leafOf(this.#numberOf({ verdicts: [], obligations: [] }));
    keep(
      this.#known,
      [...loaded].filter((path) => values.has(path)),
      valueOf,
      made,
    );
    return made;
  }

  #candidateKey(candidates: readonly string[]): string {
    return (this.#seesOrder ? candidates : candidates.toSorted()).join("\n");
  }

  /** @param loaded receives what of the input the answers depend on. */
  #build(inputOf: InputOf, start: PolicyOnly, loaded: Set<string>): Node {
    const { diagrams, levels, budget } = this.#shared;
    const spend = (): void => budget.spend(this.#id);
    return buildDiagram(diagrams, levels, this.#seen, start, (sample) => {
      const { evaluation, loaded: own } = this.#traced.evaluate(inputOf(sample), spend);
      for (const path of own) loaded.add(path);
      return {
        number: this.#numberOf(evaluation),
        dependsOn: ({ paths }) => paths.some((path) => own.has(path)),
      };
    });
  }

  #numberOf(evaluation: PolicyEvaluation): number {
    return this.#evaluations.numberOf(JSON.stringify(evaluation), () => evaluation);
  }
}
