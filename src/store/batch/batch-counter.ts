import type { Increments } from "../../governance/increments.ts";
import {
  decisionFacts,
  rollUpDecision,
  rollUpOutcome,
  type DecisionFacts,
} from "../../governance/roll-up.ts";
import { readDecision, readOutcome } from "../stored-evidence.ts";
import type { OutcomeRecord } from "../../evidence/record.ts";
import { readLines, type StoredBatch } from "./lines.ts";

/**
 * Decisions whose outcomes have not been counted that are remembered at most; others are read
 * again.
 */
const REMEMBERED = 50_000;

/** Kinds of decisions that are distinguished at a time. */
const KINDS = 256;

/** Counts batches of the log. */
export class BatchCounter {
  readonly #kinds = new Map<string, DecisionFacts>();
  readonly #running = new Map<string, DecisionFacts>();

  /**
   * Counts these batches, which follow those before in the order of the log. A record that this
   * version does not support is not counted: the others must not wait for it.
   *
   * @returns outcomes of decisions that another process has counted, by request id: for
   * {@link countEarlier}
   */
  count(batches: Iterable<StoredBatch>, increments: Increments): Map<string, OutcomeRecord> {
    const earlier = new Map<string, OutcomeRecord>();
    for (const batch of batches) {
      for (const { kind, record } of readLines(batch)) {
        if (kind === "decision") {
          const decision = readDecision(record);
          if (decision === null) continue;
          const facts = this.#shared(decisionFacts(decision));
          rollUpDecision(increments, decision, facts);
          this.#remember(decision.requestId, facts);
        } else {
          const outcome = readOutcome(record);
          if (outcome === null) continue;
          const facts = this.#running.get(outcome.requestId);
          this.#running.delete(outcome.requestId);
          if (facts === undefined) earlier.set(outcome.requestId, outcome);
          else rollUpOutcome(increments, facts, outcome);
        }
      }
    }
    return earlier;
  }

  /** Counts, and takes out of `outcomes`, those whose decisions are in a batch. */
  countEarlier(
    batch: StoredBatch,
    outcomes: Map<string, OutcomeRecord>,
    increments: Increments,
  ): void {
    for (const { kind, record } of readLines(batch)) {
      const decision = kind === "decision" ? readDecision(record) : null;
      const outcome = decision === null ? undefined : outcomes.get(decision.requestId);
      if (decision === null || outcome === undefined) continue;
      outcomes.delete(decision.requestId);
      rollUpOutcome(increments, decisionFacts(decision), outcome);
    }
  }

  /** One object for equal facts: increments find their cells by it. */
  #shared(facts: DecisionFacts): DecisionFacts {
    const key = Object.values(facts).join("\n");
    const known = this.#kinds.get(key);
    if (known !== undefined) return known;
    if (this.#kinds.size >= KINDS) this.#kinds.clear();
    this.#kinds.set(key, facts);
    return facts;
  }

  #remember(requestId: string, facts: DecisionFacts): void {
    this.#running.set(requestId, facts);
    if (this.#running.size <= REMEMBERED) return;
    for (const oldest of this.#running.keys()) {
      this.#running.delete(oldest);
      return;
    }
  }
}
