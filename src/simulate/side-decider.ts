import type { Decision } from "../canon/decision.ts";
import type { PolicyEvaluation, PolicyInput, PolicySet } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { keyWords, requestWords } from "../decide/policy-input.ts";
import { decideSample, identityOf, isDeniedByTable, outcomeOf } from "./decide-sample.ts";
import type { Outcome, SampleRequest, View } from "./sample-request.ts";
import type { SideViews } from "./views.ts";

/** A request decided on one side. */
export interface SideOutcomes {
  readonly declared: Outcome;
  readonly promoted: Outcome;
}

/** Called for every decision, once for each class of a side. */
export type DecisionListener = (decision: Decision, view: View, sample: SampleRequest) => void;

/** The outcomes of requests of one state: their decisions differ only by the policies' verdicts. */
interface StateDecisions {
  /** The policies' input for one of them; `null` where no policy is evaluated. */
  readonly input: PolicyInput | null;
  readonly byEvaluation: Map<PolicyEvaluation | null, SideOutcomes>;
}

/** Decides for one side. Within a job, requests of one state with the same verdicts are decided once. */
export class SideDecider {
  readonly table: RoutingTable;
  readonly #views: SideViews;
  readonly #listener: DecisionListener;
  readonly #states = new Map<string, StateDecisions>();

  constructor(table: RoutingTable, views: SideViews, listener: DecisionListener = () => {}) {
    this.table = table;
    this.#views = views;
    this.#listener = listener;
  }

  /** Keys mean something within one job only. */
  beginJob(): void {
    this.#states.clear();
  }

  /** @param state the side's `stateKey` of the request. */
  decideClass(state: string, sample: SampleRequest): SideOutcomes {
    let known = this.#states.get(state);
    if (known === undefined) {
      known = { input: this.#inputOf(sample), byEvaluation: new Map() };
      this.#states.set(state, known);
    }
    const { input, byEvaluation } = known;
    const evaluation = input === null ? null : this.#views.declared.evaluate(this.#inputLike(input, sample));
    const same = byEvaluation.get(evaluation);
    if (same !== undefined) return same;
    const made = this.decide(sample);
    byEvaluation.set(evaluation, made);
    return made;
  }

  /** The policies' input for a request; `null` where the table denies it without them. */
  #inputOf(sample: SampleRequest): PolicyInput | null {
    const { declared } = this.#views;
    let evaluated: PolicyInput | null = null;
    const evaluate: PolicySet["evaluate"] = (input) => declared.evaluate((evaluated = input));
    const decision = decideSample(this.table, { ...declared, evaluate }, sample);
    return isDeniedByTable(decision) ? null : evaluated;
  }

  /** The same for another request of the state, without narrowing its candidates anew. */
  #inputLike(input: PolicyInput, sample: SampleRequest): PolicyInput {
    return {
      ...input,
      key: keyWords(this.table, identityOf(sample)),
      request: { ...input.request, ...requestWords(sample) },
      time: this.#views.declared.readsTime ? sample.time : input.time,
    };
  }

  decide(sample: SampleRequest): SideOutcomes {
    const { declared, promoted } = this.#views;
    const now = this.#outcome(declared, "declared", sample);
    return { declared: now, promoted: promoted === declared ? now : this.#outcome(promoted, "promoted", sample) };
  }

  #outcome(policies: PolicySet, view: View, sample: SampleRequest): Outcome {
    const decision = decideSample(this.table, policies, sample);
    this.#listener(decision, view, sample);
    return outcomeOf(decision);
  }
}
