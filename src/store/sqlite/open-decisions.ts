import { decisionFacts, type DecisionFacts } from "../../governance/roll-up.ts";
import type { DecisionRecord } from "../../evidence/record.ts";

/** More running requests than this are looked up in the store when they end. */
const CAPACITY = 20_000;

/** What the counts of running requests will need when they end. */
export class OpenDecisions {
  readonly #facts = new Map<string, DecisionFacts>();

  add(decision: DecisionRecord): void {
    if (this.#facts.size >= CAPACITY) {
      for (const oldest of this.#facts.keys()) {
        this.#facts.delete(oldest);
        break;
      }
    }
    this.#facts.set(decision.requestId, decisionFacts(decision));
  }

  /** `null` where another process decided, or too many were open. */
  take(requestId: string): DecisionFacts | null {
    const facts = this.#facts.get(requestId) ?? null;
    this.#facts.delete(requestId);
    return facts;
  }
}
