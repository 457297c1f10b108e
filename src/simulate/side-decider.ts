import type { Candidate } from "../canon/decision.ts";
import type { PolicyInput, PolicySet } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { requestedRoute } from "../decide/decide.ts";
import { ANY_TIME, keyInput, policyInput, requestInput } from "../decide/policy-input.ts";
import { decideSample, identityOf, outcomeOf } from "./decide-sample.ts";
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

  /**
   * The policies' input for a request, without narrowing its candidates anew.
   *
   * @param candidates that the table leaves the request.
   */
  inputOf(sample: SampleRequest, candidates: readonly Candidate[]): PolicyInput {
    const identity = identityOf(sample);
    const requested = requestedRoute(this.table, identity, sample.model, sample.operation);
    if ("reason" in requested)
      throw new Error("simulation: the table refuses the route of a request that it let through");
    const { workspace, route } = requested;
    const { readsTime, readsBudget } = this.#views.declared;
    const circumstances = {
      time: readsTime ? sample.time : ANY_TIME,
      budget: readsBudget ? (sample.budget ?? "unlimited") : "unlimited",
    } as const;
    return policyInput(
      this.table,
      workspace,
      identity,
      route,
      sample,
      sample.preferences,
      circumstances,
      candidates,
    );
  }

  /**
   * The same for a request that differs only in its key, its time and what policies alone read,
   * without narrowing its candidates anew.
   */
  inputLike(input: PolicyInput, sample: SampleRequest): PolicyInput {
    return {
      ...input,
      key: keyInput(this.table, identityOf(sample)),
      request: { ...input.request, ...requestInput(sample) },
      budget: this.#views.declared.readsBudget
        ? { remaining: sample.budget ?? "unlimited" }
        : input.budget,
      time: this.#views.declared.readsTime ? sample.time : input.time,
    };
  }

  decide(sample: SampleRequest): SideOutcomes {
    const { declared, promoted } = this.#views;
    const now = this.#outcome(declared, sample);
    return {
      declared: now,
      promoted: promoted === declared ? now : this.#outcome(promoted, sample),
    };
  }

  #outcome(policies: PolicySet, sample: SampleRequest): Outcome {
    return outcomeOf(decideSample(this.table, policies, sample));
  }
}
