import type { DecisionRecord, OutcomeRecord } from "../evidence/record.ts";
import type { EvidenceHead } from "./evidence-log.ts";
import type { EvidenceHealth } from "./port.ts";
import { DuplicateDecisionError, EvidenceUnavailableError, type EvidenceUnavailableReason } from "./errors.ts";
import { OUTCOME_FIELDS, type DecisionFields, type OutcomeFields } from "./evidence-batch.ts";

/** How the queue trades waiting against work. Milliseconds and records. */
export interface EvidenceLimits {
  /**
   * Least time between the starts of two commits. A lone record is written at once; under load records gather, which at
   * 5,000 decisions/s halves the CPU of the whole process per decision and adds about 3 ms that the upstream call hides.
   */
  readonly spacing: number;
  /** Longest time that outcomes wait for a decision to share a commit with. */
  readonly outcomeDelay: number;
  /** A commit that takes longer is given up: who waits is refused, until the store answers again. */
  readonly maxWait: number;
  /** Decisions, and likewise outcomes, kept in memory; more are refused (decisions) or lost (outcomes). */
  readonly maxWaiting: number;
}

export const DEFAULT_EVIDENCE_LIMITS: EvidenceLimits = {
  spacing: 5,
  outcomeDelay: 100,
  maxWait: 1_000,
  maxWaiting: 10_000,
};

export interface Appended {
  /** Positions of the decisions whose request id is recorded already. */
  readonly duplicates: readonly number[];
  readonly lost: number;
  /** The newest row of the log after the batch. */
  readonly head: EvidenceHead;
}

/** Writes one batch; resolves when it is on disk. */
export type Append = (decisions: DecisionFields, outcomes: OutcomeFields) => Promise<Appended>;

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** What gathers while the batch before is being written. Each waiter of `waiters` belongs to one decision, in order. */
interface Batch {
  readonly decisions: DecisionFields;
  readonly outcomes: OutcomeFields;
  readonly waiters: Waiter[];
  readonly flushes: Waiter[];
}

const emptyBatch = (): Batch => ({ decisions: [], outcomes: [], waiters: [], flushes: [] });

/**
 * Group commit: one batch is being written, the next one gathers. Turning a record into text and appending it to a list
 * is all that a request costs the main thread.
 */
export class EvidenceQueue {
  readonly #append: Append;
  readonly #limits: EvidenceLimits;
  #gathering = emptyBatch();
  #flying: Batch | null = null;
  #scheduledFor = Number.POSITIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #startedAt = Number.NEGATIVE_INFINITY;
  #available = true;
  #late = false;
  #closed = false;
  #refused = 0;
  #lost = 0;
  #head: EvidenceHead | null;

  /** @param head the newest row of the log as far as is known */
  constructor(append: Append, limits: EvidenceLimits, head: EvidenceHead | null = null) {
    this.#append = append;
    this.#limits = limits;
    this.#head = head;
  }

  decide(record: DecisionRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      const { decisions, waiters } = this.#gathering;
      const obstacle = this.#obstacle();
      if (obstacle !== null) {
        this.#refused += 1;
        reject(new EvidenceUnavailableError(obstacle));
        return;
      }
      // The column holds whole milliseconds; a fraction would be refused by the database, and with it the whole batch.
      decisions.push(Math.trunc(record.at), record.requestId, record.workspace, JSON.stringify(record));
      waiters.push({ resolve, reject });
      if (waiters.length === 1) this.#schedule(this.#limits.spacing - (performance.now() - this.#startedAt));
    });
  }

  settle(record: OutcomeRecord): void {
    const { outcomes } = this.#gathering;
    if (this.#closed || outcomes.length >= this.#limits.maxWaiting * OUTCOME_FIELDS) {
      this.#lost += 1;
      return;
    }
    outcomes.push(Math.trunc(record.at), record.requestId, JSON.stringify(record));
    if (outcomes.length === OUTCOME_FIELDS) this.#schedule(this.#limits.outcomeDelay);
  }

  flush(): Promise<void> {
    if (this.#late) return Promise.reject(new EvidenceUnavailableError("late"));
    const { decisions, outcomes } = this.#gathering;
    const gathers = decisions.length + outcomes.length > 0;
    const batch = gathers ? this.#gathering : this.#flying;
    if (batch === null) return Promise.resolve();
    return new Promise((resolve, reject) => {
      batch.flushes.push({ resolve, reject });
      if (gathers) this.#schedule(0);
    });
  }

  /** Takes nothing more; what is here can still be flushed. */
  close(): void {
    this.#closed = true;
  }

  /** The batch being written takes longer than it may; everybody is refused until it lands. */
  get late(): boolean {
    return this.#late;
  }

  health(): EvidenceHealth {
    return {
      state: this.#available && !this.#late ? "ok" : "unavailable",
      waiting: this.#waiting(),
      refused: this.#refused,
      lost: this.#lost,
      head: this.#head,
    };
  }

  #waiting(): number {
    return this.#gathering.waiters.length + (this.#flying?.waiters.length ?? 0);
  }

  #obstacle(): EvidenceUnavailableReason | null {
    if (this.#closed) return "closed";
    if (this.#late) return "late";
    return this.#waiting() >= this.#limits.maxWaiting ? "full" : null;
  }

  /** Sends what gathers after `delay` milliseconds, unless that is due earlier, or once the batch before is written. */
  #schedule(delay: number): void {
    if (this.#flying !== null) return;
    const due = performance.now() + delay;
    if (due >= this.#scheduledFor) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#scheduledFor = due;
    // Even without a delay not before the next turn of the event loop: what this turn brings shares the commit.
    this.#timer = setTimeout(() => this.#send(), Math.max(0, delay));
  }

  #send(): void {
    const batch = this.#gathering;
    this.#gathering = emptyBatch();
    this.#flying = batch;
    this.#timer = null;
    this.#scheduledFor = Number.POSITIVE_INFINITY;
    this.#startedAt = performance.now();
    const deadline = setTimeout(() => this.#giveUp(batch), this.#limits.maxWait);
    const land = (finish: () => void): void => {
      clearTimeout(deadline);
      this.#late = false;
      // Before anybody is told: who then flushes at once must not wait for a batch that is written already.
      this.#flying = null;
      finish();
      this.#scheduleNext();
    };
    void this.#append(batch.decisions, batch.outcomes).then(
      (appended) => land(() => this.#written(batch, appended)),
      () => land(() => this.#failed(batch)),
    );
  }

  #written(batch: Batch, { duplicates, lost, head }: Appended): void {
    this.#available = true;
    this.#head = head;
    this.#lost += lost;
    for (const position of duplicates) batch.waiters[position]?.reject(new DuplicateDecisionError());
    for (const { resolve } of batch.waiters) resolve();
    for (const { resolve } of batch.flushes) resolve();
  }

  /** The decisions were refused in front of their callers, so they are not kept; the outcomes are tried again. */
  #failed(batch: Batch): void {
    this.#available = false;
    this.#refuse(batch, "failed");
    const room = this.#limits.maxWaiting * OUTCOME_FIELDS - this.#gathering.outcomes.length;
    const kept = batch.outcomes.slice(0, Math.max(0, room));
    this.#lost += (batch.outcomes.length - kept.length) / OUTCOME_FIELDS;
    this.#gathering.outcomes.unshift(...kept);
  }

  /** The store is late: everybody is refused, new ones at once, so that requests neither hang nor pile up. */
  #giveUp(batch: Batch): void {
    this.#late = true;
    this.#refuse(batch, "late");
    this.#refuse(this.#gathering, "late");
  }

  /** Tells everybody who waits for the batch, and forgets its decisions; what was sent already may still be written. */
  #refuse(batch: Batch, reason: EvidenceUnavailableReason): void {
    this.#refused += batch.waiters.length;
    const error = new EvidenceUnavailableError(reason);
    for (const { reject } of batch.waiters.splice(0)) reject(error);
    for (const { reject } of batch.flushes.splice(0)) reject(error);
    batch.decisions.length = 0;
  }

  #scheduleNext(): void {
    const { waiters, outcomes, flushes } = this.#gathering;
    if (flushes.length > 0) this.#schedule(0);
    else if (waiters.length > 0) this.#schedule(this.#limits.spacing - (performance.now() - this.#startedAt));
    else if (outcomes.length > 0) this.#schedule(this.#limits.outcomeDelay);
  }
}
