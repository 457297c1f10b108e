import type { PolicyVerdict } from "../../canon/policy.ts";
import type { UsageTally } from "../compare/usage-tally.ts";
import type { LoadedPolicy } from "../views.ts";
import { type Diagrams, type Node, PairedLeaves } from "./diagrams.ts";
import type { SideDiagrams, StateVerdicts } from "./side-diagrams.ts";

/**
 * Notes what the verdicts of every policy of a side come to, over all requests of states that the
 * table does not deny.
 */
export class DiagramUsage {
  readonly #side: SideDiagrams;
  readonly #policies: readonly LoadedPolicy[];
  readonly #isPassedOver: (policy: LoadedPolicy) => boolean;
  readonly #diagrams: Diagrams;
  readonly #noted: Set<Node>[];
  readonly #pairs: PairedLeaves;

  /** @param isPassedOver contents of which nothing is noted. */
  constructor(
    side: SideDiagrams,
    policies: readonly LoadedPolicy[],
    diagrams: Diagrams,
    isPassedOver: (policy: LoadedPolicy) => boolean,
  ) {
    this.#side = side;
    this.#policies = policies;
    this.#isPassedOver = isPassedOver;
    this.#diagrams = diagrams;
    this.#noted = policies.map(() => new Set<Node>());
    this.#pairs = new PairedLeaves(diagrams);
  }

  note(tally: UsageTally, verdicts: StateVerdicts): void {
    for (const [index, policy] of this.#policies.entries()) {
      const root = verdicts.policies[index];
      if (root === undefined || this.#isPassedOver(policy)) continue;
      const noted = this.#noted[index];
      if (noted?.has(root) === false) {
        noted.add(root);
        this.#noteVerdicts(tally, root);
      }
      if (!tally.effective.has(policy.single.identity.id))
        this.#noteEffect(tally, policy, root, verdicts);
    }
  }

  /** A tally was taken: everything has to be noted in the next one too. */
  forget(): void {
    for (const noted of this.#noted) noted.clear();
  }

  #noteVerdicts(tally: UsageTally, root: Node): void {
    for (const leaf of this.#diagrams.leavesOf(root)) {
      for (const { policy, constraint, verdict, reason, effect } of this.#side.evaluations.at(leaf)
        .verdicts) {
        const name = `${policy.id}/${constraint}`;
        if (verdict === "pass") tally.passed.add(name);
        else if (verdict === "fail") tally.failed.add(name);
        else tally.indeterminate.add(name);
        if (verdict === "fail" && reason !== null) tally.reasons.add(`${name}/${reason}`);
        // Candidates that a filter leaves out are gone, and a gate that does not pass denies,
        // whatever the others say.
        const isCertain =
          verdict === "indeterminate" || (verdict === "fail" && effect !== "require_all");
        if (isCertain) tally.effective.add(policy.id);
      }
    }
  }

  /** What acts by what the filters have left, or on requests that are not denied. */
  #noteEffect(
    tally: UsageTally,
    { single }: LoadedPolicy,
    root: Node,
    { input, policies }: StateVerdicts,
  ): void {
    const { fold, evaluations, acting } = this.#side;
    const { contract, identity } = single;
    const mayClose = contract.constraints.some(({ effect }) => effect === "require_all");
    if (!mayClose && contract.obligations.length === 0) return;
    const among = (identity.slot === "enforced" ? acting.declared : acting.all).map(
      (index) => policies[index] ?? 0,
    );
    const ids = input.candidates.map(({ id }) => id);
    const meets = (results: Node, test: (result: number, evaluation: number) => boolean): boolean =>
      this.#diagrams
        .leavesOf(this.#pairs.of(results, root))
        .some((leaf) => test(...this.#pairs.at(leaf)));
    const closing = (): boolean =>
      meets(fold.filters(among), (result, evaluation) => {
        const { filtered } = fold.at(result);
        const isEmpty = ids.every((id) => filtered.includes(id));
        return evaluations
          .at(evaluation)
          .verdicts.some((verdict) => isFailing(verdict) && (isEmpty || isLeft(verdict, filtered)));
      });
    const obliging = (): boolean =>
      meets(fold.results(among, ids), (result, evaluation) => {
        const { isDenied, filtered, maximum } = fold.at(result);
        if (isDenied) return false;
        const left = input.candidates.filter(({ id }) => !filtered.includes(id));
        return evaluations
          .at(evaluation)
          .obligations.some(
            ({ kind, value }) =>
              kind === "strip_field" ||
              (kind === "max_output_tokens" && maximum === value) ||
              (kind === "prefer_region" &&
                left.some(({ region }) => this.#side.regionsOf(value).includes(region))),
          );
      });
    if ((mayClose && closing()) || (contract.obligations.length > 0 && obliging()))
      tally.effective.add(identity.id);
  }
}

function isFailing({ effect, verdict }: PolicyVerdict): boolean {
  return effect === "require_all" && verdict === "fail";
}

function isLeft({ failing }: PolicyVerdict, filtered: readonly string[]): boolean {
  return failing.some((id) => !filtered.includes(id));
}
