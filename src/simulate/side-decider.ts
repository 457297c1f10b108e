import type { Decision } from "../canon/decision.ts";
import type { PolicySet } from "../canon/policy.ts";
import type { RoutingTable } from "../canon/table.ts";
import { decidePoint, outcomeOf } from "./decide-point.ts";
import type { Outcome, RequestPoint, Standpoint } from "./point.ts";
import type { SideStandpoints } from "./standpoints.ts";

/** A request decided on one side. */
export interface SideOutcomes {
  readonly declared: Outcome;
  readonly promoted: Outcome;
}

/** Is told every decision that is made, once for each class of a side. */
export type DecisionListener = (decision: Decision, standpoint: Standpoint, point: RequestPoint) => void;

/** Decides for one side. Within a job, classes that are one to this side are decided once. */
export class SideDecider {
  readonly table: RoutingTable;
  readonly #standpoints: SideStandpoints;
  readonly #listener: DecisionListener;
  readonly #known = new Map<string, SideOutcomes>();

  constructor(table: RoutingTable, standpoints: SideStandpoints, listener: DecisionListener = () => {}) {
    this.table = table;
    this.#standpoints = standpoints;
    this.#listener = listener;
  }

  /** Keys mean something within one job only. */
  beginJob(): void {
    this.#known.clear();
  }

  decideClass(key: string, point: RequestPoint): SideOutcomes {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = this.decide(point);
    this.#known.set(key, made);
    return made;
  }

  decide(point: RequestPoint): SideOutcomes {
    const { declared, promoted } = this.#standpoints;
    const now = this.#outcome(declared, "declared", point);
    return { declared: now, promoted: promoted === declared ? now : this.#outcome(promoted, "promoted", point) };
  }

  #outcome(policies: PolicySet, standpoint: Standpoint, point: RequestPoint): Outcome {
    const decision = decidePoint(this.table, policies, point);
    this.#listener(decision, standpoint, point);
    return outcomeOf(decision);
  }
}
