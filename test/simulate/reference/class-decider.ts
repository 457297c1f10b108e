import type { PolicyEvaluation, PolicyInput, PolicySet } from "../../../src/canon/policy.ts";
import type { SampleRequest } from "../../../src/simulate/sample-request.ts";
import {
  SideDecider,
  decideSample,
  isDeniedByTable,
  type SideOutcomes,
} from "../../../src/simulate/decide-sample.ts";
import type { UsageTally } from "../../../src/simulate/compare/simulation-tally.ts";
import { noteDecision } from "./note-decision.ts";
import type { SideViews } from "../../../src/simulate/views.ts";
import type { RoutingTable } from "../../../src/canon/table.ts";

/**
 * Decides the classes of one job: requests of one state with the same verdicts are decided once.
 */
export class ClassDecider {
  readonly #decider: SideDecider;
  readonly #views: SideViews;
  readonly #states = new Map<
    string,
    { input: PolicyInput | null; known: Map<PolicyEvaluation | null, SideOutcomes> }
  >();

  readonly #usage: UsageTally;

  /** @param usage receives what the verdicts come to. */
  constructor(table: RoutingTable, views: SideViews, usage: UsageTally) {
    this.#decider = new SideDecider(table, views);
    this.#views = views;
    this.#usage = usage;
  }

  /** Keys mean something within one job only. */
  beginJob(): void {
    this.#states.clear();
  }

  /** @param state the side's `stateKey` of the request. */
  decideClass(state: string, sample: SampleRequest): SideOutcomes {
    const { input, known } = this.#states.get(state) ?? {
      input: this.#inputOf(sample),
      known: new Map(),
    };
    this.#states.set(state, { input, known });
    const evaluation =
      input === null ? null : this.#views.declared.evaluate(this.#decider.inputLike(input, sample));
    const same = known.get(evaluation);
    if (same !== undefined) return same;
    noteDecision(
      this.#usage,
      decideSample(this.#decider.table, this.#views.declared, sample),
      () => false,
    );
    const made = this.#decider.decideSample(sample);
    known.set(evaluation, made);
    return made;
  }

  /**
   * As the decision itself makes it; `null` where the table denies the request without policies.
   */
  #inputOf(sample: SampleRequest): PolicyInput | null {
    let evaluated: PolicyInput | null = null;
    const { readsTime, readsBudget, zones } = this.#views.declared;
    const recording: PolicySet = {
      id: "",
      policies: [],
      readsTime,
      readsBudget,
      zones,
      evaluate: (input) => {
        evaluated = input;
        return { verdicts: [], obligations: [] };
      },
    };
    const decision = decideSample(this.#decider.table, recording, sample);
    return isDeniedByTable(decision) ? null : evaluated;
  }
}
