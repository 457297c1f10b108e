import { Increments } from "../../../governance/increments.ts";
import { decisionFacts, rollUpDecision, rollUpOutcome, type DecisionFacts } from "../../../governance/roll-up.ts";
import { DecisionReader } from "../../batch/decision-reader.ts";
import { FrameCursor } from "../../batch/frames.ts";
import type { StoredBatch } from "../../batch/stored-batch.ts";
import { readDecision, readOutcome } from "../../stored-evidence.ts";

/** Decisions whose outcomes have not been counted that are remembered at most; others are read again. */
const REMEMBERED = 50_000;

/** Gives the batch with a request's decision; `null` where there is none. */
export type FindDecided = (requestId: string) => Promise<StoredBatch | null>;

/** Counts batches of the log. */
export class BatchCounter {
  readonly #decisions = new DecisionReader();
  readonly #running = new Map<string, DecisionFacts>();

  /**
   * What these batches, in the order of the log, add to the cells. A record that this version does not know is not
   * counted: the others must not wait for it.
   */
  async count(batches: readonly StoredBatch[], findDecided: FindDecided): Promise<Increments> {
    const increments = new Increments();
    const earlier: [string, string][] = [];
    for (const { records } of batches) {
      const cursor = new FrameCursor(records);
      while (cursor.next()) {
        const { requestId } = cursor;
        if (cursor.kind === "decision") {
          const counted = this.#decisions.read(cursor.bytes, cursor.recordStart, cursor.end, requestId, false);
          if (counted === null) continue;
          rollUpDecision(increments, counted.decision, counted.facts);
          this.#remember(requestId, counted.facts);
        } else {
          const facts = this.#running.get(requestId);
          this.#running.delete(requestId);
          if (facts === undefined) earlier.push([requestId, cursor.record]);
          else addOutcome(increments, facts, cursor.record);
        }
      }
    }
    await this.#countEarlier(new Map(earlier), increments, findDecided);
    return increments;
  }

  /** Outcomes of decisions that another process has counted. */
  async #countEarlier(outcomes: Map<string, string>, increments: Increments, findDecided: FindDecided): Promise<void> {
    for (const wanted of outcomes.keys()) {
      const batch = await findDecided(wanted);
      const cursor = batch === null ? null : new FrameCursor(batch.records);
      // The others mostly were decided in the same batch.
      while (cursor?.next() === true) {
        const outcome = cursor.kind === "decision" ? outcomes.get(cursor.requestId) : undefined;
        if (outcome === undefined) continue;
        outcomes.delete(cursor.requestId);
        const decision = readDecision(cursor.record);
        if (decision !== null) addOutcome(increments, decisionFacts(decision), outcome);
      }
    }
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

function addOutcome(increments: Increments, facts: DecisionFacts, text: string): void {
  const outcome = readOutcome(text);
  if (outcome !== null) rollUpOutcome(increments, facts, outcome);
}
