import type { DecisionFacts } from "../../../governance/roll-up.ts";
import { idNumber } from "../../batch/recent-ids.ts";

/** A decision whose request has not ended. */
export class OpenDecision {
  readonly requestId: string;
  /** {@link idNumber} of the request id. */
  readonly idNumber: number;
  readonly position: number;
  /** The row of `processes` of the process that decided. */
  readonly process: number;
  readonly workspace: string | null;
  /** What its outcome's counts need; `null` until the decision is counted, and where another process counted it. */
  facts: DecisionFacts | null = null;
  /** The newest checkpoint has it. */
  isKept = false;
  /** The batch that has its outcome, which may not be on disk; an attempt that failed is another one. */
  endsIn: object | null = null;

  constructor(requestId: string, position: number, process: number, workspace: string | null) {
    this.requestId = requestId;
    this.idNumber = idNumber(requestId);
    this.position = position;
    this.process = process;
    this.workspace = workspace;
  }
}

/** Decisions by their request ids. */
export class OpenDecisions {
  readonly #byNumber = new Map<number, OpenDecision>();
  /** Those whose number another one had already. */
  readonly #others = new Map<string, OpenDecision>();

  constructor(decisions: Iterable<OpenDecision> = []) {
    for (const decision of decisions) this.add(decision);
  }

  get(requestId: string): OpenDecision | undefined {
    const found = this.#byNumber.get(idNumber(requestId));
    if (found?.requestId === requestId) return found;
    return this.#others.size === 0 ? undefined : this.#others.get(requestId);
  }

  add(decision: OpenDecision): void {
    if (this.#byNumber.has(decision.idNumber)) this.#others.set(decision.requestId, decision);
    else this.#byNumber.set(decision.idNumber, decision);
  }

  delete(decision: OpenDecision): void {
    if (this.#byNumber.get(decision.idNumber) === decision) this.#byNumber.delete(decision.idNumber);
    else this.#others.delete(decision.requestId);
  }

  /** In the order of their positions, in which they were added. */
  values(): Iterable<OpenDecision> {
    if (this.#others.size === 0) return this.#byNumber.values();
    return [...this.#byNumber.values(), ...this.#others.values()].toSorted(
      (left, right) => left.position - right.position,
    );
  }
}
