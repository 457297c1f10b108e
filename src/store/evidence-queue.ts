import {
  DuplicateDecisionError,
  type EvidenceHead,
  type EvidenceHealth,
  EvidenceUnavailableError,
  type EvidenceUnavailableReason,
  type PendingDecision,
} from "../evidence/evidence-store.ts";
import type { DecisionRecord, OutcomeRecord } from "../evidence/record.ts";
import type { NewRecord } from "./batch/batch-lines.ts";
import { decisionOf, outcomeOf, unknownOutcome } from "./stored-evidence.ts";

/** Waiting times in milliseconds, and capacities in records. */
export interface EvidenceLimits {
  /**
   * Longest time that needed decisions gather while turns of the event loop are long, so while
   * other requests are at work. Each batch costs about 200 µs of CPU, so that batches of one
   * decision would cost a loaded process as much as all the rest.
   */
  readonly gathering: number;
  /** Longest time that a decision gathers which no answer needs yet; 0: it is written at once. */
  readonly delay: number;
  /** Longest time that outcomes wait for a decision to share a commit with. */
  readonly outcomeDelay: number;
  /** Longest time that an answer waits. Then the store is late, and refuses further decisions. */
  readonly maxWait: number;
  /** Decisions kept in memory, and twice as many outcomes; more are refused. */
  readonly maxWaiting: number;
}

export const DEFAULT_EVIDENCE_LIMITS: EvidenceLimits = {
  gathering: 5,
  delay: 0,
  outcomeDelay: 250,
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

/** Writes one batch, decisions first; resolves when it is on disk. */
export type Append = (records: readonly NewRecord[]) => Promise<Appended>;

/** One decision of a batch. */
class Waiter implements PendingDecision {
  readonly #need: () => void;
  readonly #settled: (error: Error | null) => void;
  /** When an answer began to wait, on the clock of `performance.now()`. */
  neededAt: number | null = null;
  isSettled = false;
  /** An attempt whose batch failed may have written it: a duplicate is this very decision then. */
  wasTried = false;

  constructor(need: () => void, settled: (error: Error | null) => void) {
    this.#need = need;
    this.#settled = settled;
  }

  needed(): void {
    if (this.isSettled || this.neededAt !== null) return;
    this.neededAt = performance.now();
    this.#need();
  }

  settle(error: Error | null): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#settled(error);
  }
}

/** Records that gather. Each waiter belongs to the decision at its index. */
interface Batch {
  readonly decisions: NewRecord[];
  readonly outcomes: NewRecord[];
  readonly waiters: Waiter[];
  readonly flushes: PromiseWithResolvers<void>[];
}

/** A larger batch would delay the others: it is written even if no answer needs it. */
const LARGE_BATCH = 256;

/** Requests with lost outcomes that are remembered; more stay open until their process ends. */
const MOST_UNENDED = 50_000;

/** Running requests without a decision that are remembered; outcomes beyond count as lost. */
const MOST_DROPPED = 50_000;

const emptyBatch = (): Batch => ({ decisions: [], outcomes: [], waiters: [], flushes: [] });

/**
 * Group commit: one batch is being written, the next one gathers. It is sent at the end of the turn
 * of the event loop in which an answer needs one of its decisions, or when its oldest decision or
 * outcome has waited for its delay. Turning a record into text and appending it to a list is all
 * that a request costs the main thread.
 */
export class EvidenceQueue {
  readonly #append: Append;
  readonly #limits: EvidenceLimits;
  #gathering = emptyBatch();
  #flying: Batch | null = null;
  readonly #timer: CommitTimer;
  /** When the batch that is being written was sent, on the clock of `performance.now()`. */
  #sentAt = 0;
  /** Since when a confirmation is owed, through failures too, on the same clock. */
  #owingSince: number | null = null;
  #available = true;
  #late = false;
  /** Runs while a batch is being written that is not late, and while an answer waits. */
  #lateTimer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;
  #refused = 0;
  #lost = 0;
  /** Requests with a decision on disk or on its way there, whose outcomes could not be kept. */
  #unended: string[] = [];
  /** Requests with rejected decisions, until they end. */
  readonly #dropped = new Set<string>();
  #head: EvidenceHead | null;

  /** @param head the newest row of the log as far as is known */
  constructor(append: Append, limits: EvidenceLimits, head: EvidenceHead | null = null) {
    this.#append = append;
    this.#limits = limits;
    this.#head = head;
    const isFlushed = () => this.#gathering.flushes.length > 0;
    this.#timer = commitTimer(limits.gathering, isFlushed, () => this.#send());
  }

  /**
   * An accepted decision is written, however late: a provider may have been called even if the
   * answer is refused.
   *
   * @param settled called once: with `null` when the record is on disk
   */
  begin(record: DecisionRecord, settled: (error: Error | null) => void): PendingDecision {
    const waiter = new Waiter(this.#need, settled);
    const obstacle = this.#obstacle();
    if (obstacle !== null) {
      this.#refused += 1;
      this.#drop(record.requestId);
      waiter.settle(this.#unavailable(obstacle));
      return waiter;
    }
    // A sum of refusals is submitted again with its id; then its outcome must be written.
    if (this.#dropped.size > 0) this.#dropped.delete(record.requestId);
    const { decisions, waiters } = this.#gathering;
    decisions.push(decisionOf(record));
    waiters.push(waiter);
    if (this.#isDue(this.#gathering)) this.#sendSoon();
    else this.#sendLater(this.#limits.delay);
    return waiter;
  }

  /** The outcome of a rejected decision is dropped with it. */
  settle(record: OutcomeRecord): void {
    // A set look-up adds each new string to V8's string table first.
    if (this.#dropped.size > 0 && this.#dropped.delete(record.requestId)) return;
    const { outcomes } = this.#gathering;
    if (this.#closed || this.#outcomeRoom() <= 0) return this.#lose(record.requestId);
    outcomes.push(outcomeOf(record));
    if (outcomes.length === 1) this.#sendLater(this.#limits.outcomeDelay);
  }

  flush(): Promise<void> {
    if (this.#late) return Promise.reject(this.#unavailable("late"));
    const { decisions, outcomes } = this.#gathering;
    const gathers = decisions.length + outcomes.length > 0;
    const batch = gathers ? this.#gathering : this.#flying;
    if (batch === null) return Promise.resolve();
    const flush = Promise.withResolvers<void>();
    batch.flushes.push(flush);
    if (gathers) this.#sendSoon();
    return flush.promise;
  }

  /** Accepts nothing more; the rest can still be flushed. */
  close(): void {
    this.#closed = true;
  }

  /** A decision would be refused at once: late, full, or closed. */
  get refusing(): boolean {
    return this.#obstacle() !== null;
  }

  health(): EvidenceHealth {
    return {
      state: this.#available && !this.refusing ? "ok" : "unavailable",
      waiting: this.#waiting(),
      refused: this.#refused,
      lost: this.#lost,
      head: this.#head,
      owing: this.#owing(),
    };
  }

  /** Milliseconds. */
  #owing() {
    return this.#owingSince === null ? 0 : performance.now() - this.#owingSince;
  }

  #unavailable(reason: EvidenceUnavailableReason) {
    return new EvidenceUnavailableError(reason, this.#owing());
  }

  #waiting() {
    return this.#gathering.waiters.length + (this.#flying?.waiters.length ?? 0);
  }

  #obstacle(): EvidenceUnavailableReason | null {
    if (this.#closed) return "closed";
    if (this.#late) return "late";
    return this.#waiting() >= this.#limits.maxWaiting ? "full" : null;
  }

  /** Records that gather while a batch is being written follow it. */
  #sendSoon() {
    if (this.#flying === null) this.#timer.sendSoon();
  }

  #sendLater(delay: number) {
    if (this.#flying === null) this.#timer.sendLater(delay);
  }

  readonly #need = () => {
    if (this.#flying !== null) this.#lookForLateAfter(this.#limits.maxWait);
    this.#sendSoon();
  };

  #send() {
    const batch = this.#gathering;
    this.#gathering = emptyBatch();
    this.#flying = batch;
    this.#timer.clear();
    this.#sentAt = performance.now();
    this.#owingSince ??= this.#sentAt;
    this.#lookForLateAfter(this.#limits.maxWait);
    const land = (finish: () => void) => {
      this.#late = false;
      // Before callers resolve: a flush from one of them must not wait for a written batch.
      this.#flying = null;
      finish();
      this.#scheduleNext();
    };
    void this.#append([...batch.decisions, ...batch.outcomes]).then(
      (appended) => land(() => this.#written(batch, appended)),
      () => land(() => this.#failed(batch)),
    );
  }

  #written(batch: Batch, { duplicates, lost, head }: Appended) {
    this.#available = true;
    this.#owingSince = null;
    this.#head = head;
    this.#lost += lost;
    for (const position of duplicates) {
      const waiter = batch.waiters[position];
      if (waiter?.wasTried === false) waiter.settle(new DuplicateDecisionError());
    }
    for (const waiter of batch.waiters) waiter.settle(null);
    for (const { resolve } of batch.flushes) resolve();
    this.#endUnended();
  }

  /** Waiting answers are refused; all records are tried again, ahead of newer ones. */
  #failed(batch: Batch) {
    this.#available = false;
    this.#refuseWaiters(batch, "failed", Number.POSITIVE_INFINITY);
    for (const waiter of batch.waiters) waiter.wasTried = true;
    for (const { reject } of batch.flushes) reject(this.#unavailable("failed"));
    const { decisions, outcomes, waiters, flushes } = this.#gathering;
    const room = Math.max(0, this.#outcomeRoom());
    for (const { requestId } of batch.outcomes.slice(room)) this.#lose(requestId);
    this.#gathering = {
      decisions: batch.decisions.concat(decisions),
      outcomes: batch.outcomes.slice(0, room).concat(outcomes),
      waiters: batch.waiters.concat(waiters),
      flushes,
    };
  }

  /** @param delay milliseconds; nothing changes where it looks already */
  #lookForLateAfter(delay: number) {
    if (this.#lateTimer !== null) return;
    // After a pause of the process, timers fire before answers that have arrived: read those first.
    this.#lateTimer = setTimeout(() => setImmediate(this.#refuseLate), delay).unref();
  }

  /** Refuses answers. Requests at providers continue: they may be on disk before they end. */
  readonly #refuseLate = () => {
    this.#lateTimer = null;
    const flying = this.#flying;
    if (flying === null) return;
    const since = performance.now() - this.#limits.maxWait;
    this.#late = this.#sentAt <= since;
    let oldest = this.#late ? Number.POSITIVE_INFINITY : this.#sentAt;
    for (const batch of [flying, this.#gathering]) {
      oldest = Math.min(oldest, this.#refuseWaiters(batch, "late", since));
      if (!this.#late) continue;
      for (const { reject } of batch.flushes.splice(0)) reject(this.#unavailable("late"));
    }
    if (!Number.isFinite(oldest)) return;
    this.#lookForLateAfter(Math.max(1, Math.ceil(oldest - since)));
  };

  /** Refuses answers that wait since `until`. @returns since when the longest other waits */
  #refuseWaiters({ waiters }: Batch, reason: EvidenceUnavailableReason, until: number): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const waiter of waiters) {
      const { neededAt } = waiter;
      if (neededAt === null || waiter.isSettled) continue;
      if (neededAt > until) {
        oldest = Math.min(oldest, neededAt);
        continue;
      }
      this.#refused += 1;
      waiter.settle(this.#unavailable(reason));
    }
    return oldest;
  }

  /** Outcomes that still may gather. */
  #outcomeRoom() {
    return 2 * this.#limits.maxWaiting - this.#gathering.outcomes.length;
  }

  #drop(requestId: string) {
    if (this.#dropped.size < MOST_DROPPED) this.#dropped.add(requestId);
  }

  #lose(requestId: string) {
    this.#lost += 1;
    if (this.#unended.length < MOST_UNENDED) this.#unended.push(requestId);
  }

  /** A decision without an outcome stays open, and nothing after it could be pruned. */
  #endUnended() {
    if (this.#unended.length === 0) return;
    const at = Date.now();
    for (const requestId of this.#unended.splice(0, Math.max(0, this.#outcomeRoom())))
      this.#gathering.outcomes.push(outcomeOf(unknownOutcome(requestId, at)));
  }

  #scheduleNext() {
    const { decisions, outcomes, waiters, flushes } = this.#gathering;
    const isDue = this.#available && this.#isDue(this.#gathering);
    const isNeeded = waiters.some(({ neededAt, isSettled }) => neededAt !== null && !isSettled);
    if (flushes.length > 0 || isNeeded || isDue) this.#sendSoon();
    // The closing caller writes once more by `flush`; after that the process must be able to end.
    else if (this.#closed && !this.#available) return;
    else if (decisions.length > 0 && this.#available) this.#sendLater(this.#limits.delay);
    else if (decisions.length + outcomes.length > 0) this.#sendLater(this.#limits.outcomeDelay);
  }

  #isDue({ waiters }: Batch) {
    return waiters.length >= LARGE_BATCH || (waiters.length > 0 && this.#limits.delay === 0);
  }
}

/** A longer turn of the event loop has served other requests. Milliseconds. */
const LONG_TURN = 0.1;

type CommitTimer = ReturnType<typeof commitTimer>;

/**
 * When a batch is sent: once the event loop has nothing else to do, or later.
 *
 * @param gathering longest wait, milliseconds. @param isUrgent sends at the end of the turn
 */
function commitTimer(gathering: number, isUrgent: () => boolean, send: () => void) {
  let soon: ReturnType<typeof setImmediate> | null = null;
  let later: ReturnType<typeof setTimeout> | null = null;
  let laterDelay = 0;
  let since = 0;
  let turnBegan = 0;

  function endTurn() {
    const now = performance.now();
    const isBusy = now - turnBegan > LONG_TURN && now - since < gathering;
    turnBegan = now;
    if (isBusy && !isUrgent()) soon = setImmediate(endTurn);
    else send();
  }

  return {
    /** Records that arrive before the event loop is idle share the commit. */
    sendSoon(): void {
      if (soon !== null) return;
      since = performance.now();
      turnBegan = since;
      soon = setImmediate(endTurn);
    },
    /** Unless it is sent earlier; the shortest delay counts. @param delay milliseconds */
    sendLater(delay: number): void {
      if (later !== null && laterDelay <= delay) return;
      if (later !== null) clearTimeout(later);
      later = setTimeout(send, delay);
      laterDelay = delay;
    },
    /** Sends nothing until the next call. */
    clear(): void {
      if (soon !== null) clearImmediate(soon);
      if (later !== null) clearTimeout(later);
      soon = null;
      later = null;
    },
  };
}
