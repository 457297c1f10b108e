import type { PolicyInput, PolicySet } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { keyInput, requestInput } from "../decide/policy-input.ts";
import { decideSample, identityOf, isDeniedByTable, outcomeOf } from "./decide-sample.ts";
import type { Outcome, SampleRequest } from "./sample-request.ts";
import type { SideViews } from "./views.ts";

/** A request decided on one side. */
export interface SideOutcomes {
  readonly declared: Outcome;
  readonly promoted: Outcome;
}

/** Decides single requests for one side, as a server would. */
export class SideDecider {
  readonly table: RoutingTable;
  readonly #views: SideViews;

  constructor(table: RoutingTable, views: SideViews) {
    this.table = table;
    this.#views = views;
  }

  /** The policies' input for a request; `null` where the table denies it without them. */
  inputOf(sample: SampleRequest): PolicyInput | null {
    let evaluated: PolicyInput | null = null;
    const recording: PolicySet = {
      id: "",
      policies: [],
      readsTime: this.#views.declared.readsTime,
      readsBudget: this.#views.declared.readsBudget,
      evaluate: (input) => {
        evaluated = input;
        return { verdicts: [], obligations: [] };
      },
    };
    const decision = decideSample(this.table, recording, sample);
    return isDeniedByTable(decision) ? null : evaluated;
  }

  /** The same for a request that differs only in its key, its time and what policies alone read, without narrowing its candidates anew. */
  inputLike(input: PolicyInput, sample: SampleRequest): PolicyInput {
    return {
      ...input,
      key: keyInput(this.table, identityOf(sample)),
      request: { ...input.request, ...requestInput(sample) },
      budget: this.#views.declared.readsBudget ? { remaining: sample.budget ?? "unlimited" } : input.budget,
      time: this.#views.declared.readsTime ? sample.time : input.time,
    };
  }

  decide(sample: SampleRequest): SideOutcomes {
    const { declared, promoted } = this.#views;
    const now = this.#outcome(declared, sample);
    return { declared: now, promoted: promoted === declared ? now : this.#outcome(promoted, sample) };
  }

  #outcome(policies: PolicySet, sample: SampleRequest): Outcome {
    return outcomeOf(decideSample(this.table, policies, sample));
  }
}
